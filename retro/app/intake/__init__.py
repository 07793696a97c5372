"""Sources read on, batches stored, and what they invalidate."""
