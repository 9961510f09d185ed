"""How the bot's refusals read: short, and with what to do."""

import ast
import re
from pathlib import Path

import pytest

from lifecycle.messages import answers, timing, updates

FOLDER = Path(answers.__file__).parent
REMEDY = re.compile(
    r"\b(ask|approve|comment|merge|commit|fix|write|name|give|open|push|make|review|reopen|edit|wait"
    r"|propose|publish|only works|cannot be overridden|use|keep|delete|change|restore|check|contact"
    r"|it takes|by hand|hand)\b|`/why`",
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
        case _:
            return "(…)"


# "was refused" is what GitHub did: the list of gates says beside it what is needed, and of whom.
REFUSALS = {w: t for w, t in _texts() if " refused: " in t and "was refused" not in t}


def sentences(text: str) -> int:
    """How many sentences a text has; code and lists do not count."""
    prose = re.sub(r"`[^`]*`", "x", text.split("\n\n")[0])
    return len(re.findall(r"[.!?](?:\s|$)", prose)) or 1


def test_there_are_refusals_to_measure() -> None:
    """The short-cut measures nothing, because texts are put together elsewhere."""
    assert len(REFUSALS) > 12


@pytest.mark.parametrize("where", REFUSALS)
def test_a_refusal_says_why_and_what_to_do_in_three_sentences(where: str) -> None:
    """The short-cut says no, and leaves people to find out how to go on."""
    text = REFUSALS[where]
    assert sentences(text) <= 3, text
    assert REMEDY.search(text.split(" refused: ", 1)[1]), text


def test_refusals_of_whole_messages_are_as_short() -> None:
    """Those that are put together of parts: the parts alone would pass."""
    for text in (answers.APPROVE_UNJUDGED, answers.RENDER_OF_FORK, timing.NEVER_OVERRIDDEN):
        assert sentences(text) <= 3
    for text in (updates.of_fork("main"), updates.unknown("main")):
        assert sentences(text) <= 3
        assert "`main`" in text
