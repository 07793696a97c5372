"""Arrays in, numbers out: pure functions on numpy arrays."""
