"""Progress of function runs on standard error, in kpt's format."""

import time
from collections.abc import Sequence

from bot.cli import terminal
from cadlib.render import status
from cadlib.render.calls import FunctionCall, Step

_MOST_LINES = 4


class RunReport:
    """Prints which functions run and their results.

    Args:
        name: Name of the root package's folder, for a rendering; "" for an evaluation.
        truncate: Show four lines at most of what a function said.
    """

    def __init__(self, name: str = "", *, truncate: bool = True) -> None:
        self._name = name
        self._most = _MOST_LINES if truncate else None
        self._package: str | None = None
        self._called: float | None = None

    def call(self, call: FunctionCall) -> None:
        """Say that a function starts."""
        count = f" on {len(call.items)} resource(s)" if call.counted else ""
        self._running(call.function, call.package, count)

    def step(self, step: Step) -> None:
        """Say how a function ended."""
        if not step.called:
            self._heading(step.package)
            return
        if self._called is None:
            self._running(step.function, step.package)
        taken = time.monotonic() - (self._called or 0)
        self._called = None
        verdict = "[PASS]" if step.ok else "[FAIL]"
        _say(f'{verdict} "{step.function}" in {_duration(taken)}')
        shown = map(status.line, step.said[: self._most])
        self._lines("[Results]:", list(shown), len(step.said))
        if step.log and not step.error:
            lines = step.log.split("\n")
            self._lines("Stderr:", lines[: self._most], len(lines))
        if not step.ok and not step.error:
            _say(f"  Exit code: {step.exit_code}")

    def end(self) -> None:
        """Close what was said about the last package."""
        if self._package is not None:
            _say("")
        self._package = None

    def _running(self, function: str, package: str, count: str = "") -> None:
        self._heading(package)
        where = f' on package "{self._full(package)}"' if self._name else ""
        _say(f'[RUNNING] "{function}"{count}{where}')
        self._called = time.monotonic()

    def _heading(self, package: str) -> None:
        if not self._name or package == self._package:
            return
        self.end()
        self._package = package
        _say(f'Package "{self._full(package)}":')

    def _full(self, package: str) -> str:
        return f"{self._name}/{package}" if package else self._name

    def _lines(self, title: str, shown: Sequence[str], count: int) -> None:
        if not count:
            return
        _say(f"  {title}")
        for line in shown:
            _say(f"    {line}")
        if count > len(shown):
            fix = "use '--truncate-output=false' to disable"
            _say(f"    ...({count - len(shown)} line(s) truncated, {fix})")


def _duration(seconds: float) -> str:
    """Return a time as Go writes it, cut to milliseconds."""
    thousandths = int(seconds * 1000)
    if thousandths < 1000:
        return f"{thousandths}ms" if thousandths else "0s"
    return f"{thousandths / 1000:g}s"


def _say(text: str) -> None:
    terminal.say(text, err=True)
