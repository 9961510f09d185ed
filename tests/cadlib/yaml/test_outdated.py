"""Comments of list elements that were replaced go, wherever lists are changed."""

import random
import re
from collections.abc import Callable

import pytest

from cadlib.merge.documents import merge_documents
from cadlib.merge.policy import ConflictPolicy
from cadlib.yaml import Value, edit, emit, read
from cadlib.yaml.outdated import fitting, replaced
from tests.counting import assert_seconds_in_proportion

TABLE: dict[str, tuple[str, Value, str]] = {
    "behind a scalar": ("- a # about a\n- b # about b\n", ["a", "c"], "- a # about a\n- c\n"),
    "above a scalar": ("- a\n# about b\n- b\n", ["a", "c"], "- a\n- c\n"),
    "below a scalar": ("- a\n- b\n  # about b\n", ["a", "c"], "- a\n- c\n"),
    "quotes stay": ('- "a" # about a\n', ["c"], '- "c"\n'),
    "a setter stays": ("- a # kpt-set: ${x}\n", ["c"], "- c # kpt-set: ${x}\n"),
    "in brackets": ("[a, # about a\n b] # all\n", ["c", "b"], "[c,\n b] # all\n"),
    "a block scalar": ("- | # about a\n  a\n- b\n", ["c\n", "b"], "- |\n  c\n- b\n"),
    "of a list in a list": ("- - a # about a\n  - b\n", [["c", "b"]], "- - c\n  - b\n"),
    "a mapping with nothing in common": ("- x: 1 # about 1\n", [{"x": 2}], "- x: 2\n"),
    "a mapping with another key": (
        "# about a\n- name: a # about a\n  image: i # about i\n",
        [{"name": "b", "image": "i"}],
        "- name: b\n  image: i # about i\n",
    ),
    "a mapping that is another": (
        "- name: a # about a\n  x: 1 # about 1\n- name: b # about b\n",
        [{"name": "c", "x": 2}, {"name": "b"}],
        "- name: c\n  x: 2\n- name: b # about b\n",
    ),
    "a field is no element": (
        "- name: a # about a\n  x: 1 # how many\n",
        [{"name": "a", "x": 2}],
        "- name: a # about a\n  x: 2 # how many\n",
    ),
    "a port of another protocol": (
        "- port: 1 # about 1\n  protocol: TCP # how\n",
        [{"port": 1, "protocol": "UDP"}],
        "- port: 1 # about 1\n  protocol: UDP # how\n",
    ),
    "another tag of an image": (
        "- image: a:1 # about a\n",
        [{"image": "a:2"}],
        "- image: a:2 # about a\n",
    ),
    "moved ones keep theirs": (
        "- a # about a\n- b # about b\n",
        ["c", "b", "a"],
        "- c\n- b # about b\n- a # about a\n",
    ),
    "the anchor stays": ("- &x a # about a\n- b\n", ["c", "b"], "- &x c\n- b\n"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "wanted", "after"), TABLE.values(), ids=TABLE)
def test_the_comment_of_a_replaced_element_goes(before: str, wanted: Value, after: str) -> None:
    """The short-cut: what stands at one place in both lists is one element."""
    assert edit(read(before.encode()), {0: wanted}).decode() == after


def test_what_has_nothing_left_is_another() -> None:
    assert replaced({"a": {"b": 1}}, {"a": {"b": 2}})
    assert not replaced({"a": {"b": 1, "c": 1}}, {"a": {"b": 2, "c": 1}})
    assert not replaced(["a", "b"], ["b"])
    assert replaced(1, True)


def test_comments_that_a_function_kept_are_held_against_what_they_were_about() -> None:
    """The short-cut: comments by place are right because the function returned them."""
    old: Value = {"l": ["a", "b"], "m": [{"name": "a", "x": 1}], "f": 1}
    new: Value = {"l": ["a", "c"], "m": [{"name": "z", "x": 1}], "f": 2}
    kept = {("l", 0): "# a", ("l", 1): "# b", ("m", 0, "name"): "# m", ("m", 0, "x"): "# x",
            ("f",): "# f"}  # fmt: skip
    said = {**kept, ("l", 1): "# c"}

    assert fitting(old, new, kept, kept) == {
        field: text for field, text in kept.items() if field not in (("l", 1), ("m", 0, "name"))
    }
    assert fitting(old, new, kept, said)["l", 1] == "# c"


# --- a property: each comment names its value, and stands beside it for ever ------------------

WORDS = [f"w{n}" for n in range(12)]
NAMED = re.compile(r"#@ (\S+)")


def _scalars(rng: random.Random) -> list[Value]:
    return [*rng.sample(WORDS, rng.randint(1, 5))]


def _keyed(rng: random.Random) -> list[Value]:
    return [
        {"name": name, **({"v": rng.choice(WORDS)} if rng.random() < 0.5 else {})}
        for name in rng.sample(WORDS, rng.randint(1, 4))
    ]


def _unkeyed(rng: random.Random) -> list[Value]:
    return [{"rule": word} for word in rng.sample(WORDS, rng.randint(1, 4))]


def _nested(rng: random.Random) -> list[Value]:
    return [_scalars(rng) for _ in range(rng.randint(1, 3))]


KINDS: tuple[Callable[[random.Random], list[Value]], ...] = (_scalars, _keyed, _unkeyed, _nested)


def _told(rng: random.Random, items: list[Value]) -> str:
    """Return a list as text; most elements have a comment that names the value on its line."""
    lines = []
    for line in emit({"l": items}).splitlines():
        word = line.rpartition(" ")[2]
        element = word in WORDS and not line.lstrip().startswith("v:")
        way = rng.random() if element else 1
        if way < 0.2 and line.lstrip().startswith("- ") and not line.lstrip().startswith("- - "):
            lines.append(f"{line[: len(line) - len(line.lstrip())]}#@ {word}")
        lines.append(f"{line} #@ {word}" if 0.2 <= way < 0.8 else line)
    return "\n".join(lines) + "\n"


def _other(rng: random.Random, make: Callable[[random.Random], list[Value]],
           items: list[Value]) -> list[Value]:  # fmt: skip
    """Return a list with elements replaced, removed, added and moved."""
    new = list(items)
    for _ in range(rng.randint(1, 3)):
        fresh = make(rng)[0]
        place = rng.randrange(len(new) + 1)
        way = rng.randrange(4)
        if way == 0:
            new[place : place + 1] = [fresh]
        elif way == 1 and len(new) > 1:
            del new[place : place + 1]
        elif way == 2:
            new.insert(place, fresh)
        else:
            rng.shuffle(new)
    unique = {str(each if not isinstance(each, dict) else each.get("name")): each for each in new}
    return list(unique.values()) if make is _keyed else new


def _misplaced(text: str) -> list[str]:
    """Return the comments that do not stand beside the value they name, or right above it."""
    lines = text.splitlines()
    wrong = []
    for number, line in enumerate(lines):
        found = NAMED.search(line)
        if not found:
            continue
        about = line[: found.start()].strip() or next(
            (each for each in lines[number + 1 :] if not each.strip().startswith("#")), ""
        )
        if found[1] not in re.split(r"[\s,\[\]{}#]+", about.partition(" #@")[0]):
            wrong.append(line)
    return wrong


@pytest.mark.parametrize("make", KINDS)
def test_each_comment_stands_beside_the_value_it_names(
    make: Callable[[random.Random], list[Value]],
) -> None:
    """The short-cut: an example each for edits and merges."""
    for seed in range(150):
        rng = random.Random(seed)
        items = make(rng)
        before = _told(rng, items)
        ours, theirs = (_told(rng, _other(rng, make, items)) for _ in range(2))
        base, local, updated = (read(each.encode()) for each in (before, ours, theirs))
        merged = merge_documents(
            base.documents[0], local.documents[0], updated.documents[0],
            policy=rng.choice(list(ConflictPolicy)),
        )  # fmt: skip
        comments = {} if merged.comments is None else {0: merged.comments}
        made = {
            "edited": edit(base, {0: local.documents[0].value}),
            "merged": edit(local, {0: merged.value}, comments=comments,
                           like={0: [updated.documents[0]]}),
        }  # fmt: skip
        for how, data in made.items():
            assert _misplaced(data.decode()) == [], (seed, how, before, ours, theirs, data.decode())


@pytest.mark.parametrize("behind", [" ", "\t"])
def test_a_long_line_takes_no_longer_than_it_is(behind: str) -> None:
    """Short-cut refused: a pattern that divides spaces in every way, behind each value: a file of
    4 MiB took hours, in which nothing else of the process ran."""

    def replacing(size: int) -> Callable[[], object]:
        stream = read(f"- a{behind * size}\n  # about a\n- b\n".encode())
        return lambda: edit(stream, {0: ["c", "b"]})

    assert_seconds_in_proportion(replacing, 500)
