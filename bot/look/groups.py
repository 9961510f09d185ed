"""Looks at a merge group: what a merge queue is about to merge, at a branch of the queue's own."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.forges.port import ForgeMissingError, ListedProposal
from bot.git.port import Scope
from bot.look import content, rendering
from bot.look.assemble import Looked, Looker
from bot.look.reader import Basis, MirrorReader
from bot.store.values import Adoption
from lifecycle import names
from lifecycle.facts.checks import PUBLISH, CheckRun, Conclusion
from lifecycle.facts.head import Facts
from lifecycle.groups import Group
from lifecycle.names import Sha


@dataclass(frozen=True, slots=True)
class LookedGroup:
    """What was found out about a merge group.

    Attributes:
        looked: Its branch as facts: the head, and the checks there.
        group: What it would merge.
    """

    looked: Looked
    group: Group

    @property
    def facts(self) -> Facts:
        """What was decided on."""
        return self.looked.facts


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

    async def look(
        self, branch: str, adoption: Adoption, since: float, *, rerun: bool = False
    ) -> LookedGroup | None:
        """Read everything about a merge group; None when it is there no more.

        Args:
            branch: Of the queue.
            adoption: What the repository was when the bot first saw it.
            since: By the monotonic clock; git as it was fetched after that will do.
            rerun: Somebody pressed Re-run.
        """
        return await self._looker.extended.fetched(
            lambda: self._look(branch, adoption, since, rerun=rerun)
        )

    async def _look(
        self, branch: str, adoption: Adoption, since: float, *, rerun: bool
    ) -> LookedGroup | None:
        read, named = self._clock.monotonic(), names.group_of(branch)
        if named is None:
            return None
        base_ref, number = named
        default = self._repository.default_branch
        _, pull = await asyncio.gather(
            self._fetcher.fetch(Scope(frozenset({branch, base_ref, default})), since),
            self._proposal(number),
        )
        if pull is None:
            return None
        credentials = await self._forge.git_credentials()
        with await self._offload(self._mirror.open, credentials, since) as git:
            head, base = (git.ref(names.branch_ref(each)) for each in (branch, base_ref))
            if head is None or base is None:
                return None
            reader = self._looker.reader(git, adoption)
            runs, there = await asyncio.gather(
                self._forge.checks(head), self._forge.checks(pull.head)
            )
            group = await self._group(reader, head, base, pull, there, since, rerun=rerun)
        if group is None:
            return None
        facts = Facts(
            repository=self._repository.full_name,
            repository_id=self._repository.id,
            head_ref=branch,
            head=head,
            same_repository=True,
            default_ref=default,
            checks={run.name: run for run in runs if run.ours},
            rerun=rerun,
        )
        nothing = frozenset[int]()
        return LookedGroup(Looked(facts, read, nothing, nothing, {}, {}, nothing), group)

    async def _proposal(self, number: int) -> ListedProposal | None:
        try:
            return await self._forge.proposal(number)
        except ForgeMissingError:
            return None

    async def _group(
        self,
        reader: MirrorReader,
        head: Sha,
        base: Sha,
        pull: ListedProposal,
        there: Sequence[CheckRun],
        since: float,
        *,
        rerun: bool,
    ) -> Group | None:
        base_ref, git = pull.base_ref, reader.git
        basis = Basis(rules=base, base=base)
        await self._fetcher.fetch_head(git, pull)
        await self._fetcher.fetch_related(reader, head, base_ref, basis, since)
        found = await self._offload(content.read, reader, head, base_ref, basis)
        if found is None:
            return None
        other, rules = await self._offload(_added, reader, head, base, base_ref, pull.head)
        touched = found.content.touched
        return Group(
            number=pull.number,
            base_ref=base_ref,
            content=found.content,
            verdicts=await rendering.verdicts(
                self._renderer, git, touched, found.policy, head=head, again=rerun
            ),
            policy=found.policy,
            ready=any(
                run.ours and run.name == PUBLISH and run.conclusion is Conclusion.SUCCESS
                for run in there
            ),
            other=other,
            rules=rules,
        )


def _added(
    reader: MirrorReader, head: Sha, base: Sha, base_ref: str, proposed: Sha
) -> tuple[Mapping[str, str], bool]:
    """What the last proposal of a group adds to those before it, beside what it shows.

    Args:
        reader: Reads git.
        head: Of the group.
        base: Of the base branch.
        base_ref: Its name.
        proposed: Head of the proposal.

    Returns:
        Packages that it changes and that are otherwise in the group than at its head, to their
        trees there; and whether those before it change what judges it.
    """
    git = reader.git
    before = next(iter(git.commit(head).parents), base)
    found = content.read(reader, head, base_ref, Basis(rules=base, base=before))
    touched = found.content.touched if found else ()
    other = {t.package: t.tree for t in touched if git.package(proposed, t.package) != t.tree}
    return other, before != base and reader.rules_differ([base, before])
