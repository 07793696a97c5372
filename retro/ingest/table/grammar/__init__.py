"""The grammar of a mapping: its tables, and the verbs of a value."""
