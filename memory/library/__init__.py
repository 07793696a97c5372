"""The library: texts found by meaning, in layers, with ancestors and an archive."""
