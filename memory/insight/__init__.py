"""What follows from the episodes: beliefs, habits, drift, state."""
