"""What an agent's own claims were worth: its forecasts, and the confidence it stated in them."""
