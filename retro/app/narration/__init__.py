"""Words for a review, the model's or code's, and what they cost."""
