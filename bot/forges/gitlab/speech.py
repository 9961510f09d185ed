"""Texts on their way to GitLab and back: the one place where every text passes.

GitLab executes and removes lines of a text that begin with a slash ("quick actions"), whoever wrote
them: the bot quotes others, so nothing that it writes begins a line so. In a fence of code nothing
is executed; only one that every reader of Markdown ends at the same line is taken for one.

A comment that somebody with enough rights has edited is not told from one that the bot edited: each
carries a digest of its text, which an edit does not fit any more.

Source: https://docs.gitlab.com/user/project/quick_actions/
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

_SLASH: Final = re.compile(r"^([ \t]*)/", re.MULTILINE)
_SPELLED: Final = re.compile(r"^([ \t]*)&((?:amp;)*#47;)", re.MULTILINE)
_QUOTED: Final = re.compile(r"^([ \t]*)&(?:amp;((?:amp;)*#47;)|#47;)", re.MULTILINE)
_OPENS: Final = re.compile(r"```[a-z+:0-9-]*")
_FENCE: Final = "```"

_DIGEST = re.compile(r"\n*<!-- porchbot-text ([0-9a-f]{32}) -->\s*\Z")

_TEXTS = frozenset({"body", "description"})
"""Fields of requests that hold text of which GitLab executes lines."""


def outgoing(text: str) -> str:
    """Return a text that shows the same, without a line that GitLab would execute."""
    return _outside_of_fences(_lines(text), _escape)


def incoming(text: str) -> str:
    """Return what `outgoing` was given: the bot compares what stands there with what is to."""
    return _outside_of_fences(_lines(text), _restore)


def sent(body: object) -> object:
    """Return a request's body with its texts as they go out."""
    if not isinstance(body, dict):
        return body
    return {name: outgoing(v) if name in _TEXTS else v for name, v in _items(body)}


def sealed(text: str) -> str:
    """Return the text of a comment with the digest of it."""
    whole = _lines(text).strip()
    return f"{whole}\n\n<!-- porchbot-text {_digest(whole)} -->"


def opened(text: str) -> tuple[str, bool]:
    """Return the text of a comment of ours without its digest, and whether that still fits."""
    told = incoming(text)
    found = _DIGEST.search(told)
    if found is None:
        return told, False
    whole = told[: found.start()]
    return whole, _digest(whole.strip()) == found[1]


def _items(body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in body.items():
        yield name, str(value) if name in _TEXTS and value is not None else value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _escape(text: str) -> str:
    return _SLASH.sub(r"\1&#47;", _SPELLED.sub(r"\1&amp;\2", text))


def _restore(text: str) -> str:
    return _QUOTED.sub(lambda m: m[1] + (f"&{m[2]}" if m[2] else "/"), text)


def _outside_of_fences(text: str, change: Callable[[str], str]) -> str:
    """A text with its lines changed, but for those in a fence that nobody reads otherwise.

    It opens and closes with three marks at the beginning of a line, and has none in between; as the
    first line that begins so closes it, a fence within another, or a longer one, is none.
    """
    found, inside = list[str](), list[str]()
    opens = ""
    for line in text.split("\n"):
        if opens and line == _FENCE:
            found += [opens, *inside, line]
            opens, inside = "", []
        elif opens and line.lstrip(" \t>").startswith(("```", "~~~")):
            return change(text)
        elif opens:
            inside.append(line)
        elif _OPENS.fullmatch(line):
            opens = line
        elif line.lstrip(" \t>").startswith(("```", "~~~")) or _begins_comment(line):
            return change(text)
        else:
            found.append(change(line))
    return change(text) if opens else "\n".join(found)


def _begins_comment(line: str) -> bool:
    """A comment of HTML that goes on: marks in it are no fences."""
    return line.count("<!--") != line.count("-->")
