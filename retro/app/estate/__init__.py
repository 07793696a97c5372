"""Agents in an operator's hands: what belongs to one, and forgetting, renaming, merging, carrying it elsewhere."""
