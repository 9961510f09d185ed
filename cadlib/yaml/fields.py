"""Names of fields: a path of keys and positions, as text and back.

The text is what findings show and what functions put into `results[].field.path`:
`spec.containers[0].image`, and `metadata.annotations["a.b/c"]` where a key holds
characters that would be taken for the notation.
"""

import json
import re

FieldPath = tuple[str | int, ...]

_BARE = re.compile(r"[^\s.\[\]\"'\\$]+")
_STEP = re.compile(
    r"""\[(?P<index>[0-9]+)\] | \[(?P<quoted>"(?:[^"\\]|\\.)*")\] | \['(?P<single>[^']*)'\] |
    \[(?P<name>[^\]]+)\] | \.?(?P<key>(?:[^.\[\\]|\\.)+)""",
    re.VERBOSE,
)


def field_text(path: FieldPath) -> str:
    """Return a field's name for people; "" for the whole document."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _BARE.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text


def parse_field(text: str) -> FieldPath:
    r"""Read a field's name, as we write it or as functions commonly do.

    Besides our own form it takes `.spec.x`, `$.spec.x`, `spec['a.b']`, and `a\.b` for
    a dot inside a key. `spec.containers.0` names the key "0": what functions write
    otherwise is read against a resource, by `cadlib.render.locate`.

    Returns:
        The path; () if nothing can be made of the text.
    """
    path: list[str | int] = []
    rest = text.strip().removeprefix("$").removeprefix(".")
    position = 0
    while position < len(rest):
        match = _STEP.match(rest, position)
        if match is None:
            return ()
        position = match.end()
        path.append(_step(match))
    return tuple(path)


def _step(match: re.Match[str]) -> str | int:
    if match["index"] is not None:
        return int(match["index"])
    if match["quoted"] is not None:
        try:
            return str(json.loads(match["quoted"]))
        except ValueError:  # an escape that JSON does not know: take it as it stands
            return match["quoted"][1:-1]
    if match["key"] is not None:
        return re.sub(r"\\(.)", r"\1", match["key"])
    return match["single"] if match["single"] is not None else match["name"]
