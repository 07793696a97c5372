"""The composition: the only room that knows the others and the only one that opens transactions."""
