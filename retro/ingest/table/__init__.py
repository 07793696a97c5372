"""Any table of trades or decisions, read as a mapping in TOML says."""
