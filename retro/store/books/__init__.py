"""The settled positions and outcomes: derived, and settled again when deleted."""
