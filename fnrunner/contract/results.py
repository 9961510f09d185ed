"""The `results` of a ResourceList as text: one result a line, in JSON that every YAML reader takes.

JSON is YAML but for two things: YAML knows no surrogate pairs in escapes, and it refuses
or folds some characters that JSON leaves as they are.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

# An entry of `results`: message, severity, resourceRef, field, file, tags.
Result = Mapping[str, object]

_HEAD: Final = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
# What YAML 1.1 does not print or takes for a line break, and halves of surrogate pairs.
_UNSAFE: Final = re.compile("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def resource_list(results: Iterable[Result]) -> bytes:
    """Return a ResourceList with results and no items."""
    return added(_HEAD, results)


def added(resources: bytes, results: Iterable[Result]) -> bytes:
    """Return a ResourceList with results put at its end.

    Args:
        resources: A ResourceList in block style, ended by a line break, without results.
        results: Its entries; none adds nothing.
    """
    lines = b"".join(map(_line, results))
    return b"%bresults:\n%b" % (resources, lines) if lines else resources


def size(result: Result) -> int:
    """Return how many bytes a result adds."""
    return len(_line(result))


def within(found: Sequence[Result], room: int) -> tuple[Result, ...]:
    """Return as many results as a ResourceList of `room` bytes can hold.

    Args:
        found: The results, in order.
        room: How long the list may be.

    Returns:
        All of them; or the first ones, and one that says how many are missing.
    """
    left = room - len(_HEAD) - len(b"results:\n")
    if sum(map(size, found)) <= left:
        return tuple(found)
    left -= size(_missing(len(found)))
    kept = 0
    for result in found:
        left -= size(result)
        if left < 0:
            break
        kept += 1
    return (*found[:kept], _missing(len(found) - kept))


def _missing(count: int) -> Result:
    return {"message": f"{count} more results do not fit into the response", "severity": "error"}


def _line(result: Result) -> bytes:
    text = json.dumps(result, ensure_ascii=False, separators=(", ", ": "))
    return f"- {_UNSAFE.sub(_escaped, text)}\n".encode()


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"
