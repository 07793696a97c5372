"""Pages that are no reviews: the lists of a house, and what stands between two reviews."""
