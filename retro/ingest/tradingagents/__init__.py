"""TradingAgents: its memory log and the logs of its full states; decisions and what became of them, no fills."""
