"""The page model: blocks and labels, and one builder a subject."""
