"""The situation of a decision: its fields, and predicates over them."""
