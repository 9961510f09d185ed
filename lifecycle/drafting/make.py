"""The files of a draft, as a generator: whoever drives it fetches packages and runs functions.

Source: ADR 57 (docs/adr/0057-drafts-made-on-request.md); kpt's commands of the same names.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar, assert_never

from cadlib.diff import secrets
from cadlib.errors import PackageError
from cadlib.kptfile import edit as kptfile_edit
from cadlib.kptfile.reader import GitRef, PipelineFunction
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.merge.conflicts import Conflict, short
from cadlib.merge.policy import ConflictPolicy
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Entry, Files
from cadlib.render import context
from cadlib.render.calls import CallOutcome, FunctionCall
from cadlib.render.evaluate import evaluate
from cadlib.render.functions import Options, from_texts
from cadlib.update import get, init
from cadlib.update.packages import Updated, update
from cadlib.update.upstream import (
    STRATEGIES,
    Fetch,
    Fetched,
    OriginGoneError,
    ProgressMessage,
    read_kptfile,
    resume,
)
from lifecycle import names
from lifecycle.drafting.fields import set_value
from lifecycle.drafting.resolving import ConflictedPackage, resolve
from lifecycle.facts.drafts import DraftKind, DraftRequest
from lifecycle.facts.update import MOST_CONFLICTS, PackageMerge, UpdateConflict
from lifecycle.messages import making as texts
from lifecycle.policy import RULES

T = TypeVar("T")

_MOST_TEXT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftInputs:
    """What a draft is made from.

    Attributes:
        here: The package as it is; empty where there is none.
        revision: Of `EDIT` and `ROLLBACK`, the package as it was published.
        upstream: Of `CLONE` and `REBASE`, where the upstream is.
        ref: Of `UPGRADE`, the ref to go to; "" for the one that the Kptfile names.
        context: Path of the package where its context file is to tell it, as in a repository that
            is deployed from; None where it has none.
        conflicts: Of `UPGRADE` and `REBASE`, which side counts where both changed the same.
        allow: Which functions may run, as in a policy.
        limits: For packages.
    """

    here: Files = field(default_factory=dict)
    revision: Files = field(default_factory=dict)
    upstream: GitRef | None = None
    ref: str = ""
    context: str | None = None
    conflicts: ConflictPolicy = ConflictPolicy.UPSTREAM
    allow: tuple[tuple[str, ...], ...] = ()
    limits: PackageLimits = DEFAULT


DraftSteps: TypeAlias = Generator[Fetch | FunctionCall, Fetched | CallOutcome, PackageMerge]
"""Yields what it needs, one thing at a time, and is sent that; `PackageError` is thrown into it
where there is none."""


def make(request: DraftRequest, inputs: DraftInputs) -> DraftSteps:
    """Make the files of a draft.

    Args:
        request: What is asked for.
        inputs: What it is made from.

    Returns:
        The files that differ from `inputs.here`, by path in the package, and the conflicts. Where
        nothing can be made it tells the problem, without values of Secrets, and no files. The
        rules of a repository are no part of a package at its root: they stay as they are.
    """
    added = set[str]()
    try:
        made = yield from _make(request, inputs, added)
        if not request.package:
            made = replace(made, files=_without_rules(made.files))
    except PackageError as error:
        secret = added | _secret(inputs.here) | _secret(inputs.revision)
        return PackageMerge(problem=secrets.redacted(texts.problem(error), secret))
    if not request.value:
        return made
    secret = _secret({**inputs.here, **made.files})
    return replace(made, private=secrets.redacted(request.value, secret) != request.value)


def _without_rules(files: Mapping[str, T]) -> dict[str, T]:
    return {path: each for path, each in files.items() if not path.startswith(RULES)}


def _secret(files: Mapping[str, Entry | None]) -> set[str]:
    """The values of Secrets in some files."""
    return {text for each in files.values() if each for text in secrets.values(each.data)}


def _make(request: DraftRequest, inputs: DraftInputs, added: set[str]) -> DraftSteps:
    here = inputs.here
    name = packages.name(request.package) or "root"
    match request.kind:
        case DraftKind.INIT:
            _absent(here, request.package)
            begun = init.files(name, description=init.DESCRIPTION)
            return PackageMerge(files={p: e for p, e in begun.items() if p not in here})
        case DraftKind.CLONE:
            _absent(here, request.package)
            return _beside(request, here, (yield from _cloned(request, inputs, name)))
        case DraftKind.EDIT | DraftKind.ROLLBACK:
            if not inputs.revision:
                _present(here, request.package)
            elif KPTFILE not in here:
                _absent(here, request.package)
            return _differing(here, inputs.revision or here)
        case DraftKind.RESUME:
            return PackageMerge()
        case DraftKind.RESOLVE:
            return (yield from _resolved(request, inputs, name))
        case DraftKind.UPGRADE | DraftKind.REBASE:
            return (yield from _updated(request, inputs, name))
        case DraftKind.EVAL:
            _present(here, request.package)
            return (yield from _evaluated(request, inputs, added))
        case DraftKind.SET:
            _present(here, request.package)
            changed = set_value(here, request.resource, request.field, request.value)
            return PackageMerge(files=changed)
        case _:
            assert_never(request.kind)


def _absent(here: Files, package: str) -> None:
    """Refuse a folder with a package, and one around packages, which would be its parts."""
    if KPTFILE in here:
        raise texts.there_already(package)
    if inside := [packages.join(package, p) for p in packages.find(here)]:
        raise texts.packages_inside(package, inside)


def _beside(request: DraftRequest, here: Files, wanted: Files) -> PackageMerge:
    """A new package beside the files of its folder, which stay: they are somebody's."""
    same = wanted if request.package else _without_rules(wanted)
    if other := [p for p, entry in same.items() if p in here and here[p].data != entry.data]:
        raise texts.files_in_the_way(request.package, sorted(other))
    return PackageMerge(files={p: e for p, e in wanted.items() if p not in here})


def _present(here: Files, package: str) -> None:
    if KPTFILE not in here:
        raise texts.no_package(package)


def _differing(here: Files, wanted: Mapping[str, Entry]) -> PackageMerge:
    gone: dict[str, Entry | None] = {path: None for path in here if path not in wanted}
    new = {path: entry for path, entry in wanted.items() if here.get(path) != entry}
    return PackageMerge(files={**gone, **new})


def _fetching(
    steps: Generator[Fetch | ProgressMessage, Fetched | None, T],
) -> Generator[Fetch | FunctionCall, Fetched | CallOutcome, T]:
    """Drive steps of `cadlib.update`: what they tell people is not for a conversation."""
    answer: Fetched | PackageError | None = None
    while True:
        try:
            step = resume(steps, answer)
        except StopIteration as done:
            result: T = done.value
            return result
        answer = None
        if isinstance(step, Fetch):
            try:
                came = yield step
                answer = came if isinstance(came, Fetched) else None
            except PackageError as error:
                answer = error


def _cloned(
    request: DraftRequest, inputs: DraftInputs, name: str
) -> Generator[Fetch | FunctionCall, Fetched | CallOutcome, Mapping[str, Entry]]:
    if inputs.upstream is None:
        raise texts.no_upstream(request.upstream)
    strategy = request.strategy or STRATEGIES[0]
    steps = get.get(inputs.upstream, name=name, strategy=strategy, limits=inputs.limits)
    got = yield from _fetching(steps)
    files: dict[str, Entry | None] = dict(got.files)
    if inputs.context is not None:
        files |= context.added(got.files, inputs.context)
    return {path: entry for path, entry in files.items() if entry is not None}


def _updated(request: DraftRequest, inputs: DraftInputs, name: str) -> DraftSteps:
    """Merge what the upstream is now, or another one, into the package."""
    local, came = yield from _merged(request, inputs, inputs.here, name)
    if came.conflicts and inputs.conflicts is ConflictPolicy.FAIL:
        told = [str(each).removesuffix(f": {each.chosen} is taken") for each in came.conflicts]
        raise texts.conflicting(told)
    after: dict[str, Entry] = {}
    for path, entry in {**local, **came.changes}.items():
        if entry is not None:
            after[path] = entry
    found = _differing(inputs.here, after)
    conflicts = tuple(conflict(request.package, each) for each in came.conflicts[:MOST_CONFLICTS])
    return replace(found, conflicts=conflicts, more=max(0, len(came.conflicts) - MOST_CONFLICTS))


def _resolved(request: DraftRequest, inputs: DraftInputs, name: str) -> DraftSteps:
    """Do the upgrade again, for the values of both sides, and take another one."""
    _, came = yield from _merged(request, inputs, inputs.revision, name)
    sides = ConflictedPackage(inputs.here, inputs.revision, came.theirs)
    return PackageMerge(files=resolve(sides, came.conflicts, request.revision - 1, request.value))


def _merged(
    request: DraftRequest, inputs: DraftInputs, here: Files, name: str
) -> Generator[Fetch | FunctionCall, Fetched | CallOutcome, tuple[Files, Updated]]:
    """The package with its upstream as it is to be, and what the update comes to."""
    kptfile = read_kptfile(here)
    if kptfile is None or kptfile.upstream is None or kptfile.upstream_lock is None:
        raise texts.not_cloned()
    lock = kptfile.upstream_lock
    if not lock.commit and names.parse_tag(names.tag_ref(lock.ref)) is None:
        raise texts.unlocked(lock.ref)  # a branch is elsewhere by now: a merge would change nothing
    local = dict(here)
    if inputs.upstream is not None:
        kept = request.strategy or kptfile.update_strategy or STRATEGIES[0]
        data = kptfile_edit.set_upstream(here[KPTFILE].data, inputs.upstream, kept)
        local[KPTFILE] = Entry(data, here[KPTFILE].mode)
    steps = update(
        local,
        name=name,
        ref=inputs.ref,
        strategy=request.strategy,
        policy=inputs.conflicts,
        limits=inputs.limits,
    )
    try:
        return local, (yield from _fetching(steps))
    except OriginGoneError as error:
        raise texts.origin_gone(error, request.package) from error


def conflict(package: str, found: Conflict) -> UpdateConflict:
    """A conflict of an update, by its path in the repository; long texts are cut."""
    return UpdateConflict(
        path=packages.join(package, found.path),
        resource=found.resource[:_MOST_TEXT],
        field=found.field[:_MOST_TEXT],
        base=short(found.base),
        ours=short(found.ours),
        theirs=short(found.theirs),
        reason=found.reason[:_MOST_TEXT],
        line=found.line or 0,
        chosen=found.chosen,
    )


def _evaluated(request: DraftRequest, inputs: DraftInputs, added: set[str]) -> DraftSteps:
    """Run one function on the package; the values of Secrets that it makes are added."""
    function = PipelineFunction(image=request.function)
    config = from_texts(dict(request.config)) if request.config else None
    options = Options(allow=inputs.allow)
    came = yield from _calling(
        evaluate(inputs.here, function, config, limits=inputs.limits, options=options), added
    )
    if came.failed:
        said = (str(each.get("message", "")) for step in came.steps for each in step.said)
        why = "; ".join(filter(None, said))
        # Before it is cut: half a value is told as well.
        why = secrets.redacted(why, added | _secret(inputs.here))
        if came.error is not None and not why:
            raise came.error
        raise texts.function_failed(request.function, why)
    files: dict[str, Entry | None] = {}
    for path, data in came.changes.items():
        mode = inputs.here[path].mode if path in inputs.here else packages.REGULAR
        files[path] = None if data is None else Entry(data, mode)
    return PackageMerge(files=files)


def _calling(
    steps: Generator[FunctionCall, CallOutcome, T], added: set[str]
) -> Generator[Fetch | FunctionCall, Fetched | CallOutcome, T]:
    """Drive steps that only run functions."""
    try:
        call = next(steps)
        while True:
            came = yield call
            outcome = came if isinstance(came, CallOutcome) else CallOutcome()
            if outcome.resources:
                added |= secrets.added(outcome.resources, call.resources)
            call = steps.send(outcome)
    except StopIteration as done:
        result: T = done.value
        return result
