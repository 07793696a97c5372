"""Judges of what an agent did: one judge a file; the report knows all of them."""
