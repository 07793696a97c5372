"""What people and agents touch: the command line, later other screens. No logic, no SQL."""
