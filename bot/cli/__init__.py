"""The command line `porchbot`: packages on disk, the bot and its parts as servers, the demo."""
