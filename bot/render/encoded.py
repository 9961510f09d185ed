"""Verdicts and changes as bytes: what passes between processes, and what the database keeps.

One line of JSON, then the files that rendering changes, one after the other. Reading it trusts
nothing: it comes from a process that read what somebody pushed, or from a row that anything may
have happened to.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cadlib.diff.patch import Suggestion
from cadlib.diff.values import Change, ChangeKind
from cadlib.errors import Place
from cadlib.findings import Finding, ResourceRef, Severity
from lifecycle.facts.verdicts import FunctionVersion, ReadinessGate, Verdict


class EncodedError(ValueError):
    """This is no verdict, or no list of changes."""


def write(verdict: Verdict) -> bytes:
    """Write a verdict."""
    files = [(path, data) for path, data in verdict.changes.items() if data is not None]
    head = [
        verdict.package,
        [[path, None if data is None else len(data)] for path, data in verdict.changes.items()],
        [_finding(each) for each in verdict.findings],
        verdict.functions,
        [[image, ran.asked, ran.digest] for image, ran in verdict.versions.items()],
        verdict.broken,
        verdict.complete,
        _changes(verdict.diff),
        _changes(verdict.rendering),
        [[each.type, each.status, each.reason, each.message] for each in verdict.readiness],
        [[path, text] for path, text in verdict.patch.items()],
        [[each.path, each.first, each.last, each.text] for each in verdict.suggestions],
    ]
    return b"".join((_line(head), *(data for _, data in files)))


def read(data: bytes) -> Verdict:
    """Read a verdict.

    Raises:
        EncodedError: It is none.
    """
    line, _, rest = data.partition(b"\n")
    try:
        (
            package,
            sizes,
            findings,
            functions,
            versions,
            broken,
            complete,
            diff,
            rendering,
            readiness,
            patch,
            suggestions,
        ) = json.loads(line)
        return Verdict(
            package=_text(package),
            changes=_files(sizes, rest),
            findings=tuple(map(_read_finding, findings)),
            functions=_number(functions),
            versions={
                _text(image): FunctionVersion(_text(asked), _text(digest))
                for image, asked, digest in versions
            },
            broken=_text(broken),
            complete=_flag(complete),
            diff=tuple(map(_read_change, diff)),
            rendering=tuple(map(_read_change, rendering)),
            readiness=tuple(ReadinessGate(*map(_text, each)) for each in readiness),
            patch={_text(path): _text(text) for path, text in patch},
            suggestions=tuple(
                Suggestion(_text(path), _number(first), _number(last), _text(text))
                for path, first, last, text in suggestions
            ),
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise EncodedError(f"no verdict: {error}") from error


def write_changes(changes: Sequence[Change]) -> bytes:
    """Write what changed."""
    return _line(_changes(changes))


def read_changes(data: bytes) -> tuple[Change, ...]:
    """Read what changed.

    Raises:
        EncodedError: It is no list of changes.
    """
    try:
        return tuple(map(_read_change, json.loads(data)))
    except (ValueError, TypeError, RecursionError) as error:
        raise EncodedError(f"no list of changes: {error}") from error


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _finding(found: Finding) -> list[Any]:
    place = found.place
    return [
        found.message,
        found.severity,
        place.path,
        place.line,
        place.field,
        found.function,
        _ref(found.resource),
        found.current,
        found.proposed,
        found.fix,
        found.unseen,
    ]


def _read_finding(row: Sequence[Any]) -> Finding:
    message, severity, path, line, field, function, ref, current, proposed, fix, unseen = row
    return Finding(
        message=_text(message),
        severity=Severity(severity),
        place=Place(_text(path), None if line is None else _number(line), _text(field)),
        function=_text(function),
        resource=_read_ref(ref),
        current=_optional(current),
        proposed=_optional(proposed),
        fix=_text(fix),
        unseen=_flag(unseen),
    )


def _changes(changes: Iterable[Change]) -> list[list[Any]]:
    return [[c.path, c.kind, _ref(c.resource), c.field, c.old, c.new] for c in changes]


def _read_change(row: Sequence[Any]) -> Change:
    path, kind, ref, field, old, new = row
    return Change(
        path=_text(path),
        kind=ChangeKind(kind),
        resource=_read_ref(ref),
        field=_text(field),
        old=_optional(old),
        new=_optional(new),
    )


def _ref(resource: ResourceRef | None) -> list[str] | None:
    if resource is None:
        return None
    return [resource.api_version, resource.kind, resource.name, resource.namespace]


def _read_ref(row: Sequence[Any] | None) -> ResourceRef | None:
    if row is None:
        return None
    api_version, kind, name, namespace = map(_text, row)
    return ResourceRef(api_version=api_version, kind=kind, name=name, namespace=namespace)


def _files(sizes: Sequence[Sequence[Any]], data: bytes) -> Mapping[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    begin = 0
    for path, size in sizes:
        if size is None:
            found[_text(path)] = None
            continue
        end = begin + max(0, _number(size))
        found[_text(path)] = data[begin:end]
        begin = end
    if begin != len(data):
        raise EncodedError(f"{len(data)} bytes of files, not {begin}")
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise EncodedError(f"{type(value).__name__} instead of a text")
    return value


def _optional(value: Any) -> str | None:
    return None if value is None else _text(value)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise EncodedError(f"{value!r} is no number")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise EncodedError(f"{value!r} is neither true nor false")
    return value
