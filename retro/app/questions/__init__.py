"""Read-only questions that every surface asks, each answered once."""
