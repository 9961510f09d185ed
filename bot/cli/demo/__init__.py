"""The demo and the playground: the sandbox forge, the bot and its parts, run as processes."""
