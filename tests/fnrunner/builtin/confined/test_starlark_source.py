"""Scripts made ready: what is rewritten, what is not, and where errors point."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fnrunner.builtin.confined import starlark_source
from fnrunner.builtin.confined.starlark_source import CONTEXT, Loaded, loads, ready

REWRITTEN = {
    "a member": ("x = ctx.resource_list", 'x = ctx("resource_list")'),
    "a member of anything": ("f(c)[0].open_api.get", 'f(c)[0]("open_api").get'),
    "over blanks": ("ctx . open_api", 'ctx  ("open_api")'),
    "another attribute": ("x.items()", "x.items()"),
    "a longer name": ("ctx.resource_lists", "ctx.resource_lists"),
    "a text": ("'ctx.open_api' + r\"ctx.open_api\"", "'ctx.open_api' + r\"ctx.open_api\""),
    "a long text": ('"""\nctx.open_api "\n"""', '"""\nctx.open_api "\n"""'),
    "an escaped quote": (r"'\'ctx.open_api'", r"'\'ctx.open_api'"),
    "a comment": ("# it's ctx.open_api\nx", "# it's ctx.open_api\nx"),
    "a number": ("1.open_api", "1.open_api"),
    "a load": ('load("a.star", "b")', "b = __load('a.star', 'b')"),
    "a load over lines": (
        'load(\n  "a.star",\n  c="b", # why\n  "d",\n)\nx',
        "c = __load('a.star', 'b'); d = __load('a.star', 'd')\n\n\n\n\nx",
    ),
    "a load behind another statement": ('x = 1;load("a", "b")', "x = 1;b = __load('a', 'b')"),
    "a load where none may stand": ('  load("a", "b")', '  load("a", "b")'),
    "a method that a module has too": ('"a b".split(" ")', '"a b".split(" ")'),
    "a module's of that name": (
        'load("re.star", "re")\nre.split(",", x)',
        "re = __load('re.star', 're')\nre(\"split\")(\",\", x)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("script", "text"), REWRITTEN.values(), ids=REWRITTEN)
def test_what_is_rewritten(script: str, text: str) -> None:
    """Short-cut: replace the text wherever it stands."""
    assert ready(script, {*CONTEXT, "split"}).text == text


def test_what_a_script_loads() -> None:
    script = 'load("a.star", "b", c = "d")\n# load("x", "y")\nload(\'\'\'e\'\'\', "f")'
    assert loads(script) == [
        Loaded("a.star", "b", "b"), Loaded("a.star", "d", "c"), Loaded("e", "f", "f"),
    ]  # fmt: skip


PLACES = {
    "behind a member": ("x = ctx.open_api + y", "f:2:23: undefined: y", "f:1:20: undefined: y"),
    "before it": ("y + ctx.open_api", "f:2:1: undefined: y", "f:1:1: undefined: y"),
    "on another line": ("ctx.open_api\ny", "f:3:1: undefined: y", "f:2:1: undefined: y"),
    "no place": ("y", "division by zero", "division by zero"),
}


@pytest.mark.parametrize(("script", "said", "expected"), PLACES.values(), ids=PLACES)
def test_an_error_points_into_the_script_as_it_was_written(
    script: str, said: str, expected: str
) -> None:
    assert ready(script, CONTEXT).message(said, 1) == expected


_PIECES = st.sampled_from([
    "ctx.open_api", '"ctx.open_api"', "'''\nctx.open_api\n'''", "# ctx.open_api\n", "\n", " ", "'",
    '"', '"""', "\\", 'load("a", "b")', "x", ".", "(", "1.5", "ä",
])  # fmt: skip


@given(st.lists(_PIECES, max_size=20).map("".join))
def test_lines_stay_where_they_are(script: str) -> None:
    assert ready(script, CONTEXT).text.count("\n") == script.count("\n")


@given(st.lists(_PIECES, max_size=20).map("".join))
def test_what_has_no_member_and_no_load_stays(script: str) -> None:
    bare = script.replace("ctx.open_api", "ctx.other").replace("load", "unload")
    assert ready(bare, CONTEXT) == starlark_source.ScriptSource(bare, [])
