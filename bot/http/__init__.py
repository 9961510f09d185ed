"""The HTTP server of the bot: webhooks, health and metrics."""
