"""Hyperliquid: the website's CSV exports, answers of its public API, and what spreadsheets make of either."""
