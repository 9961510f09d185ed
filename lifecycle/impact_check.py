"""The check `porchbot/impact`: what is shown of what was tried."""

from dataclasses import replace

from lifecycle import checks, contents, wording
from lifecycle.actions import SetCheck
from lifecycle.contents import CheckContent
from lifecycle.facts.checks import IMPACT, CheckRun, Conclusion, Status
from lifecycle.facts.head import Facts
from lifecycle.facts.impact import Impact
from lifecycle.impact import MOST_DETAILED, is_done_for, worked_out_at, worked_out_on
from lifecycle.messages import impact as texts
from lifecycle.policy import ImpactMode


def decide(facts: Facts, impact: Impact, mode: ImpactMode) -> list[SetCheck]:
    """Return the check to write so that a head shows an impact; empty where it does."""
    if not impact.ended and not shows_progress(mode, line_checks=facts.line_checks):
        return []
    made_for = worked_out_at(impact.base_ref, mode, impact.base)
    shown, run = content(impact, mode), facts.checks.get(IMPACT)
    again = run is not None and is_done_for(run, impact.base_ref, mode) and not facts.rerun
    if run is not None and again and (not impact.ended or says(run, impact, mode)):
        return []  # what was worked out counts until something else comes out
    check = checks.send(facts, IMPACT, shown, force=facts.rerun, made_for=made_for)
    return [wording.check(check, facts.terms)] if check else []


def says(run: CheckRun, impact: Impact, mode: ImpactMode) -> bool:
    """Whether a check says the same of the base as it was then."""
    then = replace(impact, base=worked_out_on(run))
    return run.digest.rpartition(".")[0] == content(then, mode).digest


def shows_progress(mode: ImpactMode, *, line_checks: bool) -> bool:
    """Return whether it is shown how far a trial came.

    Not by what only informs where checks are statuses: one that is not finished may keep people
    from merging.
    """
    return not line_checks or mode is ImpactMode.BLOCK


def content(impact: Impact, mode: ImpactMode) -> CheckContent:
    """Return the content of `porchbot/impact`; it fails only where the rules say so."""
    title, text = texts.title(impact), texts.summary(impact, most=MOST_DETAILED)
    if not impact.ended:
        return CheckContent(
            status=Status.IN_PROGRESS, conclusion=None, title=title, summary=texts.TRYING
        )
    if mode is ImpactMode.BLOCK and (impact.breaks or impact.unsure):
        return contents.failed(title, f"{text}\n\n{texts.BLOCKS}")
    passed = contents.passed(title, text)
    return replace(passed, conclusion=Conclusion.NEUTRAL) if impact.breaks else passed
