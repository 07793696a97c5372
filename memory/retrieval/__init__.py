"""What is asked of the memory: recall and listings."""
