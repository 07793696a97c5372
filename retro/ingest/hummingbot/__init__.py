"""hummingbot: its SQLite database and the CSV of trades beside it, executors, funding, liquidity positions."""
