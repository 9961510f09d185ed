"""Telling whether a merged value differs from kpt's on purpose, and by which entry.

Every difference is explained by itself from the three states; one that is not explained makes
the whole unexplained. The entries are D20 to D24 and D29 to D31 of docs/deviations.md.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cadlib.merge.conflicts import ABSENT, Absent
from cadlib.merge.fields import alike
from cadlib.package.files import Files
from cadlib.package.source import ref
from tests.cases.compare import Parsed, documents

LEFTOVER, ELEMENT, MAPPING, ORDER, COMMENTS = "D20", "D21", "D22", "D23", "D24"
ONE_VALUE, NULLED, EMPTIED = "D29", "D30", "D31"


def explained(expected: Any, actual: Any, origin: Any, local: Any, updated: Any) -> set[str]:
    """Return the entries that explain all differences of two values; empty if one is not.

    Args:
        expected: What kpt gives; ABSENT where it gives nothing.
        actual: What we give, likewise.
        origin: What both sides began with, and so on: ABSENT where there is nothing.
        local: The local state.
        updated: The state upstream.
    """
    found = set(_walk(expected, actual, (origin, local, updated)))
    return set() if "" in found else found


def _walk(expected: Any, actual: Any, states: tuple[Any, Any, Any]) -> Iterator[str]:
    if alike(expected, actual):
        return
    _, local, updated = states
    if _is_lost(actual, states):
        yield ""
        return
    if actual is None and expected is ABSENT and updated is None and alike(states[0], local):
        yield NULLED
        return
    if actual in ([], {}) and alike(actual, updated) and not isinstance(expected, dict):
        mixed = {type(each) for each in states} >= {list, dict}
        yield ONE_VALUE if mixed else EMPTIED
        return
    gone_on_a_side = local is ABSENT or updated is ABSENT
    if actual is ABSENT and _hollow(expected) and {} not in (local, updated):
        yield LEFTOVER
    elif isinstance(expected, dict) and gone_on_a_side and _is_one_side(actual, states):
        yield MAPPING if _partial(expected, actual) else ""
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key in expected.keys() | actual.keys():
            inner = (_at(each, key) for each in states)
            yield from _walk(expected.get(key, ABSENT), actual.get(key, ABSENT), (*inner,))
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _lists(expected, actual, states)
    elif isinstance(expected, list) and actual is ABSENT and gone_on_a_side:
        yield from _lists(expected, [], states)
    else:
        yield ""


def _lists(expected: list[Any], actual: list[Any], states: tuple[Any, Any, Any]) -> Iterator[str]:
    _, local, updated = states
    if _unordered(expected) == _unordered(actual):
        yield ORDER if alike(actual, updated) else ""
        return
    whole = [each for state in (local, updated) if isinstance(state, list) for each in state]
    left = list(actual)
    for element in expected:
        same = next((each for each in left if alike(each, element)), None)
        filled = next((each for each in left if alike(_filled(element), each)), None)
        fuller = next((each for each in left if _partial(element, each) and each in whole), None)
        if same is not None:
            left.remove(same)
        elif filled is not None:
            left.remove(filled)
            yield LEFTOVER
        elif fuller is not None:
            left.remove(fuller)
            yield ELEMENT
        else:  # of an element that one side removed, kpt keeps what the other added to it
            yield ELEMENT if _hollow(element) or _half_of_one(element, states) else ""
    if left:  # of an element that upstream only took something from, kpt keeps nothing at all
        yield ELEMENT if all(each in whole for each in left) else ""


def _unordered(items: list[Any]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in items)


def _half_of_one(element: Any, states: tuple[Any, Any, Any]) -> bool:
    _, local, updated = states
    found = [each for each in (local, updated) if isinstance(each, list)]
    holders = [state for state in found if any(_partial(element, each) for each in state)]
    return len(holders) == 1


def _partial(part: Any, whole: Any) -> bool:
    """Say whether a value is another with something left out of its mappings."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return part.keys() <= whole.keys() and all(
            _hollow(value) or _partial(value, whole[key]) for key, value in part.items()
        )
    if isinstance(part, list) and isinstance(whole, list):
        return all(any(_partial(each, other) for other in whole) for each in part)
    # kpt writes merge keys back as texts: `port: "80"`.
    return isinstance(whole, Absent) or alike(part, whole) or part == str(whole)


def _is_lost(actual: Any, states: tuple[Any, Any, Any]) -> bool:
    """Say whether only one side changed a value, and that is not what came out."""
    origin, local, updated = states
    if alike(origin, local):
        return not alike(actual, updated)
    return alike(origin, updated) and not alike(actual, local)


def _is_one_side(actual: Any, states: tuple[Any, Any, Any]) -> bool:
    return any(alike(actual, side) for side in states[1:])


def _hollow(value: Any) -> bool:
    return value == [] or (isinstance(value, dict) and all(map(_hollow, value.values())))


def _filled(value: Any) -> Any:
    """Return a value without the mappings and lists in it that hold nothing."""
    if isinstance(value, dict):
        return {key: _filled(each) for key, each in value.items() if not _hollow(each)}
    return [_filled(each) for each in value] if isinstance(value, list) else value


def _at(value: Any, key: str) -> Any:
    return value.get(key, ABSENT) if isinstance(value, dict) else ABSENT


def explained_files(
    paths: Iterable[str], expected: Files, actual: Files, states: Sequence[Files]
) -> set[str]:
    """Return the entries that explain how these files differ; empty if one is not explained.

    Args:
        paths: The files that differ.
        expected: What kpt gives.
        actual: What we give.
        states: The package as both sides began with it, the local one, and the one upstream.
    """
    found: set[str] = set()
    for path in paths:
        entries = _file(path, expected, actual, states)
        if not entries:
            return set()
        found |= entries
    return found


def _file(path: str, expected: Files, actual: Files, states: Sequence[Files]) -> set[str]:
    wanted, ours = _by_name(path, expected), _by_name(path, actual)
    sides = [_by_name(path, files) for files in states]
    if not wanted or wanted.keys() != ours.keys():
        return set()
    found: set[str] = set()
    for name in wanted:
        values = [each[name].value if name in each else ABSENT for each in sides]
        if not alike(wanted[name].value, ours[name].value):
            entries = explained(wanted[name].value, ours[name].value, *values)
            if not entries:
                return set()
            found |= entries
        theirs = _comments(sides[2][name]) if name in sides[2] else Counter()
        more = _comments(ours[name]) - _comments(wanted[name])
        if _comments(wanted[name]) - _comments(ours[name]) or more - theirs:
            return set()
        found |= {COMMENTS} if more else set()
    return found


def _by_name(path: str, files: Files) -> dict[str, Parsed]:
    """Return the documents of a file by kind and name, without kpt's notes."""
    if path not in files or not path.endswith((".yaml", ".yml")):
        return {}
    found = documents(files[path].data, noise=False)
    named = {f"{ref(each.value).kind}/{ref(each.value).name}": each for each in found}
    return named if len(named) == len(found) else {}


def _comments(document: Parsed) -> Counter[str]:
    return Counter([*document.comments.values(), *document.standing])
