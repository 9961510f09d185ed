"""What processes are forked with; it stays, and is read without a look for cycles in it."""

import gc
from importlib import import_module

gc.disable()
for name in ("bot.cli.root", "bot.serve", "fnrunner.pods.server"):
    import_module(name)
gc.freeze()
gc.enable()
