"""Finds what set a field that somebody asks about with `/why <field>`.

The commits of the proposal are gone back to the newest in which the field became what it is. Where
that is a rendering of ours, the functions are left out from the last on, until the field is not set
any more: the one that was left out last has set it.
"""

import asyncio
import json
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from bot.clock import Clock, Offload
from bot.git.port import Commit, History, MissingObjectError
from bot.look.assemble import Looker
from bot.look.drafted_from import MOST_BYTES
from bot.look.reader import MirrorReader
from bot.look.rendered import scratch
from bot.look.upgrades import MOST_COMMITS
from bot.render.port import Renderer
from bot.store.values import Adoption
from cadlib.diff.values import Change, ChangeKind
from cadlib.errors import PackageError
from cadlib.findings import ResourceRef
from cadlib.kptfile import reader as kptfiles
from cadlib.kptfile.values import Kptfile
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Entry
from cadlib.render.calls import GUARDRAIL, PIPELINE
from cadlib.yaml import FieldPath, Value, edit, emit, field_text, parse_field
from cadlib.yaml import read as read_yaml
from lifecycle import memory
from lifecycle.commands import asked as asked_for
from lifecycle.facts.head import Facts
from lifecycle.facts.origins import (
    MOST_FIELDS,
    MOST_QUESTIONS,
    FieldOrigin,
    OriginKind,
    is_about,
)
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.messages import origins as texts
from lifecycle.names import Sha
from lifecycle.policy import GuardrailFunction, Policy

MOST_FUNCTIONS: Final = 12
"""Functions of a package that are left out one after the other; each costs a rendering."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """A package before it was rendered, and what is to be found out about it.

    Attributes:
        touched: The package.
        before: The commit.
        kptfile: Its Kptfile as text; None where it cannot be read.
        policy: The rules of the base branch.
        change: What rendering makes of the field.
    """

    touched: Touched
    before: Sha
    kptfile: bytes | None
    policy: Policy
    change: Change


T = TypeVar("T")


class _Patience:
    """How long it is still looked for something.

    Args:
        clock: What tells.
        until: By its monotonic time.
    """

    def __init__(self, clock: Clock, until: float) -> None:
        self._clock = clock
        self._until = until

    async def wait(self, step: Coroutine[Any, Any, T]) -> T:
        """Return what a step comes to.

        Raises:
            TimeoutError: There is no time left.
        """
        left = self._until - self._clock.monotonic()
        async with asyncio.timeout(left):
            return await step


def asked(facts: Facts) -> bool:
    """Tell whether somebody asks what set a field, and nobody looked yet."""
    return not facts.pending and any(
        asked_for.asked_about(p, memory.read(p)) for p in facts.proposals
    )


async def traced(looker: Looker, facts: Facts, adoption: Adoption) -> Facts:
    """Add what set the fields that somebody asks about, as far as the proposals change them.

    It takes as many seconds as its text says, whatever there is to be looked at; each question has
    its share of what is left, and each field of a question.

    Args:
        looker: Looks at the repository.
        facts: What is known of the head.
        adoption: What the repository was when the bot first saw it.
    """
    until = looker.clock.monotonic() + texts.SECONDS

    async def trace() -> Facts:
        with await looker.offload(looker.mirror.open) as git:
            tracer = FieldOrigins(
                looker.renderer, looker.offload, looker.clock, looker.reader(git, adoption), until
            )
            return replace(
                facts, proposals=tuple([await tracer.read(each) for each in facts.proposals])
            )

    return await looker.extended.fetched(trace)


class FieldOrigins:
    """Finds what set fields, in one repository.

    Args:
        renderer: Compares and renders packages.
        offload: Where git is read.
        clock: What tells how long it took.
        reader: Reads git.
        until: By the monotonic clock, when no more is looked at.
    """

    def __init__(
        self,
        renderer: Renderer,
        offload: Offload,
        clock: Clock,
        reader: MirrorReader,
        until: float,
    ) -> None:
        self._renderer = renderer
        self._offload = offload
        self._clock = clock
        self._reader = reader
        self._until = until

    async def read(self, p: Proposal) -> Proposal:
        """Add what set the fields that somebody asks about, as far as the proposal changes them.

        Args:
            p: The proposal, with its verdicts and upgrades.
        """
        found: dict[str, tuple[FieldOrigin, ...]] = {}
        questions = sorted(asked_for.asked_about(p, memory.read(p)))
        new = await self._new_fields(p) if questions else ()
        fields = {q: tuple(each for each in new if q in each[1].field) for q in questions}
        told = replace(p, lookups=replace(p.lookups, new_fields={**p.lookups.new_fields, **fields}))
        for number, about in enumerate(questions):
            changes = [(at, c) for at, found_ in told.changes_about(about) for c in found_]
            changes = changes[:MOST_FIELDS] if number < MOST_QUESTIONS else []
            origins = []
            for place, (package, change) in enumerate(changes):
                shares = len(changes) - place + MOST_FIELDS * (len(questions) - number - 1)
                origins.append(await self._origin(p, package, change, shares))
            found[about] = tuple(origins)
        if not found:
            return p
        known = {**p.lookups.origins, **found}
        return replace(told, lookups=replace(told.lookups, origins=known))

    async def _new_fields(self, p: Proposal) -> tuple[tuple[str, Change], ...]:
        """The fields of resources that the proposal adds, which are told as a whole elsewhere.

        They are what such a resource has and one of its name alone has not.
        """
        git, head = self._reader.git, p.place.head
        patience = _Patience(self._clock, self._until)
        found: list[tuple[str, Change]] = []
        for verdict in p.verdicts:
            bare: dict[str, list[ResourceRef]] = {}
            for each in verdict.diff:
                if each.kind is ChangeKind.ADDED and each.resource and not each.field:
                    bare.setdefault(each.path, []).append(each.resource)
            if not bare:
                continue
            files = {packages.join(verdict.package, at): _bare(refs) for at, refs in bare.items()}
            try:
                commit = await self._offload(scratch, git, head, files)
                before = await self._offload(git.package, commit, verdict.package)
                after = await self._offload(git.package, head, verdict.package)
                changes = await patience.wait(self._renderer.changes(git, before, after))
            except (MissingObjectError, TimeoutError):
                continue
            for each in changes:
                if each.field and each.resource in bare.get(each.path, ()):
                    found += [(verdict.package, leaf) for leaf in _leaves(each)]
        return tuple(found)

    async def _origin(self, p: Proposal, package: str, change: Change, shares: int) -> FieldOrigin:
        git, place, now = self._reader.git, p.place, self._clock.monotonic()
        patience = _Patience(self._clock, now + (self._until - now) / shares)
        told = FieldOrigin(package=package, change=change, kind=OriginKind.UNKNOWN)
        touched = next((t for t in p.content.touched if t.package == package), None)
        if touched is None:
            return told
        try:
            step = self._offload(git.first_parents, place.head, p.content.origin)
            commits = (await patience.wait(step))[-MOST_COMMITS:]
            told = replace(told, total=len(commits))
            for commit in reversed(commits):
                is_set = self._is_set_in(git, commit, package, change)
                if await patience.wait(is_set):
                    return await self._told(patience, p, touched, commit, change)
                told = replace(told, seen=told.seen + 1)
        except MissingObjectError:
            return told
        except TimeoutError:
            return replace(told, late=True)
        return told

    async def _is_set_in(self, git: History, commit: Commit, package: str, change: Change) -> bool:
        before, after = [
            await self._offload(git.package, each, package) if each else ""
            for each in (commit.parents[0] if commit.parents else "", commit.sha)
        ]
        if before == after:
            return False
        changes = await self._renderer.changes(git, before, after)
        return any(is_about(each, change) for each in changes)

    async def _told(
        self,
        patience: _Patience,
        p: Proposal,
        touched: Touched,
        commit: Commit,
        change: Change,
    ) -> FieldOrigin:
        asker = await self._offload(self._reader.render_asker, commit.sha)
        told = FieldOrigin(
            package=touched.package,
            change=change,
            kind=OriginKind.COMMIT if asker is None else OriginKind.OURS,
            commit=commit.sha,
            by=(commit.author.partition(" <") if asker is None else asker.partition(" ("))[0],
            subject=commit.message.partition("\n")[0],
        )
        if len(commit.parents) > 1:
            return replace(told, kind=OriginKind.MERGE)
        for each in p.upgrades.found:
            if (each.commit, each.package) == (commit.sha, touched.package):
                upstream = each.upstream
                path = upstream.directory.strip("/")
                name = f"{upstream.repo}//{path}@{upstream.ref or upstream.commit[:10]}"
                return replace(told, kind=OriginKind.UPGRADE, name=name)
        policy = p.rules.policy
        if asker is not None and isinstance(policy, Policy):
            rendered = replace(told, kind=OriginKind.FUNCTION)
            try:
                tried = await patience.wait(self._tried(touched, commit, policy, change))
            except TimeoutError:
                return replace(rendered, late=True)  # it is a commit of a rendering
            if tried is not None:
                return await self._left_out(patience, tried, rendered)
        return told

    async def _tried(
        self, touched: Touched, commit: Commit, policy: Policy, change: Change
    ) -> _Tried | None:
        """What rendering made of a field; None where it set nothing there."""
        git = self._reader.git
        before = Sha(commit.parents[0])
        tree = await self._offload(git.package, before, touched.package)
        if not tree:
            return None  # it was made and rendered in one commit
        found = await self._renderer.verdict(git, touched.package, tree, touched.origin, policy)
        made = next((each for each in found.rendering if is_about(each, change)), None)
        if made is None:
            return None
        path = f"{touched.package}/{KPTFILE}".lstrip("/")
        text = await self._offload(git.blob, before, path, MOST_BYTES)
        return _Tried(touched, before, text, policy, made)

    async def _left_out(self, patience: _Patience, tried: _Tried, told: FieldOrigin) -> FieldOrigin:
        """The function that sets the field: without it, and those after it, it is another value."""
        own = _pipeline(tried.kptfile)
        functions = (
            [
                *((each.image or each.exec, PIPELINE) for each in own.mutators),
                *((each.image, GUARDRAIL) for each in tried.policy.mutators),
            ]
            if own
            else []
        )
        if len(functions) > MOST_FUNCTIONS:
            return told
        for count in reversed(range(len(functions))):
            first = self._is_set_by(tried, len(own.mutators) if own else 0, count)
            try:
                if not await patience.wait(first):
                    name, where = functions[count]
                    return replace(told, name=name, where=where)
            except TimeoutError:
                left_out = len(functions) - count - 1
                return replace(told, seen=left_out, total=len(functions), late=True)
        return told  # one of a subpackage's pipeline

    async def _is_set_by(self, tried: _Tried, own: int, count: int) -> bool:
        """Whether the first functions alone, so many of them, set the field as all do."""
        git = self._reader.git
        guardrails: Sequence[GuardrailFunction] = tried.policy.mutators[: max(0, count - own)]
        policy = replace(tried.policy, mutators=tuple(guardrails), validators=())
        package, commit = tried.touched.package, tried.before
        if count < own and tried.kptfile is not None:
            text = _cut(tried.kptfile, count)
            path = f"{package}/{KPTFILE}".lstrip("/")
            commit = await self._offload(scratch, git, commit, {path: Entry(text)})
        tree = await self._offload(git.package, commit, package)
        found = await self._renderer.verdict(git, package, tree, tried.touched.origin, policy)
        return any(
            is_about(each, tried.change) and each.new == tried.change.new
            for each in found.rendering
        )


def _bare(refs: Sequence[ResourceRef]) -> Entry:
    """A file with resources of some names, and nothing else in them."""
    texts_ = []
    for ref in refs:
        metadata: dict[str, Value] = {"name": ref.name}
        if ref.namespace:
            metadata["namespace"] = ref.namespace
        texts_.append(emit({"apiVersion": ref.api_version, "kind": ref.kind, "metadata": metadata}))
    return Entry("---\n".join(texts_).encode())


def _leaves(change: Change) -> Iterator[Change]:
    """The single fields of a field that is added: a change tells a mapping as a whole, as JSON."""
    try:
        value = json.loads(change.new or "")
    except ValueError:  # a text, or what nobody is shown
        yield change
        return
    yield from _below(change, parse_field(change.field), value)


def _below(change: Change, at: FieldPath, value: Value) -> Iterator[Change]:
    inner: Iterable[tuple[str | int, Value]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    found = [leaf for key, each in inner for leaf in _below(change, (*at, key), each)]
    new = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    yield from found or [replace(change, field=field_text(at), new=new)]


def _pipeline(text: bytes | None) -> "Kptfile | None":
    try:
        return kptfiles.read(text) if text is not None else None
    except PackageError:
        return None


def _cut(text: bytes, count: int) -> bytes:
    """A Kptfile whose pipeline has its first mutators alone, and no validators."""
    stream = read_yaml(text)
    value = stream.documents[0].value
    pipeline = value.get("pipeline") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(pipeline, dict):
        return text
    mutators = pipeline.get("mutators")
    kept = mutators[:count] if isinstance(mutators, list) else []
    return edit(stream, {0: {**value, "pipeline": {"mutators": kept} if kept else {}}})
