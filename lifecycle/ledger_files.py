"""Files of the ledger, written with what proposals add to them or take out.

The rules of the ledger and its values are in `lifecycle.ledger`, which needs no parser of YAML.
"""

from collections.abc import Mapping

from cadlib import yaml
from cadlib.errors import PackageError
from lifecycle.ledger import LedgerEntry

_NEW = b"""\
# Revisions that were withdrawn or deprecated: their numbers are never given again.
version: 1
"""


def written(
    data: bytes | None, package: str, entries: Mapping[int, LedgerEntry | None]
) -> bytes | None:
    """Return a file of the ledger with some entries; None where they cannot be written.

    Args:
        data: The file; None where there is none.
        package: Whose file it is; "" for the older form, which alone lists the root package.
        entries: What it is to say; None for a revision of which it is to say nothing.
    """
    try:
        stream = yaml.read(data or _NEW)
        if not stream.documents:  # comments alone, after which nothing would be written
            stream = yaml.read((data or b"").rstrip() + b"\n" + _NEW)
        whole = _mapping(stream.documents[0].value)
        listed = _mapping(whole.get("revisions"))
        inner = listed if package else _mapping(listed.get("."))
        keys = {each.removeprefix("v"): each for each in inner}
        for number in sorted(entries):
            entry = entries[number]
            if entry is None:
                inner = {key: each for key, each in inner.items() if key != keys.get(str(number))}
                continue
            made: dict[str, yaml.Value] = {"state": str(entry.state), "reason": entry.reason}
            tag: dict[str, yaml.Value] = {"tag": entry.tag} if entry.tag else {}
            inner = {**inner, keys.get(str(number), str(number)): {**made, **tag}}
        whole["revisions"] = inner if package else {**listed, ".": inner}
        edited = yaml.edit(stream, {0: whole})
        # What does not read back as meant would be written again at each look.
        return edited if [each.value for each in yaml.read(edited).documents] == [whole] else None
    except PackageError:
        return None


def _mapping(value: object) -> dict[str, yaml.Value]:
    return dict(value) if isinstance(value, dict) else {}
