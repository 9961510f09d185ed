"""The content of check runs: what rendering and validation come to, for bot and CLI alike."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cadlib.findings import Finding, Severity
from lifecycle import limits
from lifecycle.facts.checks import Button, Conclusion, Status
from lifecycle.facts.effects import RulesEffect
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages import checks as texts
from lifecycle.messages import effects
from lifecycle.messages import findings as finding_texts
from lifecycle.messages import gates as gate_texts
from lifecycle.policy import RULES, BrokenPolicy, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContent:
    """The content of one check run.

    Attributes:
        status: In progress while waiting.
        conclusion: Set exactly when completed.
        title: One line.
        summary: Markdown; what matters most stands first.
        annotations: Findings with file and line, sorted.
        text: What the summary has no room for; "" for nothing.
        buttons: What can be asked for by a click.
        durations: What is shown below the summary of how long it took; no part of the digest, so
            that nothing is sent again because it took another time.
    """

    status: Status
    conclusion: Conclusion | None
    title: str
    summary: str
    annotations: tuple[Finding, ...] = ()
    text: str = ""
    buttons: tuple[Button, ...] = ()
    durations: str = ""

    @property
    def shown(self) -> str:
        """The summary, cut to what fits, with the durations."""
        below = f"\n\n{self.durations}" if self.durations else ""
        return self.summary[: limits.TEXT - len(below)] + below

    @property
    def badness(self) -> int:
        """Severity for comparison: 0 passed, 1 in progress, 2 failed."""
        if self.conclusion is Conclusion.FAILURE:
            return 2
        return 0 if self.conclusion is Conclusion.SUCCESS else 1

    @property
    def digest(self) -> str:
        """Digest of the content, kept with the run so that nothing is sent twice."""
        content = [
            self.status,
            self.conclusion,
            self.title,
            self.summary,
            [_annotation(finding) for finding in self.annotations],
            *([self.text] if self.text else []),
            *([list(self.buttons)] if self.buttons else []),
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:40]


def broken_base(policy: BrokenPolicy) -> CheckContent:
    """Return the content for a base branch whose configuration cannot be read."""
    return failed(texts.CONFIGURATION_BROKEN, texts.configuration_problems(policy))


def nothing_touched(configuration: tuple[Finding, ...]) -> CheckContent:
    """Return the content for a change of no package: passed, unless it breaks the rules."""
    if configuration:
        text = finding_texts.findings(configuration)
        return failed(texts.BREAKS_CONFIGURATION, text, configuration)
    return passed(texts.NO_PACKAGE, texts.NO_PACKAGE_SUMMARY)


def configuration(found: Sequence[Finding], effect: RulesEffect | None) -> CheckContent:
    """Return the content of `porchbot/config`.

    Args:
        found: What is wrong with the configuration and beside it.
        effect: What it would do to other open proposals; None where that is not known.
    """
    bad = tuple(f for f in found if f.place.path.startswith(RULES))
    if bad:
        return failed(texts.BREAKS_CONFIGURATION, finding_texts.findings(bad), bad)
    title = effects.rules_effect_title(effect)
    return passed(title, effects.rules_effect(effect))


def rendering(verdicts: Sequence[Verdict], policy: Policy, *, settles: bool) -> CheckContent:
    """Return the content of `porchbot/render`.

    Args:
        verdicts: One for each package touched that still exists.
        policy: The rules that judged them.
        settles: Rendering was not tried on this state yet, so that a difference may be mended by
            committing it.
    """
    took = texts.durations(verdicts)
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
        ran = passed(gate_texts.IS_RENDERED, texts.functions_run(verdicts))
        return replace(ran, durations=took)
    return replace(failed(title, text), text=texts.patch(unrendered), durations=took)


def validation(
    verdicts: Sequence[Verdict], configuration: Sequence[Finding], *, files: str = ""
) -> CheckContent:
    """Return the content of `porchbot/validate`.

    Args:
        verdicts: One for each package touched that still exists.
        configuration: What is wrong beside them.
        files: Where the findings stand at their lines, as a link; "" where that is not known.
    """
    found = [*configuration, *(f for v in verdicts for f in v.findings)]
    findings = tuple(sorted(found, key=_order))
    bad = [f for f in findings if f.severity is Severity.ERROR]
    unjudged = [v for v in verdicts if v.broken]
    if unjudged and not bad:
        return failed(texts.NOT_VALIDATED, gate_texts.runner_broken(unjudged), _at_lines(findings))
    # What a function did is in the text; at the lines stands what people should look at.
    shown = _at_lines(f for f in findings if f.severity is not Severity.INFO)
    ordered = sorted(findings, key=finding_texts.severity_first)
    text = finding_texts.findings(ordered, texts.more_findings(files))
    content = (
        failed(gate_texts.blocking_findings(len(bad)), text, shown)
        if bad
        else passed(gate_texts.IS_VALID, text, shown)
    )
    return replace(
        content, text=finding_texts.more_findings(ordered), durations=texts.durations(verdicts)
    )


def _at_lines(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """As many as a check shows at their lines, the most severe of them; by place."""
    worst = sorted(findings, key=finding_texts.severity_first)[: limits.ANNOTATIONS]
    return tuple(sorted(worst, key=_order))


def waiting(title: str, text: str) -> CheckContent:
    """Return the content of a check that is not decided yet."""
    return CheckContent(status=Status.IN_PROGRESS, conclusion=None, title=title, summary=text)


def passed(title: str, text: str, annotations: tuple[Finding, ...] = ()) -> CheckContent:
    """Return a check that lets through."""
    return _completed(Conclusion.SUCCESS, title, text, annotations)


def failed(title: str, text: str, annotations: tuple[Finding, ...] = ()) -> CheckContent:
    """Return a check that blocks."""
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


def _order(finding: Finding) -> tuple[str, int, str, str]:
    place = finding.place
    return (place.path, place.line or 0, place.field, finding.message)


def _annotation(finding: Finding) -> list[object]:
    place = finding.place
    said = [finding.severity, finding.message, finding.fix, finding.proposed, finding.function]
    return [place.path, place.line, place.field, *said]
