"""`python -m fnrunner.builtin MEMORY_BYTES MESSAGE_BYTES`: a worker process of builtin functions.

What it imports stays as long as it lives: to look for cycles in it takes a twelfth of the start.
"""

import gc

gc.disable()

from fnrunner.builtin import work  # noqa: E402 - after the collector was stopped

if __name__ == "__main__":
    work.main()
