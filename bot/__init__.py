"""What meets the world: the bot, the command line `porchbot`, and the sandbox forge."""
