"""Two processes read and edit as one does."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cli.disk import parallel
from bot.cli.disk.parallel import Parallel
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT
from cadlib.yaml import DELETED, EditError, Stream, TemplatedFileError, Value
from cadlib.yaml.bulk import Edit, Serial

# The process that runs the tests may have threads of its own; Python 3.12 warns of that.
pytestmark = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)

TEXT = """\
# about {n}
apiVersion: v1
kind: ConfigMap
metadata:
  name: map-{n} # its name
data:
  key: "{n}"
---
# only a comment
---
a: &a [1, .nan, 2.5, null, true]
b: *a
"""


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Iterator[Parallel]:
    monkeypatch.setattr(parallel, "LEAST", 0)
    both = Parallel()
    yield both
    both.close()


def files(count: int = 40) -> dict[str, bytes]:
    return {f"f{n}.yaml": TEXT.format(n=n).encode() for n in range(count)}


def streams(found: list[Stream | PackageError]) -> list[Stream]:
    assert all(isinstance(each, Stream) for each in found)
    return [each for each in found if isinstance(each, Stream)]


def facts(stream: Stream) -> object:
    return [
        (
            repr(each.value), each.empty, each.template, each.index, each.explicit,
            each.start, each.end, each.start_line, each.line(("metadata", "name")),
            dict(each.comments),
        )
        for each in stream.documents
    ]  # fmt: skip


def with_label(value: Value) -> Value:
    assert isinstance(value, dict)
    return {**value, "metadata": {"name": "other", "labels": {"a": "b"}}}


def edits(found: list[Stream]) -> list[Edit]:
    return [
        Edit(stream, {0: with_label(stream.documents[0].value), 2: DELETED}) for stream in found
    ]


def test_both_halves_come_back_in_order_as_one_process_reads_them(both: Parallel) -> None:
    """The short-cut hands out its own half first, and values without what nodes tell."""
    found = streams(list(both.read(files(), DEFAULT)))
    alone = streams(list(Serial().read(files(), DEFAULT)))

    assert len(both._theirs) == 19
    assert [each.source.path for each in found] == list(files())
    assert [facts(each) for each in found] == [facts(each) for each in alone]


def test_both_halves_are_edited_as_one_process_edits_them(both: Parallel) -> None:
    found = streams(list(both.read(files(), DEFAULT)))
    alone = streams(list(Serial().read(files(), DEFAULT)))

    assert list(both.edit(edits(found))) == list(Serial().edit(edits(alone)))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(was=VALUES, now=VALUES, kept=st.booleans())
def test_what_changes_is_told_and_what_does_not_stays_the_same_object(
    was: Value, now: Value, kept: bool
) -> None:
    """The short-cut sends the whole value, of which the other side knows no part again."""
    wanted: Value = {"was": was, "now": now} if kept else now
    before: Value = {"was": was} if kept else was

    found = parallel._changed(before, parallel._change(before, wanted))

    assert repr(found) == repr(wanted)
    if kept and isinstance(found, dict):
        assert found["was"] is was


def test_what_cannot_be_read_is_said_in_the_same_words(both: Parallel) -> None:
    """The short-cut lets the child die of it, or makes every error one kind."""
    given = files(4) | {
        "bad.yaml": b"a: [1",
        "bad2.yaml": b"a: [1",
        "chart.yaml": b"a: {{ .x }}\nb: }}",
        "chart2.yaml": b"a: {{ .x }}\nb: }}",
        "latin.yaml": b"\xe9",
        "latin2.yaml": b"\xe9",
    }

    def wrong(found: list[Stream | PackageError]) -> list[tuple[type, str]]:
        return [(type(each), str(each)) for each in found if isinstance(each, PackageError)]

    found = wrong(list(both.read(given, DEFAULT)))

    assert found == wrong(list(Serial().read(given, DEFAULT)))
    assert [kind for kind, _ in found].count(TemplatedFileError) == 2


def test_an_edit_that_is_refused_is_refused_from_the_other_process_too(both: Parallel) -> None:
    text = b"apiVersion: v1\nx: &x {a: 1}\ny: *x\n"
    found = streams(list(both.read({"a.yaml": text, "b.yaml": text}, DEFAULT)))
    (theirs,) = (each for each in found if id(each) in both._theirs)

    with pytest.raises(EditError, match=r"b\.yaml:3, y: the change would affect an alias"):
        both.edit([Edit(theirs, {0: {"apiVersion": "v1", "x": {"a": 1}, "y": {"a": 2}}})])


def test_a_child_that_dies_before_it_answers_costs_time_only(
    both: Parallel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut waits for an answer for ever, or fails the command."""
    monkeypatch.setattr(parallel, "_serve", lambda *_: os._exit(9))

    found = streams(list(both.read(files(), DEFAULT)))
    alone = streams(list(Serial().read(files(), DEFAULT)))

    assert [facts(each) for each in found] == [facts(each) for each in alone]
    assert list(both.edit(edits(found))) == list(Serial().edit(edits(alone)))


def test_a_child_that_is_killed_before_it_edits_costs_time_only(both: Parallel) -> None:
    found = streams(list(both.read(files(), DEFAULT)))
    alone = streams(list(Serial().read(files(), DEFAULT)))
    assert both._child is not None
    os.kill(both._child._pid, signal.SIGKILL)

    assert list(both.edit(edits(found))) == list(Serial().edit(edits(alone)))
