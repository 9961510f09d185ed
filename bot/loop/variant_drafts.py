"""Carries out what was decided about a variant's package: drafts made, changed, closed."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import assert_never

import structlog

from bot import keys
from bot.forges.port import Repository
from bot.git.port import GitRefusedError, Pushed, RefUpdate, Signature
from bot.loop import variant_facts
from bot.loop.repository import ServedRepository
from bot.loop.variant_facts import CLOSED, Here
from bot.store.hints import Hint
from bot.store.port import Queue
from bot.upstream.port import FetchedUpstream, Upstreams
from cadlib.kptfile.reader import GitRef
from cadlib.package.files import Entry, Files
from cadlib.update.upstream import Answer, Fetch, Fetched, Step
from lifecycle import names, records
from lifecycle.actions import OpenProposal
from lifecycle.messages import variants as texts
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.variants import actions as a
from lifecycle.variants import making
from lifecycle.variants.facts import Recipe
from lifecycle.variants.making import Made
from lifecycle.variants.objects import Objects
from lifecycle.variants.upstreams import UpstreamRevision
from lifecycle.variants.values import Variant

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One variant's package while it is brought to rest.

    Attributes:
        variant: The rule.
        file: Where that stands, for people.
        objects: What can be injected.
        here: The package on the base branch.
        base_ref: That branch.
        policy: Its rules.
        fetched: Upstreams that were fetched, by commit.
        numbers: Pull requests of its drafts, by branch.
    """

    variant: Variant
    file: str
    objects: Objects
    here: Here
    base_ref: str
    policy: Policy
    fetched: Mapping[str, FetchedUpstream]
    numbers: Mapping[str, int]


class VariantDrafts:
    """Makes drafts in one repository.

    Args:
        served: The repository.
        queue: Where looks are asked for.
        upstreams: Where packages come from.
        who: Whom its commits are by.
    """

    def __init__(
        self, served: ServedRepository, queue: Queue, upstreams: Upstreams, who: Signature
    ) -> None:
        self._served = served
        self._queue = queue
        self._upstreams = upstreams
        self._who = who

    async def perform(self, action: a.Action, task: Task) -> bool:
        """Carry out one action; returns whether it was done, which a newer push prevents.

        Raises:
            PackageError, UpstreamError: The package cannot be made; says why.
            ForgeRefusedError, GitRefusedError: An operator must act.
        """
        match action:
            case a.CreateDraft(branch, upstream, recipe, propose, new):
                made = await self._make(task, task.here.files, upstream, new=new)
                words = _words(made, propose=propose)
                title = _title(task, upstream, new=new)
                push = _Push(branch, "", task.here.tip, task.here.files, recipe, words, title)
                return await self._pushed(task, push, made) and await self._open(
                    task, branch, title, made, propose=propose
                )
            case a.UpdateDraft(branch, head, upstream, recipe, propose, new):
                made = await self._make(task, task.here.files, upstream, new=new)
                words = _words(made, propose=propose)
                title = _title(task, upstream, new=new)
                push = _Push(branch, head, task.here.tip, task.here.files, recipe, words, title)
                return await self._pushed(task, push, made)
            case a.MergeIntoDraft(branch, head, upstream, recipe):
                local = await self._served.offload(self._files, head, task)
                made = await self._make(task, local, upstream, new=False)
                title = _title(task, upstream, new=False)
                words = _words(made, propose=False)
                push = _Push(branch, head, Sha(head), local, recipe, words, title)
                return await self._pushed(task, push, made)
            case a.ProposeDraft(branch, _):
                if branch in task.numbers:
                    await self._served.forge.set_draft(task.numbers[branch], draft=False)
                return branch in task.numbers
            case a.CloseDraft(branch, head, why):
                return await self._close(task, branch, Sha(head), why)
            case a.Adopt() | a.Release() | a.ProposeDeletion() | a.TakeBackDeletion():
                return False  # what is adopted is written into the package with what is made of it
            case _:
                assert_never(action)

    # --- what it is made of ---

    async def _make(
        self, task: Task, local: Files, upstream: UpstreamRevision | None, *, new: bool
    ) -> Made:
        if upstream is None:
            return await self._served.offload(making.shaped, local, task.variant, task.objects)
        ref = task.fetched[upstream.commit].ref
        if new and not local:
            steps = making.cloned(task.variant, ref, task.objects, deployed=task.policy.deployment)
        else:
            steps = making.brought_up(local, task.variant, ref, task.objects)
        return await self._driven(task, steps)

    async def _driven(self, task: Task, steps: Generator[Step, Answer, Made]) -> Made:
        """Answer what is asked for; each step works where git is read."""
        answer: Answer = None
        while True:
            came = await self._served.offload(_next, steps, answer)
            if isinstance(came, Made):
                return came
            answer = await self._fetch(task, came) if isinstance(came, Fetch) else None

    async def _fetch(self, task: Task, wanted: Fetch) -> Fetched:
        for each in task.fetched.values():
            same = (wanted.repo, wanted.directory) == (each.ref.repo, each.ref.directory)
            if same and wanted.ref in (each.ref.ref, each.commit):
                return Fetched(each.files, each.commit, each.ref.ref)
        address = GitRef(repo=wanted.repo, directory=wanted.directory, ref=wanted.ref)
        found = await self._upstreams.fetch(
            address, into=self._repository, caller=None, policy=task.policy
        )
        return Fetched(found.files, found.commit, found.ref.ref)

    @property
    def _repository(self) -> Repository:
        return self._served.repository

    def _files(self, head: str, task: Task) -> Files:
        with self._served.mirror.open() as git:
            return variant_facts.package(
                self._served.looker.reader(git, self._served.adoption),
                Sha(head),
                task.variant.spec.downstream.package,
            ).files

    # --- what is done with it ---

    async def _pushed(self, task: Task, push: "_Push", made: Made) -> bool:
        commit = await self._served.offload(self._commit, task, push, made)
        update = RefUpdate(names.branch_ref(push.branch), push.head, commit)
        done = await self._push(update)
        if done:
            here = keys.ProposalKey(self._served.id, self._served.id.number, push.branch)
            await self._queue.wake(here, Hint(heads=frozenset({commit})))
        return done

    async def _push(self, update: RefUpdate) -> bool:
        credentials = await self._served.forge.git_credentials()
        try:
            came = await self._served.offload(self._served.mirror.push, credentials, [update])
        except GitRefusedError as error:
            log.warning("push of a variant refused", ref=update.ref, reason=str(error))
            return False
        return came is Pushed.DONE

    def _commit(self, task: Task, push: "_Push", made: Made) -> Sha:
        path = task.variant.spec.downstream.package
        before, after = push.local, made.files
        changes: dict[str, Entry | None] = {
            f"{path}/{each}": after.get(each)
            for each in sorted({*before, *after})
            if before.get(each) != after.get(each)
        }
        said = variant_facts.line(task.variant, push.recipe, push.words)
        return self._written(push.parent, changes, f"{push.title}\n\n{said}")

    def _written(self, parent: Sha, changes: Mapping[str, Entry | None], message: str) -> Sha:
        key, me = self._served.looker.keys[0], self._served.id
        with self._served.mirror.open() as git:
            return git.write_commit(
                parent,
                changes,
                self._who,
                self._served.clock.now(),
                lambda tree: records.mark_message(message, key, parent, tree, me),
            )

    async def _open(
        self, task: Task, branch: str, title: str, made: Made, *, propose: bool
    ) -> bool:
        conflicts = [f"{each.path} {each.field}".strip() for each in made.conflicts]
        body = texts.body(task.variant.name, task.file, conflicts)
        wanted = OpenProposal(
            head_ref=branch,
            base_ref=task.base_ref,
            title=title,
            body=self._served.forge.terms.said(body),
            draft=not propose or bool(conflicts),
        )
        number = await self._served.forge.open_proposal(wanted)
        here = keys.ProposalKey(self._served.id, self._served.id.number, branch)
        await self._queue.wake(here, Hint(numbers=frozenset({number})))
        log.info("variant", repository=self._repository.full_name, branch=branch, number=number)
        return True

    async def _close(self, task: Task, branch: str, head: Sha, why: str) -> bool:
        """Say why, mark the end of the branch as ours, and delete it, which closes it."""
        said = variant_facts.line(task.variant, Recipe("", ""), [CLOSED])
        last = await self._served.offload(self._written, head, {}, f"{why}\n\n{said}")
        ref = names.branch_ref(branch)
        if not await self._push(RefUpdate(ref, head, last)):
            return False
        if branch in task.numbers:
            await self._served.forge.comment(task.numbers[branch], f"{why}\n")
        return await self._push(RefUpdate(ref, last, ""))


@dataclass(frozen=True, slots=True)
class _Push:
    """A commit to be made: where, on what, of what, and what it says."""

    branch: str
    head: str
    parent: Sha
    local: Files
    recipe: Recipe
    words: tuple[str, ...]
    title: str


def _next(steps: Generator[Step, Answer, Made], answer: Answer) -> Step | Made:
    try:
        return steps.send(answer)
    except StopIteration as ended:
        made: Made = ended.value
        return made


def _words(made: Made, *, propose: bool) -> tuple[str, ...]:
    if made.conflicts:
        return ("conflicts",)
    return ("proposed",) if propose else ()


def _title(task: Task, upstream: UpstreamRevision | None, *, new: bool) -> str:
    spec = task.variant.spec
    shown = "" if upstream is None else names.shown(spec.upstream.package, upstream.number)
    return texts.title(spec.downstream.package, shown, new=new)
