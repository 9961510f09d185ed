"""Expressions in CEL: what they give, how errors are said, and what they cannot do to the bot."""

import pytest

from lifecycle.variants import expressions
from lifecycle.variants.costs import MOST_MADE, Input
from lifecycle.variants.expressions import (
    MOST_CHARACTERS,
    MOST_RESULT,
    MOST_SAID,
    ExpressionError,
    check,
    compiled,
    together,
)
from tests.counting import peak_memory

INPUTS: dict[str, Input] = {
    "repoDefault": "live",
    "packageDefault": "edge",
    "target": {"name": "north", "labels": {"tier": "edge", "zone": "a"}},
    "upstream": {"name": "base.net.core.v2", "namespace": "default"},
}
LIMIT = "operation cancelled: actual cost limit exceeded"
LONG = ",".join("1" * 60)


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "repoDefault": "live",
        "packageDefault + '-' + target.name": "edge-north",
        "target.labels['tier']": "edge",
        "target.labels.tier": "edge",
        "has(target.labels.region) ? 'yes' : 'no'": "no",
        "'zone' in target.labels ? target.labels.zone : ''": "a",
        "target.name.startsWith('n') && target.name.size() == 5 ? 'n' : 's'": "n",
        "target.labels.exists(k, k == 'tier') ? 'has' : 'lacks'": "has",
        "['a', 'b'].filter(x, x != target.labels.zone)[0]": "b",
        "target.name.matches('^n.*h$') ? 'm' : ''": "m",
        r"matches(target.name, r'^[a-z]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z]+)?$') ? 'm' : ''": "m",
        r"['x', target.name].filter(x, x.matches('^\\w+\"?rth$'))[0]": "north",
        "string(target.labels.size())": "2",
        "'grün'": "grün",
        "[1, 'a'][1]": "a",  # D164: cel-go refuses it as Porch asks
    }.items(),
)
def test_what_expressions_give(text: str, expected: str) -> None:
    assert compiled(text).evaluate(INPUTS) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "target.labels['no']": "no such key: no",
        "target.nothing": "no such key: nothing",
        "repository.name": "no such attribute(s): repository",
        "[1][3] == 1 ? 'a' : 'b'": "index out of bounds: 3",
        "1 / 0 == 1 ? 'a' : 'b'": "division by zero",
        "9223372036854775807 + 1 == 0 ? 'a' : 'b'": "integer overflow",
        "dyn(1) + 'a'": "no such overload",
        "target.name.more": "no such overload",
        "target.labels": "type conversion error from map to 'string'",
        "dyn(true)": "type conversion error from bool to 'string'",
        "1.5": "type conversion error from Double to 'string'",
        "b'a'": "type conversion error from Bytes to 'string'",
        "null": "type conversion error from 'null_type' to 'string'",
        "type('a')": "type conversion not supported for 'type'",
        "duration('1s')": "type conversion error from 'Duration' to 'string'",
        "timestamp('2026-11-01T00:00:00Z')": "type conversion error from 'Timestamp' to 'string'",
        "target.name + 1": "no such overload",
        "int('x') == 1 ? 'a' : 'b'": "type conversion error from 'string' to 'int'",
        "bool('x') ? 'a' : 'b'": "type conversion error from 'string' to 'bool'",
        "string(duration('x'))": (
            "type conversion error from 'string' to 'google.protobuf.Duration'"
        ),
        "uint(-1) == 1u ? 'a' : 'b'": "unsigned integer overflow",
        "string(b'\\xff')": "invalid UTF-8 in bytes, cannot convert to string",
        "'a'.matches('[') ? 'a' : 'b'": "error parsing regexp: missing ]: [",
    }.items(),
)
def test_errors_while_evaluating_are_said_in_words_of_cel_go(text: str, expected: str) -> None:
    """The short-cut shows what the library says, which nobody finds in Porch's documents."""
    with pytest.raises(ExpressionError) as caught:
        compiled(text).evaluate(INPUTS)

    assert caught.value.text == expected


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("nope", 1, 1, "undeclared reference to 'nope'"),
        ("repoDefault +", 1, 14, "Syntax error"),
        ("repoDefault +\n  1", 1, 13, "found no matching overload for '_+_' applied to"),
        ("repoDefault\n  + nope", 2, 5, "undeclared reference to 'nope'"),
        ("no.such.thing", 1, 1, "undeclared reference to 'no'"),
        ("target.labels[ no.more ]", 1, 16, "undeclared reference to 'no'"),
        ("has(target)", 1, 5, "invalid argument to has() macro"),
        ("['a'].map(1, 'x')[0]", 1, 11, "argument is not an identifier"),
        ("['a'].all(1, true) ? 'a' : 'b'", 1, 11, "argument must be a simple name"),
        ("no(nope)", 1, 3, "undeclared reference to 'no'"),
        ("'a'.lowerAscii()", 1, 15, "undeclared reference to 'lowerAscii'"),
        ("1 + 1", 0, 0, "unsupported type conversion from 'int' to string"),
        ("true", 0, 0, "type conversion error from bool to 'string'"),
        *(
            (text, 0, 0, "must be written out in the expression")
            for text in (
                "target.name.matches(target.labels.tier) ? 'a' : 'b'",
                "matches(target.name, 'a' + 'b') ? 'a' : 'b'",
                "target.name.matches // why\n ((true ? 'a' : 'b')) ? 'a' : 'b'",
                r"target.name.matches('(a?)\x7b900}b') ? 'a' : 'b'",
                ".matches(target.name, target.labels.tier) ? 'a' : 'b'",
            )
        ),
        ("", 1, 1, "Syntax error"),
        ("\x00", 1, 1, "Syntax error"),
    ],
)
def test_errors_of_compiling_have_their_place(
    text: str, line: int, column: int, expected: str
) -> None:
    """The short-cut finds out when the first package is made."""
    with pytest.raises(ExpressionError) as caught:
        check(text)

    assert expected in caught.value.text
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "text",
    [
        f"[{LONG}].map(a, [{LONG}].map(b, [{LONG}].map(c, a + b + c))).size() == 1 ? 'a' : 'b'",
        "['aaaaaaaaaa']" + ".map(a, a + a)" * 25 + "[0]",
        "[['a']]" + ".map(a, a + a)" * 20 + "[0][0]",
        "[target.name]" + ".map /* map */ (a, a + a)".replace(" /* map */ ", " ") * 25 + "[0]",
        "[target.name]" + ".map //\n(a, a + a)" * 25 + "[0]",
        f"[{LONG}].all(x, [{LONG}].all(y, 'a'.matches('(a|b){{1,900}}'))) ? 'a' : 'b'",
        f"'{'a' * 800}'.matches('(a?){{900}}b') ? 'a' : 'b'",
        f"'{'a' * 800}'.matches('{'|'.join(['(a?){900}b'] * 100)}') ? 'a' : 'b'",
        f"'{'a' * 800}'.matches(r'(?:(?:a?){{30}}){{30}}b') ? 'a' : 'b'",
        f"matches('{'a' * 800}', r'\\pL{{900}}') ? 'a' : 'b'",
    ],
    ids=[
        "endless",
        "doubling",
        "lists",
        "spaced",
        "commented",
        "patterns",
        "repeated",
        "many",
        "nested",
        "letters",
    ],
)
def test_no_expression_takes_long_or_much_memory(text: str) -> None:
    """The short-cut trusts the library, which counts iterations but no memory: 1.3 GB for one."""
    with pytest.raises(ExpressionError) as caught:
        compiled(text).evaluate(INPUTS)

    assert caught.value.text in (LIMIT, "expression recursion limit exceeded")


@pytest.mark.parametrize(
    "text",
    [
        "'" + "a" * 10_000_000 + "'",
        "'a'" + " + 'a'" * 300,
        "(" * 900 + "'a'" + ")" * 900,
        "[" * 500 + "]" * 500 + " == 1 ? 'a' : 'b'",
        "dyn('a')" + ".a" * 900,
        "'\ud800'",
    ],
    ids=["ten megabytes", "sums", "brackets", "lists", "fields", "half a character"],
)
def test_hostile_texts_are_refused_at_once(text: str) -> None:
    with pytest.raises(ExpressionError):
        compiled(text).evaluate(INPUTS)


def test_a_text_of_ten_megabytes_is_not_handed_to_the_library() -> None:
    """The short-cut has it parsed before it is counted."""
    assert peak_memory(_ten_megabytes_are_refused) < 15_000_000  # each copy takes ten million


def _ten_megabytes_are_refused() -> None:
    with pytest.raises(ExpressionError, match=f"longer than {MOST_CHARACTERS} characters"):
        compiled("a" * 10_000_000)


def test_large_inputs_count() -> None:
    """The short-cut bounds the expression, and forgets what it is given."""
    long = {"target": {"annotations": {"a": "x" * 400_000}}}

    with pytest.raises(ExpressionError, match=f"longer than {MOST_RESULT} characters"):
        compiled("target.annotations.a").evaluate(long)
    with pytest.raises(ExpressionError, match="cost limit exceeded"):
        compiled("[1, 2, 3, 4].map(i, target.annotations['1'] + '-')[0]").evaluate(
            {"target": {"annotations": {str(n): "x" * 900_000 for n in range(9)}}}
        )


@pytest.mark.parametrize(
    "text",
    [
        "target.annotations.a.matches('(a?){900}b') ? 'a' : 'b'",
        "target.annotations.a.matches('a*b') && ['a'].all(x, true) ? 'a' : 'b'",
        "target.annotations.a.contains(target.annotations.b) ? 'a' : 'b'",
    ],
)
def test_what_is_matched_and_searched_counts(text: str) -> None:
    """The short-cut counts the pattern alone: 20 s for this one, in which nothing else runs.

    Threads do not help: the library holds the lock of the interpreter.
    """
    annotations = {"a": "a" * 250_000, "b": "a" * 100_000 + "b"}

    with pytest.raises(ExpressionError, match="cost limit exceeded"):
        compiled(text).evaluate({"target": {"annotations": annotations}})


def test_a_plain_pattern_may_stand_in_a_rule_for_thousands() -> None:
    """The short-cut refuses all that could be dear."""
    labels = {f"label-{number}": "value" for number in range(10)}
    expression = compiled("target.name.matches('^team-[a-z]{1,20}$') ? 'team' : 'other'")

    with together():
        found = {
            expression.evaluate({"target": {"name": f"t{number}", **labels}})
            for number in range(4000)
        }

    assert found == {"other"}


@pytest.mark.parametrize(
    "text",
    [
        "target.labels.all(k, target == upstream) ? 'a' : 'b'",
        "target.labels.all(k, [target, target] != [upstream]) ? 'a' : 'b'",
        "[target, target].all(k, upstream in target.labels.map(each, target)) ? 'a' : 'b'",
    ],
)
def test_what_is_compared_counts(text: str) -> None:
    """Short-cuts refused: matching counts alone; comparisons count as such, however large what they
    compare is: 2,000 labels took 48 s in one expression, in which nothing else runs."""
    both = {"labels": {f"k{number}": "v" for number in range(1500)}}

    with pytest.raises(ExpressionError, match="cost limit exceeded"):
        compiled(text).evaluate({"target": both, "upstream": both})


@pytest.mark.parametrize(
    "text",
    [
        "target.labels.all(k, size(target.long) > 0 && size(target.long) > 1) ? 'a' : 'b'",
        "target.labels.all(k, target[target.long] == '' || target[k] == '') ? 'a' : 'b'",
    ],
)
def test_what_is_read_counts(text: str) -> None:
    """The short-cut counts what is made: a long text was read a hundred times for each label, for
    seconds."""
    labels = {f"k{number}": "v" for number in range(500)}

    with pytest.raises(ExpressionError, match="cost limit exceeded"):
        compiled(text).evaluate({"target": {"labels": labels, "long": "a" * 300_000}})


@pytest.mark.parametrize(
    "text",
    [
        "target.labels.filter(k, k.endsWith('l-3')).map(k, k + '=' + target.labels[k])[0]",
        "target.labels.all(k, upstream.labels.exists(u, u == k && upstream.labels[u] == 'v'))"
        " ? 'label-3=v' : ''",
        "upstream.labels == target.labels ? 'label-3=v' : ''",
        "target.labels.exists(k, k in upstream.labels && k.size() == 7) ? 'label-3=v' : ''",
    ],
)
def test_dozens_of_labels_may_be_compared(text: str) -> None:
    """The short-cut refuses all that could be dear: real rules among it."""
    both = {"labels": {f"label-{number}": "v" for number in range(3, 39)}}

    assert compiled(text).evaluate({"target": both, "upstream": both}) == "label-3=v"


def test_different_expressions_are_compiled_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cuts refused: each is bounded, and 2,000 of them in a file of 4 MiB took 15 s; what is
    compiled is kept for good, 2 GB of it; what is refused is compiled again and again for nothing.
    """
    monkeypatch.setattr(expressions, "MOST_COMPILED", 9)

    with together():
        assert compiled("'a'") is compiled("'a'")
        with together():
            compiled("'b'")
        with pytest.raises(ExpressionError, match="Syntax error"):
            compiled("'c")
        with pytest.raises(ExpressionError, match="by all expressions together"):
            compiled("'c")
        compiled("'a'")
    with together():
        compiled("'d'")
    assert compiled("'d'") is not compiled("'d'")


def test_what_is_refused_counts_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut counts what is evaluated: inputs are counted for each, and 20,000 sets that
    are refused took minutes."""
    monkeypatch.setattr(expressions, "MOST_MADE_TOGETHER", MOST_MADE)
    refused = compiled("['a']" + ".map(a, a + a)" * 25 + "[0]")

    with together():
        for _ in range(2):
            with pytest.raises(ExpressionError):
                refused.evaluate(INPUTS)
        with pytest.raises(ExpressionError, match="by all expressions together"):
            compiled("'a'").evaluate(INPUTS)


@pytest.mark.parametrize("text", ["\n".join("$" * 900), "target[target.labels.long]"])
def test_what_is_said_about_an_expression_is_cut(text: str) -> None:
    """The short-cut keeps what the library says, which quotes lines and keys: 250 kB for each of
    thousands of sets."""
    with pytest.raises(ExpressionError) as caught:
        compiled(text).evaluate({"target": {"labels": {"long": "x" * 250_000}}})

    assert len(caught.value.text) == MOST_SAID + 1
