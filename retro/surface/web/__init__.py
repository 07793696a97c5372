"""The owner's screens in a browser: stored pages, drawn by the server."""
