"""Questions about the library."""
