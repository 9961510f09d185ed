"""Merge groups: the checks of what a merge queue is about to merge.

A queue merges a proposal in trial, on the base branch and all that stands before it in the queue.
That merge result is rendered and validated as a proposal is, by the rules of the base branch.
`porchbot/publish` passes it only where each proposal in it is ready by itself, and stands in it as
it was approved: what does not would be merged and could not be tagged. A queue may merge all of
them by the check of the last one alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lifecycle import checks, contents, forks, gates, wording
from lifecycle.actions import Action, SetCheck
from lifecycle.contents import CheckContent
from lifecycle.facts.checks import PUBLISH, RENDER, VALIDATE, Conclusion
from lifecycle.facts.head import Facts
from lifecycle.facts.packages import Content
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages import groups as texts
from lifecycle.policy import BrokenPolicy, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEntry:
    """One proposal of a merge group.

    Attributes:
        number: Its number.
        ready: Everything that it waits for was there: its own check has passed.
        other: Packages that it changes and that are not in the group as at its head, each with its
            tree there.
        rules: What stands before it changes the rules that judge it.
        behind: It changes the rules or the ledger, and packages are merged together with it: under
            which rules those were published nobody could tell then.
    """

    number: int
    ready: bool
    other: Mapping[str, str] = field(default_factory=dict)
    rules: bool = False
    behind: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A merge group, read from forge and git.

    Attributes:
        base_ref: The base branch.
        content: What it changes, compared with the base branch.
        verdicts: Of the packages that it changes, as they are in it.
        policy: The rules of the base branch.
        entries: The proposals in it, merged in this order; the last is the one that it adds.
        shared: Other open proposals of this very commit by branches of the repository, wherever
            they are proposed to.
        forks: Those by forks.
    """

    base_ref: str
    content: Content
    verdicts: tuple[Verdict, ...]
    policy: Policy | BrokenPolicy
    entries: tuple[GroupEntry, ...]
    shared: tuple[int, ...] = ()
    forks: tuple[int, ...] = ()

    @property
    def number(self) -> int:
        """The proposal that it adds to what stands before it in the queue."""
        return self.entries[-1].number

    @property
    def waiting(self) -> tuple[int, ...]:
        """The proposals in it that wait for something themselves."""
        return tuple(entry.number for entry in self.entries if not entry.ready)


def decide(facts: Facts, group: Group) -> list[Action]:
    """Return what closes proposals of the group's commit by forks, then the checks to write there.

    Empty when its head shows the right ones.

    Args:
        facts: Of the group's branch: its head, and the checks there.
        group: What it is.
    """
    closed = [] if group.policy.observe else forks.close(group.forks, facts.head_ref, facts)
    return wording.words([*closed, *_decide(facts, group)], facts.terms)


def _decide(facts: Facts, group: Group) -> list[SetCheck]:
    if group.policy.observe:
        # As at the heads: a queue that requires the checks waits for them here.
        bare = replace(facts, checks={}, rerun=False)
        return [] if group.shared else checks.neutral(facts, _checks(bare, group))
    return _checks(facts, group)


def _checks(facts: Facts, group: Group) -> list[SetCheck]:
    if group.shared:
        return _shared(facts, group)
    shown = {PUBLISH: _publish(group)}
    if isinstance(group.policy, Policy) and group.content.touched:
        shown = {
            RENDER: contents.rendering(group.verdicts, group.policy, settles=False),
            VALIDATE: contents.validation(group.verdicts, group.content.configuration),
            **shown,
        }
    found = (checks.send(facts, name, one, force=facts.rerun) for name, one in shown.items())
    return [check for check in found if check is not None]


def waits(group: Group) -> bool:
    """Whether time may change what it comes to: nothing tells of it."""
    return unjudged(group) or bool(group.waiting or group.shared)


def unjudged(group: Group) -> bool:
    """Whether a function could not be run."""
    return any(verdict.broken for verdict in group.verdicts)


def _shared(facts: Facts, group: Group) -> list[SetCheck]:
    """A check belongs to a commit: what proposals of it show stays, as long as it is not green.

    What is right for the queue's base may be wrong for the branch that they are proposed to.
    """
    run = facts.checks.get(PUBLISH)
    if run is not None and run.conclusion is not Conclusion.SUCCESS:
        return []
    content = contents.waiting(texts.SHARED, texts.shared(group.number, group.shared))
    check = checks.send(facts, PUBLISH, content, force=facts.rerun)
    return [check] if check is not None else []


def _publish(group: Group) -> CheckContent:
    if isinstance(group.policy, BrokenPolicy):
        return contents.broken_base(group.policy)
    faults = [*_faults(group)]
    if unjudged(group):
        return contents.waiting(texts.UNJUDGED, texts.summary(group.number, faults))
    if group.waiting and not faults:
        return contents.waiting(texts.NOT_READY, texts.not_ready(group.waiting))
    if faults:
        title = texts.failed(group.number, len(faults))
        return contents.failed(title, texts.summary(group.number, faults))
    packages = [t.package for t in group.content.touched]
    return contents.passed(texts.passed(packages), texts.summary(group.number, []))


def _faults(group: Group) -> list[str]:
    """Why the group is not to be merged, each as a sentence."""
    errors = [f for v in group.verdicts for f in v.blocking] + list(group.content.configuration)
    changed = [v.package for v in group.verdicts if v.changes]
    faults = []
    if any(entry.rules for entry in group.entries):
        faults.append(texts.RULES_BEFORE)
    faults += [texts.behind(entry.number) for entry in group.entries if entry.behind]
    if used := gates.still_used(group.content):
        faults.append(texts.used(used))
    if changed:
        faults.append(texts.not_rendered(changed))
    if errors:
        faults.append(texts.errors(len(errors)))
    faults += [
        texts.otherwise(entry.number, sorted(entry.other)) for entry in group.entries if entry.other
    ]
    return faults
