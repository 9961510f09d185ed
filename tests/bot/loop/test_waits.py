"""What is counted of waits: few words, whatever checks and tags are called."""

import ast
from pathlib import Path

import lifecycle
from bot.loop import waits
from lifecycle.decide import conclude
from lifecycle.judgement import Gate, GateState
from lifecycle.messages import gates as texts
from lifecycle.messages import reviews
from tests.lifecycle.samples import PROPOSAL, changed, facts

LIFECYCLE = Path(lifecycle.__path__[0])


def test_every_gate_has_its_reason() -> None:
    """Short-cut refused: a list written once; a gate that is added is then counted as "other"."""
    names = set()
    for path in LIFECYCLE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Gate":
                (name,) = (k.value for k in node.keywords if k.arg == "name")
                names.add(_beginning(name))

    reasons = {name: waits.reason(f"{name}x" if name.endswith(" ") else name) for name in names}

    assert len(names) > 10
    assert {n: r for n, r in reasons.items() if r == waits.OTHER} == {}


def _beginning(name: ast.expr) -> str:
    """What a name begins with: all of it where nothing is added to that."""
    match name:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr([first, *_]) | ast.BinOp(first):
            return _beginning(first)
        case ast.Attribute(ast.Name("texts" | "gate_texts"), attribute):
            return str(getattr(texts, attribute))
        case ast.Attribute(ast.Name("reviews"), attribute):
            return str(getattr(reviews, attribute))
        case ast.Name("name"):  # of a check of others, after its beginning
            return texts.CHECK
        case _:
            raise AssertionError(ast.unparse(name))


def test_a_name_that_people_chose_is_no_reason() -> None:
    """Short-cut refused: a check's own name as a label; anybody can then add a thousand."""
    gate = Gate(name="check lint/β", state=GateState.WAITS, actual="it runs")

    (found,) = waits.of_gates([gate])

    assert (found.gate, found.reason) == ("check lint/β", "check")
    assert waits.reason("made up by nobody") == waits.OTHER


def test_what_is_waited_for_is_what_the_gates_say() -> None:
    """Short-cut refused: what a closed proposal lacks is waited for by nobody."""
    waiting = conclude(facts(PROPOSAL)).waits
    closed = conclude(facts(changed(PROPOSAL, closed=True))).waits

    assert {n: [g.name for g in gates] for n, gates in waiting.items()} == {7: ["approved"]}
    assert closed == {}
