"""Merge groups: the checks of what a merge queue is about to merge.

A queue merges a proposal in trial, on the base branch and all that stands before it in the queue.
That merge result is rendered and validated as a proposal is, by the rules of the base branch.
`porchbot/publish` passes it only where the proposal that it adds is ready by itself, and stands in
it as it was approved: what does not would be merged and could not be tagged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lifecycle import checks, contents
from lifecycle.actions import SetCheck
from lifecycle.contents import CheckContent
from lifecycle.facts.checks import PUBLISH, RENDER, VALIDATE
from lifecycle.facts.head import Facts
from lifecycle.facts.packages import Content
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages import groups as texts
from lifecycle.policy import BrokenPolicy, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A merge group, read from forge and git.

    Attributes:
        number: The proposal that it adds to what stands before it in the queue.
        base_ref: The base branch.
        content: What it changes, compared with the base branch; with what stands before it.
        verdicts: Of the packages that it changes, as they are in it.
        policy: The rules of the base branch.
        ready: Everything that the proposal waits for was there: its own check has passed.
        other: Packages that the proposal changes and that are not in the group as at its head, each
            with its tree there.
        rules: What stands before it changes the rules that judge it.
    """

    number: int
    base_ref: str
    content: Content
    verdicts: tuple[Verdict, ...]
    policy: Policy | BrokenPolicy
    ready: bool
    other: Mapping[str, str] = field(default_factory=dict)
    rules: bool = False


def decide(facts: Facts, group: Group) -> list[SetCheck]:
    """Return the check runs to write at the group's head; empty when it shows the right ones.

    Args:
        facts: Of the group's branch: its head, and the checks there.
        group: What it is.
    """
    if group.policy.observe:
        return []
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
    return unjudged(group) or not group.ready


def unjudged(group: Group) -> bool:
    """Whether a function could not be run."""
    return any(verdict.broken for verdict in group.verdicts)


def _publish(group: Group) -> CheckContent:
    if isinstance(group.policy, BrokenPolicy):
        return contents.broken_base(group.policy)
    faults = [*_faults(group)]
    if unjudged(group):
        return contents.waiting(texts.UNJUDGED, texts.summary(group.number, faults))
    if not group.ready and not faults:
        return contents.waiting(texts.NOT_READY, texts.not_ready(group.number))
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
    if group.rules:
        faults.append(texts.RULES_BEFORE)
    if changed:
        faults.append(texts.not_rendered(changed))
    if errors:
        faults.append(texts.errors(len(errors)))
    if group.other:
        faults.append(texts.otherwise(group.number, sorted(group.other)))
    return faults
