"""The three check runs: their content at a head, and the actions that bring them there.

A check belongs to a commit, not to a pull request: where one head is proposed to two bases it
shows the worse verdict. Every case has a stated conclusion; `skipped`, which forges count as
passed, never stands for "not judged" (docs/design.md, "Checks").
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from lifecycle import contents, limits, quiet
from lifecycle.actions import SetCheck
from lifecycle.contents import CheckContent
from lifecycle.facts.checks import (
    CONFIGURE,
    IMPACT,
    OBSERVED,
    PUBLISH,
    RENDER,
    VALIDATE,
    Button,
    CheckRun,
    Conclusion,
    Status,
)
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.judgement import Judgement
from lifecycle.messages import checks as texts
from lifecycle.messages import gates as gate_texts
from lifecycle.messages import summary
from lifecycle.messages.details import Detail
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy

_TROUBLE = "trouble."
"""Begins the digest of a run that says that the bot cannot look."""


def wanted(facts: Facts, judged: Sequence[tuple[Proposal, Judgement]]) -> list[SetCheck]:
    """Return the check runs to write so that the head shows the right ones; empty when it does."""
    if facts.head is None or not judged:
        return []
    shown: dict[str, CheckContent] = {}
    for proposal, judgement in judged:
        for name, one in _every(facts, proposal, judgement).items():
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


def details(facts: Facts, proposal: Proposal, judgement: Judgement) -> tuple[Detail, ...]:
    """Return what the checks would say below their titles, where they can show no more than these.

    What `porchbot/publish` says, the summary says in any case.
    """
    if not facts.line_checks or facts.head != proposal.place.head or proposal.place.closed:
        return ()
    shown = _every(facts, proposal, judgement).items()
    impact_text = proposal.consequences.impact_text
    impact = (Detail(IMPACT, impact_text, ""),) if impact_text else ()
    return (*(Detail(name, c.summary, c.text) for name, c in shown if name != PUBLISH), *impact)


def observed(facts: Facts, judged: Sequence[tuple[Proposal, Judgement]]) -> list[SetCheck]:
    """Return what `wanted` would, as runs that ask for nothing."""
    return neutral(facts, wanted(replace(facts, checks={}, rerun=False), judged))


def neutral(facts: Facts, shown: Sequence[SetCheck]) -> list[SetCheck]:
    """Return checks as runs that ask for nothing, completed and neutral; empty where they stand."""
    told = (_unless_shown(facts, _as_observed(check)) for check in shown)
    return [check for check in told if check is not None]


def _as_observed(check: SetCheck) -> SetCheck:
    return replace(
        check,
        status=Status.COMPLETED,
        conclusion=Conclusion.NEUTRAL,
        title=texts.observed_title(check.title),
        summary=(texts.observed(check.conclusion) + check.summary)[: limits.TEXT],
        digest=OBSERVED + check.digest,
        buttons=(),  # nothing would come of them
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
    return any(run.only_observed for run in facts.checks.values())


def begun(facts: Facts) -> list[SetCheck]:
    """Return the checks that say that the packages are being rendered, where none is shown yet.

    What is completed stays, unless somebody pressed Re-run.
    """
    shown = (facts.checks.get(name) for name in (RENDER, VALIDATE, PUBLISH))
    return [
        _action(str(facts.head), name, _begun(facts, name), run, "")
        for name, run in zip((RENDER, VALIDATE, PUBLISH), shown, strict=True)
        if facts.head is not None
        and (run is None or not run.ours or (facts.rerun and run.status is Status.COMPLETED))
    ]


def _begun(facts: Facts, name: str) -> CheckContent:
    packages = [t.package for p in facts.open for t in p.content.touched]
    return CheckContent(
        status=Status.IN_PROGRESS,
        conclusion=None,
        title=texts.RENDERS if name == RENDER else texts.WAITS_FOR_RENDERING,
        summary=texts.being_rendered(packages),
    )


def ready(facts: Facts, proposal: Proposal) -> list[SetCheck]:
    """Return `porchbot/publish` as it must be right before the merge."""
    shown = contents.passed(texts.publishing(proposal), texts.PUBLISHING_SUMMARY)
    check = send(facts, PUBLISH, shown, force=False)
    return [check] if check else []


def published(proposal: Proposal, run: CheckRun) -> SetCheck | None:
    """Return `porchbot/publish` of a published head, in place; None where it says so.

    What is completed stays so, and says from now on what came of it.
    """
    shown = contents.passed(texts.published(proposal), summary.tagged(proposal))
    if run.digest == shown.digest:
        return None
    return replace(_action(str(proposal.place.head), PUBLISH, shown, run, shown.digest), run=run.id)


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
    return _instead(head, run, incident, texts.not_looked_at_title(incident, said), text)


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
    if run is None or not run.ours or not run.digest.startswith(_TROUBLE):
        return []
    if facts.open or facts.others:
        return []
    shown = contents.failed(texts.MERGED_NOT_PUBLISHED, summary.gate_list(judgement))
    return [_action(str(proposal.place.head), PUBLISH, shown, run, shown.digest)]


def _shown(facts: Facts, proposal: Proposal, judgement: Judgement) -> dict[str, CheckContent]:
    if (
        proposal.content.configures
        and not proposal.content.publishes
        and not proposal.content.configuration
    ):
        return {PUBLISH: _rules(proposal, judgement)}
    if isinstance(proposal.rules.policy, BrokenPolicy):
        return {PUBLISH: contents.broken_base(proposal.rules.policy)}
    if not proposal.content.publishes:
        return {PUBLISH: _untouched(proposal)}
    rendered = contents.rendering(
        proposal.verdicts, proposal.rules.policy, settles=not facts.rendered_by_us
    )
    if facts.may_push and proposal.unrendered and not proposal.unrenderable:
        rendered = replace(rendered, buttons=(Button.RENDER,))
    return {
        RENDER: rendered,
        VALIDATE: contents.validation(
            proposal.verdicts,
            proposal.content.configuration,
            files=f"/{facts.repository}/pull/{proposal.place.number}/files",
        ),
        PUBLISH: _publish(facts, proposal, judgement),
    }


def _every(facts: Facts, proposal: Proposal, judgement: Judgement) -> dict[str, CheckContent]:
    """The checks, with that of the configuration where it is changed, which alone shows its lines.

    Another check that showed them too would annotate each line twice, or begin a second thread.
    """
    shown, found = _shown(facts, proposal, judgement), proposal.content
    if not found.configuration_changed:
        return shown
    own = contents.configuration(found.configuration, proposal.consequences.rules_effect)
    others = {
        name: replace(
            one, annotations=tuple(f for f in one.annotations if f not in own.annotations)
        )
        for name, one in shown.items()
    }
    return {**others, CONFIGURE: own}


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


def _untouched(proposal: Proposal) -> CheckContent:
    """No packages changed: passed, unless it would break the configuration or a package."""
    if proposal.content.effect.hides and not proposal.content.configuration:
        said = gate_texts.merge_effect(proposal.content.effect, proposal.place.base_ref)
        title = texts.MERGE_UNKNOWN if proposal.content.effect.unknown else texts.MORE_THAN_SHOWN
        return contents.failed(title, texts.mend_merge(said, proposal.place.base_ref))
    if proposal.content.elsewhere and not proposal.content.configuration:
        # Neutral and skipped would pass as well, on every branch that requires the check (ADR 17).
        return CheckContent(
            status=Status.IN_PROGRESS,
            conclusion=None,
            title=texts.published_elsewhere(proposal),
            summary=texts.propose_elsewhere(proposal),
        )
    return contents.nothing_touched(proposal.content.configuration)


def _publish(facts: Facts, proposal: Proposal, judgement: Judgement) -> CheckContent:
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
        text=summary.comes(proposal) if quiet.is_quiet(facts, proposal) else "",
        buttons=_buttons(proposal, judgement),
    )


def _buttons(proposal: Proposal, judgement: Judgement) -> tuple[Button, ...]:
    if judgement.holds:
        return ()
    return (Button.PROPOSE, Button.WHY) if proposal.stage is Stage.DRAFT else (Button.WHY,)


def send(
    facts: Facts, name: str, shown: CheckContent, *, force: bool, made_for: str = ""
) -> SetCheck | None:
    """Return what brings a check at the head to what it is to show; None where it shows that.

    Args:
        facts: The head, and the checks there.
        name: Of the check.
        shown: What it is to show.
        force: Write it anew in any case: somebody asked to.
        made_for: Kept with it behind a dot; "" for what the forge told of changes of the head.
    """
    if name in facts.unshown and not force:
        return None  # the summary says so; a sweep, Re-run or a new head has it tried again
    # What the forge told of changes of the head goes with it: see `approvals.judged_before`.
    external = f"{shown.digest}.{made_for or facts.head_mark}"
    run = facts.checks.get(name)
    if run is None or not run.ours:
        return _action(str(facts.head), name, shown, run, external)
    same = run.digest == external and run.status == shown.status
    if same and not force:
        return None
    return _action(str(facts.head), name, shown, run, external)


def _action(
    head: str, name: str, shown: CheckContent, run: CheckRun | None, external: str
) -> SetCheck:
    # A completed run cannot go back, and the newest of a name counts.
    updated = run is not None and run.ours and run.status != Status.COMPLETED
    return SetCheck(
        head=Sha(head),
        name=name,
        status=shown.status,
        conclusion=shown.conclusion,
        title=shown.title,
        summary=shown.shown,
        text=shown.text[: limits.TEXT],
        buttons=shown.buttons,
        annotations=shown.annotations,
        digest=external,
        run=run.id if run is not None and updated else None,
        after=run.id if run is not None else 0,
    )
