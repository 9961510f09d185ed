"""The coverage of operations and events survives the way from worker processes to the summary."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.contract import coverage
from tests.contract.coverage import CoveragePlugin
from tests.contract.descriptions import Validator


class Terminal:
    """What a terminal reporter is asked to write."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def section(self, title: str) -> None:
        self.lines.append(title)

    write_line = section


def summary(plugin: CoveragePlugin) -> list[str]:
    terminal: Any = Terminal()
    plugin.pytest_terminal_summary(terminal)
    return list(terminal.lines)


def test_counters_of_workers_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cut: print what the first process saw; with workers that is nothing."""
    validator = Validator()
    validator.answers["GET", "/user", 200] = 2
    validator.webhooks["push"] = 3
    monkeypatch.setattr(coverage, "session_validator", lambda: validator)
    first = CoveragePlugin()
    for _ in range(2):
        session: Any = SimpleNamespace(config=SimpleNamespace(workeroutput={}))
        CoveragePlugin().pytest_sessionfinish(session)
        first.pytest_testnodedown(SimpleNamespace(workeroutput=session.config.workeroutput))
    first.pytest_testnodedown(SimpleNamespace())  # a worker that crashed hands over nothing
    told = summary(first)
    assert "  GET    /user  200x4" in told
    assert "  push x6" in told


def test_a_session_that_validated_nothing_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "session_validator", Validator)
    alone: Any = SimpleNamespace(config=SimpleNamespace())
    plugin = CoveragePlugin()
    plugin.pytest_sessionfinish(alone)
    assert summary(plugin) == []
