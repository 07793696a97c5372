"""nofx: decision logs (a JSON file a cycle, or the same as JSON Lines) and its data.db."""
