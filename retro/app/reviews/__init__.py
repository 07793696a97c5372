"""From the store to a report, and from a stored document to a message."""
