"""A look at one proposal that writes nothing: what the bot would say of it, and do next.

The facts are read and judged by the code that the bot looks and decides with. What performs actions
is not even made, nothing is remembered, and the forge grants tokens that can only read.

What only the bot's database knows is not told: merges that the forge refused, and what a repository
was when the bot came. What was never published counts as there before. Whether a rule for variants
wants something now is known to the bot alone: where all hangs on that, the answer is unknown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.dashboard import Dashboard
from bot.forges.port import Forge, ForgeBusyError, ForgeRefusedError, ListedProposal, Repository
from bot.git.port import BRANCHES, Mirror
from bot.look import impact_plan, locks
from bot.look.assemble import Looked, Looker
from bot.look.impact import ImpactReader, Other
from bot.look.states import HeadBranch
from bot.look.variant_wishes import MadeForVariant, VariantWishes
from bot.loop import branches
from bot.render.port import Renderer
from bot.store.nothing import NoClaims, NoDashboards, NoIndex
from bot.store.values import Adoption, ServedName, UpstreamUser
from lifecycle import checks, names, observing, wording
from lifecycle.actions import Action, Keep, SetCheck
from lifecycle.assess import Assessed
from lifecycle.decide import decide, judged_by_head
from lifecycle.events import Log
from lifecycle.facts.checks import PUBLISH, Conclusion
from lifecycle.facts.head import Facts
from lifecycle.facts.impact import Impact
from lifecycle.facts.packages import NotByRule
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.judgement import Judgement
from lifecycle.messages import impact as texts
from lifecycle.terms import Terms

TRIES: Final = 4
"""Looks, where the forge says two things at once."""


class DryRunStatus(Enum):
    """What a look comes to; the value is the exit status of the command."""

    READY = 0
    """Every gate holds, it is published already, or nothing is asked of it."""
    NOT_READY = 1
    UNKNOWN = 2
    """Something that matters cannot be read."""


class NotToldError(Exception):
    """The forge or git does not tell what there is to judge, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What the bot would say of a proposal.

    Attributes:
        proposal: As it would stand once its commands took effect.
        judgement: Its gates.
        shown: The checks at its head, as the bot would have them.
        actions: What it would do next, in order.
        answer: What it comes to.
        terms: How the forge is spoken to and of.
        if_wanted: All this holds only if a rule for variants wants it now.
    """

    proposal: Proposal
    judgement: Judgement
    shown: Sequence[SetCheck]
    actions: Sequence[Action]
    answer: DryRunStatus
    terms: Terms
    if_wanted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunScope:
    """Where to look, and with what.

    Attributes:
        repository: Which one.
        forge: Its forge.
        mirror: Its mirror, of this process alone.
        keys: Keys that the bot's records may be made with; none where they are not at hand.
        login: The bot's.
        instance: Name of the bot in its markers.
        observes: It only observes, whatever the repository says.
    """

    repository: Repository
    forge: Forge
    mirror: Mirror
    keys: Sequence[bytes]
    login: str
    instance: str
    observes: bool = False


class _OnDashboard:
    """Implements `KnownFreezes`: what is frozen, as the dashboard issue alone tells."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard

    async def known(self) -> tuple[Log, str]:
        try:
            return await self._dashboard.freezes(), ""
        except ForgeRefusedError as error:
            return frozenset(), str(error)


async def dry_run(
    place: DryRunScope,
    renderer: Renderer,
    number: int,
    tried: bytes | None = None,
    *,
    clock: Clock = SYSTEM,
    offload: Offload = in_thread,
) -> DryRun:
    """Look at a proposal, and write nothing.

    Args:
        place: Where.
        renderer: Renders and validates.
        number: The proposal.
        tried: What stands in for `.porchbot.yaml`; None for what the branches have.
        clock: The time that it is judged at.
        offload: Where git is read.

    Raises:
        NotToldError: There is nothing to judge.
        ForgeBusyError, ForgeRefusedError: The forge tells nothing.
    """
    wishes = _Assumed()
    looker = _looker(place, renderer, tried, clock, offload, wishes)
    pull = await place.forge.proposal(number)
    head = HeadBranch(pull.head_repository, pull.head_ref)
    looked = await _looked(looker, head, number, await _adoption(place, clock, offload), clock)
    wanted = judged(looked.facts, number)
    if not wishes.asked:
        return wanted
    return either(wanted, judged(_unwanted(looked.facts), number))


class _Assumed:
    """Implements `VariantWishes`: the rules of all repositories are the bot's alone to read.

    Attributes:
        asked: What they may want.
    """

    def __init__(self) -> None:
        self.asked: list[MadeForVariant] = []

    async def unwanted(self, made: MadeForVariant) -> NotByRule | None:
        self.asked.append(made)
        return None


def _unwanted(facts: Facts) -> Facts:
    """The same where no rule for variants wants any of it."""
    return replace(
        facts,
        proposals=tuple(
            replace(p, content=replace(p.content, variant="", not_by_rule=NotByRule.UNTOLD))
            for p in facts.proposals
        ),
    )


def either(wanted: DryRun, unwanted: DryRun) -> DryRun:
    """Return what is so whether a rule for variants wants a proposal or not.

    Args:
        wanted: What it comes to if one does.
        unwanted: If none does.
    """
    if wanted.answer is unwanted.answer:
        return unwanted
    return replace(wanted, answer=DryRunStatus.UNKNOWN, if_wanted=True)


def _looker(
    place: DryRunScope,
    renderer: Renderer,
    tried: bytes | None,
    clock: Clock,
    offload: Offload,
    wishes: VariantWishes | None = None,
) -> Looker:
    dashboard = Dashboard(
        place.repository, place.forge, NoDashboards(), NoClaims(), place.keys, place.instance
    )
    return Looker(
        place.repository,
        place.forge,
        place.mirror,
        renderer,
        NoIndex(),
        place.keys,
        place.login,
        place.instance,
        _OnDashboard(dashboard),
        observes=place.observes,
        clock=clock,
        offload=offload,
        tried=tried,
        wishes=wishes,
    )


async def _looked(
    looker: Looker, head: HeadBranch, number: int, adoption: Adoption, clock: Clock
) -> Looked:
    for _ in range(TRIES):
        looked = await looker.look(
            head, adoption, frozenset({number}), rerun=False, publishing=True
        )
        if looked.again is None and not looked.late:
            return looked
        await clock.sleep(looked.again or 1.0)
    raise ForgeBusyError("read the proposal", "it says two things at once")


async def _adoption(place: DryRunScope, clock: Clock, offload: Offload) -> Adoption:
    """Whatever stands there now was there before: nobody else remembers."""
    credentials = await place.forge.git_credentials()
    await offload(place.mirror.fetch, credentials, None, BRANCHES)
    repository = place.repository
    return Adoption(
        at=clock.now(),
        installed_at=repository.installed_at,
        installation=repository.installation,
        drafts={},
        highest=0,
        heads=await offload(branches.publish_heads, place.mirror, repository.default_branch),
    )


async def dry_impact(
    place: DryRunScope,
    renderer: Renderer,
    number: int,
    told: Callable[[Impact], None],
    *,
    clock: Clock = SYSTEM,
    offload: Offload = in_thread,
) -> Impact | None:
    """Try a proposal on the packages of its repository that it does not touch, and write nothing.

    Packages of other repositories are known to the bot alone.

    Args:
        place: Where.
        renderer: Renders and validates.
        number: The proposal.
        told: Told from time to time how far it came.
        clock: By which that is counted.
        offload: Where git is read.

    Returns:
        What it would do; None where it changes no rules, and nothing that others were made from.

    Raises:
        ForgeBusyError, ForgeRefusedError: The forge tells nothing.
        NotToldError: Its rules, or those that it is judged by, cannot be read.
    """
    looker = _looker(place, renderer, None, clock, offload)
    pull = await place.forge.proposal(number)
    adoption = await _adoption(place, clock, offload)
    with await offload(place.mirror.open) as git:
        await looker.fetcher.fetch_head(git, pull)

    async def only_here(repository: ServedName) -> Other | None:
        return Other(looker, adoption) if repository.id == place.repository.id else None

    reader = ImpactReader(looker, _UsersHere(place, pull.base_ref, offload), only_here)
    trial = await reader.begin(pull.head, pull.base_ref, adoption)
    if trial is None:
        await offload(_say_broken, looker, place.mirror, pull, adoption)
    while trial is not None and not trial.impact.ended:
        await reader.wave(trial)
        told(trial.impact)
    return trial.impact if trial else None


def _say_broken(looker: Looker, mirror: Mirror, pull: ListedProposal, adoption: Adoption) -> None:
    """Nothing was tried: where that is because rules cannot be read, say so.

    Raises:
        NotToldError: That is so.
    """
    with mirror.open() as git:
        found = impact_plan.broken(looker.reader(git, adoption), pull.head, pull.base_ref)
    if found is not None:
        raise NotToldError(texts.rules_broken(*found))


class _UsersHere:
    """Implements `bot.look.impact.UpstreamIndex`: packages of the repository itself.

    Those on the base branch, and on all branches that packages are published from.
    """

    def __init__(self, place: DryRunScope, branch: str, offload: Offload) -> None:
        self._place = place
        self._branch = branch
        self._offload = offload

    async def users(self, place: str) -> tuple[UpstreamUser, ...]:
        found = await self._offload(self._read)
        return tuple(each for each in found if each.use.place == place)

    def _read(self) -> list[UpstreamUser]:
        repository = self._place.repository
        name = ServedName(repository.id, repository.full_name, repository.installation)
        tips = dict(branches.publish_heads(self._place.mirror, repository.default_branch))
        with self._place.mirror.open() as git:
            if tip := git.ref(names.branch_ref(self._branch)):
                tips[self._branch] = str(tip)
            return [
                UpstreamUser(repository=name, branch=branch, use=use)
                for branch in sorted(tips)
                for found in locks.changed(git, "", tips[branch]).values()
                for use in found
            ]


def judged(facts: Facts, number: int) -> DryRun:
    """Return what facts come to.

    Args:
        facts: Of the head of the proposal.
        number: The proposal.

    Raises:
        NotToldError: It is not among them.
    """
    found = judged_by_head(facts)
    one = next((each for each in found if each.proposal.place.number == number), None)
    if one is None:
        raise NotToldError(
            f"the bot would not look at {facts.terms.numbered(number)}: git does not have its head,"
            " or it was merged before the bot came"
        )
    there = [(each.proposal, each.judgement) for each in found if not each.proposal.place.closed]
    shown = checks.wanted(replace(facts, checks={}, rerun=False), there)
    return DryRun(
        proposal=one.proposal,
        judgement=replace(one.judgement, gates=wording.gates(one.judgement.gates, facts.terms)),
        shown=[wording.check(each, facts.terms) for each in shown],
        # What the database lacks is that there is none here.
        actions=[action for action in decide(facts) if not isinstance(action, Keep)],
        answer=_answer(facts, one, shown),
        terms=facts.terms,
    )


def _answer(facts: Facts, one: Assessed, shown: Sequence[SetCheck]) -> DryRunStatus:
    p = one.proposal
    if p.stage is Stage.PUBLISHED:
        return DryRunStatus.READY
    if facts.crowded or any(v.broken for v in p.verdicts) or _is_unsure(one.judgement):
        return DryRunStatus.UNKNOWN
    if p.place.closed and not p.place.merged:
        return DryRunStatus.NOT_READY
    publish = next((check for check in shown if check.name == PUBLISH), None)
    if not p.content.approvable and publish is not None:
        passed = publish.conclusion is Conclusion.SUCCESS
    else:
        passed = one.judgement.holds
    failed = any(check.conclusion is Conclusion.FAILURE for check in shown)
    return DryRunStatus.READY if passed and not failed else DryRunStatus.NOT_READY


def _is_unsure(judgement: Judgement) -> bool:
    """Somebody approved of whom nobody can tell whether they may, and that is what is missing."""
    found = judgement.approvals
    return found is not None and any(need.missing and need.unsure for need in found.needs)


def observes(run: DryRun) -> bool:
    """Return whether the bot only observes the proposal, and would do nothing else."""
    return observing.observed(run.proposal)
