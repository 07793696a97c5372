"""The settled book: settings, tracks, rows; which agent, which period."""
