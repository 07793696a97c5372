"""What if one rule had been changed: replayed over the positions that happened, on the marks that came."""
