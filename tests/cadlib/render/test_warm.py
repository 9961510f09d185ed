"""Rendering again: as rendering anew, with little to do."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from cadlib.kptfile.reader import Function
from cadlib.package.files import SYMLINK, Entry, Files
from cadlib.render.calls import Alone, Call, Outcome
from cadlib.render.pipeline import Rendered, Steps, render
from cadlib.render.warm import Warm
from cadlib.stream.resourcelist import Item
from cadlib.yaml import Value

KPTFILE = b"""\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: root
pipeline:
  mutators:
    - image: label:v1
      configPath: label.yaml
"""
CONFIG = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: label\ndata:\n  a: b\n"
GUARDRAIL = Function(image="judge:v1")


def resource(name: str, size: int = 1) -> Entry:
    return Entry(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\nn: {size}\n".encode()
    )


def package(count: int = 20) -> dict[str, Entry]:
    inner = {"sub/Kptfile": Entry(KPTFILE.split(b"pipeline")[0]), "sub/x.yaml": resource("x")}
    files = {f"f{n}.yaml": resource(f"r{n}") for n in range(count)}
    return {"Kptfile": Entry(KPTFILE), "label.yaml": Entry(CONFIG), **files, **inner}


def label(call: Call) -> Outcome:
    """Label each resource; tell how many in all, and where each is."""
    items = []
    for item in call.items:
        value = dict(item.value) if isinstance(item.value, dict) else {}
        metadata = value["metadata"]
        assert isinstance(metadata, dict)
        data = call.config["data"] if isinstance(call.config, dict) else None
        items.append(replace(item, value={**value, "metadata": {**metadata, "labels": data}}))
    notes = [(item.path, item.index) for item in call.items]

    def total(notes: Sequence[object]) -> Sequence[Mapping[str, object]]:
        found = [note for note in notes if isinstance(note, tuple)]
        each = [{"message": "labelled", "file": {"path": path}} for path, _ in sorted(found)]
        return [{"message": f"{len(found)} in total"}, *each]

    return Outcome(items=items, results=total(notes), alone=Alone(notes, total))


def judge(call: Call) -> Outcome:
    """Refuse a resource whose n is above 5."""

    def size(item: Item) -> Value:
        return item.value.get("n") if isinstance(item.value, dict) else None

    notes = [(item.path, size(item)) for item in call.items]

    def total(notes: Sequence[object]) -> Sequence[Mapping[str, object]]:
        found = [note for note in notes if isinstance(note, tuple) and (note[1] or 0) > 5]
        return [{"message": "big", "severity": "error", "file": {"path": p}} for p, _ in found]

    results = total(notes)
    return Outcome(
        items=call.items, results=results, error="it fails" if results else "",
        exit_code=1 if results else 0, alone=Alone(notes, total),
    )  # fmt: skip


def drive(steps: Steps, *, alone: bool = True) -> tuple[Rendered, list[int]]:
    """Run the calls; return what came of it, and how many resources each call was given."""
    sizes = []
    outcome: Outcome | None = None
    try:
        while True:
            call = next(steps) if outcome is None else steps.send(outcome)
            sizes.append(len(call.items))
            outcome = (judge if "judge" in call.image else label)(call)
            outcome = outcome if alone else replace(outcome, alone=None)
    except StopIteration as end:
        return end.value, sizes


def anew(files: Files) -> Rendered:
    return drive(render(files, validators=[GUARDRAIL]))[0]


def again(warm: Warm, files: Files, *, alone: bool = True) -> tuple[Rendered, list[int]]:
    return drive(warm.render(files, validators=[GUARDRAIL]), alone=alone)


def test_only_what_changed_is_rendered_and_the_result_is_the_whole_one() -> None:
    """The short-cut returns the findings and changes of the files that changed."""
    warm, files = Warm(), package()
    first, sizes = again(warm, files)
    assert (first, sizes) == (anew(files), [24, 24])

    files["f3.yaml"] = resource("r3", 4)
    second, sizes = again(warm, files)

    assert sizes == [4, 4]  # two Kptfiles, the configuration, and f3.yaml
    assert second == anew(files)
    assert second.steps[0].said[0] == {"message": "24 in total"}


def test_what_decides_about_others_makes_it_a_whole_one() -> None:
    changes: dict[str, Entry | None] = {
        "label.yaml": Entry(CONFIG.replace(b"a: b", b"a: c")),
        "Kptfile": Entry(KPTFILE.split(b"pipeline")[0]),
        "f3.yaml": None,
        "new.yaml": resource("new"),
        "f4.yaml": Entry(b"f5.yaml", SYMLINK),
    }
    for path, entry in changes.items():
        warm, files = Warm(), package()
        again(warm, files)
        files = {name: each for name, each in files.items() if name != path}
        files |= {path: entry} if entry else {}

        assert again(warm, files)[0] == anew(files)


def test_a_function_that_does_not_say_so_is_given_everything() -> None:
    warm, files = Warm(), package()
    again(warm, files, alone=False)
    files["f3.yaml"] = resource("r3", 4)

    assert again(warm, files, alone=False) == ((anew(files)), [24, 24])


def test_a_failure_tells_all_that_is_wrong_and_nothing_builds_on_it() -> None:
    """The short-cut keeps what a failed rendering left, or tells the newest objection only."""
    warm, files = Warm(), package()
    again(warm, files)
    files["f3.yaml"] = resource("r3", 9)
    assert again(warm, files)[0] == anew(files)
    files["f4.yaml"] = resource("r4", 8)
    assert again(warm, files)[0] == anew(files)
    files["f3.yaml"] = resource("r3")
    files["f4.yaml"] = resource("r4")
    assert again(warm, files) == (anew(files), [24, 24])


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["f0.yaml", "f1.yaml", "f2.yaml", "sub/x.yaml", "label.yaml"]),
            st.integers(0, 7),
            max_size=2,
        ),
        max_size=5,
    )
)
def test_any_row_of_changes_is_rendered_as_anew(rows: list[dict[str, int]]) -> None:
    warm, files = Warm(), package(4)
    for row in rows:
        for path, size in row.items():
            config = Entry(CONFIG.replace(b"a: b", b"a: '%d'" % size))
            files[path] = config if path == "label.yaml" else resource(path[:2], size)
        assert again(warm, files)[0] == anew(files)
