"""Sources read on, and batches stored."""
