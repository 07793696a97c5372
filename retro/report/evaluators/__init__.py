"""What the evaluators answer: rows as `--json` prints them."""
