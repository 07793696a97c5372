"""What an agent's own claims were worth, and what if: questions about forecasts, confidence, rules and luck."""
