"""The bot: fetches facts, carries out actions, serves webhooks."""
