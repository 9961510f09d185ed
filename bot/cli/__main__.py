"""`porchbot`, and `python -m bot.cli`."""

import gc
import os
import sys
from contextlib import suppress

from bot.cli import failure
from bot.cli.root import ALIASES, main

_SHORT = frozenset(("check", "fn", "pkg"))
"""Commands that do one thing and end."""


def run() -> None:
    """Run the command."""
    if sys.argv[1:2] and ALIASES.get(sys.argv[1], sys.argv[1]) in _SHORT:
        _run_short()
    try:
        main()
    except Exception as error:
        sys.exit(failure.tell(error, sys.argv[1] if sys.argv[1:] else ""))


def _run_short() -> None:
    """Run a command that ends soon, and end the process when it has.

    A large package is some hundred thousand objects in no cycle: looking for cycles among them
    and taking them apart one by one at the end takes a fifth of such a command's time.
    """
    gc.disable()
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception as error:
        code = failure.tell(error, sys.argv[1] if sys.argv[1:] else "")
    else:
        code = 0
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None: closed from the start
        try:
            stream.flush()
        except BrokenPipeError:
            continue  # whoever read it has seen enough
        except OSError as error:
            code = 1
            with suppress(OSError):
                os.write(2, f"error: {error.strerror}\n".encode())
    os._exit(code)


if __name__ == "__main__":
    run()
