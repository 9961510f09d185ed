"""The answers of policies, in both versions of the language."""

import json
from typing import Any

import pytest
import regorus

from fnrunner.builtin.confined.rego import tokens
from fnrunner.builtin.confined.rego.syntax import Term
from fnrunner.builtin.confined.rego.terms import TermReader
from fnrunner.builtin.confined.rego_engine import CompiledPolicy, PolicyError
from tests.fnrunner.builtin.confined.rego.verdicts import CHAINS, INPUT, VERDICTS, Verdict

ASKING = {"file": "asking", "text": "package asking\nviolation contains x if x = data.p.answer"}


def policy(text: str, *, v1: bool) -> tuple[CompiledPolicy, Any]:
    engine = regorus.Engine()
    modules = [ASKING | {"v1": True}, {"file": "p", "text": text, "v1": v1}]
    return CompiledPolicy(engine, {"modules": modules}, {}), engine


def answer(text: str, given: Any, *, v1: bool) -> list[Any]:
    ready, engine = policy(text, v1=v1)
    engine.set_input_json(json.dumps(given))
    return ready.found()


@pytest.mark.parametrize("v1", [False, True], ids=["v0", "v1"])
@pytest.mark.parametrize("case", VERDICTS.values(), ids=VERDICTS)
def test_the_answer_is_that_of_open_policy_agent(case: Verdict, v1: bool) -> None:
    """Short-cut: hand the text to the engine as it is, and half of these come out otherwise."""
    assert answer(case.v1 if v1 else case.v0, case.input, v1=v1) == case.answer, case.why


@pytest.mark.parametrize("text", CHAINS.values(), ids=CHAINS)
def test_each_body_in_a_row_is_a_rule(text: str) -> None:
    """Short-cut: let them be, and a second body of a function never holds."""
    assert answer(f"package p\n{text}", INPUT, v1=False) != []


REFUSED = {
    "a function that is not here": (
        "answer := io.jwt.decode(input.a)", "p:2:11: the function io.jwt.decode is not supported"
    ),
    "a function that is nowhere": ("answer := data.lib.f(1)", "p:2:11: the function data.lib.f is"),
    "the network": ('answer := http.send({"url": "x"})', "p:2:11: http.send: not allowed"),
    "a text with templates": ('answer := $"a {input.b}"', "p:2:11: template strings"),
    "an operator of later": ("answer if { input.a and input.b }", "p:2:21: the operator `and`"),
    "a keyword of later": ("import future.keywords.not\nanswer := 1", "p:2:1: the keyword `not`"),
    "a whole package": ("rule := 1\nanswer := data.p", "p:3:11: data.p is a package"),
    "the whole of data": ("answer := [k | data[k]]", "p:2:16: data is a package"),
    "a name that is a keyword": ("answer := if", "p:2:11: `if` is a keyword"),
    "a variable of a negation": (
        'answer if { not startswith(input.images[_], "corp") }', "p:2:41: a variable `_` has no"
    ),
    "a variable of a negated reference": (
        "answer if { not input.images[i] == 1 }", "p:2:30: the variable i has no value"
    ),
    "heads of other shapes": (
        'a[x].b := 1 if some x in [1]\na.c := 2\nanswer := a', "p:3:1: rules of a have variables"
    ),
    "an object that may be empty": (
        "a.b := 1 if input.gone\nanswer := a", "p:3:11: data.p.a is an object defined by several"
    ),
    "too many arguments": ("answer := count(1, 2, 3)", "p:2:11: count is called with 3"),
    "a text without an end": ('answer := "a', "p:2:11: the string that begins here"),
    "an escape that is none": ('answer := "\\d"', "p:2:11: \\d is not an escape"),
    "a rule without `if`": ("answer { true }", "p:2:1: `if` is required"),
    "a set without `contains`": ("answer[1]", "p:2:1: `contains` is required"),
    "an old function": ("answer := any([true])", "p:2:11: the function any was removed"),
    "too deep": (f"answer := {'[' * 5000}", "p:1:1: it is nested too deep"),
}  # fmt: skip


@pytest.mark.parametrize(("rules", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_available_is_refused_by_name(rules: str, said: str) -> None:
    """Short-cut: let the engine find out, at the first resource, or never."""
    with pytest.raises(PolicyError) as error:
        policy(f"package p\n{rules}", v1=True)
    assert str(error.value).startswith(said)


class Counting(TermReader):
    """Counts what it reads."""

    reads = 0

    def _read_simple(self) -> Term:
        self.reads += 1
        return super()._read_simple()


def test_deep_terms_are_read_once() -> None:
    """Short-cut: read a term anew as a comprehension, a set and an object, at every depth."""
    depth = 6
    text = '{"a": [' * depth + "1" + "]}" * depth
    reader = Counting(tokens.read(text), tokens.KEYWORDS)
    reader.term()
    assert reader.reads == 3 * depth + 1
