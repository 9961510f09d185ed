"""Looks at a merge group: what a merge queue is about to merge, at a branch of the queue's own.

What a branch is called says nothing: whoever may push can make one with the name of a group, of any
commit. A group is what the forge's own queue holds, and every proposal in it is judged.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.forges.port import MergeQueue, QueueEntry
from bot.git.port import Scope
from bot.look import content, elsewhere, rendering
from bot.look.assemble import Looked, Looker
from bot.look.reader import Basis, MirrorReader
from bot.store.values import Adoption
from lifecycle import names
from lifecycle.facts.checks import PUBLISH, Conclusion
from lifecycle.facts.commits import MOST_SHARED
from lifecycle.facts.head import Facts
from lifecycle.groups import Group, GroupEntry
from lifecycle.names import Sha


@dataclass(frozen=True, slots=True)
class LookedGroup:
    """What was found out about a merge group.

    Attributes:
        looked: Its branch as facts: the head, and the checks there.
        group: What it would merge.
        doubtful: Something in it differs from its proposal, and an answer that is a moment old may
            be to blame: it is believed once it stays so.
    """

    looked: Looked
    group: Group
    doubtful: bool = False

    @property
    def facts(self) -> Facts:
        """What was decided on."""
        return self.looked.facts


@dataclass(frozen=True, slots=True)
class NoGroup:
    """Nothing that the forge's queue is about to merge now: nothing is judged and nothing written.

    Attributes:
        queued: The proposal that the branch is named for is in the queue, so that the forge may
            show a moment later what it is about to merge.
    """

    queued: bool


GONE = NoGroup(queued=False)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one proposal adds to those before it.

    Attributes:
        entry: The proposal.
        before: What it was merged into.
        after: The result.
        commits: How many commits that took; more than one where the queue rebases.
    """

    entry: QueueEntry
    before: Sha
    after: Sha
    commits: int


class GroupLooker:
    """Looks at the merge groups of one repository.

    Args:
        looker: Looks at its proposals.
    """

    def __init__(self, looker: Looker) -> None:
        self._looker = looker
        self._repository = looker.repository
        self._forge = looker.forge
        self._mirror = looker.mirror
        self._renderer = looker.renderer
        self._fetcher = looker.fetcher
        self._clock = looker.clock
        self._offload = looker.offload
        self._users = looker.users

    async def look(
        self, branch: str, adoption: Adoption, *, rerun: bool = False
    ) -> LookedGroup | NoGroup:
        """Read everything about a merge group.

        Args:
            branch: Named like one of a queue.
            adoption: What the repository was when the bot first saw it.
            rerun: Somebody pressed Re-run.
        """
        return await self._looker.extended.fetched(lambda: self._look(branch, adoption, rerun))

    async def _look(self, branch: str, adoption: Adoption, rerun: bool) -> LookedGroup | NoGroup:
        read, named = self._clock.monotonic(), names.group_of(branch)
        queue = await self._forge.merge_queue(named[0]) if named else None
        if named is None or queue is None:
            return GONE
        base_ref, number = named
        missing = NoGroup(queued=any(entry.number == number for entry in queue.entries))
        # Git after the queue: it has at least what that was built of.
        since, default = self._clock.monotonic(), self._repository.default_branch
        await self._fetcher.fetch(Scope(frozenset({branch, base_ref, default})), since)
        credentials = await self._forge.git_credentials()
        with await self._offload(self._mirror.open, credentials, since) as git:
            head = git.ref(names.branch_ref(branch))
            reader = self._looker.reader(git, adoption)
            parts = await self._offload(_parts, reader, queue, base_ref, head) if head else ()
            if head is None or not parts:
                return missing
            for part in parts:
                await self._fetcher.fetch_head(git, part.entry)
            runs = await self._forge.checks(head)
            group = await self._group(reader, queue, base_ref, parts, since, rerun=rerun)
        if group is None:
            return missing
        facts = Facts(
            repository=self._repository.full_name,
            repository_id=self._repository.id,
            head_ref=branch,
            head=head,
            same_repository=True,
            default_ref=default,
            checks={run.name: run for run in runs if run.ours},
            rerun=rerun,
            terms=self._forge.terms,
        )
        nothing = frozenset[int]()
        several = any(part.commits > 1 for part in parts)
        return LookedGroup(
            Looked(facts, read, nothing, nothing, {}, {}, nothing),
            group,
            doubtful=several and any(entry.other for entry in group.entries),
        )

    async def _group(
        self,
        reader: MirrorReader,
        queue: MergeQueue,
        base_ref: str,
        parts: Sequence[_Part],
        since: float,
        *,
        rerun: bool,
    ) -> Group | None:
        head, basis = parts[-1].after, Basis(rules=queue.base, base=queue.base)
        await self._fetcher.fetch_related(reader, head, base_ref, basis, since)
        found = await self._offload(content.read, reader, head, base_ref, basis)
        entries = await self._offload(_entries, reader, queue.base, base_ref, parts)
        if found is None or entries is None:
            return None
        ready = await asyncio.gather(*(self._is_ready(part.entry.head) for part in parts))
        proposed = await self._forge.proposals_at(head)
        mine = {part.entry.number for part in parts}
        others = sorted(
            (p.number, p.head_repository == self._repository.id.number)
            for p in proposed
            if p.open and p.number not in mine
        )
        return Group(
            base_ref=base_ref,
            content=await elsewhere.content(
                self._users, self._repository, found.content, elsewhere.nobody
            ),
            verdicts=await rendering.verdicts(
                self._renderer,
                reader.git,
                found.content.touched,
                found.policy,
                head=head,
                again=rerun,
            ),
            policy=found.policy,
            entries=tuple(
                replace(entry, ready=is_ready)
                for entry, is_ready in zip(entries, ready, strict=True)
            ),
            shared=tuple(number for number, inside in others if inside)[:MOST_SHARED],
            forks=tuple(number for number, inside in others if not inside)[:MOST_SHARED],
        )

    async def _is_ready(self, head: Sha) -> bool:
        """Whether a proposal's own check has passed, which says that all its gates held."""
        return any(
            run.ours and run.name == PUBLISH and run.conclusion is Conclusion.SUCCESS
            for run in await self._forge.checks(head)
        )


def _parts(reader: MirrorReader, queue: MergeQueue, base_ref: str, head: Sha) -> tuple[_Part, ...]:
    """Divide what a queue is about to merge among its entries; empty where it is none of them.

    The entries are found on the line of first parents from the base to the head. What fails leaves
    the queue a moment later than those behind it are built anew: one that is not on the line is not
    in the group.
    """
    if head not in {entry.merge for entry in queue.entries} or not reader.git.has(queue.base):
        return ()
    line = reader.line(head, queue.base) or ()
    at = {sha: place for place, sha in enumerate(line)}
    found, before, done = list[_Part](), queue.base, 0
    for entry in queue.entries:
        if entry.merge is None or at.get(entry.merge, -1) < done:
            continue
        if not entry.open or entry.base_ref != base_ref:
            return ()
        place = at[entry.merge] + 1
        found.append(_Part(entry, before, entry.merge, place - done))
        before, done = entry.merge, place
    return tuple(found) if before == head else ()


def _entries(
    reader: MirrorReader, base: Sha, base_ref: str, parts: Sequence[_Part]
) -> tuple[GroupEntry, ...] | None:
    """What each proposal adds to those before it, beside what it shows; None where git lacks it.

    Whether each is ready is for the forge to say.
    """
    git, found, packages = reader.git, list[GroupEntry](), False
    for part in parts:
        basis, proposed = Basis(rules=base, base=part.before), part.entry.head
        read = content.read(reader, part.after, base_ref, basis) if git.has(proposed) else None
        if read is None:
            return None
        touched = read.content.touched
        before = [base, *(each.after for each in parts[: len(found)])]
        found.append(
            GroupEntry(
                number=part.entry.number,
                ready=False,
                other={
                    t.package: t.tree for t in touched if git.package(proposed, t.package) != t.tree
                },
                rules=reader.rules_differ(before),
                behind=packages and reader.rules_differ((part.before, part.after)),
            )
        )
        packages = packages or bool(touched)
    return tuple(found)
