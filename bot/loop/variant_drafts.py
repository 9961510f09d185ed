"""Makes what drafts of variants hold: the package as its rule wants it, rendered."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import assert_never

from bot.forges.port import Repository
from bot.look.rendered import rendered
from bot.loop import variant_facts
from bot.loop.repository import ServedRepository
from bot.loop.variant_facts import Here
from bot.upstream.port import FetchedUpstream, Upstreams
from cadlib.kptfile.reader import GitRef
from cadlib.package.files import Entry, Files
from cadlib.update.upstream import Answer, Fetch, Fetched, Step
from lifecycle import names
from lifecycle.messages import upstreams as upstream_texts
from lifecycle.messages import variants as texts
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.variants import actions as a
from lifecycle.variants import making
from lifecycle.variants.carrying import DownstreamContext, DraftContent
from lifecycle.variants.making import VariantPackage
from lifecycle.variants.objects import KubeObjectIndex
from lifecycle.variants.upstreams import UpstreamRevision


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantTask:
    """One variant's package while it is brought to rest.

    Attributes:
        around: Its rule, and where it is.
        objects: What can be injected.
        here: The package on the base branch.
        policy: The rules there.
        fetched: Upstreams that were fetched, by commit.
    """

    around: DownstreamContext
    objects: KubeObjectIndex
    here: Here
    policy: Policy
    fetched: Mapping[str, FetchedUpstream]

    @property
    def package(self) -> str:
        """Path of the package."""
        return self.around.variant.spec.downstream.package


class VariantMaker:
    """Makes packages in one repository.

    Args:
        served: The repository.
        upstreams: Where packages come from.
    """

    def __init__(self, served: ServedRepository, upstreams: Upstreams) -> None:
        self._served = served
        self._upstreams = upstreams

    async def content(self, action: a.Action, task: VariantTask) -> DraftContent:
        """Make what an action puts into a draft; nothing where it puts in nothing.

        Raises:
            PackageError, UpstreamError: The package cannot be made; says why.
        """
        match action:
            case a.CreateDraft() | a.UpdateDraft():
                upstream, new = action.upstream, action.new
                local = task.here.files
                return await self._made(task, local, task.around.tip, upstream, new=new)
            case a.MergeIntoDraft(_, head, upstream, _):
                local = await self._served.offload(self._files, head, task)
                return await self._made(task, local, Sha(head), upstream, new=False)
            case a.RemovePackage():
                gone = {f"{task.package}/{path}": None for path in task.here.own}
                return DraftContent(files=gone, title=texts.removal_title(task.package))
            case (
                a.OpenDraft() | a.ProposeDraft() | a.RetitleDraft() | a.CloseDraft() | a.EndDraft()
            ):
                return DraftContent()
            case _:
                assert_never(action)

    async def _made(
        self,
        task: VariantTask,
        local: Files,
        parent: Sha,
        upstream: UpstreamRevision | None,
        *,
        new: bool,
    ) -> DraftContent:
        made = await self._package(task, local, upstream, new=new)
        path, after = task.package, made.files
        changes: dict[str, Entry | None] = {
            f"{path}/{each}": after.get(each)
            for each in sorted({*local, *after})
            if local.get(each) != after.get(each)
        }
        spec = task.around.variant.spec
        shown = ""
        if upstream is not None:
            shown = names.shown(spec.upstream.package, upstream.number)
            if task.fetched[upstream.commit].unpublished:
                shown = upstream_texts.not_published(shown)
        own = f"{task.around.file.partition(':')[0]}/"
        with self._served.mirror.open() as git:
            changes = await rendered(
                self._served.looker.reader(git, self._served.adoption),
                self._served.looker.renderer,
                self._served.offload,
                files=changes,
                start=parent,
                package=path,
                base=task.around.tip,
                base_ref=task.around.base_ref,
            )
        return DraftContent(
            files=changes,
            title=texts.title(path, shown, new=new),
            conflicts=tuple(f"{each.path} {each.field}".strip() for each in made.conflicts),
            outside=any(not each.origin.startswith(own) for each in made.sources if each.origin),
        )

    async def _package(
        self, task: VariantTask, local: Files, upstream: UpstreamRevision | None, *, new: bool
    ) -> VariantPackage:
        variant = task.around.variant
        if upstream is None:
            return await self._served.offload(making.shaped, local, variant, task.objects)
        ref = task.fetched[upstream.commit].ref
        if new and not local:
            steps = making.cloned(variant, ref, task.objects, deployed=task.policy.deployment)
        else:
            steps = making.brought_up(local, variant, ref, task.objects)
        return await self._driven(task, steps)

    async def _driven(
        self, task: VariantTask, steps: Generator[Step, Answer, VariantPackage]
    ) -> VariantPackage:
        """Answer what is asked for; each step works where git is read."""
        answer: Answer = None
        while True:
            came = await self._served.offload(_next, steps, answer)
            if isinstance(came, VariantPackage):
                return came
            answer = await self._fetch(task, came) if isinstance(came, Fetch) else None

    async def _fetch(self, task: VariantTask, wanted: Fetch) -> Fetched:
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

    def _files(self, head: str, task: VariantTask) -> Files:
        with self._served.mirror.open() as git:
            return variant_facts.package(
                self._served.looker.reader(git, self._served.adoption), Sha(head), task.package
            ).files


def _next(steps: Generator[Step, Answer, VariantPackage], answer: Answer) -> Step | VariantPackage:
    try:
        return steps.send(answer)
    except StopIteration as ended:
        made: VariantPackage = ended.value
        return made
