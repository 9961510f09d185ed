"""Findings as list items and as annotations of a check run."""

from collections.abc import Sequence

from cadlib.findings import Finding, Severity
from lifecycle import limits, spelling
from lifecycle.messages.markdown import (
    MOST_LISTED,
    code,
    number,
    reason,
    remark,
)


def findings(found: Sequence[Finding], rest: str = "see the annotations of the check") -> str:
    """Findings as a list: where, what, what to do.

    Args:
        found: What blocks first.
        rest: Where those stand that the list has no room for.
    """
    if not found:
        return "No findings."
    lines = [finding(one) for one in found[:MOST_LISTED]]
    if len(found) > MOST_LISTED:
        lines.append(f"- and {len(found) - MOST_LISTED} more: {rest}")
    return "\n".join(lines)


def more_findings(found: Sequence[Finding]) -> str:
    """The findings that `findings` has no room for, as many as a text holds; "" for none."""
    lines: list[str] = []
    room = limits.TEXT - 200
    for one in found[MOST_LISTED:]:
        line = finding(one)
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0:
            break
        lines.append(line)
    left = len(found) - MOST_LISTED - len(lines)
    if left > 0:
        lines.append(f"- and {left} more: `porchbot check` lists all of them")
    return "\n".join(lines)


HIDDEN_FIX = "Review them, or remove them from .krmignore; other tools still apply them"


SMALLER = "Split it into smaller packages, or remove what makes it so large"


def too_slow(seconds: float) -> str:
    """A package that takes too long, as plain text."""
    return f"the package took more than {seconds:g} s to render"


FEWER_FUNCTIONS = "Remove functions from its pipelines, or split it into smaller packages"


def functions_slow(seconds: float) -> str:
    """A package whose functions take too long together, as plain text."""
    return f"the functions of the package took more than {seconds:g} s together"


def too_much_memory(mebibytes: int) -> str:
    """A package that takes too much memory, as plain text."""
    return f"the package took more than {mebibytes} MB to render"


def ended(reason: str) -> str:
    """A package that nobody could render, as plain text."""
    return f"the package could not be rendered: {reason}"


def no_process(reason: str) -> str:
    """Why no package can be rendered now, for an operator."""
    return f"cannot start a process to render packages: {reason}"


UNTOLD_FIX = "Compare the files yourself before you approve"


def untold(place: str, problem: str) -> str:
    """Why nobody is told what changes in a package, as plain text."""
    where = f"{place}: " if place else ""
    return (
        "the list of changes is missing: the package at the merge base is too large"
        f" ({where}{problem})"
    )


def hidden(resources: int, paths: Sequence[str]) -> str:
    """Files that no function sees, as plain text."""
    shown = ", ".join(paths[:MOST_LISTED])
    more = f" and {len(paths) - MOST_LISTED} more" if len(paths) > MOST_LISTED else ""
    return (
        f"functions and guardrails do not see {number(resources, 'resource')} in"
        f" {number(len(paths), 'file')} excluded here: {shown}{more}"
    )


def finding(found: Finding) -> str:
    """One finding as a list item."""
    by = f" ({code(found.function)})" if found.function else ""
    return f"- **{found.severity}** {code(str(found.place))}: {_words(found)}{by}"


def thread(found: Finding) -> str:
    """One finding as a comment at its line, which is Markdown; one line of text."""
    field = f"{code(found.place.field)}: " if found.place.field else ""
    proposed = f" Proposed: {code(found.proposed)}" if found.proposed else ""
    return f"{field}{_words(found)}{proposed}"


def _words(found: Finding) -> str:
    """What is wrong, and what to do, in Markdown.

    What is wrong quotes the package. The advice is ours, and a command in it, as a code span, is
    written as it is at the forge; but that of a function's finding is of whoever wrote the rules.
    """
    advice = (remark if found.function else reason)(_mend(found))
    return f"{remark(_open_end(found))}{advice}"


def annotation(found: Finding) -> str:
    """One finding as a check annotation, which is plain text."""
    field = f"{found.place.field}: " if found.place.field else ""
    proposed = f" Proposed: {found.proposed}" if found.proposed else ""
    return spelling.shown(f"{field}{_open_end(found)}{_mend(found)}{proposed}")


def _open_end(found: Finding) -> str:
    """What is wrong, without its full stop where more follows: functions write it or not."""
    return found.message.rstrip().removesuffix(".") if found.fix else found.message


def _mend(found: Finding) -> str:
    return f". {found.fix}." if found.fix else ""


def severity_first(found: Finding) -> tuple[int, str, int, str]:
    """Sort key of findings for people: what blocks first, then by place."""
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    return (order[found.severity], found.place.path, found.place.line or 0, found.message)
