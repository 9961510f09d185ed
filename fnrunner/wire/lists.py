"""Lists of resources that are sent again with little changed: only what differs travels.

A package goes through several functions, and again after each push, and its list is mostly the
same. To send 2,500 resources over gRPC takes as long as several functions on them. So a caller
gives each list a name that nobody can guess. A runner that keeps it says so; the next list is sent
as the name of the last one, how much of its beginning and end stay, and what stands between.

A runner that knows nothing of this never says that it keeps one, and is sent whole lists. One that
has forgotten the list, or another one behind the same address, does not say that it understood,
whatever it answers: then the whole list is sent after all.
"""

import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from fnrunner.contract.run import MIB
from fnrunner.wire import shared as wire

LEAST: Final = 64 * 1024
"""Bytes; to send a shorter list takes no time."""
SENT_BYTES: Final = 8 * MIB
"""How much a client keeps of what it sent."""
KEPT_BYTES: Final = 32 * MIB
"""How much a runner keeps of what it was sent."""

_NAME: Final = re.compile(r"[0-9a-f]{32}")
_FROM: Final = re.compile(r"([0-9a-f]{32}) ([0-9]{1,9}) ([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class SentList:
    """How a list is sent.

    Attributes:
        data: What travels of it.
        name: What it is called; "" for one that is not worth it.
        metadata: Of the request.
        part: `data` is not all of it.
    """

    data: bytes
    name: str = ""
    metadata: tuple[tuple[str, str], ...] = ()
    part: bool = False


class SentLists:
    """What a client sent last, by whom it was for."""

    def __init__(self, limit_bytes: int = SENT_BYTES) -> None:
        self._kept = _Bounded(limit_bytes)  # text of a list by its name
        self._last: dict[str, str] = {}  # name by whom it was for

    def of(self, caller: str, resources: bytes) -> SentList:
        """Return how to send a list.

        Args:
            caller: Whom it is for; most alike is what was sent for the same.
            resources: The list.
        """
        if len(resources) < LEAST:
            return SentList(resources)
        name = secrets.token_hex(16)
        named = ((wire.LIST_KEY, name),)
        base = self._last.get(caller, "")
        last = self._kept.get(base)
        if last is None:
            return SentList(resources, name, named)
        begin, end = alike(last, resources)
        data = resources[begin : len(resources) - end]
        if len(data) > len(resources) // 2:
            return SentList(resources, name, named)
        return SentList(data, name, (*named, (wire.FROM_KEY, f"{base} {begin} {end}")), part=True)

    def told(self, caller: str, sent: SentList, resources: bytes) -> None:
        """Take down that the runner keeps a list."""
        if self._last.get(caller, "") in self._kept:
            self._kept.drop(self._last[caller])
        self._kept.put(sent.name, resources)
        self._last[caller] = sent.name
        if len(self._last) > 2 * len(self._kept) + 8:  # of those that went nothing is left
            self._last = {who: name for who, name in self._last.items() if name in self._kept}

    def forget(self, caller: str) -> None:
        """The runner does not keep what was sent last."""
        self._kept.drop(self._last.pop(caller, ""))


class KeptLists:
    """What a runner was sent, by its name.

    Args:
        limit_bytes: How much is kept; 0 for nothing, and nobody is told otherwise.
        message_bytes: How long a list may be.
    """

    def __init__(self, limit_bytes: int, message_bytes: int) -> None:
        self._kept = _Bounded(limit_bytes)
        self._longest = message_bytes

    def whole(self, data: bytes, metadata: Iterable[Any] | None) -> bytes | None:
        """Return the list of a request.

        Args:
            data: What came of it.
            metadata: Of the request.

        Returns:
            None where what it is a part of is not kept, or it would be too long.
        """
        said = wire.text(metadata, wire.FROM_KEY)
        if not said:
            return data
        found = _FROM.fullmatch(said)
        base = self._kept.get(found[1]) if found else None
        if found is None or base is None:
            return None
        begin, end = int(found[2]), int(found[3])
        if begin + end > len(base) or begin + len(data) + end > self._longest:
            return None
        return b"".join((base[:begin], data, base[len(base) - end :]))

    def keep(self, resources: bytes, metadata: Iterable[Any] | None) -> tuple[tuple[str, str], ...]:
        """Keep a list where the caller gave it a name; returns what to tell it.

        It takes the place of the one that it was sent as a part of: `SentLists` names that no more.
        """
        name = wire.text(metadata, wire.LIST_KEY)
        if not _NAME.fullmatch(name) or not self._kept.put(name, resources):
            return ()
        base = _FROM.fullmatch(wire.text(metadata, wire.FROM_KEY))
        if base is not None and base[1] != name:
            self._kept.drop(base[1])
        return ((wire.LIST_KEY, name),)


class _Bounded:
    """Texts by name; what was used longest ago goes first."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._used = 0

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, name: str) -> bool:
        return name in self._texts

    def get(self, name: str) -> bytes | None:
        if name in self._texts:
            self._texts.move_to_end(name)
        return self._texts.get(name)

    def put(self, name: str, text: bytes) -> bool:
        if len(text) > self._limit:
            return False
        self.drop(name)
        self._texts[name] = text
        self._used += len(text)
        while self._used > self._limit:
            self._used -= len(self._texts.popitem(last=False)[1])
        return True

    def drop(self, name: str) -> None:
        self._used -= len(self._texts.pop(name, b""))


def alike(one: bytes, other: bytes) -> tuple[int, int]:
    """Return how many bytes at the beginning and at the end of two texts are equal.

    Together they are at most as many as the shorter text has.
    """
    shorter = min(len(one), len(other))
    begin = _most(shorter, lambda low, high: one[low:high] == other[low:high])
    last, least = len(one), len(other)
    end = _most(
        shorter - begin,
        lambda low, high: one[last - high : last - low] == other[least - high : least - low],
    )
    return begin, end


def _most(high: int, equal: Callable[[int, int], bool]) -> int:
    """Return the largest number up to `high` for which all before it is equal."""
    if equal(0, high):
        return high
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        if equal(low, middle):
            low = middle
        else:
            high = middle
    return low
