"""Positions of Uniswap v3 and of what shares its manager's events: Dune exports as CSV, The Graph's answers as JSON."""
