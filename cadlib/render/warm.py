"""Rendering a package again after few of its files changed, in a process that lives on.

Where every function treats each resource alone (`calls.Alone`), what becomes of a file follows
from that file, the Kptfiles and the configurations. So only the changed files are rendered, beside
those that all depend on; the rest is as it was, and each function totals its notes about all.

Anything else that changes (a Kptfile, a configuration, `.krmignore`, a symlink, which files there
are, what is asked for), a function that does not treat resources alone, and a rendering that
failed make the next one a whole one.
"""

import bisect
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cadlib.errors import PackageError
from cadlib.findings import order
from cadlib.kptfile import reader as kptfiles
from cadlib.kptfile.reader import Function
from cadlib.limits import DEFAULT, Limits
from cadlib.package import files as packages
from cadlib.package.files import Files
from cadlib.render.calls import Call, Outcome, Step
from cadlib.render.functions import Options
from cadlib.render.pipeline import Rendered, Steps, render

_Place = tuple[str, int | None]  # file, relative to the root package, and index in it
_Asked = tuple[tuple[Function, ...], tuple[Function, ...], Options | None]


@dataclass(slots=True)
class _Memory:
    """One rendering, as far as the next one may build on it.

    Attributes:
        files: What was rendered.
        asked: How.
        rendered: What came of it.
        notes: What each function noted about each resource.
        said: What each function said in all.
        alone: Every function so far treats each resource alone.
    """

    files: Files
    asked: _Asked
    rendered: Rendered = field(default_factory=Rendered)
    notes: dict[tuple[str, str, str], dict[_Place, object]] = field(default_factory=dict)
    said: dict[tuple[str, str, str], Sequence[Mapping[str, object]]] = field(default_factory=dict)
    alone: bool = True


class Warm:
    """Renders one package again and again, as `render` does.

    Args:
        limits: How much is read.
    """

    def __init__(self, limits: Limits = DEFAULT) -> None:
        self._limits = limits
        self._last: _Memory | None = None

    def render(
        self,
        files: Files,
        *,
        mutators: Sequence[Function] = (),
        validators: Sequence[Function] = (),
        options: Options | None = None,
    ) -> Steps:
        """Render the package as it is now.

        Args, calls and result are those of `render`, but that a call holds the resources of
        changed files only where those alone decide.
        """
        asked = (tuple(mutators), tuple(validators), options)
        last, self._last = self._last, None  # a rendering that is not finished leaves nothing
        memory = _Memory(dict(files), asked)
        part = _part(last, memory, self._limits) if last else None
        if last and part is not None:
            memory.notes = {
                key: {place: note for place, note in notes.items() if place[0] not in part}
                for key, notes in last.notes.items()
            }
        steps = render(
            files if part is None else part,
            mutators=mutators,
            validators=validators,
            limits=self._limits,
            options=options,
        )
        rendered = yield from _noting(steps, memory, part)
        if last and part is not None:
            if rendered.failed:  # people want all that is wrong, not only what is new
                return (yield from self.render(
                    files, mutators=mutators, validators=validators, options=options
                ))  # fmt: skip
            rendered = _whole(rendered, last.rendered, part, memory)
        memory.rendered = rendered
        if memory.alone and not rendered.failed:
            self._last = memory
        return rendered


def _part(last: _Memory, now: _Memory, limits: Limits) -> Files | None:
    """Return the files to render: the changed ones, and those that all depend on."""
    if last.asked != now.asked or last.files.keys() != now.files.keys():
        return None
    if sum(len(entry.data) for entry in now.files.values()) > limits.package_bytes:
        return None
    before = last.files
    changed = {
        path
        for path, entry in now.files.items()
        if entry is not before[path] and entry != before[path]
    }
    shared = set(_shared(now.files, now.asked))
    links = any(packages.SYMLINK in (before[each].mode, now.files[each].mode) for each in changed)
    if links or changed & shared:
        return None
    return {path: entry for path, entry in now.files.items() if path in changed or path in shared}


def _shared(files: Files, asked: _Asked) -> Iterator[str]:
    """Yield the files that decide about others: Kptfiles, configurations, what is ignored."""
    yield from _configured("", (*asked[0], *asked[1]))
    for path, entry in files.items():
        name = packages.name(path)
        if name == packages.IGNORE_FILE:
            yield path
        elif name == packages.KPTFILE:
            yield path
            try:
                kptfile = kptfiles.read(entry.data, path)
            except PackageError:
                continue  # then the rendering failed, and nothing builds on it
            functions = (*kptfile.mutators, *kptfile.validators)
            yield from _configured(packages.folder(path), functions)


def _configured(package: str, functions: Sequence[Function]) -> Iterator[str]:
    for function in functions:
        if function.config_path is not None:
            yield packages.join(package, posixpath.normpath(function.config_path))


def _noting(steps: Steps, memory: _Memory, part: Files | None) -> Steps:
    """Drive a rendering, and take down what functions that treat resources alone note."""
    outcome: Outcome | None = None
    try:
        while True:
            call = next(steps) if outcome is None else steps.send(outcome)
            outcome = _noted(call, (yield call), memory, part)
    except StopIteration as end:
        rendered: Rendered = end.value
        return rendered


def _noted(call: Call, outcome: Outcome, memory: _Memory, part: Files | None) -> Outcome:
    alone = outcome.alone
    if alone is None:
        memory.alone = False
        return outcome
    key = (call.package, call.step, call.source)
    notes = memory.notes.setdefault(key, {})
    for item, note in zip(call.items, alone.notes, strict=True):
        notes[packages.join(call.package, item.path), item.index] = note
    if part is None or outcome.error:
        memory.said[key] = outcome.results
        return outcome
    memory.said[key] = alone.total(list(notes.values()))
    said = [each for each in memory.said[key] if _about(each, call.package, part)]
    return replace(outcome, results=said)


def _about(result: Mapping[str, object], package: str, part: Files) -> bool:
    """Return whether a result is about no file, or about one that is rendered now."""
    file = result.get("file")
    path = file.get("path") if isinstance(file, Mapping) else None
    return not isinstance(path, str) or packages.join(package, path) in part


def _whole(rendered: Rendered, before: Rendered, part: Files, memory: _Memory) -> Rendered:
    """Put the rendering of some files and what stays of the one before together."""
    changes = {path: data for path, data in before.changes.items() if path not in part}
    changes |= rendered.changes
    findings = [each for each in before.findings if each.place.path not in part]
    for each in rendered.findings:  # few among many that are in order
        bisect.insort(findings, each, key=order)

    def all_said(step: Step) -> Step:
        said = memory.said[step.package, step.step, step.source]
        return replace(step, said=said) if said else step

    return replace(
        rendered,
        changes={path: changes[path] for path in sorted(changes)},
        findings=tuple(findings),
        steps=tuple(map(all_said, rendered.steps)),
    )
