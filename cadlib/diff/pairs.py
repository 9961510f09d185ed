"""Which resource became which, between two states of a package.

Rules, in this order; what is paired by one is not looked at by the next:
- the same name (apiVersion, kind, namespace, name) in the same file;
- the same name in another file: it moved;
- the same group, kind and name in the same file, then in another: its namespace or its
  version changed;
- the same group and kind in the same file, if at least half of it is the same: it was
  renamed.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from cadlib.findings import ResourceRef
from cadlib.yaml import Value, same


@dataclass(frozen=True, slots=True, eq=False)
class FoundResource:
    """A resource in one of the two states.

    Attributes:
        path: Its file.
        value: Its value.
        ref: What it is called.
        text: Its text, comments included.
    """

    path: str
    value: Value
    ref: ResourceRef
    text: str

    @property
    def general(self) -> tuple[str, str, str]:
        """Its group, kind and name."""
        return self.ref.api_version.rpartition("/")[0], self.ref.kind, self.ref.name


def pair(
    before: Sequence[FoundResource], after: Sequence[FoundResource]
) -> tuple[list[tuple[FoundResource | None, FoundResource]], list[FoundResource]]:
    """Return what is there now, each with what it was or None, and what is gone."""
    origins: dict[FoundResource, FoundResource] = {}
    gone = list(before)
    for key in _KEYS:
        gone = _match(gone, (each for each in after if each not in origins), key, origins)
    gone = _match_renamed(gone, (each for each in after if each not in origins), origins)
    return [(origins.get(each), each) for each in after], gone


_KEYS: tuple[Callable[[FoundResource], Hashable], ...] = (
    lambda each: (each.path, each.ref),
    lambda each: each.ref,
    lambda each: (each.path, each.general),
    lambda each: each.general,
)


def _match(
    gone: list[FoundResource],
    left: Iterable[FoundResource],
    key: Callable[[FoundResource], Hashable],
    origins: dict[FoundResource, FoundResource],
) -> list[FoundResource]:
    """Pair what has the same key, the first with the first; return what is still gone."""
    if not gone:
        return gone
    by_key: dict[Hashable, list[FoundResource]] = defaultdict(list)
    for each in reversed(gone):
        by_key[key(each)].append(each)
    for each in left:
        if by_key.get(key(each)):
            origins[each] = by_key[key(each)].pop()
    used = set(origins.values())
    return [each for each in gone if each not in used]


def _match_renamed(
    gone: list[FoundResource],
    left: Iterable[FoundResource],
    origins: dict[FoundResource, FoundResource],
) -> list[FoundResource]:
    if not gone:
        return gone
    by_kind: dict[Hashable, list[FoundResource]] = defaultdict(list)
    for was in gone:
        by_kind[was.path, was.general[:2]].append(was)
    for now in left:
        candidates = by_kind[now.path, now.general[:2]]
        origin = next((was for was in candidates if _is_alike(was.value, now.value)), None)
        if origin is not None:
            origins[now] = origin
            candidates.remove(origin)
    used = set(origins.values())
    return [each for each in gone if each not in used]


def _is_alike(old: Value, new: Value) -> bool:
    """Tell whether at least half of what two resources hold beside their names is the same."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return False
    keys = (old.keys() | new.keys()) - {"apiVersion", "kind", "metadata"}
    shared, every = _shared(old, new, keys)
    return 2 * shared >= every > 0


def _shared(old: dict[str, Value], new: dict[str, Value], keys: set[str]) -> tuple[int, int]:
    """Return how many of some keys have the same value, and how many there are."""
    if len(keys) == 1:  # such as spec alone: what is in it decides
        (key,) = keys
        left, right = old.get(key), new.get(key)
        if isinstance(left, dict) and isinstance(right, dict):
            return _shared(left, right, left.keys() | right.keys())
    return sum(same(old.get(key), new.get(key)) for key in keys), len(keys)
