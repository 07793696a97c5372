"""Rows out of foreign tables, each streamed and bounded whatever the file holds.

What says how a table is written knows nothing of trading; readers (`retro.ingest.metatrader`) and mappings say what a
row means.
"""
