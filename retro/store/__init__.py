"""The store: SQLite by default, PostgreSQL with the same tables. Functions take a Connection; the caller owns the transaction."""
