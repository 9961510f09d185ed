"""The onboarding pull request: a `.porchbot.yaml` is proposed where packages are and none is.

Once for each repository: whether it was is asked of the forge, which does not forget. A few an hour
over all repositories, so that an organisation that installs the App everywhere is not flooded.
"""

from collections.abc import Sequence

import structlog

from bot import keys
from bot.config import CONFIG
from bot.forges.port import ForgeRefusedError, Forges
from bot.git.port import GitIdentity, GitRefusedError, History, Pushed, RefUpdate
from bot.loop.repository import ServedRepository
from bot.recent import Recent
from bot.store.buckets import Bucket, Draw
from bot.store.hints import Hint
from bot.store.port import Store
from lifecycle import names
from lifecycle.actions import OpenProposal
from lifecycle.identity import RepositoryId
from lifecycle.kinds import Write
from lifecycle.messages import onboarding as texts
from lifecycle.names import Sha
from lifecycle.onboarding import BRANCH, FoundContent, found

log = structlog.get_logger()

AN_HOUR = 3
"""Pull requests of this kind, over all repositories and replicas."""

MOST_KNOWN = 10_000
"""Repositories of which it is remembered that they were asked."""

_BUCKET = Bucket("onboarding", AN_HOUR, AN_HOUR / 3600)
_CLAIM = Write(("onboarding",), makes_after=0).claim


class Onboarding:
    """Proposes a configuration where there is none.

    Args:
        forges: Whose App we are.
        store: For what all replicas may do together.
    """

    def __init__(self, forges: Forges, store: Store) -> None:
        self._forges = forges
        self._store = store
        self._asked: Recent[RepositoryId, bool] = Recent(MOST_KNOWN)

    async def propose(self, served: ServedRepository) -> None:
        """Propose it, where packages are, no configuration is, and nobody was asked before."""
        if self._asked.get(served.id):
            return
        if not await served.offload(_is_bare, served):
            return
        tags = [*await served.offload(served.mirror.tags, await served.forge.git_credentials())]
        tip, what = await served.offload(_see, served, tags)
        try:
            there = await served.forge.proposals_of(BRANCH)
            me = served.id.number
            if not any(p.head_ref == BRANCH and p.head_repository == me for p in there):
                if not await self.granted(served.id):
                    return
                await self._open(served, tip, what, tags)
            self._asked.put(served.id, True)
        except (ForgeRefusedError, GitRefusedError) as error:
            # Nobody waits for it; `porchbot doctor` names what is missing.
            log.warning("not onboarded", repository=str(served.id), error=str(error))
            self._asked.put(served.id, True)

    async def granted(self, repository: RepositoryId) -> bool:
        """Whether this hour has room for one more, and no other replica is at it."""
        if await self._store.budgets.take(f"{repository.forge}:onboarding", [Draw(_BUCKET, 1)]):
            return False
        return await self._store.claims.take(repository, _CLAIM, 600)

    async def _open(
        self, served: ServedRepository, tip: Sha, what: FoundContent, tags: Sequence[str]
    ) -> None:
        me = await self._forges.identity()
        who = GitIdentity(me.login, me.address)
        # Pushed, and the bot ended before it had proposed it: that is all that was left to do.
        left = await served.offload(_is_left, served, tags)
        if not left and not await self._push(served, tip, what, who):
            log.info("not onboarded: the branch is there", repository=str(served.id), branch=BRANCH)
            return
        app = me.login.removesuffix("[bot]")
        wanted = OpenProposal(
            head_ref=BRANCH,
            base_ref=what.default_ref,
            title=texts.TITLE,
            body=served.forge.terms.said(texts.body(what, app)),
            draft=False,
        )
        number = await served.forge.open_proposal(wanted)
        # What the bot causes itself wakes nothing.
        here = keys.ProposalKey(served.id, served.id.number, BRANCH)
        await self._store.queue.wake(here, Hint(numbers=frozenset({number})))
        log.info("onboarding proposed", repository=served.repository.full_name, number=number)

    async def _push(
        self, served: ServedRepository, tip: Sha, what: FoundContent, who: GitIdentity
    ) -> bool:
        commit = await served.offload(_commit, served, tip, what, who)
        update = RefUpdate(names.branch_ref(BRANCH), "", commit)
        credentials = await served.forge.git_credentials()
        return await served.offload(served.mirror.push, credentials, [update]) is Pushed.DONE


def _is_left(served: ServedRepository, tags: Sequence[str]) -> bool:
    """Whether the branch is there as we push it: one commit that adds the file that we write.

    Whose it says it is proves nothing: anybody writes any name there, and another file would be
    proposed in our name, under words about ours.
    """
    with served.mirror.open() as git:
        tip = git.ref(names.branch_ref(BRANCH))
        default = git.ref(names.branch_ref(served.repository.default_branch))
        parents = () if tip is None else git.commit(tip).parents
        if tip is None or default is None or len(parents) != 1:
            return False
        (parent,) = parents
        if git.merge_base(parent, default) != parent:
            return False
        if list(git.difference(parent, tip).files) != [CONFIG]:
            return False
        written = texts.file(_found(served, git, parent, tags)).encode()
        return git.blob(tip, CONFIG, len(written) + 1) == written


def _is_bare(served: ServedRepository) -> bool:
    """Whether the default branch holds packages and no configuration of any kind."""
    with served.mirror.open() as git:
        tip = git.ref(names.branch_ref(served.repository.default_branch))
        if tip is None or git.entry(tip, CONFIG):
            return False
        return bool(git.difference("", tip).packages)


def _see(served: ServedRepository, tags: Sequence[str]) -> tuple[Sha, FoundContent]:
    """The default branch's tip, and what is there."""
    with served.mirror.open() as git:
        tip = git.ref(names.branch_ref(served.repository.default_branch)) or Sha("")
        return tip, _found(served, git, tip, tags)


def _found(served: ServedRepository, git: History, at: Sha, tags: Sequence[str]) -> FoundContent:
    there = next((path for path in served.forge.owners.places if git.entry(at, path)), "")
    default = served.repository.default_branch
    return found(default, git.difference("", at).packages, tags, there)


def _commit(served: ServedRepository, tip: Sha, what: FoundContent, who: GitIdentity) -> Sha:
    changes = {CONFIG: texts.file(what).encode()}
    with served.mirror.open() as git:
        return git.write_commit(tip, changes, who, served.clock.now(), lambda _: texts.TITLE)
