"""Texts on their way to GitLab and back: the one place where every text passes.

GitLab executes and removes lines of a text that begin with a slash ("quick actions"), whoever wrote
them: the bot quotes others, so nothing that it writes begins a line so. In a fence of code nothing
is executed; only one that every reader of Markdown ends at the same line is taken for one.

A comment that somebody with enough rights has edited is not told from one that the bot edited: each
carries a seal, which neither another text fits nor another comment (ADR 62).

Source: https://docs.gitlab.com/user/project/quick_actions/
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

_SLASH: Final = re.compile(r"^([ \t]*)/", re.MULTILINE)
_SPELLED: Final = re.compile(r"^([ \t]*)&((?:amp;)*#47;)", re.MULTILINE)
_QUOTED: Final = re.compile(r"^([ \t]*)&(?:amp;((?:amp;)*#47;)|#47;)", re.MULTILINE)
_OPENS: Final = re.compile(r"```[a-z+:0-9-]*")
_FENCE: Final = "```"

_SEAL = re.compile(r"\n*<!-- porchbot-text ([0-9a-f]{32}) -->\s*\Z")

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


def sealed(text: str, keys: Sequence[bytes], comment: int = 0) -> str:
    """Return the text of a comment with its seal.

    Args:
        text: Markdown.
        keys: What seals, newest first; only the newest is used, none is as good as an empty one.
        comment: Number of the comment whose text it becomes; 0 for one that is yet to be made.
    """
    whole = _lines(text).strip()
    seal = _seal(whole, keys[0] if keys else b"", comment)
    return f"{whole}\n\n<!-- porchbot-text {seal} -->"


def opened(text: str, keys: Sequence[bytes], comment: int, *, edited: bool) -> tuple[str, bool]:
    """Return the text of a comment of ours without its seal, and whether that fits.

    What was sealed before there was a number fits only a comment that was never edited: in one that
    was, it was carried there from another.

    Args:
        text: As it stands there.
        keys: Those that may have sealed it; without any, whatever has a seal is said to fit.
        comment: Its number.
        edited: It was changed after it was made.
    """
    told = incoming(text)
    found = _SEAL.search(told)
    if found is None:
        return told, False
    whole = told[: found.start()]
    numbers = (comment,) if edited else (comment, 0)
    fitting = (_seal(whole.strip(), key, number) for key in keys for number in numbers)
    return whole, not keys or any(hmac.compare_digest(seal, found[1]) for seal in fitting)


def _items(body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in body.items():
        yield name, str(value) if name in _TEXTS and value is not None else value


def _seal(text: str, key: bytes, comment: int) -> str:
    said = f"{comment}\n{text}".encode("utf-8", "replace")
    return hmac.new(key, said, hashlib.sha256).hexdigest()[:32]


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
