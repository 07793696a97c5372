"""What screens ask: answered from what is stored, as it stands. Nothing here settles, computes a life or writes."""
