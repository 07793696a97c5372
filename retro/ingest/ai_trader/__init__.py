"""AI-Trader: position.jsonl with the logs of its sessions, and the price files its trades were filled from."""
