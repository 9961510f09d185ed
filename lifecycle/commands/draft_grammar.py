"""Arguments of the commands that make drafts: options, upstreams, folders, fields and values."""

import re
import shlex
from dataclasses import dataclass

from lifecycle import names
from lifecycle.commands.grammar import (
    BLANKS,
    MOST_ARGUMENT,
    MOST_REASON,
    RevisionName,
    RevisionTarget,
    TakenArgument,
    WrongArgument,
    bare,
    first_word,
)
from lifecycle.messages import parsing as texts

MOST_PAIRS = 50
"""Keys and values of one function's configuration."""

MOST_TOGETHER = 20
"""Packages of one pull request that one command upgrades: each is merged in the same look."""

LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Option:
    """An optional argument that may stand anywhere, as `--word value`; "" where it is left out.

    What stands behind the `=` of a value belongs to that, unless it ends the line.

    Attributes:
        name: As in `Argument`.
        word: Its name as people write it, without dashes.
        shown: What it takes, for people.
        choices: All that it takes; none for anything.
    """

    name: str
    word: str
    shown: str
    choices: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """As shown to people."""
        return f"[--{self.word} <{self.shown}>]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take it out of wherever it stands."""
        found = _option(rf"--{self.word}(?:=|[ \t]+|$)(\S*)[ \t]*", text)
        if found is None:
            return TakenArgument("", text)
        if not found[1] or len(found[1]) > MOST_ARGUMENT:
            return WrongArgument(texts.missing(f"{self.shown} behind `--{self.word}`"))
        if self.choices and found[1] not in self.choices:
            return WrongArgument(texts.one_of(self.word, self.choices))
        return TakenArgument(found[1], _without(text, found))


@dataclass(frozen=True, slots=True)
class Flag:
    """An optional argument without a value that may stand anywhere, as `--word`.

    What stands behind the `=` of a value belongs to that, unless it ends the line.

    Attributes:
        name: As in `Argument`.
        word: Its name as people write it, without dashes.
        shown: It is shown in the usage by itself.
    """

    name: str
    word: str
    shown: bool = True

    @property
    def usage(self) -> str:
        """As shown to people."""
        return f"[--{self.word}]" if self.shown else ""

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take it out of wherever it stands."""
        found = _option(rf"--{self.word}(?:[ \t]+|$)", text)
        if found is None:
            return TakenArgument(False, text)
        return TakenArgument(True, _without(text, found))


def _option(pattern: str, text: str) -> re.Match[str] | None:
    """The first place where an option stands, and no part of a value."""
    for found in re.finditer(rf"(?:^|(?<=[ \t])){pattern}", text):
        before = text[: found.start()]
        if found.end() == len(text) or _value_begins(before) < 0:
            return found
    return None


def _value_begins(text: str) -> int:
    """Where the `=` of a value is, which is none of an option; -1 for nowhere."""
    words = re.sub(r"(?:^|(?<=[ \t]))--\S+", lambda found: "-" * len(found[0]), text)
    return _equals(words)


def _without(text: str, found: re.Match[str]) -> str:
    return (text[: found.start()] + text[found.end() :]).strip(BLANKS)


@dataclass(frozen=True, slots=True)
class Word:
    """One word without blanks; there has to be one.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return f"<{self.name}>"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take the first word."""
        word, rest = first_word(text)
        if not word:
            return WrongArgument(texts.missing(self.name))
        if len(word) > MOST_REASON:
            return WrongArgument(texts.too_long(MOST_REASON))
        return TakenArgument(word, rest)


@dataclass(frozen=True, slots=True)
class PackagePath:
    """The folder of a package, "." for the top of the repository; there has to be one.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return f"<{self.name}>"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take the first word."""
        word, rest = first_word(text)
        if not word:
            return WrongArgument(texts.missing(self.name))
        path = package_path(word)
        if path is None or len(word) > MOST_ARGUMENT:
            return WrongArgument(texts.NO_PACKAGE)
        return TakenArgument(path, rest)


def package_path(text: str) -> str | None:
    """Return the path of a package as somebody writes it, "" for "."; None where it is none."""
    path = text.removeprefix("./").rstrip("/")
    if path == "." or text == "./":
        return ""
    parts = path.split("/")
    refused = {"", ".", ".."}.intersection(parts) or any(p.lower() == ".git" for p in parts)
    if refused or names.fault(names.tag_ref(f"{path}/v1")) or names.looks_like_revision(parts[-1]):
        return None
    return path


@dataclass(frozen=True, slots=True)
class UpgradeTarget:
    """What to upgrade, and to what: "[<package>] [v<N>|latest]", or "<package>@v<N>".

    Attributes:
        name: As in `Argument`.
        latest: "latest" stands for the newest revision.
    """

    name: str
    latest: bool = True

    @property
    def usage(self) -> str:
        """As shown to people."""
        return f"[<package>] [v<N>{' | latest' if self.latest else ''}]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take one or two words."""
        package, revision, words = None, 0, [bare(word) for word in text.split()]
        if not self.latest and words and names.looks_like_revision(f"v{words[-1]}"):
            words[-1] = f"v{words[-1]}"
        if words and not _is_version(words[-1]) and re.fullmatch(r"-?v?[0-9]+", words[-1]):
            return WrongArgument(texts.no_revision())
        if words and not _is_version(words[0]):
            package, at, version = words.pop(0).rpartition("@")
            package, version = (package, version) if at else (version, "")
            words = [version, *words] if version else words
            path = package_path(package)
            if path is None:
                return WrongArgument(texts.NO_PACKAGE)
            package = path
        if words:
            version = words.pop(0)
            if not _is_version(version) or (version == LATEST and not self.latest):
                return WrongArgument(texts.no_revision())
            revision = 0 if version == LATEST else int(version.removeprefix("v"))
            if not self.latest and words and _is_version(words[0]):
                return WrongArgument(texts.TWO_REVISIONS)
        return TakenArgument(RevisionTarget(package, revision), " ".join(words))


@dataclass(frozen=True, slots=True)
class OtherPackages:
    """Further packages behind the first, in front of a version; none where one is named.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return "[--together <package> ...]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take them out of the middle."""
        words = [bare(word) for word in text.split()]
        end = next((at for at, word in enumerate(words) if _is_version(word)), len(words))
        others = tuple(map(package_path, words[1:end]))
        if None in others or any("@" in word for word in words[1:end]):
            return WrongArgument(texts.NO_PACKAGE)
        if len(others) >= MOST_TOGETHER:
            return WrongArgument(texts.many_packages(MOST_TOGETHER))
        return TakenArgument(others, " ".join([*words[:1], *words[end:]]) if others else text)


def _is_version(word: str) -> bool:
    return word == LATEST or names.looks_like_revision(word)


@dataclass(frozen=True, slots=True)
class EditTarget:
    """A package, or one of its revisions: "<package>[@v<N>]", "v<N>" where the package is clear.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return "<package>[@v<N>]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take the first word."""
        if not text:
            return WrongArgument(texts.missing("package"))
        return RevisionName(self.name, whole=True).take(text)


@dataclass(frozen=True, slots=True)
class Number:
    """A number from 1 to 999; there has to be one.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return "<n>"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take the first word."""
        word, rest = first_word(text)
        if not re.fullmatch(r"[1-9][0-9]{0,2}", word, re.ASCII):
            return WrongArgument(texts.missing("number"))
        return TakenArgument(int(word), rest)


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A field or setter of a resource, and a value for it.

    Attributes:
        resource: "Kind/name"; "" where none is named.
        field: Path of the field, or the setter's name.
        value: As written; all text up to the end of the line.
    """

    resource: str
    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """`[<Kind>/<name>] <field or setter>=<value>`.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return "[<Kind>/<name>] <field>=<value>"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take all of it."""
        if len(text) > MOST_REASON:
            return WrongArgument(texts.too_long(MOST_REASON))
        first, rest = first_word(text)
        resource = ""
        if _equals(first) < 0 and first.count("/") == 1 and rest:
            resource, text = first, rest
        at = _equals(text)
        field = text[:at].strip(BLANKS)
        if at < 1 or not field or re.search(r"[ \t]", re.sub(r"\[[^\]]*\]", "", field)):
            return WrongArgument(texts.NO_ASSIGNMENT)
        return TakenArgument(FieldValue(resource, field, text[at + 1 :].strip(BLANKS)), "")


def _equals(text: str) -> int:
    """Where the first equals sign outside of brackets is; -1 for none."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if char == "=" and depth <= 0:
            return at
    return -1


@dataclass(frozen=True, slots=True)
class Pairs:
    """`key=value` as often as wanted, values in quotes where they hold blanks.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return "[<key>=<value> ...]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take all of it."""
        if len(text) > MOST_REASON:
            return WrongArgument(texts.too_long(MOST_REASON))
        try:
            words = shlex.split(text)
        except ValueError:
            return WrongArgument(texts.NO_PAIRS)
        pairs = tuple((key, value) for key, _, value in (word.partition("=") for word in words))
        wrong = any("=" not in word or word.startswith("=") for word in words)
        if wrong or len({key for key, _ in pairs}) != len(pairs) or len(pairs) > MOST_PAIRS:
            return WrongArgument(texts.NO_PAIRS)
        return TakenArgument(pairs, "")
