"""How the bot's answers read: begun with a capital, refusals short, and with what to do."""

import ast
import re
from pathlib import Path

import pytest

from lifecycle.actions import Reply
from lifecycle.decide import decide
from lifecycle.facts.head import Facts
from lifecycle.messages import answers, configuration, markdown, notices, timing, updates
from tests.lifecycle.test_decide import RULES

FOLDER = Path(answers.__file__).parent
REMEDY = re.compile(
    r"\b(ask|approve|comment|merge|commit|fix|write|name|give|open|push|make|review|reopen|edit|wait"
    r"|propose|publish|only works|cannot be overridden|use|keep|delete|change|restore|check|contact"
    r"|it takes|by hand|hand|list|nothing more to do)\b|`/why`",
    re.IGNORECASE,
)


def _texts() -> list[tuple[str, str]]:
    """Every literal of the messages, `…` for what is filled in, with where it stands."""
    found = []
    for path in sorted(FOLDER.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inner: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr):  # docstrings
                inner.add(id(node.value))
            if isinstance(node, ast.JoinedStr):
                inner.update(id(part) for part in node.values)
                found.append((f"{path.name}:{node.lineno}", "".join(map(_part, node.values))))
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in inner
            ):
                found.append((f"{path.name}:{node.lineno}", node.value))
    return found


def _part(part: ast.expr) -> str:
    """A part of a text; what is filled in by its name, where it has one."""
    match part:
        case ast.Constant(value=value):
            return str(value)
        case ast.FormattedValue(value=ast.Name(id=name)):
            return f"({name})"
        case ast.FormattedValue(value=ast.Call(func=ast.Name(id="_refused"))):
            return "`/…` refused"
        case _:
            return "(…)"


# "was refused" is what GitHub did: the list of gates says beside it what is needed, and of whom.
REFUSALS = {w: t for w, t in _texts() if " refused: " in t and "was refused" not in t}

_NOT_DONE = re.compile(
    r"was not carried out|comes too late|is for (?:open )?proposals|cannot tell which"
    r"|nothing was done|(?:was|are) ignored"
)
"""How the bot says no without the word."""

NOT_DONE = {w: t for w, t in _texts() if _NOT_DONE.search(t) and w not in REFUSALS}


def sentences(text: str) -> int:
    """How many sentences a text has; code and lists do not count."""
    prose = re.sub(r"`[^`]*`", "x", text.split("\n\n")[0])
    return len(re.findall(r"[.!?](?:\s|$)", prose)) or 1


def test_there_are_refusals_to_measure() -> None:
    """The short-cut measures nothing, because texts are put together elsewhere."""
    assert len(REFUSALS) > 25
    assert any(where.startswith("deletions") for where in REFUSALS)
    assert len(NOT_DONE) > 6


@pytest.mark.parametrize("where", REFUSALS)
def test_a_refusal_says_why_and_what_to_do_in_three_sentences(where: str) -> None:
    """The short-cut says no, and leaves people to find out how to go on."""
    text = REFUSALS[where]
    assert sentences(text) <= 3, text
    assert REMEDY.search(text.split(" refused: ", 1)[1]), text


@pytest.mark.parametrize("where", NOT_DONE)
def test_what_was_not_done_says_what_to_do(where: str) -> None:
    """The short-cut measures what is called a refusal, and lets the others end in a no."""
    assert sentences(NOT_DONE[where]) <= 3, NOT_DONE[where]
    assert REMEDY.search(NOT_DONE[where]), NOT_DONE[where]


def _problems() -> list[tuple[str, str, str]]:
    """The pairs of what is wrong and what to do, with where they stand."""
    tree = ast.parse(Path(configuration.__file__).read_text(encoding="utf-8"))
    pairs = [each for each in ast.walk(tree) if isinstance(each, ast.Tuple)]
    found = [
        (f"configuration.py:{pair.lineno}", *(_literal(part) for part in pair.elts))
        for pair in pairs
        if len(pair.elts) == 2
    ]
    return [each for each in found if len(each) == 3 and all(each)]


def _literal(part: ast.expr) -> str:
    match part:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_part, values))
        case _:
            return ""


@pytest.mark.parametrize(("where", "wrong", "fix"), _problems())
def test_each_problem_of_a_configuration_has_a_remedy(where: str, wrong: str, fix: str) -> None:
    """The short-cut says what is wrong twice; both are put into a sentence elsewhere."""
    assert not wrong.endswith("."), where
    assert fix[0].isupper(), where
    assert not fix.endswith("."), where
    assert re.match(
        r"Add|Change|Check|Choose|Fix|Give|Keep|Leave|Merge|Name|Put|Remove|Replace|Set|Use|Write",
        fix,
    ), fix


def test_refusals_of_whole_messages_are_as_short() -> None:
    """Those that are put together of parts: the parts alone would pass."""
    for text in (answers.APPROVE_UNJUDGED, answers.RENDER_OF_FORK, timing.NEVER_OVERRIDDEN):
        assert sentences(text) <= 3
    for text in (updates.of_fork("main"), updates.unknown("main")):
        assert sentences(text) <= 3
        assert "`main`" in text


BEGUN = re.compile(r"(?:@\S+:? )*(?:[A-Z]|`|\*\*)")
"""How whatever people are told begins: a capital letter, or what is a name."""


@pytest.mark.parametrize("start", [rule[0] for rule in RULES.values()], ids=RULES)
def test_every_answer_begins_with_a_capital_or_a_name(start: Facts) -> None:
    """The short-cut words each as its writer likes: "@owner everything is frozen" beside "@owner
    Approved."."""
    replies = [each for each in decide(start) if isinstance(each, Reply)]
    assert [each.body for each in replies if not BEGUN.match(each.body)] == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("everything is frozen: fire", "Everything is frozen: fire"),
        ("thawed: everything", "Thawed: everything"),
        ("`net` is frozen", "`net` is frozen"),
        ("net/core v1 is published", "net/core v1 is published"),
        ("2 gates are open", "2 gates are open"),
        ("", ""),
    ],
)
def test_what_is_told_begins_with_a_capital(said: str, shown: str) -> None:
    assert markdown.sentence(said) == shown
    assert answers.answer("owner", [said, said]) == f"@owner {shown}\n\n{shown}"
    assert notices.notice(["owner"], said) == f"@owner {shown}"
