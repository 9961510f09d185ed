"""Forges: what the bot asks of one (`port`), and an adapter for each kind that answers."""
