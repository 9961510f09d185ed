"""The summary comment, and the list of gates: what is missing first, and who can supply it.

The same list serves the summary comment, the check `porchbot/publish`, `/why` and the answer to an
approval. They are lists, not tables: a table of four columns is cut off on a phone.
"""

from collections.abc import Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from lifecycle import limits
from lifecycle import names as names_
from lifecycle.facts.checks import PUBLISH
from lifecycle.facts.head import Facts
from lifecycle.facts.packages import Touched, Unpublished
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.ledger import LedgerChange
from lifecycle.messages import checks, details, drafts, timing
from lifecycle.messages import gates as texts
from lifecycle.messages.markdown import (
    MOST_LISTED,
    change_lines,
    change_list,
    code,
    label,
    name,
    number,
    person,
    quote,
    shell,
    some,
    some_lines,
)
from lifecycle.messages.proposed import every, listed, plural, revisions
from lifecycle.policy import BrokenPolicy

if TYPE_CHECKING:
    from lifecycle.judgement import Gate, Judgement, Leaf
    from lifecycle.memory import Memory


def summary(
    facts: Facts,
    proposal: Proposal,
    judgement: "Judgement",
    memory: "Memory",
    below: Sequence[details.Detail] = (),
) -> str:
    """The one summary comment: what is missing, findings, what is published and holds; `below`."""
    if not proposal.content.approvable:
        return checks.NOTHING_LEFT
    parts = [f"### {_headline(proposal, judgement)}"]
    if memory.rejected and proposal.stage is Stage.DRAFT:
        parts.append(rejected(memory.rejected.person, memory.rejected.reason) + ".")
    waits = proposal.stage in {Stage.DRAFT, Stage.PROPOSED, Stage.MERGED}
    if isinstance(proposal.rules.policy, BrokenPolicy):
        parts.append(checks.configuration_problems(proposal.rules.policy))
    parts.append(drafts.waiting_list(proposal))
    if waits:
        parts.append(unpublished(proposal))
    if waits and (
        proposal.content.configures or not isinstance(proposal.rules.policy, BrokenPolicy)
    ):
        full = facts.unshown if facts.head == proposal.place.head else ()
        parts += [missing(judgement), _unenforced(proposal), details.unshown(full)]
    parts.append(details.warnings(proposal, line_checks=facts.line_checks))
    parts += [_ending(facts, proposal), _packages(proposal), _tag_notes(proposal)]
    parts.append(_changes(proposal))
    if proposal.stage is Stage.PUBLISHED:
        parts.append(timing.excepted(memory.overrides, proposal.content.trees))
    if waits:
        parts.append(holding(judgement))
    return details.beside("\n\n".join(part for part in parts if part), below)


def gate_list(judgement: "Judgement") -> str:
    """Every gate: what is missing and who can supply it, then what holds, folded."""
    return "\n\n".join(part for part in (missing(judgement), holding(judgement)) if part)


def published(proposal: Proposal, judgement: "Judgement") -> str:
    """What `porchbot/publish` says: what is published beside the changes, the gates, every name."""
    parts = (unpublished(proposal), gate_list(judgement), _adopted(proposal))
    return "\n\n".join(part for part in (*parts, _rest(proposal, limits.TEXT // 2)) if part)


def comes(proposal: Proposal) -> str:
    """What only the summary says, for a check in its place: the packages, and what changes."""
    told = details.warnings(proposal, line_checks=False)
    parts = (told, _packages(proposal), _tag_notes(proposal), _changes(proposal), checks.NO_COMMENT)
    return "\n\n".join(part for part in parts if part)[: limits.TEXT]


def unpublished(proposal: Proposal) -> str:
    """What stands in the base branch and no revision holds; "" for nothing."""
    found = [
        (t.package, t.unpublished)
        for t in proposal.content.touched
        if t.unpublished is not None and not t.unpublished.adopted
    ]
    if not found:
        return ""
    lines = change_lines([(package, there.changes) for package, there in found])
    return "\n".join(
        [
            also_published(proposal.place.base_ref),
            "",
            *some_lines([_unpublished_in(package, there) for package, there in found]),
            "",
            *change_list(lines),
            *some_lines([told for each in found if (told := _unshown(*each))]),
        ]
    ).rstrip()


def _adopted(proposal: Proposal) -> str:
    """First revisions of what stands in the base branch since before the bot came."""
    found = [
        t.unpublished for t in proposal.content.touched if t.unpublished and t.unpublished.adopted
    ]
    if not found or proposal.stage is Stage.PUBLISHED:
        return ""
    return first_revisions(len(found), sum(each.files for each in found), proposal.place.base_ref)


def missing(judgement: "Judgement") -> str:
    """The gates that do not hold, what blocks before what merely waits; "" when all hold.

    Approving what is not valid helps nobody: the order says what to do next.
    """
    if not judgement.open:
        return ""
    ordered = sorted(judgement.open, key=lambda gate: gate.state != "blocked")
    return "\n".join(["**Missing**", "", *map(_line, ordered)])


def holding(judgement: "Judgement") -> str:
    """The gates that hold, folded; "" when none does."""
    held = [gate for gate in judgement.gates if gate not in judgement.open]
    if not held:
        return ""
    lines = "\n".join(
        "\n".join([f"- ✅ **{label(gate.name)}**: {gate.actual}", *_below(gate.leaves, "  ")])
        for gate in held
    )
    return _folded(f"✅ {number(len(held), 'gate')} hold{'' if len(held) > 1 else 's'}", lines)


def blocked(judgement: "Judgement") -> str:
    """What is still missing, in one line; "" when nothing is."""
    ordered = sorted(judgement.open, key=lambda gate: gate.state != "blocked")
    return "; ".join(short(gate) for gate in ordered)


def short(gate: "Gate") -> str:
    """One gate that does not hold, in a few words that stand alone."""
    # "0 of 1" or "still running" alone would not say of what.
    if gate.name in {texts.APPROVED, texts.RULES_APPROVED}:
        return f"{gate.name} by {gate.actual}"
    return f"{gate.name}: {gate.actual}" if gate.name.startswith(texts.CHECK) else gate.actual


def _line(gate: "Gate") -> str:
    mark = _MARKS[gate.state]
    needed = f" **Needed:** {gate.wanted}." if gate.wanted else ""
    who = f" **Who:** {gate.who}." if gate.who else ""
    line = f"- {mark} **{label(gate.name)}**: {gate.actual}.{needed}{who}"
    return "\n".join([line, *_below(gate.leaves, "  ")])


_MARKS = {"holds": "✅", "waits": "⏳", "blocked": "❌"}


def _below(leaves: Sequence["Leaf"], indent: str) -> list[str]:
    """The rules below a gate, as lists in its list; what is missing first."""
    lines: list[str] = []
    ordered = sorted(leaves, key=lambda leaf: leaf.state == "holds")
    for leaf in ordered[:MOST_LISTED]:
        lines += [
            f"{indent}- {_MARKS[leaf.state]} {leaf.text}.",
            *_below(leaf.leaves, indent + "  "),
        ]
    more = len(ordered) - MOST_LISTED
    return [*lines, f"{indent}- and {number(more, 'more rule')}"] if more > 0 else lines


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _headline(proposal: Proposal, judgement: "Judgement") -> str:
    what, be = quote(revisions(proposal)), "are" if plural(proposal) else "is"
    match proposal.stage:
        case Stage.DRAFT:
            return f"Draft of {what}"
        case Stage.PROPOSED if judgement.holds and not proposal.content.publishes:
            return f"Approved, to be merged by a person: {what}"
        case Stage.PROPOSED if judgement.holds:
            return f"{what} {be} being {'merged' if proposal.content.untagged else 'published'}"
        case Stage.PROPOSED if proposal.content.removal:
            return f"Deletion proposed: {what}"
        case Stage.PROPOSED:
            return f"{what} {be} proposed" if proposal.content.touched else f"Proposed: {what}"
        case Stage.MERGED if proposal.once_published:
            return f"{texts.tags_wrong(proposal.content.touched)}: {what}"
        case Stage.MERGED:
            lacks = "approved" if proposal.content.untagged else "published"
            return f"Merged, but not {lacks}: {what}"
        case Stage.PUBLISHED if any(t.tagging.within is not None for t in proposal.content.touched):
            return f"Merged, but not published by itself: its content is in {what}"
        case Stage.PUBLISHED:
            done = proposal.content.ledger and proposal.content.untagged
            return f"{'Done:' if done else 'Published'} {what}"
        case Stage.CLOSED:
            return f"Closed: {what}"


def _unenforced(proposal: Proposal) -> str:
    """That people can merge past the gates, and the setting that ends it."""
    if proposal.merging.enforced is not False or proposal.stage is not Stage.PROPOSED:
        return ""
    branch = code(proposal.place.base_ref)
    return (
        f"⚠️ {branch} does not require the check `{PUBLISH}`, so *Merge* also works while something"
        " is missing (nothing is tagged then). An administrator can change that: *Settings → Rules"
        f" → Rulesets → New branch ruleset*, target {branch}, *Require status checks to pass*, add"
        f" `{PUBLISH}` (for a private repository, GitHub has rulesets on paid plans only)."
    )


def _packages(proposal: Proposal) -> str:
    listed = _listed(proposal)
    if not proposal.content.touched:
        return listed
    gone = {each.package for each in proposal.content.withdrawals}
    rows = [
        f"- {name(t.package)}: "
        + (_removed(t.package in gone) if t.removed else f"v{t.revision}{_aside(t)}")
        + ("" if proposal.place.closed else also_changed(t.also))
        for t in proposal.content.touched[:MOST_LISTED]
    ]
    shown = ["**Packages**", "", *rows]
    rest = (_rest(proposal, limits.TEXT // 3), _adopted(proposal), listed)
    return "\n\n".join(["\n".join(shown), *(part for part in rest if part)])


def _removed(withdrawn: bool) -> str:
    if withdrawn:
        return "removed; its revisions listed below are withdrawn as well"
    return "removed; its revisions and tags stay"


def _listed(proposal: Proposal) -> str:
    """What becomes of revisions by the ledger, with the reason and the tag that goes."""
    rows = [_entry(each) for each in proposal.content.ledger]
    if not rows:
        return ""
    return "\n".join(["**Revisions**", "", *some_lines(rows)])


def _entry(change: LedgerChange) -> str:
    said = f"{code(change.name)}: {listed(change)}"
    if change.withdraws and change.goes and not change.done:
        said += f"; its tag {code(change.tag[:10])} is deleted once this is merged and approved"
    elif change.withdraws and not change.tag:
        said += "; it has no tag" if not change.done else "; its tag is deleted"
    reason = change.after.reason if change.after else ""
    return f"{said}. {quote(reason)}" if reason else said


def _rest(proposal: Proposal, most: int) -> str:
    """The names of the packages that no list shows: nothing is approved without its name."""
    more = proposal.content.touched[MOST_LISTED:]
    if not more:
        return ""
    return _folded(f"and {number(len(more), 'more package')}", every(more, most))


def _aside(touched: Touched) -> str:
    if touched.tagging.withdrawn:
        return " (withdrawn)"
    return " (first)" if touched.revision == 1 else ""


def _tag_notes(proposal: Proposal) -> str:
    """What is to be known of tags that we did not make, or that are not as we made them."""
    tagging = [t.tagging for t in proposal.content.touched]
    foreign = (
        f"- {code(tag.name)} was published before porchbot."
        if tag.before
        else f"- The tag {code(tag.name)} was not made by porchbot. It does not count as"
        " published, and its number is used up; delete it if nobody uses it."
        for each in tagging
        for tag in each.foreign
    )
    gone = (code(tag) for each in tagging for tag in each.missing)
    missing = (f"- {tag} was published, and its tag is gone or was replaced since." for tag in gone)
    return "\n".join(islice(chain(foreign, missing), MOST_LISTED))


def _changes(proposal: Proposal) -> str:
    lines = change_lines([(v.package, v.diff) for v in proposal.verdicts])
    return _folded(number(len(lines), "change"), "\n".join(change_list(lines))) if lines else ""


def _ending(facts: Facts, proposal: Proposal) -> str:
    match proposal.stage:
        case Stage.PUBLISHED:
            if facts.push_refused and facts.head == proposal.place.head:
                why = texts.push_refused(facts.push_refused)
                left = f"The branch {code(facts.head_ref)} was not deleted: {why}."
                return f"{tagged(proposal)}\n\n{left}".strip()
            return tagged(proposal)
        case Stage.CLOSED:
            if facts.same_repository and facts.head is None:
                then = "is gone. Restore it to reopen this."
            else:
                then = "is kept. Reopen this to go on, or push to it and open a new pull request."
            return f"The branch {code(facts.head_ref)} {then}"
        case _:
            return ""


def tagged(proposal: Proposal) -> str:
    """Which tags were made where, and which content was published with other proposals."""
    tags = ", ".join(
        code(names_.spelled(t.package, t.revision))
        for t in proposal.content.touched
        if not t.removed and not t.tagging.withdrawn and t.tagging.within is None
    )
    commit = code(str(proposal.place.merge_commit)[:10])
    told = f"Tagged {tags} on {commit}." if tags else ""
    return f"{told}\n\n{published_within(proposal)}".strip()


def also_changed(numbers: Sequence[int]) -> str:
    """Which other open proposals change the same package: the first to be published wins."""
    if not numbers:
        return ""
    # Not how many: that would be news for each of them whenever one more is opened.
    more = " and more" if len(numbers) > 5 else ""
    return "; also changed by " + ", ".join(f"#{n}" for n in numbers[:5]) + more


def rejected(login: str, reason: str) -> str:
    """Why a proposal went back to draft; kept in the summary."""
    return f"{person(login)} sent it back" + (f": {quote(reason)}" if reason else "")


def also_published(base_ref: str) -> str:
    """What whoever approves publishes beside the changes of the proposal."""
    return (
        f"⚠️ **Also published**: {code(base_ref)} contains changes that were never published. An"
        " approval here publishes them as well:"
    )


def _unpublished_in(package: str, there: Unpublished) -> str:
    """What is unpublished of one package, compared with what, and what brought it in."""
    if there.revision:
        since = f"differs from {code(names_.spelled(package, there.revision))}"
    elif there.published:
        since = "was changed after porchbot was installed, and porchbot has not published it yet"
    else:
        since = "was not published by porchbot yet"
    by = [source if source.startswith("#") else code(source) for source in there.sources]
    return f"{name(package)} {since}" + (f" ({some(by)})" if by else "")


def _unshown(package: str, there: Unpublished) -> str:
    """That nobody can tell here what is unpublished, and how to see it; "" where it is told."""
    if there.changes:
        return ""
    command = shell("git", "diff", there.published, there.base)
    how = f": {code(command)}" if there.published else ""
    return f"What differs in {name(package)} cannot be shown here{how}"


def first_revisions(packages: int, files: int, base_ref: str) -> str:
    """That a first revision publishes what was there before the bot came."""
    one = packages == 1
    which = "The first revision also publishes" if one else "First revisions also publish"
    what = number(files, "file") if files else "everything"
    of = "" if one else f" of {packages} packages"
    be = "were" if files > 1 else "was"
    return f"{which} {what}{of} that {be} in {code(base_ref)} before porchbot was installed."


def published_within(proposal: Proposal) -> str:
    """Which later proposal published what this one merged, for each package."""
    return "\n".join(
        f"- The content of {name(t.package)} here was published with"
        f" {code(names_.spelled(t.package, t.revision))}"
        + (f" by {t.tagging.within}." if t.tagging.within else ".")
        for t in proposal.content.touched[:MOST_LISTED]
        if t.tagging.within is not None
    )
