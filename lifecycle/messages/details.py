"""What checks have no room for, where the forge shows of each a line and no more."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cadlib.findings import Finding, Severity
from lifecycle import limits
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.messages.findings import findings, severity_first
from lifecycle.messages.markdown import code, some


@dataclass(frozen=True, slots=True)
class Detail:
    """What a check would say below its title, for forges whose checks are one line.

    Attributes:
        name: Of the check.
        summary: Markdown.
        text: More of it, likewise; "" for nothing.
    """

    name: str
    summary: str
    text: str


def details(found: Sequence[Detail], room: int) -> str:
    """All of that which fits, folded; a part is told whole or not at all."""
    shown: list[str] = []
    for each in found:
        for body in (f"{each.summary}\n\n{each.text}".rstrip(), each.summary):
            part = f"<details><summary><code>{each.name}</code></summary>\n\n{body}\n\n</details>"
            if len(part) + 2 <= room:
                shown.append(part)
                room -= len(part) + 2
                break
    return "\n\n".join(shown)


def found(listed: Sequence[Finding], *, line_checks: bool) -> str:
    """Findings, and where those stand that there is no room for."""
    ordered = sorted(listed, key=severity_first)
    return findings(ordered, "further down") if line_checks else findings(ordered)


def warnings(proposal: Proposal, *, line_checks: bool) -> str:
    """What functions and rules found, but for what they only tell; "" for nothing."""
    listed = [f for v in proposal.verdicts for f in v.findings if f.severity is not Severity.INFO]
    listed += proposal.content.configuration
    if not listed or proposal.stage is Stage.PUBLISHED:
        return ""
    return "**Findings**\n\n" + found(listed, line_checks=line_checks)


def unshown(checks: Collection[str]) -> str:
    """That checks of ours cannot be shown at the head, and what shows them again; "" for none.

    Args:
        checks: Their names.
    """
    if not checks:
        return ""
    one = len(checks) == 1
    return (
        f"⚠️ {some(sorted(checks), write=code)} cannot be shown at this commit: somebody with write"
        f" access has set {'that status' if one else 'those statuses'} there as often as GitHub"
        " allows. What this comment says counts. Push a new commit to see the"
        f" {'check' if one else 'checks'} again."
    )


def beside(told: str, listed: Sequence[Detail]) -> str:
    """A text, cut to what fits, and as much of these as there is room for then."""
    told = told[: limits.TEXT]
    return f"{told}\n\n{details(listed, limits.TEXT - len(told) - 2)}".rstrip()
