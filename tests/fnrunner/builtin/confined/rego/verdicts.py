"""Policies of our own, each with the answer that Open Policy Agent's documentation gives.

`IF` stands before the body of a rule: `if` in the first stable version of the language, nothing
before it. `python -m tests.opa` asks Open Policy Agent itself for the same answers.
"""

from dataclasses import dataclass, field
from typing import Any, Final

INPUT: Final = {
    "four": 4,
    "name": "web",
    "list": [1, 2, 3],
    "none": [],
    "no": False,
    "null": None,
    "map": {"key": "value"},
    "images": ["corp/a", "hub/b"],
}
_WORDS: Final = "import future.keywords.every\nimport future.keywords.in\n"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A policy and its answer.

    Attributes:
        rules: Its rules; `answer` is asked for.
        answer: [value], or [] where the rule is undefined.
        why: What the documentation says, in our words.
        input: What `input` is.
    """

    rules: str
    answer: list[Any]
    why: str
    input: Any = field(default_factory=lambda: INPUT)

    @property
    def v0(self) -> str:
        """The module in the first version of the language."""
        return f"package p\n{_WORDS}{self.rules.replace(' IF ', ' ')}"

    @property
    def v1(self) -> str:
        """The module in the first stable version."""
        return f"package p\n{self.rules.replace(' IF ', ' if ')}"


_CALLS = "negation: what a negated call is given is worked out before it, so undefined is undefined"
_SIDES = "negation: a comparison with what is undefined is undefined, and its negation holds"
_EVERY = "every: holds for all members, for no members too; an undefined domain has no answer"
_ELSE = "else: the first branch that has a value; one whose value is undefined has none"
_WITH = "with: its value is worked out before, and undefined makes the expression undefined"
_UNIFY = "unification: objects are the same only if their keys are"
_IN = "membership: false where nothing is a member, undefined where there is nothing to look in"
_REF = "references: a bracket or dot follows what it belongs to without a blank"
_FUNCTION = "functions: an undefined argument or result makes the call undefined"
_NUMBERS = "numbers are decimal and of any precision, as they are written"

VERDICTS: Final = {
    "a negated call of what is not there": Verdict(
        'answer IF { not startswith(input.gone, "a") }', [], _CALLS
    ),
    "a negated call of a call of what is not there": Verdict(
        'answer IF { not startswith(lower(input.gone), "a") }', [], _CALLS
    ),
    "a negated call of our own": Verdict(
        "f(x) IF { x == 1 }\nanswer IF { not f(input.gone) }", [], _CALLS
    ),
    "a negated call of a rule that is not so": Verdict(
        "f(_) := false\nrule IF { input.gone }\nanswer IF { not f(rule) }", [], _CALLS
    ),
    "a negated call with an array of what is not there": Verdict(
        "answer IF { not count([input.gone]) == 5 }", [], _CALLS
    ),
    "a negated result of a call": Verdict(
        "f(x) := x\nanswer IF { not f(input.gone) == 1 }", [], _CALLS
    ),
    "a negated inequality": Verdict("answer IF { not input.gone != 1 }", [], _CALLS),
    "a negated membership": Verdict("answer IF { not input.gone in [1] }", [], _CALLS),
    "a negated sum": Verdict("answer IF { not input.gone + 1 == 2 }", [], _CALLS),
    "a key that is not there under a negation": Verdict(
        "answer IF { not input.map[input.gone] }", [], _CALLS
    ),
    "a helper under another negation": Verdict(
        'good IF { not startswith(input.gone, "a") }\nanswer IF { not good }', [True], _CALLS
    ),
    "a negated call that goes through a list": Verdict(
        'answer IF { not startswith(lower(input.images[_]), "corp") }', [True],
        "negation: a call in the argument goes through the list outside of the negation",
    ),
    "a negation in a comprehension": Verdict(
        "f(_) := false\nanswer := [x | x := input.list[_]; not f(input.gone)]", [[]], _CALLS
    ),
    "a negation in an every": Verdict(
        "f(_) := false\nanswer IF { every x in input.list { not f([x, input.gone]) } }", [], _CALLS
    ),
    "a negated call with another input": Verdict(
        "f(x) IF { x > 5 }\nanswer IF { not f(input.gone) with input.gone as 1 }", [True], _CALLS
    ),
    "a negated reference": Verdict("answer IF { not input.gone }", [True], _SIDES),
    "a negated equality": Verdict("answer IF { not input.gone == 1 }", [True], _SIDES),
    "a negated false": Verdict("answer IF { not input.no }", [True], _SIDES),
    "a negated null": Verdict("answer IF { not input.null }", [],
                              "negation: only what is false or undefined is not so"),
    "every of none": Verdict("answer IF { every x in input.none { x > 9 } }", [True], _EVERY),
    "every of what is not there": Verdict(
        "answer IF { every x in input.gone { x > 9 } }", [], _EVERY
    ),
    "every key and member": Verdict(
        "answer IF { every i, x in input.list { x == i + 1 } }", [True], _EVERY
    ),
    "a value that is undefined, and else": Verdict(
        "f(x) := input.gone IF { x > 1 } else := 2\nanswer := f(5)", [2], _ELSE
    ),
    "else behind else": Verdict(
        "answer := 1 IF { input.gone } else := input.gone IF { true } else := 3", [3], _ELSE
    ),
    "a default of a function": Verdict(
        "default f(_) := 7\nf(x) := x IF { x > 1 }\nanswer := [f(0), f(5)]", [[7, 5]],
        "default: the value of a function where none of its bodies holds",
    ),
    "a default of a rule": Verdict(
        "default answer := 1\nanswer := input.gone", [1],
        "default: the value of a rule where all others are undefined",
    ),
    "with what is not there": Verdict(
        "rule := input.four\nanswer := x IF { x := rule with input.gone as input.lost }", [], _WITH
    ),
    "a negation with what is not there": Verdict(
        "rule IF { input.gone }\nanswer IF { not rule with input.gone as input.lost }", [], _WITH
    ),
    "with another function": Verdict(
        "f(_) := 9\nrule := count([1])\nanswer := x IF { x := rule with count as f }", [9],
        "with: functions can be replaced, those of the language too",
    ),
    "an object with more keys": Verdict(
        'answer := [x | {"a": x} = [{"a": 1}, {"a": 2, "b": 3}][_]]', [[1]], _UNIFY
    ),
    "an object with more keys among members": Verdict(
        'answer := [x | some {"a": x} in [{"a": 1}, {"a": 2, "b": 3}]]', [[1]], _UNIFY
    ),
    "an object with more keys as an argument": Verdict(
        'f({"a": x}) := x\nanswer := [y | y := f([{"a": 1}, {"a": 2, "b": 3}][_])]', [[1]], _UNIFY
    ),
    "arrays of other lengths": Verdict("answer := x IF { [x, _] = input.list }", [],
                                       "unification: arrays are the same only at one length"),
    "an array and an object in it": Verdict(
        'answer := y IF { [1, {"k": [_, y]}] = [1, {"k": [2, 3]}] }', [3], _UNIFY
    ),
    "some of what has no members": Verdict("answer := [x | some x in input.four]", [[]], _IN),
    "in what has no members": Verdict("answer := 1 in input.four", [False], _IN),
    "in what is not there": Verdict("answer := 1 in input.gone", [], _IN),
    "a key and a member of a set": Verdict("answer IF { 1, 1 in {1} }", [True],
                                           "membership: the key of a set's member is itself"),
    "a bracket that opens a line": Verdict(
        'answer := x IF { x := input.name\n["web"][_] == x }', ["web"], _REF
    ),
    "a parenthesis that opens a line": Verdict(
        "answer := x IF { x := input.four\n(x + 1) == 5 }", [4], _REF
    ),
    "an array behind a call": Verdict(
        "answer IF { y := count(input.list)\n[3][_] == y }", [True], _REF
    ),
    "a comment before a bracket": Verdict(
        "answer IF { x := input.map # all of it\n[x][0].key == \"value\" }", [True], _REF
    ),
    "a bracket in a comprehension": Verdict(
        "answer := [y | x := input.list\n[x[0]][_] == 1; y := x[1]]", [[2]], _REF
    ),
    "a function whose value is not there": Verdict(
        "f(_) := input.gone\nanswer := [1 | f(1)]", [[]], _FUNCTION
    ),
    "an array of what is not there": Verdict("answer := [input.gone]", [], _FUNCTION),
    "an object of what is not there": Verdict('answer := {"k": input.gone}', [], _FUNCTION),
    "a builtin of what it cannot use": Verdict(
        "answer := [f | f := [1 | lower(input.four)]]", [[[]]], "errors of builtins are undefined"
    ),
    "one argument given twice": Verdict("f(x, x) := 1\nanswer := f(1, 2)", [], _UNIFY),
    "some in some": Verdict(
        "answer := [[x, y] | some x in [1, 2]; some y in [3]]", [[[1, 3], [2, 3]]],
        "membership: each `some` goes through all members for each of those before it",
    ),
    "one bound twice": Verdict("answer := x IF { [x, x] = [1, 2] }", [],
                               "unification: a variable has one value"),
    "a sum of fractions": Verdict("answer := 0.1 + 0.2", [0.3], _NUMBERS),
    "a product of fractions": Verdict("answer := 1.1 * 3", [3.3], _NUMBERS),
    "thirds": Verdict("answer := 1 / 3 + 1 / 3 + 1 / 3", [1], _NUMBERS),
    "a rest of a negative": Verdict("answer := -7 % 3", [-1], _NUMBERS),
    "one after the other": Verdict(
        'answer := strings.replace_n({"a": "b", "b": "a"}, "ab")', ["ba"],
        "strings.replace_n: what was put in is not replaced again",
    ),
    "counted without overlap": Verdict('answer := strings.count("aaaa", "aa")', [2],
                                       "strings.count: matches do not overlap"),
    "a call with its result": Verdict(
        "f(x) := x + 1\nanswer := y IF { f(1, y) }", [2],
        "functions: one argument more is what the result is unified with",
    ),
    "a walk": Verdict(
        "answer := {p | [p, v] := walk(input.map); v == \"value\"}", [[["key"]]],
        "walk: a relation of paths and values",
    ),
    "a rule with a name of several parts": Verdict(
        "lib.one := 1\nlib.two := 2 IF { input.gone }\nanswer := lib.one", [1],
        "rule heads: names may have several parts",
    ),
    "an array without values and its else": Verdict(
        "answer := x IF { x := input.none[0] } else := 0", [0], _ELSE
    ),
    "a raw text": Verdict(
        "answer := `a\\n\"b\"`", ['a\\n"b"'], "strings: raw ones have no escapes"
    ),
    "escapes": Verdict('answer := "\\u0041\\t\\"\\/"', ['A\t"/'], "strings: escapes are JSON's"),
    "a comprehension and no union": Verdict(
        "answer := [[{1} | {2}], [({1} | {2})]]", [[[[1]], [[1, 2]]]],
        "grammar: what may be a comprehension is one",
    ),
}  # fmt: skip

# Two rules with one body each, written as one rule with two: the first version has that.
CHAINS: Final = {
    "a set": 'answer[{"a": x}] { x := 1 } { x := 2 }',
    "a function": "f(x) = y { x == 1; y := 1 } { x == 2; y := 2 }\nanswer = [f(1), f(2)] { true }",
    "a semicolon at the end": "answer[x] { x := 1; } { x := 2; }",
}
