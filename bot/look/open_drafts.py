"""Finds the open drafts of packages, for who asks about them on the dashboard issue.

The open drafts of a package are the open pull requests from its branches under `drafts/`, as the
bot and `porchbot rpkg` make them; other branches may change it as well, and are not looked for.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from bot.clock import Offload
from bot.forges.port import Forge, ListedProposal, Repository
from bot.git.port import BRANCHES, History
from bot.look import content, updating
from bot.look.crowds import asked
from bot.look.draft_branches import MOST_OURS, proposes
from bot.look.fetching import Fetcher
from bot.look.reader import Basis, MirrorReader
from bot.render.port import Renderer
from bot.store.port import LookProposals
from lifecycle import names
from lifecycle.commands import asked as asked_for
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.drafts import tokens
from lifecycle.facts.head import Facts
from lifecycle.facts.open_drafts import DraftUpdate, OpenDrafts, PackageDiff
from lifecycle.facts.proposal import Proposal
from lifecycle.messages import making
from lifecycle.messages import open_drafts as texts
from lifecycle.names import Sha
from lifecycle.variants import naming

MOST_ASKED: Final = 5
"""Packages that one look finds out about for each command; the others follow."""

MOST_BRANCHES: Final = 20
"""Branches of one package whose pull requests the forge is asked for."""


class OpenDraftReader:
    """Finds out about the open drafts of packages in one repository.

    Args:
        repository: Which one.
        forge: Where their pull requests are.
        fetcher: Fetches their branches.
        renderer: Compares and merges packages.
        proposals: Why pushes were refused.
        offload: Where git is read.
    """

    def __init__(
        self,
        repository: Repository,
        forge: Forge,
        fetcher: Fetcher,
        renderer: Renderer,
        proposals: LookProposals,
        offload: Offload,
    ) -> None:
        self._repository = repository
        self._forge = forge
        self._fetcher = fetcher
        self._renderer = renderer
        self._proposals = proposals
        self._offload = offload

    async def read(self, reader: MirrorReader, issue: Proposal, since: float) -> Proposal:
        """Return the dashboard issue with what its commands ask about open drafts.

        Args:
            reader: Reads git.
            issue: The issue; roles and `lookups.whole` are told.
            since: By the monotonic clock; what was fetched after that will do.
        """
        facts = Facts(
            repository=self._repository.full_name,
            repository_id=self._repository.id,
            head_ref="",
            head=None,
            same_repository=True,
            default_ref=self._repository.default_branch,
            proposals=(issue,),
        )
        compared = await asked(self._offload, issue, asked_for.compared)
        wanted = await asked(self._offload, issue, partial(asked_for.updated, facts))
        if not compared and not wanted:
            return issue
        await self._fetcher.fetch(BRANCHES, since)
        diffs = {
            each: await self._diff(reader, issue, *each, since) for each in compared[:MOST_ASKED]
        }
        updates = {each: await self._update(reader, issue, each) for each in wanted[:MOST_ASKED]}
        found = OpenDrafts(diffs=diffs, updates=updates)
        return replace(issue, lookups=replace(issue.lookups, open_drafts=found))

    async def _diff(
        self, reader: MirrorReader, issue: Proposal, package: str, revision: int, since: float
    ) -> PackageDiff:
        git = reader.git
        base_ref, base, problem = await self._base(reader, issue, package)
        found = PackageDiff(package=package, base_ref=base_ref, revision=revision, problem=problem)
        if base is None:
            return found
        drafts = await self._open(git, package, base_ref)
        head = drafts[-1][1] if drafts else base
        if drafts:
            numbers = [pull.number for pull, _ in drafts]
            found = replace(found, number=numbers[-1], others=tuple(numbers[:-1]))
        after = await self._offload(git.package, head, package)
        await self._fetcher.learn(reader.tags, {package}, since)
        if not revision and not drafts:  # what nobody has published yet
            newest = await self._offload(reader.tags.newest, package)
            if not after and newest is None:
                return replace(found, problem=texts.nothing(package, base_ref))
            if newest is None:
                return replace(found, problem=texts.unpublished(package))
            revision = newest[0]
            found = replace(found, revision=revision)
        if revision:
            commit = await self._offload(reader.tags.commit, package, revision)
            if commit is None:
                return replace(found, problem=making.no_revision(package, revision))
        else:
            commit = await self._offload(reader.origin, head, base)
        before = await self._offload(git.package, commit, package)
        changes = await self._renderer.changes(git, before, after)
        return replace(found, changes=changes)

    async def _update(self, reader: MirrorReader, issue: Proposal, package: str) -> DraftUpdate:
        git = reader.git
        base_ref, base, problem = await self._base(reader, issue, package)
        found = DraftUpdate(package=package, base_ref=base_ref, problem=problem)
        if base is None:
            return found
        drafts = await self._open(git, package, base_ref)
        if not drafts:
            return replace(found, problem=texts.none(package))
        if len(drafts) > 1:
            return replace(found, problem=texts.several(package, [p.number for p, _ in drafts]))
        pull, head = drafts[0]
        basis = Basis(rules=base, base=base)
        read = await self._offload(
            content.read,
            reader,
            head,
            base_ref,
            basis,
            head_ref=pull.head_ref,
            number=pull.number,
        )
        touched = read.content.touched if read is not None else ()
        if others := sorted(t.package for t in touched if t.package != package):
            return replace(found, problem=texts.of_others(pull.number, others))
        ref = names.branch_ref(pull.head_ref)
        refused = await self._proposals.push_refusal(reader.repository_id, ref, head)
        refused = refused or PushRefusal("")
        return replace(
            found,
            number=pull.number,
            head_ref=pull.head_ref,
            head=head,
            base=base,
            update=await updating.merged(self._renderer, git, head, base, touched, self._offload),
            outdated=tuple(sorted(t.package for t in touched if t.outdated)),
            refused=refused.reason,
            refused_asked=refused.asked,
            done=await self._offload(_done, reader, head),
        )

    async def _base(
        self, reader: MirrorReader, issue: Proposal, package: str
    ) -> tuple[str, Sha | None, str]:
        """The branch that a package is published on, its head, and what is wrong without one."""
        whole = issue.lookups.whole
        base_ref = "" if whole is None else whole.branch_of(package, reader.default_branch)
        if not base_ref:
            return "", None, making.unmanaged(package)
        base = await self._offload(reader.git.ref, names.branch_ref(base_ref))
        return base_ref, base, "" if base is not None else making.no_base(base_ref)

    async def _open(
        self, git: History, package: str, base_ref: str
    ) -> list[tuple[ListedProposal, Sha]]:
        """The open pull requests of a package's drafts to its branch, with their heads in git."""
        me, found = self._repository.id.number, []
        for branch, head in await self._offload(_branches, git, package):
            for pull in await self._forge.proposals_of(branch):
                if proposes(pull, me, branch) and pull.base_ref == base_ref:
                    found.append((pull, head))
        return sorted(found, key=lambda each: each[0].number)


def _branches(git: History, package: str) -> Sequence[tuple[str, Sha]]:
    """The branches of a package's drafts, and where they are; the first `MOST_BRANCHES`."""
    folder = naming.draft_branch(package, "").rstrip("/")
    there = sorted(
        (names.branch_name(full), Sha(tip))
        for full, (_, tip) in git.refs(names.branch_ref(folder)).items()
    )
    return [each for each in there if each[0].rpartition("/")[0] == folder][:MOST_BRANCHES]


def _done(reader: MirrorReader, head: Sha) -> frozenset[str]:
    """Tokens of the requests that merges of ours at the end of a branch were made for."""
    done, at = set[str](), head
    for _ in range(MOST_OURS):
        if reader.render_asker(at) is None:
            break
        commit = reader.git.commit(at)
        done |= tokens(commit.message)
        at = commit.parents[0]
    return frozenset(done)
