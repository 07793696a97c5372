"""Plans and how they turned out."""
