"""A report as a page of blocks, that page as text, Markdown, HTML or mail, and the channels it leaves by."""
