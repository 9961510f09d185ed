"""The three check runs: their content at a head, and the actions that bring them there.

A check belongs to a commit, not to a pull request: where one head is proposed to two bases it
shows the worse verdict. Every case has a stated conclusion; `skipped`, which forges count as
passed, never stands for "not judged" (docs/design.md, "Checks").
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from cadlib.findings import Finding, Severity
from lifecycle import limits
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import PUBLISH, RENDER, VALIDATE, CheckRun, Conclusion, Status
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.verdicts import Verdict
from lifecycle.judgement import Judgement
from lifecycle.messages import checks as texts
from lifecycle.messages import findings as finding_texts
from lifecycle.messages import gates as gate_texts
from lifecycle.messages import summary
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy

_TROUBLE = "trouble."
"""Begins the digest of a run that says that the bot cannot look."""

_OBSERVED = "observed."
"""Begins the digest of a run that only tells what the bot would have shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContent:
    """The content of one check run.

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
        """Severity for comparison: 0 passed, 1 in progress, 2 failed."""
        if self.conclusion is Conclusion.FAILURE:
            return 2
        return 0 if self.conclusion is Conclusion.SUCCESS else 1

    @property
    def digest(self) -> str:
        """Digest of the content, kept with the run so that nothing is sent twice."""
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
    """Return the check runs to write so that the head shows the right ones; empty when it does."""
    if facts.head is None or not judged:
        return []
    shown: dict[str, CheckContent] = {}
    for proposal, judgement in judged:
        for name, one in _shown(facts, proposal, judgement).items():
            if name not in shown or one.badness > shown[name].badness:
                shown[name] = one
    if facts.crowded:
        # The same whoever looks: what the others come to, nobody has looked at.
        shown = dict.fromkeys((*shown, PUBLISH), _crowded())
    return [
        check
        for name, one in shown.items()
        if (check := send(facts, name, one, force=facts.rerun)) is not None
    ]


def observed(facts: Facts, judged: Sequence[tuple[Proposal, Judgement]]) -> list[SetCheck]:
    """Return what `wanted` would, as runs that ask for nothing: completed, and neutral."""
    shown = wanted(replace(facts, checks={}, rerun=False), judged)
    told = (_unless_shown(facts, _as_observed(check)) for check in shown)
    return [check for check in told if check is not None]


def _as_observed(check: SetCheck) -> SetCheck:
    return replace(
        check,
        status=Status.COMPLETED,
        conclusion=Conclusion.NEUTRAL,
        title=texts.observed_title(check.title),
        summary=(texts.observed(check.conclusion) + check.summary)[: limits.TEXT],
        digest=_OBSERVED + check.digest,
    )


def _unless_shown(facts: Facts, check: SetCheck) -> SetCheck | None:
    run = facts.checks.get(check.name)
    if run is None or not run.ours:
        return check
    if run.digest == check.digest and run.status is Status.COMPLETED and not facts.rerun:
        return None
    return replace(check, after=run.id)


def was_observed(facts: Facts) -> bool:
    """Whether the bot only observed when it last looked at this head."""
    return any(run.ours and run.digest.startswith(_OBSERVED) for run in facts.checks.values())


def ready(facts: Facts, proposal: Proposal) -> list[SetCheck]:
    """Return `porchbot/publish` as it must be right before the merge."""
    shown = passed(texts.publishing(proposal), texts.PUBLISHING_SUMMARY)
    check = send(facts, PUBLISH, shown, force=False)
    return [check] if check else []


def published(proposal: Proposal, run: CheckRun) -> SetCheck:
    """Return the completed `porchbot/publish` of a published head."""
    shown = passed(texts.published(proposal), texts.PUBLISHING_SUMMARY)
    return _action(str(proposal.place.head), PUBLISH, shown, run, shown.digest)


def trouble(
    head: Sha, run: CheckRun | None, incident: str, since: datetime, said: str = ""
) -> SetCheck | None:
    """Return `porchbot/publish` for a proposal whose facts cannot be read; None where it says so.

    Never completed, so that it passes nowhere and what follows takes its place.

    Args:
        head: The commit.
        run: Our newest run of this name there.
        incident: What the operator finds in the log.
        since: When it was noticed, by our clock.
        said: What people can do about it; "" where only the operator can.
    """
    text = texts.not_looked_at(incident, since, said)
    return _instead(head, run, incident, texts.NOT_LOOKED_AT, text)


def limited(head: Sha, run: CheckRun | None, until: datetime) -> SetCheck | None:
    """Return `porchbot/publish` for a proposal whose look is put off; None where it says so.

    Args:
        head: The commit.
        run: Our newest run of this name there.
        until: When the forge grants more.
    """
    return _instead(head, run, f"limit.{until:%m%d%H%M}", texts.LIMITED, texts.limited(until))


def _instead(
    head: Sha, run: CheckRun | None, reason: str, title: str, text: str
) -> SetCheck | None:
    external = f"{_TROUBLE}{reason}"
    if run is not None and run.digest == external:
        return None
    shown = CheckContent(status=Status.IN_PROGRESS, conclusion=None, title=title, summary=text)
    return _action(str(head), PUBLISH, shown, run, external)


def not_published(facts: Facts, proposal: Proposal, judgement: Judgement) -> list[SetCheck]:
    """Return the failed `porchbot/publish` of a merged proposal that showed `trouble` before."""
    run = facts.checks.get(PUBLISH)
    if run is None or not run.digest.startswith(_TROUBLE) or facts.open or facts.others:
        return []
    shown = failed(texts.MERGED_NOT_PUBLISHED, summary.gate_list(judgement))
    return [_action(str(proposal.place.head), PUBLISH, shown, run, shown.digest)]


def _shown(facts: Facts, proposal: Proposal, judgement: Judgement) -> dict[str, CheckContent]:
    if (
        proposal.content.configures
        and not proposal.content.touched
        and not proposal.content.configuration
    ):
        return {PUBLISH: _rules(proposal, judgement)}
    if isinstance(proposal.rules.policy, BrokenPolicy):
        return {PUBLISH: broken_base(proposal.rules.policy)}
    if not proposal.content.touched:
        return {PUBLISH: _untouched(proposal)}
    return {
        RENDER: rendering(
            proposal.verdicts, proposal.rules.policy, settles=not facts.rendered_by_us
        ),
        VALIDATE: validation(proposal.verdicts, proposal.content.configuration),
        PUBLISH: _publish(proposal, judgement),
    }


def _crowded() -> CheckContent:
    return CheckContent(
        status=Status.IN_PROGRESS,
        conclusion=None,
        title=gate_texts.CROWDED,
        summary=texts.CROWDED_SUMMARY,
    )


def _rules(proposal: Proposal, judgement: Judgement) -> CheckContent:
    """Only rules are changed: passed once that is approved under those of the base branch."""
    return CheckContent(
        status=Status.COMPLETED if judgement.holds else Status.IN_PROGRESS,
        conclusion=Conclusion.SUCCESS if judgement.holds else None,
        title=(
            texts.RULES_APPROVED
            if judgement.holds
            else texts.waiting(proposal, [summary.short(gate) for gate in judgement.open])
        ),
        summary=summary.gate_list(judgement),
    )


def broken_base(policy: BrokenPolicy) -> CheckContent:
    """Return the content for a base branch whose configuration cannot be read."""
    return failed(texts.CONFIGURATION_BROKEN, texts.configuration_problems(policy))


def _untouched(proposal: Proposal) -> CheckContent:
    """No package is touched: passed, unless it would break the configuration or a package."""
    if proposal.content.effect.hides and not proposal.content.configuration:
        said = gate_texts.merge_effect(proposal.content.effect, proposal.place.base_ref)
        title = texts.MERGE_UNKNOWN if proposal.content.effect.unknown else texts.MORE_THAN_SHOWN
        return failed(title, texts.mend_merge(said, proposal.place.base_ref))
    if proposal.content.elsewhere and not proposal.content.configuration:
        # Neutral and skipped would pass as well, on every branch that requires the check (ADR 17).
        return CheckContent(
            status=Status.IN_PROGRESS,
            conclusion=None,
            title=texts.published_elsewhere(proposal),
            summary=texts.propose_elsewhere(proposal),
        )
    return nothing_touched(proposal.content.configuration)


def nothing_touched(configuration: tuple[Finding, ...]) -> CheckContent:
    """Return the content for a change of no package: passed, unless it breaks the rules."""
    if configuration:
        text = finding_texts.findings(configuration)
        return failed(texts.BREAKS_CONFIGURATION, text, configuration)
    return passed(texts.NO_PACKAGE, texts.NO_PACKAGE_SUMMARY)


def rendering(verdicts: Sequence[Verdict], policy: Policy, *, settles: bool) -> CheckContent:
    """Return the content of `porchbot/render`.

    Args:
        verdicts: One for each package touched that still exists.
        policy: The rules that judged them.
        settles: Rendering was not tried on this state yet, so that a difference may be mended by
            committing it.
    """
    broken = [v for v in verdicts if v.broken]
    unrenderable = [v for v in verdicts if not v.complete]
    unrendered = [v for v in verdicts if v.changes]
    if broken:
        title, text = texts.RUNNER_BROKEN, gate_texts.runner_broken(broken)
    elif unrenderable:
        title = gate_texts.unrenderable(unrenderable)
        text = texts.unrenderable_summary(unrenderable)
    elif unrendered:
        title = gate_texts.not_rendered(unrendered)
        text = texts.render_summary(unrendered, policy, settles=settles)
    else:
        return passed(gate_texts.IS_RENDERED, texts.functions_run(verdicts))
    return failed(title, text)


def validation(verdicts: Sequence[Verdict], configuration: Sequence[Finding]) -> CheckContent:
    """Return the content of `porchbot/validate`.

    Args:
        verdicts: One for each package touched that still exists.
        configuration: What is wrong beside them.
    """
    found = [*configuration, *(f for v in verdicts for f in v.findings)]
    findings = tuple(sorted(found, key=_order))
    bad = [f for f in findings if f.severity is Severity.ERROR]
    unjudged = [v for v in verdicts if v.broken]
    if unjudged and not bad:
        return failed(texts.NOT_VALIDATED, gate_texts.runner_broken(unjudged), findings)
    # What a function did is in the text; at the lines stands what people should look at.
    shown = tuple(f for f in findings if f.severity is not Severity.INFO)
    text = finding_texts.findings(sorted(findings, key=finding_texts.severity_first))
    if bad:
        return failed(gate_texts.blocking_findings(len(bad)), text, shown)
    return passed(gate_texts.IS_VALID, text, shown)


def waiting(title: str, text: str) -> CheckContent:
    """Return the content of a check that is not decided yet."""
    return CheckContent(status=Status.IN_PROGRESS, conclusion=None, title=title, summary=text)


def passed(title: str, text: str, annotations: tuple[Finding, ...] = ()) -> CheckContent:
    """Return the content of a check that lets pass."""
    return _completed(Conclusion.SUCCESS, title, text, annotations)


def failed(title: str, text: str, annotations: tuple[Finding, ...] = ()) -> CheckContent:
    """Return the content of a check that does not."""
    return _completed(Conclusion.FAILURE, title, text, annotations)


def _completed(
    conclusion: Conclusion, title: str, text: str, annotations: tuple[Finding, ...]
) -> CheckContent:
    return CheckContent(
        status=Status.COMPLETED,
        conclusion=conclusion,
        title=title,
        summary=text,
        annotations=annotations,
    )


def _publish(proposal: Proposal, judgement: Judgement) -> CheckContent:
    if judgement.holds:
        title = texts.publishing(proposal)
    else:
        title = texts.waiting(proposal, [summary.short(gate) for gate in judgement.open])
    unjudged = any(v.broken for v in proposal.verdicts)
    return CheckContent(
        status=Status.COMPLETED if unjudged else Status.IN_PROGRESS,
        conclusion=Conclusion.FAILURE if unjudged else None,
        title=title,
        summary=summary.published(proposal, judgement),
    )


def _order(finding: Finding) -> tuple[str, int, str, str]:
    place = finding.place
    return (place.path, place.line or 0, place.field, finding.message)


def _annotation(finding: Finding) -> list[object]:
    place = finding.place
    said = [finding.severity, finding.message, finding.fix, finding.proposed, finding.function]
    return [place.path, place.line, place.field, *said]


def send(facts: Facts, name: str, shown: CheckContent, *, force: bool) -> SetCheck | None:
    """Return what brings a check at the head to what it is to show; None where it shows that.

    Args:
        facts: The head, and the checks there.
        name: Of the check.
        shown: What it is to show.
        force: Write it anew in any case: somebody asked to.
    """
    # What the forge told of changes of the head goes with it: see `approvals.judged_before`.
    external = f"{shown.digest}.{facts.head_mark}"
    run = facts.checks.get(name)
    if run is None or not run.ours:
        return _action(str(facts.head), name, shown, None, external)
    same = run.digest == external and run.status == shown.status
    if same and not force:
        return None
    return _action(str(facts.head), name, shown, run, external)


def _action(
    head: str, name: str, shown: CheckContent, run: CheckRun | None, external: str
) -> SetCheck:
    # A completed run cannot go back, and the newest of a name counts.
    updated = run is not None and run.status != Status.COMPLETED
    return SetCheck(
        head=Sha(head),
        name=name,
        status=shown.status,
        conclusion=shown.conclusion,
        title=shown.title,
        summary=shown.summary[: limits.TEXT],
        annotations=shown.annotations,
        digest=external,
        run=run.id if run is not None and updated else None,
        after=run.id if run is not None else 0,
    )
