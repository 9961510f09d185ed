"""What a rendering leaves behind."""

import gc
from collections.abc import Iterator

import pytest

from cadlib.package.files import Entry, Files
from cadlib.render.pipeline import CallOutcome, PipelineFunction, render
from cadlib.yaml.tree import Document, Scalar

FILES: Files = {
    "Kptfile": Entry(b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"),
    **{
        f"{number}.yaml": Entry(
            b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m%d # a note\n" % number
        )
        for number in range(9)
    },
}


@pytest.fixture
def kept() -> Iterator[list[object]]:
    """Whatever only the collector would have freed, once it has been run."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize("wire", [True, False])
def test_a_rendered_package_is_freed_at_once(kept: list[object], wire: bool) -> None:
    """The short-cut keeps with a document what refers to it: each rendering stays in memory, and
    takes half as long again, until the collector comes, which worker processes rarely call."""
    steps = render(FILES, mutators=[PipelineFunction(image="some/function:v1")])
    call = next(steps)
    outcome = CallOutcome(resources=call.resources) if wire else CallOutcome(items=list(call.items))
    with pytest.raises(StopIteration):
        steps.send(outcome)
    del steps, call, outcome

    gc.collect()

    assert [each for each in kept if isinstance(each, Document | Scalar)] == []
