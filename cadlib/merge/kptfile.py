"""Three-way merge of a Kptfile, written into the local one's text.

Rules
- Labels, annotations, `info`, `pipeline`, `inventory` and `status` are merged as
  `cadlib.merge.documents` says; the name and the namespace stay the local ones. `upstream` and
  `upstreamLock` are upstream's or the local ones, never a mixture.
- Between two branches of one package nothing is anybody's own: name, namespace and status are
  merged too, and each address is that of the side that changed it; if both did, that is told.
- Functions are the same if they have the same name; where none has one, if they have the
  same image, whatever its tag or digest, or the same command. Where neither tells them
  apart the list is one value, as in kpt.
- Other than kpt: what a render left in upstream's `status` does not come along, the port
  of a registry is part of an image's name, and comments arrive and stay.

Source: kptdev/kpt, pkg/kptfile/kptfileutil/util.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cadlib import images
from cadlib.kptfile import reader as kptfile
from cadlib.kptfile import text as kptfile_text
from cadlib.kptfile.edit import without_render_status
from cadlib.merge.conflicts import ABSENT, Absent, Conflict, Side
from cadlib.merge.documents import MergedDocument, merge_documents
from cadlib.merge.elements import Known
from cadlib.merge.policy import ConflictPolicy
from cadlib.package.files import KPTFILE
from cadlib.yaml import Document, Value, read

_OWN = ("name", "namespace")
_ADDRESS = ("upstream", "upstreamLock")
# What is left of one of these when its last field goes is `{}`, as in kpt.
_SECTIONS = ("info", "pipeline", "inventory", "status")
_STEPS = ("mutators", "validators")
# No name of a function begins so: it is the one that kpt uses for the same.
_MARK = "_kpt-merge_"


def merge(
    origin: bytes | None,
    local: bytes,
    updated: bytes,
    *,
    update_upstream: bool,
    policy: ConflictPolicy = ConflictPolicy.UPSTREAM,
    path: str = KPTFILE,
) -> tuple[bytes, tuple[Conflict, ...]]:
    """Merge one Kptfile.

    Args:
        origin: What both sides began with; None if they began apart.
        local: The local Kptfile.
        updated: The Kptfile upstream.
        update_upstream: Take upstream's `upstream` and `upstreamLock`, each if it is there.
        policy: Who wins a conflict.
        path: Path of the local file, for conflicts and messages.

    Returns:
        The local file with the changes in it, and every conflict.

    Raises:
        PackageError: One of them is no Kptfile, or a change does not fit into the text.
    """
    ours, theirs = _read(local, path), _read(updated, f"{path} (upstream)")
    base = None if origin is None else _read(origin, f"{path} (before)")
    root = _map(ours.value)
    shared = None if base is None else _shared(base, root)
    merged = _merged(shared, ours, _shared(theirs, root), policy, path)
    wanted = _wanted(merged, root)
    if update_upstream:
        wanted |= {key: value for key, value in _map(theirs.value).items() if key in _ADDRESS}
    data = kptfile_text.write(local, wanted, path=path, like=theirs, comments=merged.comments)
    return data, tuple(_plain(each) for each in merged.conflicts)


def merge_branches(
    origin: bytes, local: bytes, updated: bytes, *, path: str = KPTFILE
) -> tuple[bytes, tuple[Conflict, ...]]:
    """Merge the Kptfile of one package, changed on two branches.

    Args:
        origin: What both branches began with.
        local: That of the branch that is written to.
        updated: That of the other branch.
        path: Path of the file, for conflicts and messages.

    Returns:
        The local file with the changes in it, and every conflict.

    Raises:
        PackageError: One of them is no Kptfile, or a change does not fit into the text.
    """
    base, ours, theirs = (_read(each, path) for each in (origin, local, updated))
    root = _map(ours.value)
    merged = _merged(_here(base, root), ours, _here(theirs, root), ConflictPolicy.FAIL, path)
    wanted = _wanted(merged, root)
    conflicts = [_plain(each) for each in merged.conflicts]
    for key in _ADDRESS:
        before, mine, after = (_map(each.value).get(key, ABSENT) for each in (base, ours, theirs))
        if before == after or mine == after:
            continue
        if mine != before:
            conflicts.append(
                Conflict(
                    path=path,
                    field=key,
                    base=before,
                    ours=mine,
                    theirs=after,
                    chosen="upstream",
                    reason="changed on both sides",
                )
            )
        if isinstance(after, Absent):
            wanted.pop(key, None)
        else:
            wanted[key] = after
    data = kptfile_text.write(local, wanted, path=path, like=theirs, comments=merged.comments)
    return data, tuple(conflicts)


def _merged(
    base: Document | None, ours: Document, theirs: Document, policy: ConflictPolicy, path: str
) -> MergedDocument:
    """Merge what was made comparable; functions without names are told apart by their images."""
    values = [_map(each.value) for each in (base, theirs, ours) if each is not None]
    named = all(_told_apart(functions) for value in values for functions in _functions(value))
    if named:
        base, ours, theirs = base and _marked(base), _marked(ours), _marked(theirs)
    return merge_documents(base, ours, theirs, policy=policy, path=path, infer=True)


def _wanted(merged: MergedDocument, root: Mapping[str, Value]) -> dict[str, Value]:
    wanted = dict(_map(_unmarked(merged.value if isinstance(merged.value, dict) else dict(root))))
    return wanted | {key: {} for key in _SECTIONS if key in root and key not in wanted}


def _here(document: Document, local: Mapping[str, Value]) -> Document:
    """Return another side with the local addresses, which are not merged by field."""
    rest = {key: each for key, each in _map(document.value).items() if key not in _ADDRESS}
    own = {key: local[key] for key in _ADDRESS if key in local}
    return replace(document, value=rest | own)


def _read(data: bytes, path: str) -> Document:
    stream = read(data, path=path)
    kptfile.of_stream(stream, path)
    return kptfile_text.document(stream)[1]


def _shared(document: Document, local: Mapping[str, Value]) -> Document:
    """Return another side with the local values of what is not merged."""
    value = _map(document.value)
    metadata = {key: each for key, each in _map(value.get("metadata")).items() if key not in _OWN}
    own = {key: each for key, each in _map(local.get("metadata")).items() if key in _OWN}
    shared: dict[str, Value] = {
        key: each for key, each in value.items() if key not in (*_ADDRESS, "metadata", "status")
    }
    if own or metadata:
        shared["metadata"] = {**own, **metadata}
    if status := without_render_status(value.get("status")):
        shared["status"] = status
    return replace(document, value=shared | {key: local[key] for key in _ADDRESS if key in local})


def _functions(root: Mapping[str, Value]) -> Iterator[Sequence[Value]]:
    pipeline = _map(root.get("pipeline"))
    for step in _STEPS:
        found = pipeline.get(step)
        if isinstance(found, list):
            yield found


def _told_apart(functions: Sequence[Value]) -> bool:
    """Tell whether no function has a name, and images and commands tell them apart."""
    marks = [_mark(each) for each in functions]
    return all("name" not in _map(each) for each in functions) and len(set(marks)) == len(marks)


def _mark(function: Value) -> str:
    value = _map(function)
    image, command = value.get("image"), value.get("exec")
    return str(command) if command else images.repository(str(image or ""))


def _marked(document: Document) -> Document:
    """Return a document whose functions have their image or command for a name."""
    root = _map(document.value)
    pipeline: dict[str, Value] = {
        step: [{**_map(each), "name": _MARK + _mark(each)} for each in functions]
        if step in _STEPS and isinstance(functions, list)
        else functions
        for step, functions in _map(root.get("pipeline")).items()
    }
    return replace(document, value={**root, "pipeline": pipeline}) if pipeline else document


def _unmarked(value: Value) -> Value:
    if isinstance(value, list):
        return [_unmarked(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _unmarked(each)
        for key, each in value.items()
        if not (key == "name" and isinstance(each, str) and each.startswith(_MARK))
    }


@dataclass(frozen=True, slots=True)
class _Unnamed(Known):
    """A function without a name, which its image or command tells from others."""

    def places(self, items: Sequence[Value]) -> list[int]:
        return Known.places(self, [{"name": _MARK + _mark(each)} for each in items])


def _known(known: Known) -> Known:
    marked = any(str(name).startswith(_MARK) for names in known.names for name in names)
    return _Unnamed(known.keys, known.names) if marked else known


def _plain(conflict: Conflict) -> Conflict:
    def side(value: Side) -> Side:
        return value if isinstance(value, Absent) else _unmarked(value)

    return replace(
        conflict,
        base=side(conflict.base),
        ours=side(conflict.ours),
        theirs=side(conflict.theirs),
        reason=conflict.reason.replace(f"name={_MARK}", ""),
        known=tuple(map(_known, conflict.known)),
    )


def _map(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}
