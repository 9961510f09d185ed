"""Texts of `porchbot/impact`: what a change would do to packages that it does not touch."""

from collections.abc import Iterable, Sequence

from lifecycle import limits
from lifecycle.facts.impact import (
    Impact,
    PackageImpact,
    VariantChange,
    VariantOutcome,
    VariantsImpact,
)
from lifecycle.facts.update import UpdateConflict
from lifecycle.messages.findings import finding
from lifecycle.messages.markdown import code, name, names, number, reason, some
from lifecycle.policy import BrokenPolicy

PUBLISHED = "published from here"
NOT_PUBLISHED = "no longer published from here"
APPROVALS = "other approvals"
WINDOWS = "other publishing windows"
CHECKS = "other required checks"
METHOD = "another merge method"
BY_ITSELF = "another way to start the merge"
"""What would be otherwise about merging a package."""

TRYING = (
    "The packages that this change may affect are being tested, a few at a time. Publishing does"
    " not wait for this unless the configuration says so."
)

BLOCKS = (
    "`impact: block` is set in the configuration of the base branch: fix what would fail, or"
    " change this pull request. Where something could not be tried, try again with Re-run or"
    " `/check`."
)

NOT_TRIED = "the impact on other packages is still being computed"
NOT_TRIED_WANTED = "wait for `porchbot/impact`"
NOBODY = "nobody: it continues automatically"
BREAKS = "other packages would fail, conflict with their upstream, or could not be tried"
BREAKS_WANTED = (
    "fix what `porchbot/impact` lists, or change this pull request; `/check` tries again"
)
WHO = "anyone who can push"
HARMLESS = "no other package would fail"
FORK = "the impact on other packages is not computed for branches of forks"
FORK_WANTED = "push the branch to this repository"
"""Of the gate, where the configuration makes it one."""

AT_HEAD = "its head"
"""Where rules stand that cannot be read, on the command line; else it is a branch."""

NOTHING = (
    "Nothing to test: this changes neither rules that check or merge packages, nor a package's"
    " upstream."
)
"""Of a change that has no impact, on the command line."""

NO_UPSTREAM = "its upstreamLock names no commit, or none that is in this repository"
TOO_SLOW = "it took too long"
UNREADABLE = "its repository cannot be read now"

_ROOM = limits.TEXT - 2_000


def rules_broken(where: str, policy: BrokenPolicy) -> str:
    """Why nothing can be tried, on the command line."""
    problems = "; ".join(str(each).removesuffix(".") for each in policy.problems)
    return f"the rules of {where} cannot be read: {problems}. Fix that first"


def title(impact: Impact) -> str:
    """One line: what matters most."""
    if not impact.ended:
        return f"Tried {impact.tried} of {number(impact.total, 'package')}"
    here = [each for each in impact.packages if not each.repository]
    there = [each for each in impact.packages if each.repository]
    elsewhere = impact.elsewhere
    parts = [
        _titled(here, impact.total + impact.more - elsewhere, impact.left - impact.left_elsewhere),
        _titled(there, elsewhere, impact.left_elsewhere, where=" of other repositories"),
        _variants_titled(impact.variants),
    ]
    if not any(parts) and impact.unseen:
        return f"Not tried: {number(impact.unseen, 'package')} of other repositories"
    return "; ".join(filter(None, parts)) or "No other package is affected"


def _titled(found: Sequence[PackageImpact], total: int, left: int, where: str = "") -> str:
    """What becomes of some packages; "" of none."""
    if not total:
        return ""
    fails = sum(each.fails for each in found)
    conflicts = sum(bool(each.conflicting) for each in found)
    untried = sum(bool(each.problem) for each in found) + left
    changed = sum(not each.problem or bool(each.merges) for each in found)
    tried = f"{number(total, 'package')}{where}"
    if untried >= total and not changed:
        return f"Not tried: {tried}"
    said = f"{changed} of {tried} would change" if changed else f"None of {tried} would change"
    return "; ".join(
        [
            said,
            *([f"{fails} would fail"] if fails else []),
            *([f"{conflicts} would conflict"] if conflicts else []),
            *([f"{untried} not tried"] if untried else []),
        ]
    )


def summary(impact: Impact, *, most: int) -> str:
    """What would change, the first packages with their differences, the others counted.

    Args:
        impact: It.
        most: Packages that are told with their differences.
    """
    parts = [_headline(impact), *_counts(impact)] if impact.rules or impact.upstreams else []
    parts += _variants(impact)
    detailed = [each for each in impact.packages if _is_told(each)][:most]
    told: list[PackageImpact] = []
    room = _ROOM - sum(map(len, parts))
    for each in detailed:
        part = _package(each)
        room -= len(part.encode("utf-8", "replace")) + 2
        if room < 0:
            break
        parts.append(part)
        told.append(each)
    rest = [each for each in impact.packages if each not in told]
    return "\n\n".join([*parts, *_rest(rest)])


_OUTCOMES = {
    VariantOutcome.DELETED: "would be proposed for deletion, or closed where only a draft exists",
    VariantOutcome.DRAFTED: "would get a draft",
    VariantOutcome.ADOPTED: "would be adopted as it is there",
    VariantOutcome.NOT_OURS: "would be left alone: there already, and the rule adopts none",
    VariantOutcome.REVISED: "would be made from another upstream or revision",
    VariantOutcome.INJECTED: "would have something else injected",
    VariantOutcome.WAITING: "would wait for the revision that its rule names, which is not there",
    VariantOutcome.CHANGED: "would be made by other settings of the rule",
    VariantOutcome.LEFT: "would no longer be followed",
}


def _variants_titled(found: VariantsImpact) -> str:
    """What becomes of downstreams, in one line; "" where nothing does."""
    said = [f"{number(count, 'variant')} {_OUTCOMES[outcome]}" for outcome, count in found.counts]
    if found.problems:
        said.append(f"{number(found.problems, 'error')} in rules for variants")
    if found.unread:
        said.append("Not compared: variants by what other repositories lend")
    return "; ".join(said)


def _variants(impact: Impact) -> list[str]:
    """What becomes of downstreams: the first of each kind, the others counted."""
    found = impact.variants
    if found.nothing:
        return []
    at = f"{code(impact.base_ref)} at `{impact.base[:10]}`"
    parts = [
        f"### Variants\n\nWhat the changed rules want, compared with {at}. Nothing was written."
    ]
    hidden = dict(found.hidden)
    for outcome, count in found.counts:
        named = [each for each in found.changes if each.outcome is outcome][:_MOST_VARIANTS]
        lines = [f"**{number(count, 'package')} {_OUTCOMES[outcome]}**", ""]
        lines += [f"- {_variant(each)}" for each in named]
        if left := count - len(named) - hidden.get(outcome, 0):
            lines.append(f"- and {left} more")
        if unnamed := hidden.get(outcome, 0):
            lines.append(
                f"- {unnamed} not named: not everybody here can read the repository, or what chose"
                " them"
            )
        parts.append("\n".join(lines))
    if found.same:
        parts.append(f"{number(found.same, 'package')} would stay as wanted now.")
    if found.problems:
        parts.append(
            f"{number(found.problems, 'error')} in the rules, shown at the lines. While there are"
            " any, nothing is removed."
        )
    if found.unread:
        parts.append(
            "Not read, so that packages which they choose are missing above: topics, and resources"
            " of other repositories, unless the rules of the base branch ask for the same and"
            " everybody here can read those repositories. So nothing is told as removed, or as"
            " followed no longer."
        )
    return ["\n\n".join(parts)]


_MOST_VARIANTS = 10
"""Downstreams of one outcome that are named."""


def _variant(one: VariantChange) -> str:
    where = f"{one.repository}: {one.package or '.'}" if one.repository else one.package
    made = f"{code(one.was)} to {code(one.upstream)}" if one.was else code(one.upstream)
    return f"{name(where)}, from {made} ({code(one.rule)})"


def _is_told(one: PackageImpact) -> bool:
    return bool(one.changes or one.findings or one.conflicts)


def _headline(impact: Impact) -> str:
    at = f"{code(impact.base_ref)} at `{impact.base[:10]}`"
    tried = number(impact.total + impact.more, "package")
    if impact.rules and impact.upstreams:
        what = f"The changed rules, and an upgrade to the changed {names(impact.upstreams)},"
    elif impact.rules:
        what = "The changed rules"
    else:
        what = f"An upgrade to {names(impact.upstreams)} as changed here"
    verb = "were" if impact.rules else "was"
    return f"{what} {verb} tried on {tried}, compared with {at}. Nothing was written."


def _counts(impact: Impact) -> list[str]:
    found = impact.packages
    counted = (
        ("would fail to render or to pass validation", [p for p in found if p.fails]),
        ("would conflict with the upstream", [p for p in found if p.conflicting]),
        ("would render differently, or hold other values", [p for p in found if p.changed]),
        ("would have other findings", [p for p in found if p.found or p.gone]),
        ("would pass again", [p for p in found if p.mends]),
        ("would be merged under other rules", [p for p in found if p.merges]),
        ("could not be tried", [p for p in found if p.problem]),
    )
    lines = [f"- {number(len(some_), 'package')} {what}" for what, some_ in counted if some_]
    same = impact.tried - len(found)
    if same and lines:
        lines.append(f"- {number(same, 'package')} would not change")
    if impact.left:
        left = number(impact.left, "package")
        lines.append(f"- {left} not tried: there are too many for one run")
    if impact.unseen:
        unseen = number(impact.unseen, "package")
        lines.append(
            f"- {unseen} in repositories that not everybody here can read, or that this one does"
            " not list in `upstreams.share`: neither tried nor named"
        )
    if impact.not_run:
        named = some(impact.not_run, write=code)
        lines.append(
            f"- not run: {named}, which `functions.allow` of the base branch does not allow"
        )
    if impact.allows:
        lines.append("- not run: functions that only the changed `functions.allow` would allow")
    return ["\n".join(lines)] if lines else []


def _package(one: PackageImpact) -> str:
    """One package with its differences."""
    lines = [f"### {_named(one)}", "", _what(one), ""]
    lines += [f"- {code(str(change))}" for change in one.changes]
    if one.changed > len(one.changes):
        lines.append(f"- and {number(one.changed - len(one.changes), 'more difference')}")
    lines += [finding(each) for each in one.findings]
    if one.found > len(one.findings):
        lines.append(f"- and {number(one.found - len(one.findings), 'more finding')}")
    lines += [_conflict(each) for each in one.conflicts]
    if one.conflicting > len(one.conflicts):
        lines.append(f"- and {number(one.conflicting - len(one.conflicts), 'more conflict')}")
    return "\n".join(lines)


def _named(one: PackageImpact) -> str:
    where = f"{one.repository}: {one.package or '.'}" if one.repository else one.package
    made = f" (made from {code(one.upstream)})" if one.upstream else ""
    on = f" on {code(one.branch)}" if one.branch else ""
    return f"{name(where)}{on}{made}"


def _what(one: PackageImpact) -> str:
    """What becomes of a package, in a few words."""
    parts = [
        *(["would fail"] if one.fails else []),
        *([f"{number(one.conflicting, 'conflict')}"] if one.conflicting else []),
        *([number(one.changed, "difference")] if one.changed else []),
        *([number(one.found, "new finding")] if one.found else []),
        *([f"{number(one.gone, 'finding')} gone"] if one.gone else []),
        *(["would pass again"] if one.mends else []),
        *one.merges,
        *([f"not tried: {reason(one.problem)}"] if one.problem else []),
    ]
    said = ", ".join(parts)
    return f"{said[:1].upper()}{said[1:]}:" if _is_told(one) else said


def _conflict(found: UpdateConflict) -> str:
    values = f"base {found.base}, here {found.ours}, upstream {found.theirs}"
    what = f"{found.field}: {values}" if found.field else found.reason
    at = f"{found.path}:{found.line}" if found.line else found.path
    return f"- **conflict** {code(at)}: {code(' '.join(filter(None, (found.resource, what))))}"


def _rest(rest: Sequence[PackageImpact]) -> list[str]:
    """The packages without differences: one line each for the first, then counts."""
    if not rest:
        return []
    lines = [f"- {_named(each)}: {_what_only(each)}" for each in _first(rest)]
    left = len(rest) - len(lines)
    return ["\n".join(["### Others", "", *lines, *([f"- and {left} more"] if left else [])])]


def _what_only(one: PackageImpact) -> str:
    return _what(one).removesuffix(":").lower() if _is_told(one) else _what(one)


def _first(rest: Iterable[PackageImpact]) -> list[PackageImpact]:
    return list(rest)[:30]


def elsewhere(address: str) -> tuple[str, str]:
    """A package inside has an upstream of its own, which is not fetched for a trial."""
    return (
        f"a package inside it comes from {address}, which is not fetched to try this",
        "Upgrade it in a pull request",
    )
