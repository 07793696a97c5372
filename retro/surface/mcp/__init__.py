"""The tools an agent calls through the Model Context Protocol."""
