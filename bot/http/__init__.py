"""The bot's HTTP door: webhooks in, health and metrics out."""
