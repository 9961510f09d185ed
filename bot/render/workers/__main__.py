"""`python -m bot.render.workers MEMORY_BYTES`: the process that workers are forked from.

What it imports stays as long as it lives: to look for cycles in it takes a twelfth of the start.
"""

import gc

gc.disable()

from bot.render.workers import forkserver  # noqa: E402 - after the collector was stopped

if __name__ == "__main__":
    forkserver.main()
