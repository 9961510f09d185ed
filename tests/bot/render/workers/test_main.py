"""Worker processes as programs: what starting one leaves switched off."""

import socket
import subprocess
import sys

import pytest

PROGRAM = """
import gc, runpy, sys
looked = []
gc.callbacks.append(lambda *_: looked.append("cadlib.yaml" in sys.modules))
runpy.run_module(sys.argv.pop(1), run_name="__main__")
print(gc.isenabled(), any(looked))
"""


@pytest.mark.parametrize("module", ["fnrunner.builtin", "bot.render.workers"])
def test_nothing_looks_for_cycles_in_what_is_imported_and_afterwards_it_does(module: str) -> None:
    """Short-cut: stop the collector, and let what a bug leaves in circles fill the memory."""
    ours, theirs = socket.socketpair()
    ours.close()  # so it ends once it has started
    with theirs:
        done = subprocess.run(
            [sys.executable, "-P", "-c", PROGRAM, module, "1000000000", "1000000"],
            stdin=theirs.fileno(),
            capture_output=True,
            text=True,
            check=True,
        )

    assert done.stdout.split() == ["True", "False"]
