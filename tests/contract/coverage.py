"""Collects which operations and events of the descriptions the tests used, and prints it.

With several worker processes each hands its counters to the first at its end.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.contract.descriptions import Validator
from tests.contract.watch import session_validator

_KEY = "contract_coverage"


class CoveragePlugin:
    """The hooks of pytest; registered once by `tests/conftest.py`."""

    def __init__(self) -> None:
        self._answers: Counter[tuple[str, str, int]] = Counter()
        self._webhooks: Counter[str] = Counter()

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand a worker's counters over; keep those of a process that works alone."""
        validator = session_validator()
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_KEY] = {
                "answers": [[*key, count] for key, count in validator.answers.items()],
                "webhooks": dict(validator.webhooks),
            }
            return
        self._answers.update(validator.answers)
        self._webhooks.update(validator.webhooks)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the counters of a worker that is done; one that crashed has none."""
        handed = getattr(node, "workeroutput", {}).get(_KEY)
        if handed is None:
            return
        for method, template, status, count in handed["answers"]:
            self._answers[method, template, status] += count
        self._webhooks.update(handed["webhooks"])

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the coverage if any answer or webhook was validated."""
        if self._answers or self._webhooks:
            terminalreporter.section("sandbox forge against GitHub's descriptions")
            for line in report(self._answers, self._webhooks, Validator()):
                terminalreporter.write_line(line)


def report(
    answers: Counter[tuple[str, str, int]], webhooks: Counter[str], described: Validator
) -> list[str]:
    """Return the lines that say what was used, and what of the descriptions was not.

    Args:
        answers: (method, template, status) to how often it was validated.
        webhooks: `event/action` to how often it was validated.
        described: Knows the operations and events that are described.
    """
    used: dict[tuple[str, str], Counter[int]] = {}
    for (method, template, status), count in sorted(answers.items()):
        used.setdefault((method, template), Counter())[status] += count
    known = set(described.operations)
    lines = [
        f"operations used: {len(used.keys() & known)} of {len(known)};"
        f" answers validated: {answers.total()}"
    ]
    for (method, template), statuses in sorted(used.items(), key=lambda item: item[0][::-1]):
        counts = " ".join(f"{status}x{count}" for status, count in sorted(statuses.items()))
        lines.append(f"  {method:<6} {template}  {counts}")
    lines += [f"  unused: {method} {template}" for method, template in sorted(known - used.keys())]
    events = set(described.events)
    lines.append(
        f"events used: {len(webhooks.keys() & events)} of {len(events)};"
        f" webhooks validated: {webhooks.total()}"
    )
    lines += [f"  {name} x{count}" for name, count in sorted(webhooks.items())]
    if events - webhooks.keys():
        lines.append("  unused: " + ", ".join(sorted(events - webhooks.keys())))
    return lines
