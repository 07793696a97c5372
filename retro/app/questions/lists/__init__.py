"""Lists that are narrowed, sorted, searched and written as sheets."""
