"""What to do next, from what was lived through: size, plans, and whether it helps."""
