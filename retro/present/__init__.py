"""A report as a page, and the formats that draw it."""
