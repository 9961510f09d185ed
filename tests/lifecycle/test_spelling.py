"""Names show all that they hold, in every alphabet, and their likes are told."""

from dataclasses import replace

import pytest

from cadlib.findings import Severity
from lifecycle import spelling
from lifecycle.messages import commits, findings, markdown, naming

FINE = {
    "ASCII": "net/core_2.x-Y",
    "accents": "net/\xe9d",
    "accents, stored in two": "net/e\u0301d",
    "Cyrillic": "\u0441\u0435\u0442\u044c/\u044f\u0434\u0440\u043e",
    "Greek": "\u03b4\u03af\u03ba\u03c4\u03c5\u03bf",
    "Arabic": "\u0634\u0628\u0643\u0629/\u0646\u0648\u0627\u0629",
    "Hebrew with points": "\u05e8\u05b6\u05e9\u05b6\u05c1\u05ea",
    "Hindi": "\u0928\u0947\u091f\u0935\u0930\u094d\u0915",
    "Hindi with a joiner": "\u0915\u094d\u200d\u0937",
    "Persian with a non-joiner": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Thai": "\u0e40\u0e04\u0e23\u0e37\u0e2d\u0e02\u0e48\u0e32\u0e22",
    "Japanese": "\u30cd\u30c3\u30c8/\u6838",
    "Korean": "\ub124\ud2b8\uc6cc\ud06c",
    "an emoji with a selector": "net/\u2764\ufe0f",
    "an emoji of two": "net/\U0001f469\u200d\U0001f4bb",
}


@pytest.mark.parametrize("name", FINE.values(), ids=FINE)
def test_other_alphabets_are_fine(name: str) -> None:
    """Short-cut refused: ASCII only, or every character of the category Cf."""
    assert (spelling.unseen(name), spelling.shown(name)) == ("", name)
    assert naming.problems([name]) == ()


UNSEEN = {
    "text turned around": ("net/\u202eeroc", "U+202E"),
    "isolated": ("net/\u2066eroc", "U+2066"),
    "nothing": ("net/ed\u200bge", "U+200B"),
    "a joiner between Latin letters": ("net/ed\u200dge", "U+200D"),
    "a non-joiner at the end": ("net/edge\u200c", "U+200C"),
    "a selector behind a letter": ("net/e\ufe0fdge", "U+FE0F"),
    "a soft hyphen": ("net/ed\xadge", "U+00AD"),
    "a tag": ("net/edge\U000e0061", "U+E0061"),
    "a filler, which is a letter to Unicode": ("net/edge\u3164", "U+3164"),
    "a blank in Braille": ("net/edge\u2800", "U+2800"),
    "a blank of another width": ("net/ed\u2009ge", "U+2009"),
    "the end of a line": ("net/ed\u2028ge", "U+2028"),
    "a control character": ("net/ed\x9bge", "U+009B"),
}


@pytest.mark.parametrize(("name", "code"), UNSEEN.values(), ids=UNSEEN)
def test_what_nobody_sees_is_in_no_name(name: str, code: str) -> None:
    """Short-cut refused: what Python calls not printable; a filler and a selector are."""
    (found,) = naming.problems([name])

    assert found.severity is Severity.ERROR
    assert f"({code}), which is invisible or looks like another character" in found.message
    assert found.fix == "Rename the folder"


def test_a_slash_that_is_none_is_in_no_name() -> None:
    (found,) = naming.problems(["net\u2215core"])

    assert "DIVISION SLASH (U+2215)" in found.message


@pytest.mark.parametrize(("name", "code"), UNSEEN.values(), ids=UNSEEN)
def test_no_message_holds_it_raw(name: str, code: str) -> None:
    """The short-cut escapes in one place: names are in code, prose, titles and findings."""
    (found,) = naming.problems([name])
    said = [
        markdown.name(name),
        markdown.quote(name),
        markdown.committed(name),
        findings.findings([found]),
        findings.annotation(replace(found, message=f"about {name}")),
        commits.proposal_title([], [name], f"drafts/{name}"),
    ]

    assert not [text for text in said if spelling.unseen(text.replace("\n", " "))]
    if "".join(name.split()) == name:  # blanks of all widths are one
        assert all(f"<{code}>" in markdown.plain(text) for text in said[:3])


def test_what_people_write_stays_as_it_is() -> None:
    text = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f4bb \xe9"

    assert markdown.quote(text) == text


LIKES = {
    "capitals": ("Net/edge", "net/edge", True),
    "capitals of other alphabets": ("\u0421\u0435\u0442\u044c", "\u0441\u0435\u0442\u044c", True),
    "how accents are stored": ("net/e\u0301d", "net/\xe9d", True),
    "a full stop at the end": ("net/edge.", "net/edge", True),
    "a Cyrillic letter": ("net/\u0435dge", "net/edge", False),
    "a Greek capital": ("net/\u039fne", "net/one", False),
    "letters of another width": ("net/\uff45dge", "net/edge", False),
    "another dash": ("net/a\u2010b", "net/a-b", False),
    "a joiner": ("net/\u0645\u06cc\u200c\u062e", "net/\u0645\u06cc\u062e", False),
}


@pytest.mark.parametrize(("one", "other", "same"), LIKES.values(), ids=LIKES)
def test_likes(one: str, other: str, same: bool) -> None:
    """Short-cut refused: comparing in small letters."""
    assert spelling.folded(one) == spelling.folded(other)
    assert spelling.one_file(one, other) is same

    (new,) = naming.alike({one: [other]}, [one])
    (old,) = naming.alike({one: [other]}, [])

    assert new.severity is (Severity.ERROR if same else Severity.WARNING)
    assert old.severity is Severity.WARNING


@pytest.mark.parametrize("pair", [("net/ed", "net/\xe9d"), ("a1", "al"), ("a.b", "ab"), ("a", "b")])
def test_no_likes(pair: tuple[str, str]) -> None:
    """Short-cut refused: leaving accents out, which tell words apart."""
    assert spelling.folded(pair[0]) != spelling.folded(pair[1])


def test_a_like_is_told_by_the_letter() -> None:
    """Short-cut refused: naming both, which look the same."""
    (found,) = naming.alike({"net/\u0435dge": ["net/edge"]}, ["net/\u0435dge"])

    assert found.message == (
        "its path looks like that of the package net/edge, but has CYRILLIC SMALL LETTER IE"
        " (U+0435) where that has LATIN SMALL LETTER E (U+0065)"
    )
