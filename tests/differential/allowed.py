"""What an update may leave otherwise than kpt does, each by its entry in docs/deviations.md."""

from collections.abc import Mapping, Sequence

from cadlib.errors import PackageError
from cadlib.package.files import KPTFILE, SYMLINK, Entry, Files, name
from cadlib.yaml import Value
from tests.cases import compare

_BLUEPRINT = "cnrm.cloud.google.com/blueprint"


def differences(theirs: Files, ours: Files, upstream: Files, strategy: str) -> dict[str, str]:
    """Compare what both tools left; return the difference of each path.

    Args:
        theirs: What kpt left.
        ours: What porchbot left.
        upstream: The new version.
        strategy: How they merged.
    """
    rules = {"kptfile": "semantic", "other_files": "documents"}
    found = compare.differences(theirs, ours, rules, noise=False)
    return {
        path: text
        for path, text in found.items()
        if not _allowed(theirs.get(path), ours.get(path), path, upstream, strategy)
    }


def _allowed(
    theirs: Entry | None, ours: Entry | None, path: str, upstream: Files, strategy: str
) -> bool:
    if theirs is None or ours is None:
        return theirs is None and ours is not None and ours.mode == SYMLINK  # D48
    if path == KPTFILE and strategy != "resource-merge":
        return _follows(ours, upstream)  # D53
    if _ignored(path, upstream) and ours == upstream.get(path):
        return True  # D54
    left, right = _plain(theirs), _plain(ours)
    return left is not None and left == right


def _follows(kptfile: Entry, upstream: Files) -> bool:
    """Say whether a Kptfile has what upstream's says, beside what is the user's own (D53)."""
    (mine,), (there,) = (compare.documents(e.data) for e in (kptfile, upstream[KPTFILE]))
    assert isinstance(mine.value, dict)
    assert isinstance(there.value, dict)
    fields = there.value.keys() - {"metadata", "info", "upstream", "upstreamLock"}
    return all(_holds(mine.value.get(key), there.value[key]) for key in fields)


def _holds(mine: Value, there: Value) -> bool:
    match mine, there:
        case dict(), dict():
            return all(_holds(mine.get(key), each) for key, each in there.items())
        case list(), list():
            return all(any(_holds(one, each) for one in mine) for each in there)
        case _:
            return mine == there


def _ignored(path: str, files: Files) -> bool:
    listed = files[".krmignore"].data.decode().split() if ".krmignore" in files else []
    return name(path) in listed


def _plain(entry: Entry) -> list[tuple[Value, list[str]]] | None:
    """The documents of a file, without what stands above the first field, which kpt loses (D40).

    Of ports the order does not count (D23), nor nulls (D30), empty annotations and those that kpt
    adds (D40).
    """
    try:
        found = compare.documents(entry.data, noise=False)
    except PackageError:
        return None
    return [(_value(each.value), sorted(each.comments.values())) for each in found]


def _value(value: Value) -> Value:
    match value:
        case dict():
            kept = {key: _field(key, each) for key, each in value.items() if each is not None}
            return {key: each for key, each in kept.items() if key != "annotations" or each}
        case list():
            return [_value(each) for each in value]
        case _:
            return value


def _field(key: str, value: Value) -> Value:
    if key == "annotations" and isinstance(value, Mapping):
        return {note: text for note, text in value.items() if note != _BLUEPRINT}
    if key == "ports" and isinstance(value, Sequence):
        return [*sorted(map(repr, map(_value, value)))]
    return _value(value)
