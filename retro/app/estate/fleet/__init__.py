"""All agents at once: their facts, marks, outcomes and reviews as files of columns, for questions no single agent has."""
