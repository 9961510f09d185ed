"""Confusable names: invisible characters, and names that look alike.

Rules:

1. A name shows all that it holds. What has no shape, or turns the text beside it around, may stand
   only where a script or an emoji needs it: a joiner in Persian or Hindi, a selector behind a
   symbol. Every alphabet may be written.
2. What people read never holds such a character raw: it is written as `<U+202E>`.
3. Two names that fold to one look alike. Where only capital letters, the way that accents are
   stored, or full stops at the end tell them apart, common file systems hold just one of them.
"""

import re
import unicodedata
from functools import lru_cache

_BLANKS = "\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff"  # ends of lines are for the caller
_TURNS = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_NOTHING = (
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
UNSEEN = re.compile(f"[{_CONTROLS}{_BLANKS}{_TURNS}{_NOTHING}]")
"""What nobody sees, or what acts on the text beside it; ends of lines and tabs are left out."""

_ENDS = re.compile("[\t\n\r]")
_SLASHES = re.compile("[\u2044\u2215\u2571\u29f8\uff0f]")
_JOINERS, _SELECTORS = "\u200c\u200d", "\ufe0e\ufe0f"
_MAY_BELONG = frozenset(_JOINERS + _SELECTORS)
_MEETING = re.compile(f"[{_JOINERS}{_SELECTORS}]")
_VIRAMA = 9  # the combining class of what joins consonants in Indic scripts

_LIKE = {
    "a": "\u0410\u0430\u0391\u03b1\u0251",
    "b": "\u0412\u0392",
    "c": "\u0421\u0441\u03f2",
    "d": "\u0501",
    "e": "\u0415\u0435\u0395",
    "g": "\u0581\u0261",
    "h": "\u041d\u04bb\u0397\u0570",
    "i": "\u0406\u0456\u0399\u03b9\u0131",
    "j": "\u0408\u0458\u03f3",
    "k": "\u041a\u039a\u03ba",
    "l": "\u04cf",
    "m": "\u041c\u039c",
    "n": "\u039d\u0578",
    "o": "\u041e\u043e\u039f\u03bf\u0585",
    "p": "\u0420\u0440\u03a1\u03c1",
    "q": "\u051b",
    "s": "\u0405\u0455",
    "t": "\u0422\u03a4",
    "u": "\u03c5\u057d",
    "v": "\u0475\u03bd",
    "w": "\u051d",
    "x": "\u0425\u0445\u03a7",
    "y": "\u0423\u0443\u03a5",
    "z": "\u0396",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2212",
}
"""Latin letters to those of other alphabets that look like them, small or capital; dashes."""
_LOOK = str.maketrans({char: like for like, chars in _LIKE.items() for char in chars})


def unseen(name: str) -> str:
    """Return the first character of a name that is invisible or looks like a slash; "" for none."""
    found = (c for c in UNSEEN.finditer(name) if not _belongs(name, c.start()))
    first = next(found, None) or _SLASHES.search(name)
    return first[0] if first else ""


def shown(text: str) -> str:
    """Return a text with invisible characters written out; ends of lines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    found = set(UNSEEN.findall(text))
    if not found.isdisjoint(_MAY_BELONG):
        text = _MEETING.sub(
            lambda c: c[0] if _belongs(text, c.start()) else f"<{code(c[0])}>", text
        )
    # Not one by one: names of others may hold thousands of them.
    return text.translate({ord(char): f"<{code(char)}>" for char in found - _MAY_BELONG})


def in_line(text: str) -> str:
    """Return a text that takes one line: as `shown`, with ends of lines and tabs written out."""
    return _ENDS.sub(lambda c: f"<{code(c[0])}>", shown(text))


def code(char: str) -> str:
    """Return the code point of a character, such as "U+202E"."""
    return f"U+{ord(char):04X}"


def called(char: str) -> str:
    """Return the name of a character, with its code point."""
    return f"{unicodedata.name(char, 'a character')} ({code(char)})"


def folded(path: str) -> str:
    """Return a key that names which look alike share."""
    return "/".join(_folded(part) for part in path.split("/"))


def one_file(path: str, other: str) -> bool:
    """Tell whether common file systems hold both under one name."""
    return _stored(path) == _stored(other)


def _stored(path: str) -> str:
    parts = unicodedata.normalize("NFD", path).casefold().split("/")
    return "/".join(part.rstrip(". ") for part in parts)


@lru_cache(10_000)
def _folded(part: str) -> str:
    if not part.isascii():
        plain = unicodedata.normalize("NFKC", UNSEEN.sub("", part)).translate(_LOOK)
        # Folding decomposes some letters: compose again.
        part = unicodedata.normalize("NFKC", plain.casefold())
    return part.lower().rstrip(". ") or part


def _belongs(text: str, at: int) -> bool:
    """Whether a joiner or a selector stands where a script or an emoji needs it."""
    char, before, after = text[at], text[at - 1 : at] or " ", text[at + 1 : at + 2] or " "
    symbol = unicodedata.category(before) in {"So", "Sk"} or before in _SELECTORS
    if char in _SELECTORS:
        return symbol
    if char not in _JOINERS:
        return False
    arabic = {unicodedata.bidirectional(before), unicodedata.bidirectional(after)} == {"AL"}
    emoji = symbol and char == "\u200d" and unicodedata.category(after) == "So"
    return arabic or emoji or unicodedata.combining(before) == _VIRAMA
