"""The operations of an API: which handler a method and a path have."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar
from urllib.parse import unquote

HandlerT = TypeVar("HandlerT")
NeedT = TypeVar("NeedT")


@dataclass(frozen=True, slots=True)
class Route(Generic[HandlerT, NeedT]):
    """An operation: its handler, how its paths look, and what its caller needs."""

    method: str
    template: str
    handler: HandlerT
    pattern: re.Pattern[str]
    need: NeedT


class Routes(Generic[HandlerT, NeedT]):
    """All operations of one dialect, tried in the order they were made known.

    A template with a greedy parameter in the middle stands before the one that it would be
    swallowed by.

    Args:
        regex: Turns a template into a regular expression with its parameters as groups.
    """

    def __init__(self, regex: Callable[[str], str]) -> None:
        self._regex = regex
        self._known: dict[str, list[Route[HandlerT, NeedT]]] = {}
        self._found = lru_cache(maxsize=1024)(self._sought)  # whoever waits asks for the same paths

    def add(self, method: str, template: str, handler: HandlerT, need: NeedT) -> None:
        """Make an operation known."""
        pattern = re.compile(self._regex(template))
        made = Route(method, template, handler, pattern, need)
        self._known.setdefault(method, []).append(made)
        self._found.cache_clear()

    def listed(self) -> list[tuple[str, str]]:
        """All operations: method and template."""
        return [(each.method, each.template) for found in self._known.values() for each in found]

    def find(self, method: str, path: str) -> tuple[Route[HandlerT, NeedT], dict[str, str]] | None:
        """The operation of a path, and its parameters without quotes; None when there is none.

        Args:
            method: HTTP method.
            path: Below the API's own address, quoted.
        """
        found = self._found(method, path)
        return None if found is None else (found[0], dict(found[1]))

    def _sought(
        self, method: str, path: str
    ) -> tuple[Route[HandlerT, NeedT], dict[str, str]] | None:
        for candidate in self._known.get(method, ()):
            match = candidate.pattern.fullmatch(path)
            if match is not None:
                return candidate, {k: unquote(v or "") for k, v in match.groupdict().items()}
        return None

    def methods(self, path: str) -> list[str]:
        """Methods that some operation of a path has."""
        return [method for method in self._known if self.find(method, path) is not None]
