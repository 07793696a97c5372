"""Commands of an operator: agents forgotten, renamed, merged, carried elsewhere; databases backed up and restored."""
