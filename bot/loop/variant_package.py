"""One package of a variant while it is brought to rest, like everything else that the bot does."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from bot.forges.port import Repository
from bot.look.assemble import Looked
from bot.look.states import HeadBranch
from bot.loop.echoes import Echoes
from bot.loop.repository import ServedRepository
from bot.loop.settle import Rest
from bot.loop.variant_drafts import VariantMaker
from bot.loop.variant_look import VariantLook, VariantPass, WantedDownstream
from bot.outcomes import ActionOutcome, Report
from bot.store.hints import Hint
from bot.store.port import LookProposals
from lifecycle import names, wording
from lifecycle.actions import Action, DeleteBranch, OpenProposal, PushDraft
from lifecycle.facts.head import Facts
from lifecycle.kinds import OF_PROPOSAL
from lifecycle.names import Sha
from lifecycle.variants.actions import (
    CloseDraft,
    CreateDraft,
    MergeIntoDraft,
    RemovePackage,
    UpdateDraft,
)
from lifecycle.variants.carrying import DownstreamContext, DraftContent, carried
from lifecycle.variants.decision import VariantDecision, decide
from lifecycle.variants.facts import VariantFacts

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LookedVariant:
    """What was found out about a package of a variant.

    Attributes:
        looked: Its repository as facts, which actions are carried out on.
        around: Where the package is.
        decision: What is to be done.
        contents: What was made for each action of that.
    """

    looked: Looked
    around: DownstreamContext
    decision: VariantDecision
    contents: tuple[DraftContent, ...]

    @property
    def facts(self) -> Facts:
        """What was decided on."""
        return self.looked.facts


class VariantReconciler:
    """One package.

    Args:
        going: What this look at the repository knows.
        wanted: The package.
        proposals: Why pushes were refused.
        key: The key of the repository's variants.
        hint: What woke that.

    Attributes:
        decided: What was decided last; None before.
        refused: Why the forge refused the last push; "" where it did not.
    """

    looks = OF_PROPOSAL

    def __init__(
        self,
        going: VariantPass,
        wanted: WantedDownstream,
        proposals: LookProposals,
        key: str,
        hint: Hint,
    ) -> None:
        self._pass = going
        self._wanted = wanted
        self._proposals = proposals
        self._served: ServedRepository = going.served
        self.key, self.hint = key, hint
        self.decided: VariantDecision | None = None
        self.refused = ""
        self.waiting = f"{key} {wanted.variant.spec.downstream.package}"

    @property
    def echoes(self) -> Echoes:
        """What was done last in the repository."""
        return self._served.echoes

    async def look(self, _since: float) -> LookedVariant | Rest:
        """Read what is known, and make what is to be committed."""
        read = self._served.clock.monotonic()
        reading = VariantLook(self._pass)
        task, facts = await reading.read(self._wanted)
        decided = decide(facts)
        if _follows(decided):
            facts = await reading.with_circle(facts, self._wanted)
            decided = decide(facts)
        if _begins(decided, facts):
            decided = decide(await reading.with_closed(facts))
        self.decided = decided
        if decided.why:
            log.info("variant", package=task.package, state=decided.state, why=decided.why)
        maker = VariantMaker(self._served, self._pass.upstreams)
        contents = [await maker.content(each, task) for each in decided.actions]
        around = task.around
        if any(content.files for content in contents):
            writers = await self._pass.writers.of(self._wanted.file, self._pass.rulings)
            around = replace(around, writers=writers)
        nothing = frozenset[int]()
        looked = Looked(self._facts(), read, nothing, nothing, {}, {}, nothing)
        return LookedVariant(looked, around, decided, tuple(contents))

    def _facts(self) -> Facts:
        me: Repository = self._served.repository
        return Facts(
            repository=me.full_name,
            repository_id=me.id,
            head_ref="",
            head=None,
            same_repository=True,
            default_ref=me.default_branch,
            terms=self._served.forge.terms,
        )

    def decide(self, looked: LookedVariant) -> Sequence[Action]:
        """The actions by which that is carried out."""
        pairs = zip(looked.decision.actions, looked.contents, strict=True)
        done = [one for action, content in pairs for one in carried(action, looked.around, content)]
        return wording.words(done, looked.facts.terms)

    async def perform(
        self, actions: Sequence[Action], looked: LookedVariant, report: Report
    ) -> ActionOutcome | Rest:
        """Carry them out, while nobody else looks at the branch.

        What is done needs no second look, but for what is closed: that takes two steps.
        """
        about = (PushDraft, OpenProposal, DeleteBranch)
        branch = next((each.head_ref for each in actions if isinstance(each, about)), "")
        if await self._is_refused(actions):
            return Rest()
        async with self._served.lock(HeadBranch(self._served.id.number, branch)):
            performer = self._served.performer
            came = await performer.perform(actions, looked.looked, report, self.hint)
        opened = [each for each in actions if isinstance(each, OpenProposal)]
        self._pass.begun += sum(report.of(each).outcome is ActionOutcome.DONE for each in opened)
        ends = any(isinstance(each, CloseDraft) for each in looked.decision.actions)
        return Rest() if came is ActionOutcome.DONE and not ends else came

    async def _is_refused(self, actions: Sequence[Action]) -> bool:
        """Whether a rule of the forge forbade such a push: it waits until rules change."""
        me = self._served.id
        for each in actions:
            if isinstance(each, PushDraft):
                ref = names.branch_ref(each.head_ref)
                refused = await self._proposals.push_refusal(me, ref, Sha(each.base))
                if refused is not None:
                    self.refused = refused.reason
                    log.warning("push of a variant refused", ref=ref, reason=refused.reason)
                    return True
        return False

    async def rest(self, _looked: LookedVariant) -> Rest:
        """Nothing is left: a push to the base branch, or to the upstream, changes that."""
        return Rest()


def _follows(decided: VariantDecision) -> bool:
    """Tell whether something is made as the rule asks."""
    made = (CreateDraft, UpdateDraft, MergeIntoDraft)
    return any(isinstance(each, made) for each in decided.actions)


def _begins(decided: VariantDecision, facts: VariantFacts) -> bool:
    """Tell whether a draft is begun: what a person closed before has to be known then."""
    there = {each.branch for each in facts.drafts if each.recipe is not None}
    made = (CreateDraft, UpdateDraft, RemovePackage)
    return any(isinstance(each, made) and each.branch not in there for each in decided.actions)
