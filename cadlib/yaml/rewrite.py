"""Rewrites a scalar with a new value in its existing style."""

import re

from cadlib.yaml.scalars import Atom, inline, literal
from cadlib.yaml.tree import Scalar, content_start

_HEADER = re.compile(r"[|>]?([0-9+-]*)([^\r\n]*)")  # matches everywhere
_REST = re.compile(r"(?:[ \t]+#[^\r\n]*)?[ \t]*")  # matches everywhere


def scalar_text(
    text: str,
    node: Scalar,
    wanted: Atom,
    *,
    indent: int,
    step: int,
    flow: bool,
    json: bool,
    root: bool,
) -> tuple[str, int]:
    """Return the new text for a scalar's content, and where the old content ends.

    Args:
        text: The file's text.
        node: The scalar.
        wanted: Its new value.
        indent: Column of its key or dash.
        step: Columns by which a new block scalar is indented.
        flow: It stands inside braces or brackets.
        json: Text around it is in double quotes.
        root: It is a whole document.
    """
    if isinstance(wanted, str) and not flow and not root:
        if node.style in ("|", ">"):
            found = _block(text, node, wanted, indent=indent, step=step)
            if found is not None:
                return found, node.end
        elif "\n" in wanted and node.style == "":
            lines = literal(wanted, indent + step)
            if lines is not None:
                # A comment on the line moves up to the header; below it would be text.
                rest = _REST.match(text, node.end)
                assert rest is not None  # noqa: S101 - the pattern matches everywhere
                return "\n".join([lines[0] + rest[0].rstrip(), *lines[1:]]), rest.end()
    style = node.style if node.style in ("'", '"') else ""
    kept = ""
    if node.style in ("|", ">"):
        kept = _header(text, node)[2].rstrip() + _line_end(text, node)
    return inline(wanted, style='"' if json else style, flow=flow) + kept, node.end


def _block(text: str, node: Scalar, wanted: str, *, indent: int, step: int) -> str | None:
    """Write a block scalar anew, with the margin and the header it has."""
    header = _header(text, node)
    digits = "".join(character for character in header[1] if character.isdigit())
    margin = _margin(text[header.end() : node.end]) or indent + step
    if digits:
        margin = indent + int(digits)
    lines = literal(wanted, margin, hinted=bool(digits), keep="+" in header[1])
    if lines is None:
        return None
    keep = "\n" if lines[0].endswith("+") else _line_end(text, node)
    body = _foldable(lines[1:], margin) if node.style == ">" else None
    mark = "|" if body is None else ">"
    first = mark + digits + lines[0][1:] + header[2]
    return "\n".join([first, *(lines[1:] if body is None else body)]) + keep


def _line_end(text: str, node: Scalar) -> str:
    """Return the line end that belongs to a scalar: one that keeps blank lines holds its last."""
    return "\n" if text[node.start : node.end].endswith("\n") else ""


def _foldable(lines: list[str], margin: int) -> list[str] | None:
    """Return the lines of a literal block as a folded one has them: a blank line for each end.

    None where a folded block reads them otherwise: lines that begin with a blank do not fold.
    """
    if any(line[margin:][:1] in (" ", "\t") for line in lines if line):
        return None
    apart = ([line] if not line or number == 0 else ["", line] for number, line in enumerate(lines))
    return [line for each in apart for line in each]


def _header(text: str, node: Scalar) -> re.Match[str]:
    found = _HEADER.match(text, content_start(text, node))
    assert found is not None  # noqa: S101 - the pattern matches everywhere
    return found


def _margin(body: str) -> int:
    """Return the indentation of a block scalar's first line with text; 0 without one."""
    for line in body.split("\n"):
        if line.strip():
            return len(line) - len(line.lstrip(" "))
    return 0
