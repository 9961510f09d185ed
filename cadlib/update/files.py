"""Three-way merge of whole files: those of a package that hold no resources.

Rules
- What only one side changed is taken from that side; a mode and a content are merged apart.
- Where both changed, the local file stays as it is (so does kpt), and a conflict says so.
- A file that was deleted locally stays deleted; kpt would bring it back.

Source: kptdev/kpt, pkg/lib/update/resource-merge.go, `ReplaceNonKRMFiles`.
"""

from collections.abc import Iterator

from cadlib.merge.conflicts import ABSENT, Absent, Conflict
from cadlib.package.files import SYMLINK, Entry, Files


def merge_files(
    origin: Files,
    local: Files,
    updated: Files,
    *,
    whole: str = "contains no resources to merge",
) -> tuple[dict[str, Entry], tuple[Conflict, ...]]:
    """Merge files that differ between two versions of upstream into the local ones.

    Args:
        origin: Upstream's files when the local ones were taken from them.
        local: The local files.
        updated: Upstream's files now.
        whole: Why a file that both sides changed is not merged inside, for people.

    Returns:
        The files by path, sorted, and the conflicts; in each the local file was kept.
    """
    merged: dict[str, Entry] = {}
    conflicts: list[Conflict] = []
    for path in sorted({*origin, *local, *updated}):
        base, ours, theirs = origin.get(path), local.get(path), updated.get(path)
        entry = _merged(base, ours, theirs)
        if entry is not None:
            merged[path] = entry
        conflicts += _conflicts(path, base, ours, theirs, whole)
    return merged, tuple(conflicts)


def _merged(base: Entry | None, ours: Entry | None, theirs: Entry | None) -> Entry | None:
    if base is None or ours is None or theirs is None:
        return theirs if ours == base else ours
    if SYMLINK in (base.mode, ours.mode, theirs.mode):
        return theirs if ours == base else ours
    return Entry(
        theirs.data if ours.data == base.data else ours.data,
        theirs.mode if ours.mode == base.mode else ours.mode,
    )


def _conflicts(
    path: str, base: Entry | None, ours: Entry | None, theirs: Entry | None, whole: str
) -> Iterator[Conflict]:
    sides = (base, ours, theirs)
    links = any(each is not None and each.mode == SYMLINK for each in sides)
    contents = [each if each is None or links else each.data for each in sides]
    if contents[1] in (contents[0], contents[2]) or contents[0] == contents[2]:
        return
    yield Conflict(
        path=path,
        base=_shown(base),
        ours=_shown(ours),
        theirs=_shown(theirs),
        chosen="local",
        reason=_reason(base, ours, theirs, whole),
    )


def _reason(base: Entry | None, ours: Entry | None, theirs: Entry | None, whole: str) -> str:
    if base is None:
        return "both sides added the file, with different content"
    if ours is None:
        return "the file was deleted here and changed upstream"
    if theirs is None:
        return "the file was changed here and deleted upstream"
    return f"both sides changed the file, which {whole}"


def _shown(entry: Entry | None) -> str | Absent:
    """Return what a report shows of a file: no text of it, which may be a secret."""
    return ABSENT if entry is None else f"({len(entry.data)} bytes)"
