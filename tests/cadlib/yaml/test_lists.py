"""Lists with elements inserted, removed, reordered and changed: the text before and after."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.yaml import EditError, Value, edit, read, same
from cadlib.yaml.emit import entry
from tests.counting import assert_in_proportion

SPREAD = """\
containers:
# about web
- name: web # w
  image: nginx
  # command: x

# about db
- name: db
  ports: [80] # p

- name: log
other: 1
"""
WEB: Value = {"name": "web", "image": "nginx"}
DB: Value = {"name": "db", "ports": [80]}
LOG: Value = {"name": "log"}
WEB_TEXT = "# about web\n- name: web # w\n  image: nginx\n  # command: x\n"
DB_TEXT = "# about db\n- name: db\n  ports: [80] # p\n"


def edited(text: str, wanted: Value) -> str:
    return edit(read(text.encode(), path="f"), {0: wanted}).decode()


def containers(*items: Value) -> Value:
    return {"containers": list(items), "other": 1}


def spread(*texts: str) -> str:
    return "containers:\n" + "\n".join(texts) + "other: 1\n"


@pytest.mark.parametrize(
    ("wanted", "after"),
    [
        ([DB, LOG], [DB_TEXT, "- name: log\n"]),
        ([WEB, LOG], [WEB_TEXT, "- name: log\n"]),
        ([WEB, DB], [WEB_TEXT, DB_TEXT]),
        ([LOG], ["- name: log\n"]),
        ([LOG, WEB, DB], ["- name: log\n", WEB_TEXT, DB_TEXT]),
        ([DB, WEB, LOG], [DB_TEXT, WEB_TEXT, "- name: log\n"]),
        ([{"name": "new"}, WEB, DB, LOG], ["- name: new\n", WEB_TEXT, DB_TEXT, "- name: log\n"]),
        ([WEB, {"name": "new"}, DB, LOG], [WEB_TEXT, "- name: new\n", DB_TEXT, "- name: log\n"]),
        ([WEB, DB, LOG, {"name": "new"}], [WEB_TEXT, DB_TEXT, "- name: log\n", "- name: new\n"]),
        ([DB, {"name": "web", "image": "httpd"}], [DB_TEXT, WEB_TEXT.replace("nginx", "httpd")]),
        ([{"name": "new"}], ["- name: new\n"]),
    ],
)
def test_elements_keep_their_comments_and_gaps(wanted: list[Value], after: list[str]) -> None:
    """The short-cut matches by place: comments of one element stand beside another."""
    assert edited(SPREAD, containers(*wanted)) == spread(*after)


TABLE: dict[str, tuple[str, Value, str]] = {
    "a comment below, which a blank line keeps apart from the next, moves along": (
        "- a # x\n# below a\n\n# of b\n- b\n- c\n",
        ["b", "c", "a"],
        "\n# of b\n- b\n- c\n- a # x\n# below a\n",
    ),
    "what is new comes behind such a comment": (
        "- a\n# below a\n\n- b\n- c\n", ["a", "new", "b", "c"],
        "- a\n# below a\n\n- new\n\n- b\n- c\n",
    ),
    "and is not the next one's where it moved": (
        "- a\n- b\n# below b\n\n- c\n", ["b", "a", "c"], "- b\n# below b\n\n- a\n\n- c\n",
    ),
    "such a comment stays where its element goes": (
        "- a\n# below a\n\n- b\n", ["b"], "# below a\n\n- b\n",
    ),
    "compact, removed in front": (
        "a:\n- x # x\n# y\n- y\nb: 1\n", {"a": ["y"], "b": 1}, "a:\n# y\n- y\nb: 1\n"),
    "wide, inserted between": (
        "a:\n    - x # x\n    # z\n    - z\n", {"a": ["x", "w", "z"]},
        "a:\n    - x # x\n    - w\n    # z\n    - z\n"),
    "a comment below belongs to the list": (
        "a:\n  - x\n  # more to come\nb: 1\n", {"a": ["x", "w"], "b": 1},
        "a:\n  - x\n  - w\n  # more to come\nb: 1\n"),
    "a comment below, further in, belongs to the element": (
        "a:\n  - x: 1\n    # y: 2\nb: 1\n", {"a": [{"x": 1}, "w"], "b": 1},
        "a:\n  - x: 1\n    # y: 2\n  - w\nb: 1\n"),
    "as far apart as the others": (
        "- x\n\n\n- y\n", ["w", "x", "y"], "- w\n\n\n- x\n\n\n- y\n"),
    "one of two equal ones": ("- x # 1\n- x # 2\n", ["x"], "- x # 1\n"),
    "an element of a nested list": (
        "- - a # a\n  - b # b\n- c\n", [["b"], "c"], "- - b # b\n- c\n"),
    "the first of a nested list moves": (
        "- - a # a\n  # b\n  - b\n- c\n", [["b", "a"], "c"], "# b\n- - b\n  - a # a\n- c\n"),
    "in front of a nested list": (
        "- - a\n  - b\n", [["n1", "a", "b"]], "- - n1\n  - a\n  - b\n"),
    "all of a nested list": ("- - a # a\n  - b\n- 3\n", [["c"], 3], "- - c\n- 3\n"),
    "an element without value": ("-\n- a\n", ["a"], "- a\n"),
    "block scalars": (
        "- |\n  # no comment\n  x\n- y\n", ["y", "# no comment\nx\n"],
        "- y\n- |\n  # no comment\n  x\n"),
    "a quoted text that looks like a comment above": (
        'a: [1]\nb: "x\n# y"\nc: 2\n', {"a": [1], "b": "x # y"}, 'a: [1]\nb: "x\n# y"\n'),
    "CRLF": ("a:\r\n- 1 # c\r\n- 2\r\n", {"a": [2, 1, 3]}, "a:\r\n- 2\r\n- 1 # c\r\n- 3\r\n"),
    "without final newline": ("- 1 # c\n- 2", [2, 1], "- 2\n- 1 # c"),
    "with an anchor that stays before its alias": (
        "a:\n- &x 1\n- 2\nb: *x\n", {"a": [2, 1], "b": 1}, "a:\n- 2\n- &x 1\nb: *x\n"),
    "behind an anchor of the list": (
        "a: &x # - c\n  - 1\n  - 2\n", {"a": [2]}, "a: &x # - c\n  - 2\n"),
    "in brackets": ("a: [x, y,  z] # c\n", {"a": ["z", "w", "x"]}, "a: [z, w,  x] # c\n"),
    "the first in brackets": ("a: [ x, y ]\n", {"a": ["y"]}, "a: [ y ]\n"),
    "in front, in brackets": ("a: [x]\n", {"a": ["w", "x"]}, "a: [w, x]\n"),
    "all in brackets": ("a: [x, y]\n", {"a": ["z"]}, "a: [z]\n"),
    "none left in brackets": ("a: [x, y] # c\n", {"a": []}, "a: [] # c\n"),
    "in brackets over lines": (
        "a: [ # the list\n  x, # x\n  # y\n  y,\n  z # z\n]\n", {"a": ["z", "y", "w"]},
        "a: [ # the list\n  z, # z\n  # y\n  y,\n  w\n]\n"),
    "in brackets, a comment comes last": (
        "a: [\n  x, # x\n  y ]\n", {"a": ["y", "x"]}, "a: [\n  y,\n  x # x\n  ]\n"),
    "in brackets, two to a line": (
        'a: [\n  "-a", "1",\n  "-b", "2",\n]\n', {"a": ["-b", "2"]}, 'a: [\n  "-b", "2",\n]\n'),
    "mappings in braces": (
        "- {name: x, v: 1}\n- {name: y, v: 2}\n", [{"name": "y", "v": 3}],
        "- {name: y, v: 3}\n"),
    "renamed in place": (
        "- name: x # the one\n  value: 1\n", [{"name": "z", "value": 1}],
        "- name: z\n  value: 1\n"),
    "another one, not renamed": (
        "- name: x # the one\n  value: 1\n", [{"name": "z", "value": 2}],
        "- name: z\n  value: 2\n"),
    "ports by number and protocol": (
        "- containerPort: 53 # t\n  protocol: TCP\n- containerPort: 53 # u\n  protocol: UDP\n",
        [{"containerPort": 53, "protocol": "UDP"}],
        "- containerPort: 53 # u\n  protocol: UDP\n"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "wanted", "after"), TABLE.values(), ids=TABLE)
def test_a_list_is_edited(before: str, wanted: Value, after: str) -> None:
    """The short-cut writes the list anew."""
    assert edited(before, wanted) == after


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        (
            "a:\n- &x 1\n- 2\nb: *x\n",
            {"a": [2], "b": 1},
            "f:4, a: *x would lose its anchor. Write the value out in place of the alias.",
        ),
        (
            "a: [x # c\n  , y]\n",
            {"a": ["y", "x"]},
            "f:1, a: a comma is on the line after the comment of the previous entry."
            " Make this change by hand.",
        ),
        (
            "a: [b: 1]\n",
            {"a": [{"b": 1, "c": 2}]},
            "f:1, a[0]: a mapping without braces would get other keys. Make this change by hand.",
        ),
    ],
)
def test_what_a_list_edit_would_break_is_refused(text: str, wanted: Value, message: str) -> None:
    """The short-cut leaves an alias of nothing."""
    with pytest.raises(EditError) as caught:
        edited(text, wanted)

    assert str(caught.value) == message


def test_an_alias_before_its_anchor_is_refused() -> None:
    with pytest.raises(EditError, match=r"the alias \*x has no anchor before it"):
        edited(
            "- name: a\n  v: &x 1\n- name: b\n  v: *x\n",
            [{"name": "b", "v": 1}, {"name": "a", "v": 1}],
        )


@given(st.integers(0, 2**32))
def test_each_element_keeps_its_lines(seed: int) -> None:
    """Short-cuts: comments by place; or an element moves without its head or foot.

    Every element has lines that no other has; in any order they stand together, unless the
    element is changed.
    """
    rng = random.Random(seed)
    pad = rng.choice(["", "  "])
    names = [f"n{number}" for number in range(rng.randint(1, 6))]
    texts = {name: _element(rng, pad, name) for name in names}
    gap = rng.choice(["", "\n"])
    text = "list:\n" + gap.join(texts.values()) + "# the end\nafter: 1\n"
    value = read(text.encode()).documents[0].value
    assert isinstance(value, dict)
    assert isinstance(value["list"], list)
    wanted = rng.sample(value["list"], rng.randint(1, len(names)))
    for number in range(rng.randint(0, 2)):
        wanted.insert(rng.randint(0, len(wanted)), {"name": f"new{number}"})

    data = edited(text, {"list": wanted, "after": 1})

    assert same(read(data.encode()).documents[0].value, {"list": wanted, "after": 1})
    kept = [item["name"] for item in wanted if isinstance(item, dict)]
    expected = [texts.get(str(name), f"{pad}- name: {name}\n") for name in kept]
    assert data.replace("\n\n", "\n") == "list:\n" + "".join(expected) + "# the end\nafter: 1\n"


def _element(rng: random.Random, pad: str, name: str) -> str:
    lines = [f"{pad}# head of {name}"] if rng.random() < 0.5 else []
    comment = f" # line of {name}" if rng.random() < 0.5 else ""
    lines.append(f"{pad}- name: {name}{comment}")
    value = rng.choice(["{}", "[1, {}]", "{{a: {}}}"]).format(name)
    lines.append(f"{pad}  value: {value} # value of {name}")
    if rng.random() < 0.3:
        lines += [f"{pad}  text: |", f"{pad}    # text of {name}", f"{pad}    more"]
    if rng.random() < 0.3:
        lines.append(f"{pad}  # foot of {name}")
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("kind", ["block", "flow"])
def test_a_long_list_takes_time_by_its_length(kind: str) -> None:
    """The short-cut looks at all elements for each."""

    def editing(size: int) -> Callable[[], object]:
        items: list[Value] = [{"name": f"n{number}", "v": [number]} for number in range(size)]
        texts = [f"name: n{number}, v: [{number}]" for number in range(size)]
        blocks = "".join(f"# c\n- {text}\n".replace(", ", "\n  ") for text in texts)
        flow = "[" + ", ".join(f"{{{text}}}" for text in texts) + "]"
        wanted: list[Value] = [{"name": "new"}, *items[:0:-2], *items[::2]]
        stream = read((blocks if kind == "block" else flow).encode())
        return lambda: edit(stream, {0: wanted})

    assert_in_proportion(editing, 60)


def test_only_the_new_element_is_written() -> None:
    """The short-cut falls back to writing the list, or the element that moved, anew."""
    written: list[tuple[str | None, Value]] = []

    def watched(key: str | None, value: Value, indent: int, **_: object) -> list[str]:
        written.append((key, value))
        return entry(key, value, indent)

    wanted = containers(LOG, {"name": "new", "v": [1]}, {"name": "web", "image": "httpd"})
    edit(read(SPREAD.encode()), {0: wanted}, write=watched)

    assert written == [(None, {"name": "new", "v": [1]})]
