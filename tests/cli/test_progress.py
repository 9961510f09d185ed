"""On a terminal a long command says what it is at; elsewhere it says nothing more than before."""

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bot.cli import progress

CHECKOUT = Path(__file__).resolve().parents[2]
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"
COMMAND = """
import sys
from bot.cli import progress
from bot.cli.root import main

progress.EVERY = float(sys.argv[1])
main(sys.argv[2:], standalone_mode=True)
"""


def said(tmp_path: Path, *args: str, every: float = 0.2) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(every), *args],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )
    os.close(theirs)
    text = b""
    try:
        while data := os.read(ours, 4096):
            text += data
    except OSError:  # Linux's way to say that the other end is closed
        pass
    finally:
        os.close(ours)
    assert process.wait() == 0, text
    return text.decode().replace("\r\n", "\n")


def package(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/Kptfile").write_text(KPTFILE)


def test_a_long_function_is_told_line_by_line(tmp_path: Path) -> None:
    """The short-cut draws a bar with a thread, after which no process may be forked."""
    package(tmp_path)
    script = tmp_path / "slow.sh"
    script.write_text("#!/bin/sh\nsleep 0.7\nexec cat\n")
    script.chmod(0o755)

    text = said(tmp_path, "fn", "eval", "p", "--exec", str(script))

    told = f'... running "{script}" on 1 resources, '
    assert [line for line in text.splitlines() if line.startswith(told)]
    # On a busy machine the timer may tick before and after the function runs.
    lines = [line for line in text.splitlines() if not line.startswith("... ")]
    assert lines[0] == f'[RUNNING] "{script}"'
    assert lines[-1].startswith(f'[PASS] "{script}" in ')


def test_what_is_soon_done_says_nothing(tmp_path: Path) -> None:
    package(tmp_path)

    assert said(tmp_path, "fn", "source", "p", every=60) == ""


def test_without_a_terminal_nothing_is_told(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.01)
    with progress.reported():
        time.sleep(0.05)

    assert capfd.readouterr() == ("", "")
