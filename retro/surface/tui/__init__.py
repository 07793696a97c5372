"""The owner's screens in a terminal: the lines that `retro show` prints, and keys that lead on from them."""
