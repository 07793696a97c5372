"""The tools by subject: each public method is a tool, its docstring what a model reads of it."""
