"""Functions that give back other text than they were given, and what rendering makes of it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from cadlib.kptfile.reader import PipelineFunction
from cadlib.package.files import Entry, Files
from cadlib.render.calls import CallOutcome
from cadlib.render.pipeline import Rendered, render
from cadlib.stream.resourcelist import Item, ResourceList, decode, encode, placed
from tests.cadlib.yaml.test_real import with_label

TOOL = PipelineFunction(image="registry.example/tool:v1")


def rewritten(files: Files, change: Callable[[Item], Item] | None = None) -> dict[str, Entry]:
    """Return a package after a function that writes JSON: keys sorted, comments lost.

    Args:
        files: The package; functions of its own pipeline change nothing.
        change: What the function makes of a resource besides; None for nothing.
    """
    return after(files, rendered(files, lambda given: _as_json(given.items, change)))


def answered(files: Files, items: Sequence[Item]) -> dict[str, Entry]:
    """Return a package after a function that returned these resources, whatever it was given."""
    return after(files, rendered(files, lambda given: encode(items, given.config)))


def labelled(files: Files) -> tuple[dict[str, Entry], int]:
    """Return a package after one that writes JSON set a label, and how many lines that takes."""
    lines = 0

    def change(item: Item) -> Item:
        nonlocal lines
        value, necessary = with_label(item.value)
        lines += necessary
        return replace(item, value=value)

    return rewritten(files, change), lines


def rendered(files: Files, function: Callable[[ResourceList], bytes]) -> Rendered:
    """Render with one function, which returns such a ResourceList."""
    steps = render(files, mutators=[TOOL])
    try:
        call = next(steps)
        while True:
            given = call.resources
            ours = call.image == TOOL.image
            call = steps.send(CallOutcome(resources=function(decode(given)) if ours else given))
    except StopIteration as end:
        found: Rendered = end.value
        return found


def after(files: Files, done: Rendered) -> dict[str, Entry]:
    """Return the files of a package after a rendering that went well."""
    assert not done.failed, [str(each) for each in done.findings]
    found = dict(files)
    for path, data in done.changes.items():
        if data is None:
            del found[path]
        else:
            found[path] = Entry(data, files[path].mode if path in files else "100644")
    return found


def _as_json(items: Sequence[Item], change: Callable[[Item], Item] | None) -> bytes:
    written = [placed(replace(change(each) if change else each, comments={})) for each in items]
    whole = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": written}
    return json.dumps(whole, sort_keys=True, default=str).encode()
