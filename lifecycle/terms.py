"""The terms of a forge: how commands are written there, and what it calls a proposal.

Messages are written once, in GitHub's terms. `Terms.said` puts a whole text into those of a forge
right before it leaves (ADR 45), so no message has to know where it is read. What others wrote must
stay as it is: whatever puts their text into one of ours (`lifecycle.messages.markdown`) marks in it
what a forge's terms would change, and `said` takes these marks out.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final

KEEP: Final = "\ufdd0"
"""Marks text of others that is no word of ours. Unicode keeps this character for use within a
program: it never stands in a text that is exchanged."""

NAME: Final = "porchbot"
"""By which people address the bot with `@`, whatever its account is called."""

_COMMAND = r"(?P<command>`/(?=[a-z])|(?:(?<=^)|(?<=[\s(;,:]))/(?=[a-z][a-z-]+(?![\w/-]|\.\w)))"
_OURS = re.compile(
    r"(?<=\()(?:\.\.|/[\w./-]+)/pull/(?P<number>\d+)(?P<link>/files)?(?=\))|"
    rf"(?P<noun>[Pp]ull(?= requests?\b))|(?P<forge>\bGitHub\b)|(?P<sigil>#(?=\d))|"
    rf"\b(?P<role>(?:read|triage|write|maintain|admin) access)\b|{_COMMAND}",
    re.MULTILINE,
)
_SHORT = re.compile(r"\b(?:the App|base branch|merge queue|[Aa]n administrator)\b")
"""Phrases of ours that others may well write; nobody writes the longer ones."""


def kept(text: str) -> str:
    """Return text of others, or of ours that was said already, so that `Terms.said` leaves it."""
    return _kept(text) if len(text) <= _WORDS else _kept.__wrapped__(text)


_WORDS = 200
"""Longest text, in characters, that is kept: logins, paths and what we say ourselves."""


@lru_cache(maxsize=2000)
def _kept(text: str) -> str:
    return _SHORT.sub(_keep, _OURS.sub(_keep, text))


def _keep(found: re.Match[str]) -> str:
    return found[0][0] + KEEP + found[0][1:]


@dataclass(frozen=True)
class Terms:
    """How one forge is spoken to and of.

    Attributes:
        forge: Its name.
        noun: First word of what a proposal is there: "pull" request, "merge" request.
        sigil: Stands before the number of a proposal.
        command: Stands before the word of a command.
        bot: Login by which people address it; "porchbot" is understood as well.
        proposals: Address of the proposals of this repository, before a slash and a number.
        changes: Comes after that for what one changes.
        roles: What "write access" and its like are there; left as they are where none is told.
        phrases: Whole phrases of ours to what they are there; a longer one comes first.
    """

    forge: str = "GitHub"
    noun: str = "pull"
    sigil: str = "#"
    command: str = "/"
    bot: str = NAME
    proposals: str = "../pull"
    changes: str = "/files"
    roles: Mapping[str, str] = field(default_factory=dict, hash=False)
    phrases: Mapping[str, str] = field(default_factory=dict, hash=False)

    def said(self, text: str) -> str:
        """Return a text of ours in these terms. Once said, a text is not to be said again."""
        return (_said if len(text) <= _TEXTS else _said.__wrapped__)(self, text)

    def addressed(self, text: str) -> str:
        """Return what somebody wrote with the bot called by the name that commands are read by."""
        return text if self.bot == NAME else self._mention.sub(f"@{NAME}", text)

    @cached_property
    def _mention(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w@./-])@{re.escape(self.bot)}(?![\w-]|\.\w)", re.IGNORECASE)

    def numbered(self, number: int) -> str:
        """Return a proposal's number as people write it, such as "#12" or "!12".

        A negative one is that of an issue, at a forge that counts issues apart.
        """
        return f"#{-number}" if number < 0 else f"{self.sigil}{number}"

    def every(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return several texts in these terms."""
        return tuple(map(self.said, texts))

    @cached_property
    def phrased(self) -> re.Pattern[str]:
        """Finds the phrases."""
        longest = sorted(self.phrases, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest)))

    def replaced(self, found: re.Match[str]) -> str:
        """What one of our words is in these terms."""
        match found.lastgroup:
            case "number" | "link":
                return f"{self.proposals}/{found['number']}{self.changes if found['link'] else ''}"
            case "noun":
                return self.noun.capitalize() if found[0][0] == "P" else self.noun
            case "forge":
                return self.forge
            case "sigil":
                return self.sigil
            case "role":
                return self.roles.get(found[0], found[0])
            case _:
                return found[0].replace("/", self.command)


_TEXTS = 8_000
"""Longest text, in characters, that is kept as it is said: most summaries are shorter."""


@lru_cache(maxsize=256)  # at each look all is put into words, which are mostly those of the last
def _said(terms: Terms, text: str) -> str:
    if terms != AS_WRITTEN:
        if terms.phrases:
            text = terms.phrased.sub(lambda found: terms.phrases[found[0]], text)
        text = _OURS.sub(terms.replaced, text)
    return text.replace(KEEP, "")


AS_WRITTEN: Final = Terms()
"""The terms that messages are written in."""
