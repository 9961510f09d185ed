"""The summary comment, and how the gates are shown: what is missing first, and who can supply it.

The same few texts serve the summary comment, the check `porchbot/publish`, `/why` and the answer to
an approval. They are lists, not tables: a table of four columns is cut off on a phone.
"""

from typing import TYPE_CHECKING

from cadlib.findings import Finding, Severity
from lifecycle import messages as m
from lifecycle.facts import PUBLISH, Facts, Proposal, Stage, Touched
from lifecycle.merges import Doubt
from lifecycle.policy import BrokenPolicy

if TYPE_CHECKING:
    from lifecycle.gates import Gate, Judgement
    from lifecycle.memory import Memory


def summary(facts: Facts, proposal: Proposal, judgement: "Judgement", memory: "Memory") -> str:
    """The one summary comment: what is missing, findings, then what is published and holds."""
    parts = [f"### {_headline(proposal, judgement)}"]
    if memory.rejected and proposal.stage is Stage.DRAFT:
        sent_back = m.rejected(memory.rejected.person, memory.rejected.reason)
        parts.append(sent_back + ".")
    waits = proposal.stage in {Stage.DRAFT, Stage.PROPOSED, Stage.MERGED}
    if isinstance(proposal.policy, BrokenPolicy):
        parts.append(m.configuration_problems(proposal.policy))
    if waits:
        parts.append(unpublished(proposal))
    if waits and (proposal.configures or not isinstance(proposal.policy, BrokenPolicy)):
        parts += [missing(judgement), _unenforced(proposal)]
    found = [f for v in proposal.verdicts for f in v.findings if f.severity is not Severity.INFO]
    found += proposal.configuration
    if found and proposal.stage is not Stage.PUBLISHED:
        parts.append("**Findings**\n\n" + m.findings(sorted(found, key=severity_first)))
    parts += [_ending(facts, proposal), _packages(proposal), _tag_notes(proposal)]
    parts.append(_changes(proposal))
    if waits:
        parts.append(holding(judgement))
    return "\n\n".join(part for part in parts if part)[: m.MOST_TEXT]


def gates(judgement: "Judgement") -> str:
    """Every gate: what is missing and who can supply it, then what holds, folded."""
    return "\n\n".join(part for part in (missing(judgement), holding(judgement)) if part)


def published(proposal: Proposal, judgement: "Judgement") -> str:
    """What `porchbot/publish` says: what is published beside the changes, the gates, every name."""
    parts = (unpublished(proposal), gates(judgement), _adopted(proposal))
    return "\n\n".join(part for part in (*parts, _rest(proposal, m.MOST_TEXT // 2)) if part)


def unpublished(proposal: Proposal) -> str:
    """What stands in the base branch and no revision holds; "" for nothing."""
    found = [
        (t.package, t.unpublished)
        for t in proposal.touched
        if t.unpublished is not None and not t.unpublished.adopted
    ]
    if not found:
        return ""
    lines = m.change_lines([(package, there.changes) for package, there in found])
    return "\n".join(
        [
            m.also_published(proposal.base_ref),
            "",
            *m.some_lines([m.unpublished(package, there) for package, there in found]),
            "",
            *m.change_list(lines),
        ]
    ).rstrip()


def _adopted(proposal: Proposal) -> str:
    """First revisions of what stands in the base branch since before the bot came."""
    found = [t.unpublished for t in proposal.touched if t.unpublished and t.unpublished.adopted]
    if not found or proposal.stage is Stage.PUBLISHED:
        return ""
    return m.first_revisions(len(found), sum(each.files for each in found), proposal.base_ref)


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
    lines = "\n".join(f"- ✅ **{m.label(gate.name)}**: {gate.actual}" for gate in held)
    return _folded(f"✅ {m.number(len(held), 'gate')} hold{'' if len(held) > 1 else 's'}", lines)


def blocked(judgement: "Judgement") -> str:
    """What is still missing, in one line; "" when nothing is."""
    ordered = sorted(judgement.open, key=lambda gate: gate.state != "blocked")
    return "; ".join(short(gate) for gate in ordered)


def short(gate: "Gate") -> str:
    """One gate that does not hold, in a few words that stand alone."""
    # "0 of 1" or "still running" alone would not say of what.
    if gate.name in {"approved", "rules approved"}:
        return f"{gate.name} by {gate.actual}"
    return f"{gate.name}: {gate.actual}" if gate.name.startswith("check ") else gate.actual


def why(proposal: Proposal, judgement: "Judgement", about: str) -> str:
    """The answer to `/why`: all gates, or what is said about one field."""
    if about:
        return _about(proposal, about)
    if proposal.stage is Stage.PUBLISHED:
        return f"{m.quote(m.revisions(proposal))} is published."
    if not proposal.touched:
        return m.propose_elsewhere(proposal) if proposal.elsewhere else m.NO_PACKAGE_SUMMARY
    if not judgement.open:
        return f"{m.quote(m.revisions(proposal))}: every gate holds.\n\n{gates(judgement)}"
    count = m.number(len(judgement.open), "gate")
    return f"{m.quote(m.revisions(proposal))} waits for {count}.\n\n{gates(judgement)}"


def _about(proposal: Proposal, about: str) -> str:
    """What findings and changes say about a field, however much of its name was given."""
    found = [
        each
        for v in proposal.verdicts
        for each in v.findings
        if about in each.place.field or about in each.place.path
    ]
    changed = [(v.package, tuple(c for c in v.diff if about in str(c))) for v in proposal.verdicts]
    lines = m.change_lines(changed)
    if not found and not lines:
        return (
            f"nothing is said about {m.code(about)}, and this does not change it. `/why` alone"
            " lists what is missing."
        )
    parts = [f"about {m.code(about)}:"]
    if found:
        parts.append("**Findings**\n\n" + m.findings(sorted(found, key=severity_first)))
    if lines:
        parts.append("**Changes**\n\n" + "\n".join(m.change_list(lines)))
    return "\n\n".join(parts)


def merged_not_published(proposal: Proposal, judgement: "Judgement") -> str:
    """The report on a merge whose result is not what was approved, or whose tag is lost."""
    if proposal.once_published:
        lost = [
            f"- {m.tag_lost(t)}. It takes {m.tag_restored(t)}."
            for t in proposal.touched
            if t.tagging.lost
        ]
        return "**Published, and not tagged any more**\n\n" + "\n".join(lost)
    changed = [
        f"- {m.name(t.package)} differs from the proposal"
        + (f", because {', '.join(t.changed_by)} changed it in between" if t.changed_by else "")
        for t in proposal.touched
        if t.tree != t.head_tree and not t.outside
    ]
    changed += [
        f"- the merge also changed {m.name(t.package)}, which the proposal does not show"
        for t in proposal.touched
        if t.outside
    ]
    if proposal.doubt is not None:
        changed.append(
            f"- the bot {proposal.doubt}" if proposal.doubt is Doubt.BASE else f"- {proposal.doubt}"
        )
    what, why = (
        (
            "**Merged, not approved**: the removal of",
            "A removal is approved like any change. `/approve` here approves it as it is; to take"
            " it back, press *Revert*.",
        )
        if proposal.removal
        else (
            "**Merged, not published**:",
            "Nothing is tagged that was not approved at exactly this content. `/approve` here"
            " approves the merge result, and publishes it when the other gates hold.",
        )
    )
    return (
        f"{what} {m.names(t.package for t in proposal.touched)} at"
        f" {m.code(str(proposal.merge_commit)[:10])}.\n\n"
        + "\n".join([*changed, *(f"- {gate.name}: {gate.actual}" for gate in judgement.open)])
        + f"\n\n{why}"
    )


def _line(gate: "Gate") -> str:
    mark = {"waits": "⏳", "blocked": "❌"}[gate.state]
    needed = f" **Needed:** {gate.wanted}." if gate.wanted else ""
    who = f" **Who:** {gate.who}." if gate.who else ""
    return f"- {mark} **{m.label(gate.name)}**: {gate.actual}.{needed}{who}"


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _headline(proposal: Proposal, judgement: "Judgement") -> str:
    what = m.quote(m.revisions(proposal))
    match proposal.stage:
        case Stage.DRAFT:
            return f"Draft of {what}"
        case Stage.PROPOSED if judgement.holds:
            return f"{what} is being published"
        case Stage.PROPOSED:
            return f"{what} is proposed"
        case Stage.MERGED if proposal.once_published:
            return f"Published, and not tagged any more: {what}"
        case Stage.MERGED:
            return f"Merged, not {'approved' if proposal.removal else 'published'}: {what}"
        case Stage.PUBLISHED if any(t.tagging.within is not None for t in proposal.touched):
            return f"Merged, not published by itself: its content is in {what}"
        case Stage.PUBLISHED:
            return f"Published {what}"
        case Stage.CLOSED:
            return f"Closed: {what}"


def _unenforced(proposal: Proposal) -> str:
    """That people can merge past the gates, and the setting that ends it."""
    if proposal.enforced is not False or proposal.stage is not Stage.PROPOSED:
        return ""
    branch = m.code(proposal.base_ref)
    return (
        f"⚠️ {branch} does not require the check `{PUBLISH}`, so *Merge* also works while something"
        " is missing (nothing is tagged then). An administrator can change that: *Settings → Rules"
        f" → Rulesets → New branch ruleset*, target {branch}, *Require status checks to pass*, add"
        f" `{PUBLISH}`."
    )


def _packages(proposal: Proposal) -> str:
    if not proposal.touched:
        return ""
    rows = [
        f"- {m.name(t.package)}: "
        + ("removed; its revisions and tags stay" if t.removed else f"v{t.revision}{_aside(t)}")
        + ("" if proposal.closed else m.also_changed(t.also))
        for t in proposal.touched
    ]
    shown = ["**Packages**", "", *rows[: m.MOST_LISTED]]
    rest = (_rest(proposal, m.MOST_TEXT // 3), _adopted(proposal))
    return "\n\n".join(["\n".join(shown), *(part for part in rest if part)])


def _rest(proposal: Proposal, most: int) -> str:
    """The names of the packages that no list shows: nothing is approved without its name."""
    more = proposal.touched[m.MOST_LISTED :]
    if not more:
        return ""
    return _folded(f"and {m.number(len(more), 'more package')}", m.every(more, most))


def _aside(touched: Touched) -> str:
    if touched.tagging.withdrawn:
        return " (withdrawn)"
    return " (first)" if touched.revision == 1 else ""


def _tag_notes(proposal: Proposal) -> str:
    """What is to be known of tags that we did not make, or that are not as we made them."""
    lines = [
        f"- {m.code(tag.name)} was published before porchbot."
        if tag.before
        else f"- The tag {m.code(tag.name)} was not made by porchbot. It does not count as"
        " published, and its number is used up; delete it if nobody uses it."
        for t in proposal.touched
        for tag in t.tagging.foreign
    ]
    lines += [
        f"- {m.code(tag)} was published, and its tag is gone or was replaced since."
        for t in proposal.touched
        for tag in t.tagging.missing
    ]
    return "\n".join(lines[: m.MOST_LISTED])


def _changes(proposal: Proposal) -> str:
    lines = m.change_lines([(v.package, v.diff) for v in proposal.verdicts])
    if not lines or proposal.stage is Stage.PUBLISHED:
        return ""
    return _folded(m.number(len(lines), "change"), "\n".join(m.change_list(lines)))


def _ending(facts: Facts, proposal: Proposal) -> str:
    match proposal.stage:
        case Stage.PUBLISHED:
            within = m.published_within(proposal)
            tags = ", ".join(
                m.code(f"{t.package}/v{t.revision}" if t.package else f"v{t.revision}")
                for t in proposal.touched
                if not t.removed and not t.tagging.withdrawn and t.tagging.within is None
            )
            tagged = f"Tagged {tags} on {m.code(str(proposal.merge_commit)[:10])}." if tags else ""
            if facts.push_refused and facts.head == proposal.head:
                why = m.push_refused(facts.push_refused)
                return f"{tagged} The branch {m.code(facts.head_ref)} is left: {why}.".strip()
            return f"{tagged}\n\n{within}".strip()
        case Stage.CLOSED:
            return (
                f"The branch {m.code(facts.head_ref)} is left as it is. Reopen this to take it up"
                " again, or push to it and open a new pull request."
            )
        case _:
            return ""


def severity_first(found: Finding) -> tuple[int, str, int, str]:
    """Sort key of findings for people: what blocks first, then by place."""
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    return (order[found.severity], found.place.path, found.place.line or 0, found.message)
