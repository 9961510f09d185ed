"""Which lines of a comment are commands, and what becomes of those that nearly are."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.commands import parse as commands
from lifecycle.commands.grammar import RevisionTarget
from lifecycle.commands.handlers.approve import ApproveCommand, UnapproveCommand
from lifecycle.commands.handlers.hold import HoldCommand, UnholdCommand
from lifecycle.commands.handlers.questions import DiffCommand, HelpCommand, WhyCommand
from lifecycle.commands.handlers.render import CheckCommand, RenderCommand
from lifecycle.commands.handlers.stage import ProposeCommand, RejectCommand
from lifecycle.commands.parse import Malformed, Misspelt, ParsedComment, parse
from lifecycle.commands.table import TABLE
from lifecycle.messages.parsing import COMMIT_ALONE, INSTEAD, TWO_REVISIONS
from tests.choices import each_of
from tests.counting import OURS, calls
from tests.lifecycle.commands.test_table import NEEDED

APPROVED = ParsedComment((ApproveCommand(),))
NOTHING = ParsedComment()

TALK: dict[str, str] = {
    "a quote": "> /approve",
    "a quote that runs on without its sign": "> as you said\n/approve",
    "a nested quote": "> > /approve",
    "a quote of a mention": "> @porchbot approve",
    "a fence": "```\n/approve\n```",
    "a fence with a language": "~~~yaml\n/approve\n~~~",
    "a fence that never ends": "```\n/approve",
    "an indented block": "    /approve",
    "a tab makes an indented block": "\t/approve",
    "a code span": "`/approve`",
    "a code span over two lines": "see `the\n/approve` command",
    "an HTML comment": "<!-- /approve -->",
    "an HTML comment over lines": "<!--\n/approve\n-->",
    "an HTML comment that never ends": "<!--\n\n/approve",
    "an HTML comment inside a line": "well <!-- hidden\n/approve\n--> so",
    "a heading": "# /approve",
    "a heading with a line below": "/approve\n---",
    "a list": "- /approve",
    "a numbered list": "1. /approve",
    "a list over lines": "- do\n  /approve",
    "a table": "| a |\n| --- |\n| /approve |",
    "a table without its borders": "a | b\n--- | ---\n/approve | c",
    "a link": "[/approve](https://example.com)",
    "inside a link over lines": "[see\n/approve](https://example.com)",
    "a link's definition": "[a]:\n/approve\n",
    "inside bold text": "**not\n/approve**",
    "struck out": "~~no\n/approve~~",
    "preformatted HTML": "<pre>\n/approve\n</pre>",
    "a folded part": "<details><summary>log</summary>\n\n/approve\n\n</details>",
    "a quote in HTML": "<blockquote>\n\n/approve\n\n</blockquote>",
    "code in HTML": "see <code>\n/approve\n</code>",
    "escaped": "\\/approve",
    "in the middle of a line": "please /approve",
    "indented by hand": "so\n     /approve",
    "a path": "/approve/this/file.yaml",
    "another bot's command": "/lgtm",
    "another bot's command that looks like ours": "/retest",
    "the commands of Prow": "/test all\n/cc @ann\n/assign @bob\n/close\n/wip\n/lint",
    "another bot": "@porchbot-staging approve",
    "a longer login": "@porchbotty approve",
    "a team": "@porchbot/admins approve",
    "a mention in passing": "thanks, @porchbot approve",
    "a mention's genitive": "@porchbot's summary is right",
    "a slash and a blank": "/ approve",
    "a path near a command": "/hold/",
    "two slashes": "//approve this is a comment in code",
    "nothing": "",
}


@pytest.mark.parametrize("body", TALK.values(), ids=TALK)
def test_talk_about_commands_is_no_command(body: str) -> None:
    """Short-cut refused: a regular expression over the lines."""
    assert parse(body) == NOTHING
    assert parse(body.replace("\n", "\r\n")) == NOTHING


@pytest.mark.parametrize("body", TALK.values(), ids=TALK)
def test_a_command_after_talk_is_one(body: str) -> None:
    """Short-cut refused: ignoring a comment that quotes one."""
    closed = {"a fence that never ends": "\n```", "an HTML comment that never ends": "\n-->"}
    name = next(key for key, value in TALK.items() if value == body)
    after = f"{body}{closed.get(name, '')}\n\n/approve\n"

    assert parse(after) == APPROVED
    assert parse(after.replace("\n", "\r\n")) == APPROVED


COMMANDED: dict[str, tuple[str, tuple[object, ...]]] = {
    "alone": ("/approve", (ApproveCommand(),)),
    "addressed": ("@porchbot approve", (ApproveCommand(),)),
    "addressed, with a slash": ("@porchbot /approve", (ApproveCommand(),)),
    "addressed by the login that the API shows": ("@porchbot[bot] approve", (ApproveCommand(),)),
    "addressed politely": ("@Porchbot, approve", (ApproveCommand(),)),
    "addressed without more": ("@porchbot", (HelpCommand(),)),
    "with capitals, as phones write": ("/Approve", (ApproveCommand(),)),
    "with blanks around": ("  /approve  \t", (ApproveCommand(),)),
    "after a greeting in the same paragraph": ("Looks good.\n/approve", (ApproveCommand(),)),
    "after a code span in the same paragraph": ("`a b` is fine\n/approve", (ApproveCommand(),)),
    "several": ("/hold\n/render\n\n/approve", (HoldCommand(), RenderCommand(), ApproveCommand())),
    "twice": ("/check\n/check", (CheckCommand(), CheckCommand())),
    "a reason": ("/reject the *peers* are `wrong`", (RejectCommand("the *peers* are `wrong`"),)),
    "a reason in any language": (
        "/hold bis Di. 👩‍💻 — später",
        (HoldCommand("bis Di. 👩‍💻 — später"),),
    ),
    "no reason": ("/reject", (RejectCommand(""),)),
    "a field": ("/why spec.replicas", (WhyCommand("spec.replicas"),)),
    "the others": (
        "/propose\n/unapprove\n/unhold\n/why\n/help",
        (ProposeCommand(), UnapproveCommand(), UnholdCommand(), WhyCommand(), HelpCommand()),
    ),
    "a line break at the end of the line": ("/approve  \nThanks", (ApproveCommand(),)),
    "between HTML comments": ("<!-- a -->\n\n/approve\n\n<!-- b -->", (ApproveCommand(),)),
    "after a folded part": ("<details>\n\nlog\n\n</details>\n\n/approve", (ApproveCommand(),)),
    "after a comment about HTML": ("<!-- <details> -->\n\n/approve", (ApproveCommand(),)),
    "old Mac line ends": ("fine\r\r/approve", (ApproveCommand(),)),
    "a sentinel of ours in the text": ("\ue0000\ue000/approve\n/hold", (HoldCommand(),)),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), COMMANDED.values(), ids=COMMANDED)
def test_commands(body: str, expected: tuple[object, ...]) -> None:
    assert parse(body) == ParsedComment(expected)
    assert parse(body.replace("\n", "\r\n")) == ParsedComment(expected)


def test_another_name_of_the_app() -> None:
    assert parse("@acme-bot approve", app="acme-bot") == APPROVED
    assert parse("@porchbot approve", app="acme-bot") == NOTHING
    assert parse("@axb approve", app="a.b") == NOTHING


PROBLEMS: dict[str, tuple[str, tuple[commands.CommandProblem, ...]]] = {
    "one letter": ("/aprove", (Misspelt("aprove", "approve"),)),
    "two letters": ("/arpove", (Misspelt("arpove", "approve"),)),
    "a full stop": ("/approve.", (Misspelt("approve.", "approve"),)),
    "three letters are another word": ("/improves", ()),
    "addressed, so answered": ("@porchbot dance", (Misspelt("dance", ""),)),
    "addressed thanks": ("@porchbot thanks!", (Misspelt("thanks!", ""),)),
    "addressed with another bot's word": ("@porchbot retest", (Misspelt("retest", "reject"),)),
    "a letter that only looks alike": ("/\u0430pprove", (Misspelt("", "approve"),)),
    "a sign that becomes a letter in lower case": ("/chec\u212a", (Misspelt("", "check"),)),
    "words that are not to be repeated": ("@porchbot `@all`", (Misspelt("", ""),)),
    "words after a command": (
        "/approve please",
        (Malformed("approve", COMMIT_ALONE),),
    ),
    "another command on the same line": (
        "/approve /hold",
        (Malformed("approve", COMMIT_ALONE),),
    ),
    "two fields": (
        "/why a b",
        (Malformed("why", "takes no more than `[field]` after it, each without spaces"),),
    ),
    "two revisions": ("/diff net/core v1 v2", (Malformed("diff", TWO_REVISIONS),)),
    "a long reason": (
        "/hold " + "x" * 501, (Malformed("hold", "takes at most 500 characters after it"),),
    ),
    "a long field": (
        "/why " + "x" * 257, (Malformed("why", "takes at most 256 characters after it"),),
    ),
    "text that turns its direction": (
        "/hold a\u202eb",
        (Malformed("hold", "contains invisible characters; write it as plain text"),),
    ),
    "a control character": (
        "/reject a\x1b[2J",
        (Malformed("reject", "contains invisible characters; write it as plain text"),),
    ),
    "a line separator is no line end": (
        "/reject a\u2028/approve",
        (Malformed("reject", "contains invisible characters; write it as plain text"),),
    ),
    "a comment that no forge accepts": (
        "/approve\n" + "x" * 65_536,
        (Malformed("", "comments of more than 65536 characters are not read"),),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_is_nearly_a_command_is_never_obeyed(
    body: str, expected: tuple[commands.CommandProblem, ...]
) -> None:
    """Short-cut refused: obeying the word and dropping what stands after it."""
    assert parse(body) == ParsedComment(problems=expected)


def test_what_is_understood_of_a_comment_is_obeyed_beside_what_is_not() -> None:
    assert parse("/aprove\n/hold\n/lgtm") == ParsedComment(
        (HoldCommand(),), (Misspelt("aprove", "approve"),)
    )


def test_a_flood_of_commands_gets_one_answer() -> None:
    flood = parse("/check\n" * 500)

    assert flood.commands == (CheckCommand(),) * 20
    assert flood.problems == (Malformed("", "only the first 20 commands of a comment are read"),)


TEXTS: dict[str, tuple[commands.CommandProblem, str]] = {
    "a near word": (
        Misspelt("aprove", "approve"), "`aprove` is not a command; did you mean `/approve`?",
    ),
    "a far word": (Misspelt("dance", ""), "`dance` is not a command"),
    "a word not to be repeated": (
        Misspelt("", "approve"), "that word is not a command; did you mean `/approve`?",
    ),
    "an argument": (Malformed("why", "takes one field"), "`/why` takes one field"),
    "a whole comment": (Malformed("", "too long"), "too long"),
}  # fmt: skip


@pytest.mark.parametrize(("problem", "expected"), TEXTS.values(), ids=TEXTS)
def test_problems_in_words(problem: commands.CommandProblem, expected: str) -> None:
    assert problem.text() == expected


@pytest.mark.parametrize("word", TABLE.words)
def test_every_command_is_read_by_its_name(word: str) -> None:
    parsed = parse(f"/{word}{NEEDED.get(word, '')}")

    assert [TABLE.row(command).word for command in parsed.commands] == [word]
    assert parse(f"@porchbot {word}{NEEDED.get(word, '')}") == parsed
    assert bool(parsed)


@pytest.mark.parametrize("word", INSTEAD)
def test_a_word_that_other_tools_have_is_told_what_to_do_instead(word: str) -> None:
    """The short-cut is "not supported yet", which helps nobody."""
    (problem,) = parse(f"/{word} a=b").problems

    assert parse(f"@porchbot {word}").problems == (problem,)
    assert not parse(f"/{word}").commands
    assert problem.text() == f"`/{word}` is not a command here; {INSTEAD[word]}"


PIECES = [
    "", "/approve", "/hold x", "@porchbot help", "/aprove", ">", "- ", "`", "```\n", "<!--", "-->",
    "<details>", "</details>", "\n", "\n\n", "\r\n", "**", "~~", "[", "](u)", "    ", "|", "---",
    "\\", "&#47;", "é", "\ue000", "\x00", "\ud800", "<b>", "</b>", "word ",
]  # fmt: skip
THREE = each_of(PIECES, PIECES, PIECES).map("".join)


@given(st.one_of(st.text(), st.lists(THREE, max_size=10).map("".join)))
def test_any_text_is_read_and_always_alike(body: str) -> None:
    first = parse(body)

    assert parse(body) == first
    assert len(first.commands) <= 20


@given(st.lists(THREE, max_size=7).map("".join))
def test_a_quote_of_anything_asks_for_nothing(body: str) -> None:
    """Short-cut refused: what GitHub's "Quote reply" writes taken for the writer's own."""
    lines = re.split(r"\r\n?|\n", body)

    assert parse("\n".join(f"> {line}" for line in lines)) == NOTHING


BURDENS: dict[str, str] = {
    "brackets": "/approve\n" + "[" * 60_000,
    "stars": "/approve\n" + "*a_ " * 15_000,
    "quotes": "/approve\n\n" + ">" * 60_000,
    "tags": "/approve\n" + "<a " * 20_000,
    "backticks": "/approve\n" + "".join("`" * n + " " for n in range(300)),
    "likely lines": "/x\n" * 20_000,
    "open tags": "<!-- /a\n" * 8_000,
}


@pytest.mark.parametrize("body", BURDENS.values(), ids=BURDENS)
def test_no_comment_keeps_us_busy(body: str) -> None:
    """Short-cut: the Markdown parser, which takes the square of these, on whatever comes."""
    assert calls(lambda: parse(body), (*OURS, "/markdown_it/")) < 600_000


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/remove-hold", UnholdCommand()),
        ("/lgtm", ApproveCommand()),
        ("@porchbot LGTM", ApproveCommand()),
        ("/approve", ApproveCommand()),
        ("/approve ABCDEF0", ApproveCommand("abcdef0")),
        ("/diff v12", DiffCommand(RevisionTarget(None, 12))),
        ("/diff", DiffCommand(RevisionTarget(None, 0))),
        ("/diff 12", DiffCommand(RevisionTarget(None, 12))),
        ("/diff net/core v2", DiffCommand(RevisionTarget("net/core", 2))),
        ("/diff net/core@v2", DiffCommand(RevisionTarget("net/core", 2))),
    ],
)
def test_aliases_are_the_commands_they_stand_for(text: str, command: object) -> None:
    """Fails when an alias of the repository can take the place of a command."""
    aliases = {"lgtm": "approve", "approve": "reject"}

    assert parse(text, aliases=aliases) == ParsedComment((command,))


def test_an_alias_is_one_only_where_the_repository_says_so() -> None:
    """Fails when what one repository means by a word is kept for all."""
    assert parse("/lgtm", aliases={"lgtm": "approve"}).commands
    assert parse("/lgtm") == ParsedComment()
    assert parse("/lgtm", aliases={"lgtm": "hold"}).commands == (HoldCommand(),)


@pytest.mark.parametrize("text", ["/diff x latest", "/diff v0", "/diff v1 v2", "/diff -1"])
def test_what_is_no_revision_is_told(text: str) -> None:
    (problem,) = parse(text).problems
    assert isinstance(problem, Malformed)
