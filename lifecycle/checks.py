"""The three check runs: what each should show at a head, and what to send when it does not.

A check belongs to a commit, not to a pull request: where one head is proposed to two bases it
shows the worse verdict. Every case has a stated conclusion; `skipped`, which forges count as
passed, never stands for "not judged" (DESIGN 6).
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from cadlib.findings import Finding, Severity
from lifecycle import messages, summary
from lifecycle.actions import SetCheck
from lifecycle.facts import PUBLISH, RENDER, VALIDATE, Conclusion, Facts, Proposal, Status
from lifecycle.gates import Judgement
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What one check run shows.

    Attributes:
        status: In progress while waiting.
        conclusion: Set exactly when completed.
        title: One line.
        summary: Markdown.
        annotations: Findings with file and line, sorted.
    """

    status: Status
    conclusion: Conclusion | None
    title: str
    summary: str
    annotations: tuple[Finding, ...] = ()

    @property
    def badness(self) -> int:
        """Order of verdicts: passed, waiting, failed."""
        if self.conclusion is Conclusion.FAILURE:
            return 2
        return 0 if self.conclusion is Conclusion.SUCCESS else 1

    @property
    def digest(self) -> str:
        """Equal for equal content: kept with the run, so that nothing is sent twice."""
        content = json.dumps(
            [
                self.status,
                self.conclusion,
                self.title,
                self.summary,
                [_annotation(finding) for finding in self.annotations],
            ]
        )
        return hashlib.sha256(content.encode()).hexdigest()[:40]


def wanted(facts: Facts, judged: Sequence[tuple[Proposal, Judgement]]) -> list[SetCheck]:
    """What must be sent so that the head's checks are right; empty when they are."""
    if facts.head is None or not judged:
        return []
    shown: dict[str, Shown] = {}
    for proposal, judgement in judged:
        for name, one in _shown(facts, proposal, judgement).items():
            if name not in shown or one.badness > shown[name].badness:
                shown[name] = one
    return [
        check
        for name, one in shown.items()
        if (check := _send(facts, name, one, force=facts.rerun)) is not None
    ]


def ready(facts: Facts, proposal: Proposal) -> list[SetCheck]:
    """`porchbot/publish` as it must stand right before the merge."""
    shown = Shown(
        status=Status.COMPLETED,
        conclusion=Conclusion.SUCCESS,
        title=messages.publishing(proposal),
        summary=messages.PUBLISHING_SUMMARY,
    )
    check = _send(facts, PUBLISH, shown, force=False)
    return [check] if check else []


def published(proposal: Proposal, run: int) -> SetCheck:
    """`porchbot/publish` of a published head that was still in progress."""
    shown = Shown(
        status=Status.COMPLETED,
        conclusion=Conclusion.SUCCESS,
        title=messages.published(proposal),
        summary=messages.PUBLISHING_SUMMARY,
    )
    return _action(str(proposal.head), PUBLISH, shown, run, shown.digest)


def _shown(facts: Facts, proposal: Proposal, judgement: Judgement) -> dict[str, Shown]:
    if proposal.configures and not proposal.touched and not proposal.configuration:
        return {PUBLISH: _rules(proposal, judgement)}
    if isinstance(proposal.policy, BrokenPolicy):
        broken = Shown(
            status=Status.COMPLETED,
            conclusion=Conclusion.FAILURE,
            title=messages.CONFIGURATION_BROKEN,
            summary=messages.configuration_problems(proposal.policy),
        )
        return {PUBLISH: broken}
    if not proposal.touched:
        return {PUBLISH: _untouched(proposal)}
    return {
        RENDER: _render(facts, proposal),
        VALIDATE: _validate(proposal),
        PUBLISH: _publish(proposal, judgement),
    }


def _rules(proposal: Proposal, judgement: Judgement) -> Shown:
    """Only rules are changed: passed once that is approved under those of the base branch."""
    return Shown(
        status=Status.COMPLETED if judgement.holds else Status.IN_PROGRESS,
        conclusion=Conclusion.SUCCESS if judgement.holds else None,
        title=(
            messages.RULES_APPROVED
            if judgement.holds
            else messages.waiting(proposal, [summary.short(gate) for gate in judgement.open])
        ),
        summary=summary.gates(judgement),
    )


def _untouched(proposal: Proposal) -> Shown:
    """No package is touched: passed, unless it would break the configuration or a package."""
    if proposal.effect.packages and not proposal.configuration:
        said = messages.merge_effect(proposal.effect, proposal.base_ref)
        return Shown(
            status=Status.COMPLETED,
            conclusion=Conclusion.FAILURE,
            title=messages.MORE_THAN_SHOWN,
            summary=messages.mend_merge(said, proposal.base_ref),
        )
    bad = bool(proposal.configuration)
    return Shown(
        status=Status.COMPLETED,
        conclusion=Conclusion.FAILURE if bad else Conclusion.SUCCESS,
        title=messages.BREAKS_CONFIGURATION if bad else messages.NO_PACKAGE,
        summary=messages.findings(proposal.configuration) if bad else messages.NO_PACKAGE_SUMMARY,
        annotations=proposal.configuration,
    )


def _render(facts: Facts, proposal: Proposal) -> Shown:
    broken = [v for v in proposal.verdicts if v.broken]
    if broken:
        return Shown(
            status=Status.COMPLETED,
            conclusion=Conclusion.FAILURE,
            title=messages.RUNNER_BROKEN,
            summary=messages.runner_broken(broken),
        )
    if proposal.unrenderable:
        return Shown(
            status=Status.COMPLETED,
            conclusion=Conclusion.FAILURE,
            title=messages.unrenderable(proposal.unrenderable),
            summary=messages.unrenderable_summary(proposal.unrenderable),
        )
    if proposal.unrendered:
        return Shown(
            status=Status.COMPLETED,
            conclusion=Conclusion.FAILURE,
            title=messages.not_rendered(proposal.unrendered),
            summary=messages.render_summary(proposal, settles=not facts.rendered_by_us),
        )
    return Shown(
        status=Status.COMPLETED,
        conclusion=Conclusion.SUCCESS,
        title=messages.IS_RENDERED,
        summary=messages.functions_run(proposal.verdicts),
    )


def _validate(proposal: Proposal) -> Shown:
    findings = sorted_findings(proposal)
    bad = [f for f in findings if f.severity is Severity.ERROR]
    unjudged = [v for v in proposal.verdicts if v.broken]
    if unjudged and not bad:
        return Shown(
            status=Status.COMPLETED,
            conclusion=Conclusion.FAILURE,
            title=messages.NOT_VALIDATED,
            summary=messages.runner_broken(unjudged),
            annotations=findings,
        )
    return Shown(
        status=Status.COMPLETED,
        conclusion=Conclusion.FAILURE if bad else Conclusion.SUCCESS,
        title=messages.blocking_findings(len(bad)) if bad else messages.IS_VALID,
        summary=messages.findings(sorted(findings, key=summary.severity_first)),
        # What a function did is in the text; at the lines stands what people should look at.
        annotations=tuple(f for f in findings if f.severity is not Severity.INFO),
    )


def _publish(proposal: Proposal, judgement: Judgement) -> Shown:
    if judgement.holds:
        title = messages.publishing(proposal)
    else:
        title = messages.waiting(proposal, [summary.short(gate) for gate in judgement.open])
    unjudged = any(v.broken for v in proposal.verdicts)
    return Shown(
        status=Status.COMPLETED if unjudged else Status.IN_PROGRESS,
        conclusion=Conclusion.FAILURE if unjudged else None,
        title=title,
        summary=summary.gates(judgement),
    )


def sorted_findings(proposal: Proposal) -> tuple[Finding, ...]:
    """All findings of a proposal, by file, line, field and text."""
    everything = [*proposal.configuration, *(f for v in proposal.verdicts for f in v.findings)]
    return tuple(sorted(everything, key=_order))


def _order(finding: Finding) -> tuple[str, int, str, str]:
    place = finding.place
    return (place.path, place.line or 0, place.field, finding.message)


def _annotation(finding: Finding) -> list[object]:
    place = finding.place
    said = [finding.severity, finding.message, finding.fix, finding.proposed, finding.function]
    return [place.path, place.line, place.field, *said]


def _send(facts: Facts, name: str, shown: Shown, *, force: bool) -> SetCheck | None:
    # What the forge told of changes of the head goes with it: see `approvals.judged_before`.
    external = f"{shown.digest}.{facts.head_mark}"
    run = facts.checks.get(name)
    if run is None or not run.ours:
        return _action(str(facts.head), name, shown, None, external)
    same = run.external_id == external and run.status == shown.status
    if same and not force:
        return None
    # A completed run cannot go back: the newest run of a name is the one that counts.
    again = run.id if run.status != Status.COMPLETED else None
    return _action(str(facts.head), name, shown, again, external)


def _action(head: str, name: str, shown: Shown, run: int | None, external: str) -> SetCheck:
    return SetCheck(
        head=Sha(head),
        name=name,
        status=shown.status,
        conclusion=shown.conclusion,
        title=shown.title,
        summary=shown.summary[: messages.MOST_TEXT],
        annotations=shown.annotations,
        external_id=external,
        run=run,
    )
