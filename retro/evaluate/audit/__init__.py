"""Citations of the playbook, their outcomes, and what each heuristic earned."""
