"""`python -m bot.cli`: the command without an installed script."""

from bot.cli import main

main()
