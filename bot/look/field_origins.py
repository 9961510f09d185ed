"""Finds what set a field that somebody asks about with `/why <field>`.

The commits of the proposal are gone back to the newest in which the field became what it is. Where
that is a rendering of ours, the functions are left out from the last on, until the field is not set
any more: the one that was left out last has set it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bot.clock import Offload
from bot.git.port import Commit, History, MissingObjectError
from bot.look.drafted_from import MOST_BYTES
from bot.look.reader import MirrorReader
from bot.look.rendered import scratch
from bot.look.upgrades import MOST_COMMITS
from bot.render.port import Renderer
from cadlib.diff.changes import Change
from cadlib.errors import PackageError
from cadlib.kptfile import reader as kptfiles
from cadlib.kptfile.values import Kptfile
from cadlib.package.files import KPTFILE, Entry
from cadlib.render.calls import GUARDRAIL, PIPELINE
from cadlib.yaml import edit
from cadlib.yaml import read as read_yaml
from lifecycle import memory
from lifecycle.commands import answers
from lifecycle.facts.origins import (
    MOST_FIELDS,
    MOST_QUESTIONS,
    FieldOrigin,
    OriginKind,
    is_about,
)
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal
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


class FieldOrigins:
    """Finds what set fields, in one repository.

    Args:
        renderer: Compares and renders packages.
        offload: Where git is read.
    """

    def __init__(self, renderer: Renderer, offload: Offload) -> None:
        self._renderer = renderer
        self._offload = offload

    async def read(self, reader: MirrorReader, p: Proposal) -> Proposal:
        """Add what set the fields that somebody asks about, as far as the proposal changes them.

        Args:
            reader: Reads git.
            p: The proposal, with its verdicts and upgrades.
        """
        found: dict[str, tuple[FieldOrigin, ...]] = {}
        for about in sorted(answers.asked_about(p, memory.read(p)))[:MOST_QUESTIONS]:
            changes = [(v.package, c) for v in p.verdicts for c in v.diff if about in str(c)]
            origins = [await self._origin(reader, p, *each) for each in changes[:MOST_FIELDS]]
            found[about] = tuple(each for each in origins if each is not None)
        return replace(p, origins=found) if found else p

    async def _origin(
        self, reader: MirrorReader, p: Proposal, package: str, change: Change
    ) -> FieldOrigin | None:
        git, place = reader.git, p.place
        touched = next((t for t in p.content.touched if t.package == package), None)
        if touched is None:
            return None
        try:
            commits = await self._offload(git.first_parents, place.head, p.content.origin)
            for commit in reversed(commits[-MOST_COMMITS:]):
                if await self._is_set_in(git, commit, package, change):
                    return await self._told(reader, p, touched, commit, change)
        except MissingObjectError:
            return None
        return None

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
        reader: MirrorReader,
        p: Proposal,
        touched: Touched,
        commit: Commit,
        change: Change,
    ) -> FieldOrigin:
        asker = await self._offload(reader.render_asker, commit.sha)
        told = FieldOrigin(
            package=touched.package,
            change=change,
            kind=OriginKind.COMMIT if asker is None else OriginKind.OURS,
            commit=commit.sha,
            by=asker or ("" if asker is not None else commit.author.partition(" <")[0]),
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
            set_by = await self._function(reader.git, touched, commit, policy, change)
            if set_by is not None:
                name, where = set_by
                return replace(told, kind=OriginKind.FUNCTION, name=name, where=where)
        return told

    async def _function(
        self, git: History, touched: Touched, commit: Commit, policy: Policy, change: Change
    ) -> tuple[str, str] | None:
        """The function that rendering set a field with; None where rendering did not."""
        before = Sha(commit.parents[0])
        tree = await self._offload(git.package, before, touched.package)
        found = await self._renderer.verdict(git, touched.package, tree, touched.origin, policy)
        made = next((each for each in found.rendering if is_about(each, change)), None)
        if made is None:
            return None
        path = f"{touched.package}/{KPTFILE}".lstrip("/")
        text = await self._offload(git.blob, before, path, MOST_BYTES)
        return await self._left_out(git, _Tried(touched, before, text, policy, made))

    async def _left_out(self, git: History, tried: _Tried) -> tuple[str, str]:
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
            return "", ""
        for count in reversed(range(len(functions))):
            if not await self._is_set_by(git, tried, len(own.mutators) if own else 0, count):
                return functions[count]
        return "", ""  # one of a subpackage's pipeline

    async def _is_set_by(self, git: History, tried: _Tried, own: int, count: int) -> bool:
        """Whether the first functions alone, so many of them, set the field as all do."""
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
