"""Every table and every SQL statement of the memory; nothing here opens a database or ends a transaction."""
