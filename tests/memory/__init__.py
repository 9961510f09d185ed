"""The bot's ports in memory: what tests and simulations give it in place of the real ones."""
