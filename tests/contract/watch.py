"""Watches a sandbox forge while a test runs: every answer and every webhook is validated.

A test attaches a watch to its forge and verifies it at its end::

    with watched(forge):
        ...

One validator serves the whole test session, so its counters say what all tests used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol

from tests.contract.descriptions import Exchange, Validator
from tests.contract.gitlab import GitLabValidator

MOST_TOLD = 25
"""How many different problems the failure names."""


class Watchable(Protocol):
    """The part of a forge that a watch needs: where observers are entered."""

    @property
    def observers(self) -> list[Callable[[Any], None]]:
        """Called with each exchange."""

    @property
    def webhook_observers(self) -> list[Callable[[str, Mapping[str, str], Any], None]]:
        """Called with event, headers and payload of each webhook."""


@cache
def session_validator() -> Validator:
    """Return the validator that all watches of this process share."""
    return Validator()


@cache
def gitlab_validator() -> GitLabValidator:
    """Return its like for GitLab's dialect."""
    return GitLabValidator()


class Watch:
    """Collects what was wrong with the answers and webhooks of one forge.

    Attributes:
        problems: Problem to how often it was seen, in the order of their first sight.
    """

    def __init__(self, validator: Validator | GitLabValidator | None = None) -> None:
        self.problems: dict[str, int] = {}
        self._validator = validator or session_validator()

    def attach(self, forge: Watchable) -> None:
        """Enter the observers; from now on everything that the forge sends is validated."""
        forge.observers.append(self.exchange)
        forge.webhook_observers.append(self.webhook)

    def exchange(self, exchange: Exchange) -> None:
        """Validate one exchange. An answer that a test's fault made says nothing of the forge."""
        if exchange.fault:
            return
        self._note(self._validator.answer(exchange))

    def webhook(self, event: str, headers: Mapping[str, str], payload: Any) -> None:
        """Validate one webhook: the payload, and that the headers name the same event."""
        self._note(self._validator.webhook(event, headers, payload))

    def verify(self) -> None:
        """Fail if anything was wrong.

        Raises:
            AssertionError: Names each different problem with its count.
        """
        if not self.problems:
            return
        lines = [f"  {count}x {problem}" for problem, count in self.problems.items()]
        rest = len(lines) - MOST_TOLD
        told = lines[:MOST_TOLD] + ([f"  and {rest} more"] if rest > 0 else [])
        raise AssertionError(
            f"the sandbox forge does not keep to {self._validator.forge}'s descriptions:\n"
            + "\n".join(told)
        )

    def _note(self, found: list[str]) -> None:
        for problem in found:
            self.problems[problem] = self.problems.get(problem, 0) + 1


@contextmanager
def watched(forge: Watchable, dialect: str = "github") -> Iterator[Watch]:
    """Validate everything that a forge sends within the block, and fail at its end if need be.

    A failure of the block itself goes first; then the problems are left to its own next run.

    Args:
        forge: What is watched.
        dialect: Which it speaks: "github" or "gitlab".
    """
    watch = Watch(gitlab_validator() if dialect == "gitlab" else session_validator())
    watch.attach(forge)
    yield watch
    watch.verify()
