"""The bot against a forge in process: many histories, drawn from seeds, each judged."""
