"""PLAYBOOK.md: rules that change only with evidence."""
