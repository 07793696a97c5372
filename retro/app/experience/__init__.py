"""What reviews leave in the memory, and what owners and agents bring to it."""
