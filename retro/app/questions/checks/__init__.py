"""What sources computed themselves, beside our figures: the list, and how many of it agree."""
