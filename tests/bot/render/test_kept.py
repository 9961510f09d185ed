"""Rendering again with files that were read before: as rendering anew."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.render.kept import CachingReader
from cadlib.diff.changes import changes
from cadlib.kptfile.reader import PipelineFunction
from cadlib.limits import DEFAULT
from cadlib.package.files import Entry, Files
from cadlib.render.calls import CallOutcome, FunctionCall
from cadlib.render.pipeline import Rendered, render
from cadlib.stream.resourcelist import Item, decode, encode
from cadlib.yaml import read

KPTFILE = b"""\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: root
pipeline:
  mutators:
    - image: label
      configPath: label.yaml
"""
CONFIG = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: label\ndata: {a: b} # labels\n"


def resource(name: str, size: int) -> Entry:
    return Entry(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name} # name\n"
        f"n: {size}.0 # a 'number'\nq: '{size}' # quoted\n".encode()
    )


def package(count: int = 4) -> dict[str, Entry]:
    files = {f"f{n}.yaml": resource(f"f{n}", n) for n in range(count)}
    return {"Kptfile": Entry(KPTFILE), "label.yaml": Entry(CONFIG), **files}


def label(call: FunctionCall) -> CallOutcome:
    """Label what has an odd number, by what came over the wire; refuse a 7."""
    given = decode(call.resources)
    items = []
    for item in given.items:
        value = dict(item.value) if isinstance(item.value, dict) else {}
        n = value.get("n")
        if isinstance(n, float) and n % 2:
            value["labels"] = given.config["data"] if isinstance(given.config, dict) else None
        items.append(replace(item, value=value))
    error = "no seven" if any("7" in str(item.value) for item in items) else ""
    return CallOutcome(resources=encode(items, given.config), error=error)


def drive(files: Files, bulk: CachingReader | None) -> tuple[Rendered, list[bytes]]:
    """Render; return what came of it, and what was sent."""
    steps, sent = render(files, validators=[PipelineFunction(image="label")], bulk=bulk), []
    outcome: CallOutcome | None = None
    try:
        while True:
            call = next(steps) if outcome is None else steps.send(outcome)
            sent.append(call.resources)
            outcome = label(call)
    except StopIteration as end:
        return replace(end.value, failure=None), sent  # exceptions are never equal


@settings(max_examples=50)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["f0.yaml", "f1.yaml", "f2.yaml", "label.yaml", "sub/f3.yaml"]),
            st.integers(0, 7),
            max_size=2,
        ),
        max_size=5,
    ),
    st.sampled_from([100, 1000, 1_000_000]),
)
def test_any_row_of_changes_is_rendered_and_sent_as_anew(
    rows: list[dict[str, int]], limit: int
) -> None:
    """The short-cut keeps what a function made of a file, or its lines by its path alone."""
    kept, files = CachingReader(limit), package()
    for row in rows:
        before = dict(files)
        for path, size in row.items():
            config = Entry(CONFIG.replace(b"a: b", b"a: '%d'" % size))
            files[path] = config if path == "label.yaml" else resource(path[:2], size)
        assert drive(files, kept) == drive(files, None)
        assert changes(before, files, bulk=kept) == changes(before, files)
        assert kept.used_bytes <= limit


def test_a_file_is_read_once_and_known_by_its_path_and_its_bytes() -> None:
    """The short-cut goes by the path, or by the bytes: then messages name another file."""
    kept = CachingReader()
    first, other = kept.read({"a.yaml": b"a: 1\n", "b.yaml": b"a: 1\n"}, DEFAULT)
    again, changed = kept.read({"a.yaml": b"a: 1\n", "b.yaml": b"a: 2\n"}, DEFAULT)

    assert again is first is not other
    assert changed is not other


def test_what_is_kept_is_bounded_and_a_large_package_pushes_nothing_out() -> None:
    """The short-cut keeps everything, or lets one large package empty it each time."""
    kept = CachingReader(20)
    (first,) = kept.read({"a.yaml": b"a: 12345\n"}, DEFAULT)
    kept.read({f"{n}.yaml": b"a: 12345\n" for n in range(3)}, DEFAULT)
    assert kept.read({"a.yaml": b"a: 12345\n"}, DEFAULT)[0] is first

    for n in range(3):
        kept.read({f"{n}.yaml": b"a: 12345\n"}, DEFAULT)
    assert kept.used_bytes == 18
    assert kept.read({"a.yaml": b"a: 12345\n"}, DEFAULT)[0] is not first


def test_the_lines_of_a_resource_are_those_of_its_value_and_place_now() -> None:
    """The short-cut writes a resource once: a function in this process changed it, or moved it."""
    document = read(b"a: 1 # one\n").documents[0]
    item = Item(document.value, document.noted, "a.yaml", 0, document)
    first = encode([item])

    changed = encode([replace(item, value={"a": 2})])
    bare = encode([replace(item, comments={})])
    moved = encode([replace(item, value=read(b"metadata: {}\n").documents[0].value, path="b.yaml")])

    assert encode([item]) == first
    assert b"a: 2 # one" in changed
    assert b"#" in first
    assert b"#" not in bare
    assert b"b.yaml" in moved
