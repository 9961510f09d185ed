"""Functions that policies get beside the engine's own: which, and when not."""

import pytest

from fnrunner.builtin.confined import rego_shims
from tests.fnrunner.catalog.policies import POLICIES

PACKAGES = {
    "plain": ("package a\n", "a"),
    "with parts": ("# package x\npackage lib.a_b.c\n", "lib.a_b.c"),
    "with a text": ('package a["b-c"]\n', 'a["b-c"]'),
    "behind a comment": ("# c\n\n  package  a  # d\n", "a"),
    "none": ("x = 1\n", ""),
}


@pytest.mark.parametrize(("module", "name"), PACKAGES.values(), ids=PACKAGES)
def test_the_package_of_a_module(module: str, name: str) -> None:
    assert rego_shims.package(module) == name


NEEDED = {
    "a function that is gone": ("a { any([true]) }", "any("),
    "one over a line": ('a { re_match(\n"x", y) }', "re_match("),
    "a builtin that may have no value": ("a { to_number(input.x) > 1 }", "to_number("),
    "one with a dot": ("a { units.parse(input.x) > 1 }", "units.parse("),
}
NOT_NEEDED = {
    "one that is not called": "a { b := any; all = 1 }",
    "in a text": 'a { x := "any(x)" }',
    "in a comment": "# any(x)\na { true }",
    "defined here": "any(x) { x[_] }\na { any([true]) }",
    "defined with a value": "any(x) = y { y := x[_] }\na { any([true]) }",
    "another's": "a { data.lib.any([true]); my_any([true]) }",
}


@pytest.mark.parametrize(("code", "start"), NEEDED.values(), ids=NEEDED)
def test_a_function_that_is_called_is_given(code: str, start: str) -> None:
    module = rego_shims.for_package("p", [f"package p\n{code}"])
    assert module.startswith(f"package p\n{start}")


@pytest.mark.parametrize("code", NOT_NEEDED.values(), ids=NOT_NEEDED)
def test_no_function_is_given_that_is_not_called(code: str) -> None:
    """Short-cut: look for the name."""
    assert rego_shims.for_package("p", [f"package p\n{code}"]) == ""


def test_the_engine_reads_what_is_given() -> None:
    import regorus

    engine = regorus.Engine()
    engine.set_rego_v0(True)
    engine.add_policy("guarded", rego_shims.guarded())
    calls = "\n".join(
        f"x{n} {{ {name}({', '.join(['input.x'] * count)}) }}"
        for n, (name, (count, _)) in enumerate(rego_shims._GUARDED.items())
    )
    engine.add_policy("p", f"package p\n{calls}")
    engine.add_policy("q", rego_shims.for_package("p", [f"package p\n{calls}"]))
    engine.set_input_json("{}")
    assert engine.get_packages() == ["data.builtins_here", "data.p", "data.p"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("[p, v] := walk(x)", "[p, v] := walked_here(x)[_]"),
        ("v = walk (f(x, [1, 2]))[1]", "v = walked_here(f(x, [1, 2]))[_][1]"),
        ("v := walk(walk(x)[1])", "v := walked_here(walked_here(x)[_][1])[_]"),
        ("walk(x, [p, v])", "walk(x, [p, v])"),
        ('a := "walk(x)" # walk(x)\nb := `walk(x)`', 'a := "walk(x)" # walk(x)\nb := `walk(x)`'),
        ("my.walk(x)\nwalker(x)", "my.walk(x)\nwalker(x)"),
        ("walk(x) = y { y := x }\nz := walk(1)", "walk(x) = y { y := x }\nz := walk(1)"),
        ("walk(x", "walk(x"),
    ],
)
def test_walk_as_a_value_goes_through_a_list(text: str, written: str) -> None:
    """Short-cut: let it be, and the rule never holds."""
    assert rego_shims.with_relations(text) == written


CHAINS = {
    "a set": ('v[{"a": x}] { x := 1 } { x := 2 }', 'v[{"a": x}] { x := 1 } v[{"a": x}] { x := 2 }'),
    "a function with a text": ('f(x) = "{" { x } {\n y }', 'f(x) = "{" { x } f(x) = "{" {\n y }'),
    "a value in braces": ("f(x) = {1} { x }\n{ y }", "f(x) = {1} { x }\nf(x) = {1} { y }"),
    "three": ("a { b } { c } { d }", "a { b } a { c } a { d }"),
    "a head over lines": ("a[{\n1}] { b } { c }", "a[{\n1}] { b } a[{ 1}] { c }"),
    "behind a comment": ("a { b } # {\n\n{ c }", "a { b } # {\n\na { c }"),
    "behind another rule": (
        "default x = {}\ny = {1} # {\na { b } { c }",
        "default x = {}\ny = {1} # {\na { b } a { c }",
    ),
}  # fmt: skip
SINGLE = (
    "a { b }\nc { d }",
    "package a\nimport b\nx := {1, 2}\ny = {z | z := x[_]}\n",
    'f(x) = "a" { x } else = "b" { y }\nelse = {"c"} { z }',
    "import rego.v1\nv contains {1: 2} if { a }\nw if { b }\n",
    "a = b { {1: 2}[c]; {d} } # } {\n",
    "a {",
    "",
)


@pytest.mark.parametrize(("text", "written"), CHAINS.values(), ids=CHAINS)
def test_each_body_gets_the_head(text: str, written: str) -> None:
    """Short-cut: let it be, and a second body of a function never holds."""
    assert rego_shims.with_heads(text) == written


@pytest.mark.parametrize("text", [*SINGLE, *(each.rego for each in POLICIES.values())])
def test_bodies_with_heads_are_left_alone(text: str) -> None:
    if "in a row" not in text:
        assert rego_shims.with_heads(text) == text


def test_a_last_semicolon_is_none() -> None:
    text = 'a { b; c; # ;}\n} { x := ";}"; }'
    assert rego_shims.ready(text) == 'a { b; c  # ;}\n} a { x := ";}"  }'


def test_calls_of_walk_may_lie_as_deep_as_they_like() -> None:
    """Short-cut: go down with each call."""
    depth = 1500
    written = rego_shims.with_relations("walk(" * depth + "x" + ")" * depth)
    assert written == "walked_here(" * depth + "x" + ")[_]" * depth
