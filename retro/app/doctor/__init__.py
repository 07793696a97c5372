"""What `retro doctor` examines, one file a subject."""
