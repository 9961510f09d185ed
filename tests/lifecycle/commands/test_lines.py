"""Comments with HTML, odd characters and odd Markdown: obeyed, told about, or left alone."""

from collections.abc import Callable

import pytest

from lifecycle.commands import lines as comment_lines
from lifecycle.commands import parse as commands
from lifecycle.commands.handlers.approve import ApproveCommand
from lifecycle.commands.handlers.hold import HoldCommand
from lifecycle.commands.kept import SizeBoundedCache
from lifecycle.commands.parse import Malformed, ParsedComment, parse
from lifecycle.commands.table import TABLE
from tests.counting import OURS, assert_seconds_in_proportion, calls

LIVE = ParsedComment((ApproveCommand(),))
NOTHING = ParsedComment()

OBEYED: dict[str, str] = {
    "after a quote of several lines": ">>>\nann wrote:\n\nno\n>>>\n\n/approve",
    "between two of them": ">>>\na\n>>>\n/approve\n\n>>>\nb\n>>>",
    "after a rule": "---\n\n/approve",
    "after front matter": "---\na: b\n---\n\n/approve",
    "after a closed fold": "<details><summary>log</summary>\n\nx\n\n</details>\n\n/approve",
    "after two closed folds": "<details>\n\na\n\n</details>\n<details></details>\n\n/approve",
    "after an HTML comment with dashes": "<!-- a -- b -->\n\n/approve",
    "after an image": '<img src="https://example.com/a.png" width=20>\n\n/approve',
    "after a line break in HTML": "fine<br>\n/approve",
    "after closed bold text in HTML": "<b>fine</b>\n/approve",
    "after bold text": "**Looks good**\n/approve\n*thanks*",
    "after an autolink": "see <https://example.com/a>\n/approve",
    "after a mail address": "ask <ann@example.com>\n/approve",
    "after a sign that opens nothing": "a < b\n/approve",
    "after a generic type in code": "`Map<String, details>`\n/approve",
    "after a tag in code": "`<details>`\n\n/approve",
    "after a tag in a fence": "```\n<details>\n```\n\n/approve",
    "after an escaped tag": "\\<details>\n\n/approve",
    "after an escaped backtick": "\\`<b>x</b>`\n/approve",
    "after a quote with HTML of its own": "> <details>\n> log\n\n/approve",
    "after a quoted tag that nobody knows": "> use <name>\n\n/approve",
    "after a list with closed HTML": "- <kbd>x</kbd>\n- b\n\n/approve",
    "after a table": "| a |\n| - |\n| b |\n\n/approve",
    "after what is no table: cells differ": "a\n/approve\n| - | - |",
    "after dollars alone": "it costs $5\n/approve",
    "before HTML": "/approve\n\n<details>\n\nlog",
    "before broken HTML": "/approve\n\n</div><table><b>",
    "before a footnote": "/approve\n\n[^1]: a note",
    "after a home folder": "see ~/x\n/approve",
    "after brackets": "[x] done\n/approve\n[ ] open",
    "after a definition": "[a]: https://example.com\n\n/approve",
    "a paragraph of plain words, however long": "word " * 2_000 + "\n/approve",
}  # fmt: skip


@pytest.mark.parametrize("body", OBEYED.values(), ids=OBEYED)
def test_a_plain_command_is_obeyed_beside_html(body: str) -> None:
    """Short-cut refused: a comment with any HTML asks for nothing."""
    assert parse(body) == parse(body.replace("\n", "\r\n")) == LIVE


UNSURE: dict[str, str] = {
    "more brackets than are followed": "/approve\n" + "[" * 21,
    "behind long paragraphs": f"/nobodys\n*{'x' * 1_980}*\n\n" * 2 + f"/approve\n*{'x' * 40}*",
    "an attribute that swallows what follows": '<div title="\n\n/approve\n\n">',
    "a comment that begins in a block": "<div><!--\n\n/approve\n\n-->",
    "a comment that GFM shows": "so <!-- a -- b --> be it\n/approve",
    "a comment that HTML ends early": "<!-- a --!> b\n\n-->\n\n/approve",
    "an empty comment that one parser ends": "x <!--> y\n/approve\n-->",
    "a processing instruction": "<?php\n?>\n\n/approve",
    "a declaration": "<!DOCTYPE html>\n\n/approve",
    "CDATA": "<![CDATA[\n]]>\n\n/approve",
    "a script": "<script>\nx\n</script>\n\n/approve",
    "a style": "<style>\n\n/approve",
    "a text field": "<textarea>\n\n</textarea>\n\n/approve",
    "a title": "<title>\n\n/approve\n\n</title>",
    "plain text for ever": "<plaintext>\n\n/approve",
    "an old example": "<xmp>\n\n/approve\n\n</xmp>",
    "a frame": "<iframe>\n\n/approve\n\n</iframe>",
    "a template": "<template>\n\n/approve\n\n</template>",
    "a drawing": "<svg>\n\n/approve\n\n</svg>",
    "formulas in HTML": "<math>\n\n/approve\n\n</math>",
    "a choice": "<select><option>\n\n/approve\n\n</option></select>",
    "text that a table throws out": "<table>\n\n/approve\n\n</table>",
    "a cell": "<table><tr><td>\n\n/approve\n\n</td></tr></table>",
    "a shown fold": "<details open>\n\n/approve\n\n</details>",
    "a fold ended from within a code element": "<details><code></details>\n\n/approve",
    "a fold that is ended twice": "<details>\n\na\n\n</details></details>\n\n/approve",
    "an end of a quote without a begin": "</blockquote>\n\n/approve",
    "a quote that HTML ends": "> </blockquote>\n>\n> /approve",
    "a quote that HTML ends at once": "> </blockquote>/approve",
    "a list that HTML ends": "- </ul>\n\n  /approve",
    "a fold ended inside a quote": "<details>\n\n> </details>\n>\n> /approve",
    "bold text left open in a quote": "> <b>\n> x\n\n/approve",
    "code left open in a list": "- <code>\n- x\n\n/approve",
    "code left open in a paragraph": "x <code> y\n\n/approve",
    "a link left open": "<a href='https://example.com'>x\n\n/approve",
    "struck out left open in a cell": "| a |\n| - |\n| <s> |\n\n/approve",
    "a box": "<div>\n\n/approve\n\n</div>",
    "a centred paragraph": "<p align=center>\n\n/approve",
    "a heading": "<h1>\n\n/approve\n\n</h1>",
    "a list without an element": "<ul>\n\n/approve\n\n</ul>",
    "an element that nobody knows": "<foo>\n\n/approve\n\n</foo>",
    "capital letters": "<DIV>\n\n/approve\n\n</DIV>",
    "in an HTML block": "<p>/approve</p>",
    "in an HTML block's line": "<div>\nwell\n/approve\n</div>",
    "after a comment on its line": "<!-- x --> /approve",
    "after a line break in its line": "fine<br>/approve",
    "after a tag at its line's start": "fine\n<b>/approve</b>",
    "after a box in its line": "fine <div>/approve</div>",
    "a slash by its number": "&#47;approve",
    "a slash by its number, padded": "fine\n&#00047;approve",
    "a slash by its hexadecimal number": "&#x2F;approve",
    "a slash by its name": "&sol;approve",
    "a mark of byte order": "\ufeff/approve",
    "a blank of no width": "fine\n\u200b/approve",
    "a direction": "\u202e/approve",
    "a form feed": "fine\f/approve",
    "a vertical tab": "fine\v/approve",
    "a line separator": "fine\u2028/approve",
    "a paragraph separator": "fine\u2029/approve",
    "a next line": "fine\x85/approve",
    "a blank that does not break": "fine\n\u00a0/approve",
    "a footnote": "text\n[^1]: note\n/approve",
    "a footnote that begins a paragraph": "[^1]: note\n/approve",
    "a title of a definition": '[a]: https://example.com "x\n/approve\n"',
    "a link by reference": "[see\n/approve\nthis][a]\n\n[a]: https://example.com",
    "a formula over lines": "$$\n/approve\n$$",
    "struck out with one sign": "~no\n/approve\nno~",
    "a table that may be one": "a \\| b\n| - | - |\n/approve",
    "a mention": "<div>\n\n@porchbot approve",
    "a long paragraph with much in it": "*a* " * 501 + "\n/approve",
    "a quote of several lines, as GitLab has it": ">>>\n/approve\n>>>",
    "a paragraph of one": ">>>\nann wrote:\n\n/approve\n\n>>>\n\nI think otherwise.",
    "a quote in a quote": ">>>>\n>>>\nno\n>>>\n/approve\n>>>>",
    "a quote that never ends": "see\n\n>>>  \n\n/approve",
    "a quote that code seems to end": ">>>\n```\n>>>\n```\n\n/approve\n>>>",
    "front matter": "---\n\n/approve\n\n---\nhello",
    "front matter in TOML": "+++\n/approve\n+++",
    "front matter in JSON, with blanks": "\n;;; json\n/approve\n;;; \n",
    "front matter that dots end": "---\na: b\n\n/approve\n\n...\nhello",
    "after front matter that opens and ends code": "---\n````\n```\n````\n---\n/approve",
    "a quote after one in front matter": "---\n>>>\n---\nno\n\n>>>\n/approve\n>>>",
    "a quote after one in a list": "1. a\n   >>>\n\nno\n>>>\n/approve\n>>>",
    "a quote that ends two ways": ">>>>\n>>>\nno\n>>>>\n/approve\n>>>",
    "an alert of several lines": ">>> [!warning] Never\n\n/approve\n\n>>>",
    "a quote after an alert": ">>> [!NOTE]\nno\n>>>\nwell\n>>>\n/approve",
}


@pytest.mark.parametrize("body", UNSURE.values(), ids=UNSURE)
def test_what_a_forge_may_show_otherwise_is_told_not_obeyed(body: str) -> None:
    """Short-cuts refused: obeying it (a hidden command counts), and silence (a shown one is lost).

    The short-cut that was there counted tags that fold by their names, and nothing else.
    """
    for text in (body, body.replace("\n", "\r\n")):
        found = parse(text)

        assert found.commands == ()
        assert [p.command for p in found.problems if isinstance(p, Malformed)] == ["approve"]


LEFT_ALONE: dict[str, str] = {
    "a fold": "<details>\n\n/approve\n\n</details>",
    "a fold in capitals": "<DETAILS>\n\n/approve\n\n</DETAILS>",
    "a fold that never ends": "<details>\n\n/approve",
    "a fold written as if it were empty": "<details/>\n\n/approve",
    "a fold after a comment that ends one": "<details>\n\n<!-- </details> -->\n\n/approve",
    "a fold after code that ends one": "<details>\n\n`</details>`\n\n/approve",
    "a fold in a fold": "<details>\n\n<details>\n\n</details>\n\n/approve",
    "a box in a fold": "<details><div>\n\n/approve\n\n</div></details>",
    "a quote in HTML": "<blockquote>\n\n/approve\n\n</blockquote>",
    "a quote in HTML, at once": "<blockquote>/approve</blockquote>",
    "an example in HTML": "<pre>\n\n/approve\n\n</pre>",
    "an example in HTML's code": "<pre><code>\n/approve\n</code></pre>",
    "struck out in HTML": "<del>\n\n/approve\n\n</del>",
    "an alert": "> [!NOTE]\n> /approve",
    "a quote with any HTML": "> <p>/approve</p>",
    "a list with any HTML": "- <br>/approve",
    "a task": "- [ ] /approve",
    "a cell of Markdown": "a | b\n:-- | --:\n/approve | c",
    "a cell of a table without outer borders": "a\n:-:\n/approve",
    "a comment in one line": "<!-- /approve -->",
    "a comment inside a paragraph": "so <!-- a\n/approve\n--> it is",
    "an attribute inside a paragraph": 'so <b title="\n/approve\n">it</b> is',
    "HTML in passing": "write <kbd>/approve</kbd> or <b>/approve</b> to approve",
    "a closing tag in passing": "a <b>b</b> /approve",
    "a path in HTML": "<p>/usr/bin/approve</p>",
    "a misspelt word in a box": "<div>\n\n/aprove\n\n</div>",
    "another bot's in a box": "<div>\n\n/lgtm\n\n</div>",
    "deep in quotes": "> " * 60 + "/approve",
    "a log of many lines": "/usr/bin/python\n" * 3_000,
}


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_every_reader_sees_as_talk_is_left_alone(body: str) -> None:
    """Short-cut refused: answering every comment that holds a command somewhere."""
    for text in (body, body.replace("\n", "\r\n")):
        assert parse(text) == NOTHING


def test_a_command_before_what_is_doubtful_is_obeyed_and_the_other_told() -> None:
    found = parse("/hold\n\n<div>\n\n/approve\n\n</div>")

    assert found.commands == (HoldCommand(),)
    assert [p.command for p in found.problems if isinstance(p, Malformed)] == ["approve"]


def test_what_is_told_says_what_to_do() -> None:
    (hidden,) = parse("<div>\n\n/approve\n\n</div>").problems
    (long,) = parse(UNSURE["a long paragraph with much in it"]).problems
    (many,) = parse("/approve\n" + "x\n" * 1_000).problems

    assert "post it as plain text in a separate comment" in hidden.text()
    assert "post it in a separate comment" in long.text()
    assert many.text() == "comments of more than 1000 lines are not read"


# --- time -----------------------------------------------------------------------------------------


_READING = (*OURS, "/markdown_it/", "/html/", "/re/", "/linkify_it/", "/mdurl/")


def _steps(work: Callable[[], object]) -> int:
    return calls(work, _READING)


REPEATED: dict[str, str] = {
    "brackets": "[", "closing brackets": "]", "links": "[a](", "images": "![a", "stars": "*a_ ",
    "bold": "**a ", "mixed emphasis": "*_~~a", "struck out": "~~a ", "definitions": "[a]: b\n",
    "quotes in quotes": "> " * 39 + "a\n", "lists in lists": "- " * 39 + "a\n", "lines": "a\n",
    "blank lines": "\n", "backticks": "`a``b", "signs": "<", "tags": "<a ", "opened": "<a>",
    "closed": "</a>", "comments": "<!--", "commented": "<!---->", "instructions": "<?",
    "attributes": "<a b='", "ampersands": "&", "entities": "&amp;", "escapes": "\\", "cells": "|a",
    "tables": "|a|\n|-|\n", "commands": "/x\n", "approvals": "/approve\n", "numbers": "1. a\n",
    "blanks": " ", "tabs": "\t", "boxes": "<div>\n\n", "quotes and lists": "> - > - a\n",
    "separators": "\u2028", "unseen": "\u200b", "unseen commands": "\u200b/approve\n",
    "line breaks": "<br>/approve", "dollars": "$a~\n", "slashes": "&#0", "footnotes": "[^1]: a\n",
    "zeros": "0", "headings": "# a\n", "underlined": "a\n-\n", "fences": "```\n",
    "addresses": "<a:b>",
    "misspelt": "/aprrove\n", "words": "/abcdef\n",
    "paragraphs of images": "/approve\n" + "![" * 380 + "\n\n",
    "paragraphs of stars": "/approve\n" + "**a" * 250 + "\n\n",
}  # fmt: skip


def _read_anew(text: str) -> commands.ParsedComment:
    """What a comment asks for, with nothing kept."""
    lines = commands._find_lines(text, "porchbot", TABLE)
    if isinstance(lines, commands.ParsedComment):
        return lines
    return commands._parse(lines, "porchbot", TABLE, {})[0]


@pytest.mark.parametrize("piece", REPEATED.values(), ids=REPEATED)
def test_reading_takes_time_in_proportion_to_the_length(piece: str) -> None:
    """Short-cuts refused: the Markdown parser on whatever comes; brackets take the square.

    And a limit for each paragraph alone: a comment of 84 such ones took two seconds, and the bot
    did nothing else meanwhile.
    """
    size = 32_000  # half of what a comment may have

    def read(length: int) -> Callable[[], object]:
        # Not `parse`, which remembers: each text in two places where a command may stand.
        text = (piece * (length // len(piece) + 1))[:length]
        return lambda: [
            _read_anew(before + text + after)
            for before, after in (("/approve\n", ""), ("/approve\n\n", "\n\n/approve"))
        ]

    half, whole = _steps(read(size // 2)), _steps(read(size))
    assert whole < 2.5 * half + 10_000
    assert whole < 600_000
    assert_seconds_in_proportion(read, size // 16)  # what regular expressions do is no call


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that other tests left is kept."""
    monkeypatch.setattr(commands, "_PARSED", SizeBoundedCache(commands.MOST_KEPT))
    monkeypatch.setattr(commands, "_LINES", SizeBoundedCache(commands.MOST_KEPT))


def test_a_comment_is_parsed_once_however_often_it_is_read() -> None:
    """Short-cut refused: parsing every comment at every round of every look."""
    body = "*a* " * 100 + "\n/approve\n<b>once</b>"
    first = _steps(lambda: parse(body))

    assert _steps(lambda: parse(body)) < 16 < first


def test_what_many_comments_say_is_parsed_once(fresh: None) -> None:
    """The short-cut keeps a number of comments and lets the oldest go: of one more than that, read
    again and again, it finds none.
    """
    bodies = [f"/hold {number}" for number in range(6_000)]
    for body in bodies:
        parse(body)

    assert _steps(lambda: [parse(body) for body in bodies]) < 16 * len(bodies)
    assert _steps(lambda: parse("/hold another")) > 32


@pytest.mark.parametrize("line", [f"/approve {'x' * 55}", f"/hold {'x' * 55}", f"/lgtm {'x' * 99}"])
def test_what_long_comments_say_is_parsed_once(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut counts all lines of a comment against what is kept, of which twenty are used: a
    few such comments push out each other, and each look parses them again.
    """
    rest = f"{line}\n" * (60_000 // len(line))
    monkeypatch.setattr(commands, "_PARSED", SizeBoundedCache(2**18))
    monkeypatch.setattr(commands, "_LINES", SizeBoundedCache(2**18))
    bodies = [f"/approve {number}\n{rest}" for number in range(8)]
    for body in bodies:
        parse(body)

    assert _steps(lambda: [parse(body) for body in bodies]) < 16 * len(bodies)


def test_a_text_without_a_command_is_never_parsed(fresh: None) -> None:
    parse("")  # the patterns are made at the first use
    assert _steps(lambda: parse("see net/core/approve\n" * 2_000 + "*[<" * 5_000)) < 24
    assert comment_lines.MOST_PARAGRAPH == 2_000
