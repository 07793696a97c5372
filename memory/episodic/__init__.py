"""Episodes and their columns: what was lived through, and how it turned out."""
