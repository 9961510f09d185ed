"""The environment of the pages' templates: filters, and times as people read them."""

from __future__ import annotations

import zlib
from datetime import datetime
from urllib.parse import quote

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket

from bot.sandbox.pages import issues, markup, views
from bot.sandbox.pages.words import Words
from bot.sandbox.records.repository import Comment, Review
from bot.sandbox.rules.state import ForgeState

_UNITS = (
    ("year", 31_536_000),
    ("month", 2_592_000),
    ("day", 86_400),
    ("hour", 3600),
    ("minute", 60),
)
"""Units of time that people read, with their seconds."""

_TINTS = 8
"""Colours that avatars have in the style sheet."""


class _Compiled(BytecodeCache):
    """Templates that are compiled already: once for all forges of a process."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if compiled := self._kept.get(bucket.key):
            bucket.bytecode_from_string(compiled)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _Compiled()


def environment(state: ForgeState, words: Words) -> Environment:
    """The environment of all templates: what they may call, and that all text is escaped."""
    made = Environment(
        loader=PackageLoader("bot.sandbox.pages"),
        bytecode_cache=_COMPILED,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["markdown"] = markup.markdown
    made.filters["segment"] = lambda text: quote(text, safe="/")
    made.filters["light_of"] = views.Light
    made.filters["note_line"] = lambda text: text.split("\n")[0].replace("**", "").replace("`", "")
    made.tests["comment"] = lambda one: isinstance(one, Comment)
    made.tests["review"] = lambda one: isinstance(one, Review)
    made.globals |= {
        "forge": words,
        "names": views.names,
        "timeline": views.timeline,
        "releases": issues.releases,
        "reactions": views.reactions,
        "pull_word": views.pull_word,
        "ago": ago,
        "tint": lambda user: zlib.crc32(user.login.encode()) % _TINTS,
        "account": lambda commit: views.author(state, commit),
        "role": lambda repo, user: words.roles.get(found := state.role(repo, user).word, found),
        "checks_light": lambda pull: views.light(views.checks(state, pull)),
    }
    return made


def ago(then: datetime, now: datetime) -> str:
    """Say how long ago something was, in one unit."""
    seconds = max(0, int((now - then).total_seconds()))
    for unit, size in _UNITS:
        count = seconds // size
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
