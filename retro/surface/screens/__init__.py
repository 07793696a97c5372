"""What there is to see: every screen, its address, the question it answers and the page that comes of it."""
