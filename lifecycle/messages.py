"""Everything the bot says to people, in one place.

Longer than 400 lines: everything that is said stands in one place, so that it is read and changed
as one voice.

Same problem, same text: no time stamps, no counters of attempts, lists sorted; so a comment can be
edited in place, and nothing is sent when nothing changed. Text that comes from packages or people
goes through `code` or `quote`, so that it neither mentions, links, closes issues nor breaks out of
its place (threat 22).
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from cadlib.diff.changes import Change
from cadlib.findings import Finding
from lifecycle import access, spelling
from lifecycle import names as names_
from lifecycle.commands import parse as commands
from lifecycle.facts import (
    MOST_SHARED,
    Proposal,
    PushRefusal,
    Stage,
    Touched,
    Unpublished,
    Verdict,
    Version,
)
from lifecycle.merges import Effect
from lifecycle.policy import BrokenPolicy, GuardrailFunction, Policy
from lifecycle.tags import Tagging

if TYPE_CHECKING:
    from lifecycle.access import Allowed, Refused
    from lifecycle.approvals import Fallen, Standing
    from lifecycle.events import Approval, Tampered

MOST_LISTED = 30
"""Rows of one list in a comment or check; the rest is counted. Keeps a summary far below the
65,535 characters that GitHub accepts (docs/design.md, "GitHub: checks and statuses")."""

MOST_TEXT = 60_000
"""Characters of one text; some are left for the hidden record of the summary comment."""

CUT = " […]"
"""Ends a text that had to be cut."""

# --- gates ---

CONFIGURATION_BROKEN = "The configuration of the base branch cannot be read"
CONFIGURATION_WANTED = "a `.porchbot.yaml` that can be read"
CONFIGURATION_WHO = "somebody who may change `.porchbot.yaml` on the base branch"
BREAKS_CONFIGURATION = "This would break the configuration"
IS_DRAFT = "it is a draft"
IS_PROPOSED = "it is proposed"
PROPOSE_WANTED = "`/propose`, or *Ready for review*"
PROPOSE_WHO = "the author, or somebody with write access"
RUNNER_BROKEN = "A function could not be run"
RUNNER_WANTED = "a function runner that answers, and functions that it has"
RUNNER_WHO = "an operator of the bot; then comment `/check`"
NOT_VALIDATED = "Not validated: a function could not be run"
UNRENDERABLE_WANTED = "a rendering that completes: fix the errors below"
PUSH_WANTED = (
    "the rendering committed by hand (the check `porchbot/render` shows the commands), or a rule"
    " that lets the bot push to this branch, then `/render`"
)
PUSH_WHO = "the author; for the rule, an administrator of the repository"
IS_RENDERED = "Rendered output is up to date"
RENDER_WHO = "the author"
BOT_RENDERS = "On a branch below `drafts/`, the bot commits this."
FINDINGS_WANTED = "no errors: fix them at their lines and push"
FINDINGS_WHO = "the author"
IS_VALID = "No errors"
UP_TO_DATE_WHO = "the author"
OBJECTION_WANTED = "their approval, or a dismissal of the review"
NO_OBJECTION = "nobody asked for changes"
HOLD_WANTED = "`/unhold`"
HOLD_WHO = "whoever holds it, or somebody with write access"
NO_HOLD = "nobody holds it"
FRESH_WANTED = "one approval from now on: `/approve`"
FRESH_WHO = "anybody who may approve here"
RECORD_FULL = "too much was asked here for the bot to keep a record of in its comment"
RECORD_FULL_WANTED = "a new pull request from this branch"
RECORD_FULL_WHO = "the author"
ALTERED_ANSWER = "this answer was edited by somebody else, and what it said is not known any more."
CHECK_PASSED = "passed"
CHECK_WANTED = "success"
MERGE_WANTED = "a change of what the forge objects to; then comment `/check`"
MERGE_WHO = "somebody who may change the branch rules, or the author"
MORE_THAN_SHOWN = "The merge would change packages that are not shown here"
MERGE_UNKNOWN = "Git cannot tell what the merge would change"
TAG_WHO = "somebody who may push and delete tags"
TAG_ALLOWED = "a rule for tags that lets the bot make them; then comment `/check`"
SAME_HEAD_WANTED = "all of them ready: a check belongs to the commit they share"
SAME_HEAD_WHO = "the author"
CROWDED = f"More than {MOST_SHARED} other proposals share this commit"
CROWDED_WANTED = "a commit of its own, or the others closed"
CROWDED_WHO = "the author, or who may close pull requests"
CROWDED_SUMMARY = (
    "A check belongs to a commit, so it passes when every open pull request of the commit is ready,"
    f" and the bot looks at no more than {MOST_SHARED} others. Push another commit to the branch"
    " (`git commit --allow-empty`), or close the pull requests that are not needed; the checks"
    " are shown again by themselves."
)
RULES_APPROVED = "The change of the rules is approved"
NO_PACKAGE = "No package is touched"
NO_PACKAGE_SUMMARY = "Nothing here for porchbot: this changes no package, so nothing is published."
PUBLISHING_SUMMARY = "Every gate holds."
APPROVED_AND_REJECTED = "The same comment sends it back, so the approval does not count."
NOTHING_TO_UNAPPROVE = "You have no approval here that counts, so there is nothing to take back."
RENDER_OF_FORK = (
    "`/render` refused: the branch is in a fork, and the bot pushes to this repository only. The"
    " check `porchbot/render` shows what differs and the commands that render it."
)
EDITED = "Edits are not commands: nobody could tell afterwards what was asked. Write a new comment."


NOT_LOOKED_AT = "The bot could not look at this proposal"
MERGED_NOT_PUBLISHED = "Merged, not published"


def large_folder(tree: str, most: int) -> str:
    """Why a look ends at a folder."""
    return (
        f"A folder holds more than {most} entries (tree {tree}), which is more than the bot reads."
        " Distribute them over several folders, also in what this is to be merged into."
    )


def large_commit(sha: str, most: int) -> str:
    """Why a look ends at a commit."""
    return (
        f"Commit {sha} has more than {most} bytes before its message, which is more than the bot"
        " reads. Make the change anew as another commit."
    )


def not_looked_at(incident: str, since: datetime, said: str = "") -> str:
    """What is shown while looks fail; `said` is why, where it is not for an operator to find."""
    if said:
        return f"{said}\n\nThe bot tries again by itself, and this goes when it succeeds."
    return (
        f"Since {since:%Y-%m-%d %H:%M} UTC the bot fails when it looks at this proposal. It tries"
        " again by itself, and this goes when it succeeds. If it stays, ask whoever operates the"
        f" bot, and name `{incident}`: it is in the bot's log."
    )


def configuration_broken(policy: BrokenPolicy) -> str:
    """Why nothing can be judged."""
    count = len(policy.problems)
    return f"`.porchbot.yaml` on the base branch has {number(count, 'problem')}"


APPROVE_UNJUDGED = (
    "`/approve` refused: a function could not be run, so nobody knows yet what would be approved."
    " Approve again when `porchbot/validate` shows a result."
)


def approve_unjudged(policy: BrokenPolicy) -> str:
    """The answer to `/approve` while nothing can be judged."""
    return (
        f"`/approve` refused: {configuration_broken(policy)}. Mend it there, as the summary says,"
        " and approve again."
    )


def configuration_problems(policy: BrokenPolicy) -> str:
    """Every problem of the configuration, with what to do."""
    lines = [f"- {code(str(p.place))}: {p.problem}. {p.fix}." for p in policy.problems]
    return "Nothing is published until this is mended.\n\n" + "\n".join(lines)


def runner_broken(verdicts: Iterable[Verdict]) -> str:
    """Which functions could not be run."""
    return "; ".join(f"{name(v.package)}: {v.broken}" for v in verdicts)


def ask_operator(fix: str) -> str:
    """What an author can do about a function that only an operator can allow.

    Args:
        fix: What the operator is to do, a sentence.
    """
    return (
        "Use a function that runs here (`porchbot fn list`), or ask the administrators of this"
        f" repository, or whoever operates the bot, for this: {fix[:1].lower()}{fix[1:]}"
    )


def not_rendered(verdicts: Sequence[Verdict], refused: PushRefusal | None = None) -> str:
    """How many files differ from their rendering, and why the bot could not push it."""
    files = sum(len(v.changes) for v in verdicts)
    text = f"{number(files, 'file')} of {names(v.package for v in verdicts)} not rendered"
    return f"{text}; {push_refused(refused)}" if refused else text


def push_refused(refused: PushRefusal) -> str:
    """Why the bot could not push to the branch, in the forge's own words."""
    return f"the forge refused the bot's push: {quote(refused.reason)}"


def render_refused(refused: PushRefusal) -> str:
    """The answer to `/render` where a rule of the forge forbids the push."""
    return (
        f"`/render` refused: {push_refused(refused)}. Commit the rendering yourself (the check"
        " `porchbot/render` shows the commands), or let an administrator allow the bot to push"
        " to this branch, then comment `/render` again."
    )


def unrenderable(verdicts: Iterable[Verdict]) -> str:
    """Which packages could not be rendered to the end."""
    return f"{names(v.package for v in verdicts)} could not be rendered"


def unrenderable_summary(verdicts: Iterable[Verdict]) -> str:
    """Why packages could not be rendered; each has a finding that says what to do."""
    return findings([found for v in verdicts for found in v.blocking])


def render_wanted(*, bot_pushes: bool) -> str:
    """How the proposal gets rendered."""
    if bot_pushes:
        return "a function that settles; or `/render`, where the rules changed since the rendering"
    return "the rendering committed: `kpt fn render`, or `/render` where the bot may push"


def blocking_findings(count: int) -> str:
    """How many findings of severity error there are."""
    return number(count, "error")


def outdated(touched: Iterable[Touched], base_ref: str) -> str:
    """Which packages the base branch changed meanwhile."""
    return "; ".join(
        f"{name(t.package)} changed in {code(base_ref)} since"
        + (f" ({', '.join(t.changed_by)})" if t.changed_by else "")
        for t in touched
    )


def also_changed(numbers: Sequence[int]) -> str:
    """Which other open proposals change the same package: the first to be published wins."""
    if not numbers:
        return ""
    # Not how many: that would be news for each of them whenever one more is opened.
    more = " and more" if len(numbers) > 5 else ""
    return "; also changed by " + ", ".join(f"#{n}" for n in numbers[:5]) + more


def merge_base_wanted(base_ref: str) -> str:
    """How to bring a proposal up to date."""
    return f"merge {code(base_ref)} into this branch, so that both changes are in it"


def merge_effect(effect: Effect, base_ref: str) -> str:
    """What a merge would do that the proposal does not show."""
    if effect.unknown:
        return (
            f"git takes too long to work out the merge into {code(base_ref)}, so nobody knows what"
            " it would change"
        )
    if effect.unrelated:
        return f"it has no history in common with {code(base_ref)}"
    if effect.conflicts:
        return f"it conflicts with {code(base_ref)} in {_some(map(code, effect.conflicts))}"
    parts = [f"leave {names(effect.packages)} other than shown here"] if effect.packages else []
    parts += [f"change {_some(map(code, effect.files))}"] if effect.files else []
    return f"the merge would {' and '.join(parts)}, which the changes shown here leave out"


def mend_merge(said: str, base_ref: str) -> str:
    """What is wrong with a merge, and how to mend it, as sentences."""
    return f"{said[:1].upper()}{said[1:]}. To mend it, {merge_base_wanted(base_ref)}."


def is_up_to_date(base_ref: str) -> str:
    """The base has nothing newer."""
    return f"{code(base_ref)} has no newer change of these packages"


def approvals(standing: "Standing") -> str:
    """How many approvals count, and whose do not."""
    text = f"{len(standing.counted)} of {standing.needed}"
    if standing.counted:
        text += f" ({people(a.person for a in standing.counted)})"
    fallen = [f"{person(who)}: {why}" for who, why in sorted(standing.fallen.items())]
    return text + ("; not counted: " + ", ".join(fallen) if fallen else "")


def approvals_wanted(standing: "Standing", *, merged: bool, authors_known: bool) -> str:
    """What is missing."""
    of = " of the merge result" if merged else " of this content"
    text = f"{number(standing.missing, 'more approval')}{of}: `/approve`"
    if not authors_known:
        text += "; one more than usual, because who wrote or pushed a commit is unknown"
    return text


def rules_wanted(standing: "Standing", *, authors_known: bool) -> str:
    """What is missing for a change of the rules, and the way out where nobody else is there."""
    text = f"{number(standing.missing, 'more approval')} of the changed rules: `/approve`"
    if not authors_known:
        text += "; one more than usual, because who wrote or pushed a commit is unknown"
    return (
        f"{text}. Authors never approve a change of the rules: where nobody else is there to do"
        " it, an administrator can merge past this check, by the bypass list of the branch's"
        " ruleset or *Do not allow bypassing* left off in its protection"
    )


def approvals_who(policy: Policy, authors: Iterable[str]) -> str:
    """Who may approve."""
    may = " or ".join(sorted(str(source) for source in policy.approve.sources))
    text = f"somebody with {may}" if may else access.NOBODY
    but = sorted(authors)
    if but and not policy.approve.self_allowed:
        text += f", not {people(but)} (who wrote it)"
    return text


def objections(logins: Iterable[str]) -> str:
    """Who asked for changes."""
    return f"{people(logins)} asked for changes"


def held(by: str, reason: str) -> str:
    """Who holds it and why."""
    return f"{person(by)} holds it" + (f": {quote(reason)}" if reason else "")


def still_held(logins: Iterable[str]) -> str:
    """The answer to `/unhold` where holds of others stay."""
    return f"your hold is lifted; {people(logins)} still holds this, which takes write access."


def not_fresh(tampered: Sequence["Tampered"]) -> str:
    """Why approvals of before are not enough: what was done to our comments."""
    if not tampered:
        return "this was open before the bot kept a record of it"
    deleted = sum(1 for one in tampered if one.what == "deleted")
    done = [
        f"{number(count, 'comment')} of the bot {'was' if count == 1 else 'were'} {what}"
        for count, what in ((deleted, "deleted"), (len(tampered) - deleted, "edited"))
        if count
    ]
    return " and ".join(done) + " by somebody else"


def check_state(state: str) -> str:
    """How a required check stands."""
    return {"missing": "not reported yet", "pending": "still running"}.get(state, state)


def check_who(check: str) -> str:
    """Who can make a required check pass."""
    return f"whatever reports {code(check)}"


def merge_refused(reason: str) -> str:
    """The forge's own reason, word for word."""
    return f"the forge refused to merge: {quote(reason)}"


def tag_refused(reason: str) -> str:
    """The forge's own reason, word for word."""
    return f"the forge refused the tag: {quote(reason)}"


def tag_clash(touched: Touched) -> str:
    """A tag that keeps git from holding ours."""
    tag = names_.spelled(touched.package, touched.revision)
    return f"git cannot hold the tag {code(tag)} beside the tag {_tag(touched.tagging.clash)}"


def room_for_tag(tagging: Tagging) -> str:
    """How to make room for a tag."""
    return f"no tag {_tag(tagging.clash)}: {code(f'git push origin :{tagging.clash}')}"


def tag_lost(touched: Touched) -> str:
    """What became of a tag that we made."""
    tag = names_.spelled(touched.package, touched.revision)
    return f"{code(tag)} was published, and its tag is {touched.tagging.lost}"


def tag_restored(touched: Touched) -> str:
    """How to bring a tag back, or to say that it is gone for good."""
    ref = f"refs/tags/{names_.spelled(touched.package, touched.revision)}"
    made = touched.tagging.tag
    again = f": {code(f'git push --force origin {made}:{ref}')}" if made else ""
    return f"the tag as it was{again}; or the revision withdrawn in `.porchbot/ledger.yaml`"


def _tag(ref: str) -> str:
    return code(ref.removeprefix("refs/tags/"))


def same_head(numbers: Iterable[int]) -> str:
    """Other proposals of the same commit that are not ready."""
    others = ", ".join(f"#{n}" for n in sorted(numbers))
    return f"the same commit is proposed in {others}, which is not ready"


# --- what is sent: proposals, commits, tags ---


def proposal_title(subjects: Sequence[str], packages: Sequence[str], head_ref: str) -> str:
    """Title of the pull request that the bot opens for a draft: what its commits say they do.

    Args:
        subjects: First lines of its commits, oldest first.
        packages: What it changes.
        head_ref: Its branch.
    """
    said = [title for subject in subjects if (title := plain_line(subject))]
    if said:
        more = f" (and {number(len(said) - 1, 'more commit')})" if len(said) > 1 else ""
        return said[0][: 200 - len(more)] + more
    workspace = head_ref.rsplit("/", 1)[-1]
    shown = ", ".join(_one_line(p) or "root package" for p in packages[:3])
    rest = f" and {len(packages) - 3} more" if len(packages) > 3 else ""
    return plain_line(f"{shown}{rest}: {workspace}")[:200]


def proposal_body(packages: Sequence[str], pusher: str) -> str:
    """Text of the pull request that the bot opens for a draft."""
    by = f", pushed by @{pusher}" if pusher else ""
    return (
        f"Draft of {names(packages)}{by}.\n\n"
        "Push to this branch until it is as you want it, then comment `/propose` or press"
        " *Ready for review*. `/help` lists what else can be asked."
    )


def render_commit(packages: Sequence[str], trailers: Sequence[str]) -> str:
    """Message of a render commit."""
    shown = ", ".join(committed(p) or "root package" for p in packages)
    return f"Render {shown}"[:200] + "\n\n" + "\n".join(trailers)


def merge_title(proposal: Proposal) -> str:
    """First line of the merge commit."""
    shown = ", ".join(
        f"{committed(t.package) or 'root package'} v{t.revision}"
        for t in proposal.touched
        if not t.removed
    )
    return f"Publish {shown} (#{proposal.number})" if shown else f"Merge #{proposal.number}"


def merge_message(proposal: Proposal, approvers: Sequence[str], trailers: Sequence[str]) -> str:
    """The rest of the merge commit's message, with a trailer for each package."""
    approved = f"Approved by: {', '.join(approvers)}\n" if approvers else ""
    # With words of ours before it: alone on its line a title could be a trailer.
    title = f"Title: {committed(proposal.title)}"
    return f"{title}\n{approved}\n" + "\n".join(trailers)


def tag_message(
    repository: str,
    proposal: Proposal,
    touched: Touched,
    approvers: Sequence[str],
    versions: Mapping[str, Version],
) -> str:
    """Message of a release tag: what stands behind this revision.

    Source: docs/design.md, "Release tags".
    """
    lines = [
        f"{committed(touched.package) or repository} v{touched.revision}",
        "",
        f"Package: {_one_line(touched.package) or '.'}",
        f"Revision: v{touched.revision}",
        f"Proposal: {repository}#{proposal.number}",
        f"Approved-by: {', '.join(approvers) or 'nobody needed to'}",
        f"Tree: {touched.tree}",
        *(
            _one_line(f"Function: {image} ({ran.asked}) {ran.digest}")
            for image, ran in sorted(versions.items())
        ),
    ]
    return "\n".join(lines) + "\n"


# --- check runs ---


def publishing(proposal: Proposal) -> str:
    """Title of `porchbot/publish` when every gate holds."""
    return f"Publishing {revisions(proposal)}"


def published_elsewhere(proposal: Proposal) -> str:
    """Title of `porchbot/publish` where nothing is published from the base branch."""
    base, there = plain_line(proposal.base_ref), plain_line(" or ".join(proposal.elsewhere))
    return f"Not judged: nothing is published from {base}, but from {there}"[:200]


def propose_elsewhere(proposal: Proposal) -> str:
    """Why the check stays unfinished there, and what to do."""
    base, there = code(proposal.base_ref), _some(map(code, proposal.elsewhere))
    return (
        f"Nothing is published from {base}, so nothing is judged here. Proposed to {there}, this"
        " commit would need approval. A check belongs to a commit, whatever it is proposed to: if"
        f" this one passed, the commit could be merged into {there} without approval.\n\n"
        f"- To publish it, change the base branch of this pull request to {there}.\n"
        f"- To merge it into {base}, this check is not needed. If a rule of {base} requires it, an"
        f" administrator can take {base} out of that rule: *Settings → Rules → Rulesets*."
    )


def published(proposal: Proposal) -> str:
    """Title of `porchbot/publish` after publishing."""
    return f"Published {revisions(proposal)}"


def waiting(proposal: Proposal, missing: Sequence[str]) -> str:
    """Title of `porchbot/publish` while something is missing, each in a few words."""
    more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    return f"{revisions(proposal)} waits: {plain(missing[0])}{more}"[:200]


def findings(found: Sequence[Finding]) -> str:
    """Findings as a list: where, what, what to do."""
    if not found:
        return "No findings."
    lines = [finding(one) for one in found[:MOST_LISTED]]
    if len(found) > MOST_LISTED:
        lines.append(f"- and {len(found) - MOST_LISTED} more: see the annotations of the check")
    return "\n".join(lines)


HIDDEN_FIX = "Look at them, or take them out of .krmignore; other tools apply them all the same"


def hidden(resources: int, paths: Sequence[str]) -> str:
    """Files that no function sees, as plain text."""
    shown = ", ".join(paths[:MOST_LISTED])
    more = f" and {len(paths) - MOST_LISTED} more" if len(paths) > MOST_LISTED else ""
    return (
        f"no function and no guardrail sees {number(resources, 'resource')} in"
        f" {number(len(paths), 'file')} that this excludes: {shown}{more}"
    )


def finding(found: Finding) -> str:
    """One finding as a list item."""
    by = f" ({code(found.function)})" if found.function else ""
    said = quote(f"{_open_end(found)}{_mend(found)}")
    return f"- **{found.severity}** {code(str(found.place))}: {said}{by}"


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


def functions_run(verdicts: Sequence[Verdict]) -> str:
    """Which functions were run."""
    count = sum(v.functions for v in verdicts)
    rows = sorted({f"- {code(i)} ({n.asked})" for v in verdicts for i, n in v.versions.items()})
    return f"{number(count, 'function')} run on {names(v.package for v in verdicts)}." + (
        "\n\n" + "\n".join(rows) if rows else ""
    )


def render_summary(unrendered: Sequence[Verdict], policy: Policy, *, settles: bool) -> str:
    """Which files differ from their rendering, and how to mend it."""
    paths = [path for v in unrendered for path in sorted(v.changes)]
    shown = [f"- {code(path)}" for path in paths[:MOST_LISTED]]
    if len(paths) > MOST_LISTED:
        shown.append(f"- and {len(paths) - MOST_LISTED} more")
    lines = change_lines([(v.package, v.rendering) for v in unrendered])
    shown += ["", *change_list(lines)] if lines else []
    if settles:
        commands_ = "\n".join(render_commands(unrendered, policy))
        mend = (
            "Render and commit, or comment `/render` where the bot may push to the branch:"
            f"\n\n```\n{commands_}\n```"
        )
    else:
        mend = (
            "The bot rendered once and rendering again changes these files again. Where the rules"
            " changed since, comment `/render`. Otherwise a function never settles: make it give"
            " the same result for its own output."
        )
    return "These files differ from their rendering:\n\n" + "\n".join(shown) + "\n\n" + mend


def render_commands(
    unrendered: Sequence[Verdict], policy: Policy, program: str = "kpt"
) -> list[str]:
    """What makes the rendering by hand: the pipelines, then what the repository adds to them."""
    return [
        _one_line(f"{program} fn {command}")
        for v in unrendered
        for command in (
            f"render {shlex.quote(v.package or '.')}",
            *(_eval_command(v.package or ".", function) for function in policy.mutators),
        )
    ]


def _eval_command(package: str, function: GuardrailFunction) -> str:
    given = [shlex.quote(f"{key}={value}") for key, value in (function.config_map or {}).items()]
    words = ["eval", shlex.quote(package), "--image", shlex.quote(function.image)]
    return " ".join([*words, *(["--", *given] if given else [])])


# --- conversation ---


def answer(login: str, texts: Sequence[str]) -> str:
    """One answer to one comment."""
    return (f"@{login} " + "\n\n".join(texts))[:MOST_TEXT]


def approved(approval: "Approval", proposal: Proposal, *, merged: bool, blocked: str) -> str:
    """The answer to an accepted `/approve`.

    Args:
        approval: What was approved.
        proposal: The proposal.
        merged: The merge result was approved, not the head.
        blocked: What is still missing; "" when nothing is.
    """
    of = "the merge result" if merged else "head"
    still = f" Still blocked: {blocked}." if blocked else ""
    what = f"{of} {code(approval.head[:10])}: {quote(revisions(proposal))}"
    return f"Approved.{still}\n\nYou approved {what}.{_all(proposal.touched)}"


def _all(touched: Sequence[Touched]) -> str:
    """Every package by its name, folded, where the line before names only the first."""
    if len(touched) <= 3:
        return ""
    names_all = every(touched, MOST_TEXT // 2)
    return (
        f"\n\n<details><summary>All {len(touched)} packages</summary>\n\n{names_all}\n\n</details>"
    )


def approve_after_render(head: str) -> str:
    """An approval that the coming render commit would void."""
    return (
        f"{code(head[:10])} is about to be replaced by a render commit, and an approval does not"
        " carry over. Look at the new head and approve that."
    )


def head_moved(head: str) -> str:
    """An approval whose writer may not have seen the head."""
    return (
        f"the head moved to {code(head[:10])} after you wrote, or at the same moment. Look at it"
        " and approve again."
    )


def notice(owners: Iterable[str], text: str) -> str:
    """A comment that tells people of their proposal; they are mentioned."""
    return " ".join([*(f"@{login}" for login in sorted(owners)), text])[:MOST_TEXT]


def went_out_of_date(touched: Sequence[Touched], base_ref: str) -> str:
    """The base branch changed a package after the proposal left it."""
    return (
        f"this proposal is out of date: {outdated(touched, base_ref)}. To go on,"
        f" {merge_base_wanted(base_ref)}."
    )


def rules_merged(standing: "Standing", base_ref: str) -> str:
    """Rules were merged past their approvals; they judge what comes now."""
    return (
        f"the rules of {code(base_ref)} were changed by this merge without the approvals that a"
        f" change of the rules needs: {approvals(standing)}. They are in force now. To take them"
        " back, revert this pull request; to keep such merges out, require `porchbot/publish` for"
        f" {code(base_ref)}."
    )


def command_in_review(body: str) -> str:
    """Commands stand in a review, where they are not obeyed."""
    found = dict.fromkeys(type(each).__name__.lower() for each in commands.parse(body).commands)
    words = " and ".join(code(f"/{word}") for word in found)
    return (
        f"{words} in a review was not obeyed: commands are"
        " read in comments of the conversation. Write it there, at the start of a line of its own."
    )


def fails_after_push(proposal: Proposal, errors: int) -> str:
    """Somebody who does not own the proposal pushed what fails."""
    return (
        f"`porchbot/validate` fails with {number(errors, 'error')} after a push by"
        f" {person(proposal.pushed_by)}, at {code(proposal.head[:10])}. The check shows each at its"
        " line."
    )


def fails_now(proposal: Proposal, errors: int) -> str:
    """The same head passed before: the rules changed, or a function that they name."""
    return (
        f"`porchbot/validate` passed at {code(proposal.head[:10])} and now fails there with"
        f" {number(errors, 'error')}: nobody pushed, so the rules on {code(proposal.base_ref)} or a"
        " function changed. The check shows each at its line."
    )


def rejected_notice(owners: Iterable[str], login: str, reason: str) -> str:
    """The answer to `/reject`, which is written for whoever has to go on."""
    others = " ".join(f"@{owner}" for owner in sorted(owners) if owner != login)
    text = f"{rejected(login, reason)}. It is a draft again: push the changes, then `/propose`."
    return f"{others}: {text}" if others else text


def approved_too_early(why: "Fallen") -> str:
    """An approval given before what stands here now."""
    return f"`/approve` refused: {why}. Look at it as it is now and approve again."


def rejected(login: str, reason: str) -> str:
    """Why a proposal went back to draft; kept in the summary."""
    return f"{person(login)} sent it back" + (f": {quote(reason)}" if reason else "")


def wrong_stage(command: commands.Command, stage: Stage) -> str:
    """A command that means nothing at this stage."""
    word = code(f"/{commands.name(command)}")
    match stage:
        case Stage.DRAFT:
            return f"{word} is for proposals; this is a draft. `/propose` it first."
        case Stage.PROPOSED:
            return f"{word} is not for a proposal that is still open."
        case Stage.MERGED:
            return (
                f"{word} is for open proposals; this one is merged. `/why` tells what it waits for."
            )
        case Stage.PUBLISHED:
            return f"{word} comes too late: this is published. Open a new proposal."
        case Stage.CLOSED:
            return f"{word} is for open proposals; this one is closed. Reopen it first."


def nothing_held() -> str:
    """`/unhold` of what is published and was not held any more."""
    return "Nothing is held: this is published."


def access_refused(command: commands.Command, refused: "Refused", proposal: Proposal) -> str:
    """Somebody without the right, and who has it."""
    word = code(f"/{commands.name(command)}")
    if refused.is_author and isinstance(proposal.policy, Policy):
        return (
            f"{word} refused: you wrote, pushed or asked for a part of this, and authors do not"
            f" approve their own work here. Ask {approvals_who(proposal.policy, proposal.authors)}."
        )
    return f"{word} refused: it takes {refused.needed}, and you have {refused.actual}."


def lacking(verdict: "Allowed | Refused", proposal: Proposal) -> str:
    """What a command takes that somebody lacks; "" where they may use it."""
    if not isinstance(verdict, access.Refused):
        return ""
    if verdict.is_author and isinstance(proposal.policy, Policy):
        return f"{approvals_who(proposal.policy, proposal.authors)}"
    return verdict.needed


def not_understood(problem: commands.Problem) -> str:
    """A word that is nearly a command, or a command with arguments it does not take."""
    text = problem.text()
    end = "" if text.endswith("?") else "."
    return f"not understood: {text}{end} `/help` lists the commands."


def help_text(rows: Sequence[tuple[str, str, str]]) -> str:
    """What this person can ask for here, and what takes somebody else.

    Args:
        rows: How each command is written, what it does, and what it takes that this person
            lacks; "" where they may.
    """
    may = [f"- `/{usage}`: {what}" for usage, what, lacks in rows if not lacks]
    others = [f"- `/{usage}`: {what} (takes {lacks})" for usage, what, lacks in rows if lacks]
    return "\n".join(
        ["you can ask for this here, at the start of a line:", "", *may]
        + (["", "This takes somebody else:", "", *others] if others else [])
    )


def change_lines(changes: Sequence[tuple[str, Iterable[Change]]]) -> list[str]:
    """Changes as lines; with several packages each names its own, as most have files alike."""
    several = len(changes) > 1
    return [
        f"{package}/{change}" if several and package else str(change)
        for package, found in changes
        for change in found
    ]


def also_published(base_ref: str) -> str:
    """What whoever approves publishes beside the changes of the proposal."""
    return (
        f"⚠️ **Also published**: {code(base_ref)} holds changes that were never published. An"
        " approval here publishes them as well:"
    )


def unpublished(package: str, there: Unpublished) -> str:
    """What is unpublished of one package, compared with what, and what brought it in."""
    if there.revision:
        since = f"differs from {code(names_.spelled(package, there.revision))}"
    elif there.published:
        since = "was changed since porchbot came, and has no revision of porchbot's"
    else:
        since = "has no revision of porchbot's"
    by = [source if source.startswith("#") else code(source) for source in there.sources]
    return f"{name(package)} {since}" + (f" ({_some(by)})" if by else "")


def first_revisions(packages: int, files: int, base_ref: str) -> str:
    """That a first revision publishes what was there before the bot came."""
    one = packages == 1
    which = "The first revision also publishes" if one else "First revisions also publish"
    what = number(files, "file") if files else "everything"
    of = "" if one else f" of {packages} packages"
    stand = "stand" if files > 1 else "stands"
    return f"{which} {what}{of} that {stand} in {code(base_ref)} since before porchbot came."


def published_within(proposal: Proposal) -> str:
    """Which later proposal published what this one merged, for each package."""
    return "\n".join(
        f"- The content of {name(t.package)} here was published with"
        f" {code(names_.spelled(t.package, t.revision))}"
        + (f" by {t.tagging.within}." if t.tagging.within else ".")
        for t in proposal.touched[:MOST_LISTED]
        if t.tagging.within is not None
    )


def every(touched: Iterable[Touched], most: int) -> str:
    """The names of packages with their revisions, in Markdown.

    Args:
        touched: The packages.
        most: Characters; what has no room is counted.
    """
    names_left = [
        f"{name(t.package)} {'removed' if t.removed else f'v{t.revision}'}" for t in touched
    ]
    shown: list[str] = []
    room = most
    for each in names_left:
        room -= len(each) + 2
        if room < 0:
            break
        shown.append(each)
    more = len(names_left) - len(shown)
    return ", ".join(shown) + (f", and {number(more, 'package')} without room here" if more else "")


def some_lines(lines: Sequence[str]) -> list[str]:
    """Lines as a list of limited length."""
    shown = [f"- {line}" for line in lines[:MOST_LISTED]]
    return shown + ([f"- and {len(lines) - MOST_LISTED} more"] if len(lines) > MOST_LISTED else [])


def change_list(lines: Sequence[str]) -> list[str]:
    """Changes as a list of limited length."""
    shown = [f"- {code(line)}" for line in lines[:MOST_LISTED]]
    return shown + ([f"- and {len(lines) - MOST_LISTED} more"] if len(lines) > MOST_LISTED else [])


# --- pieces ---


def revisions(proposal: Proposal) -> str:
    """What a proposal publishes, such as "net/core v5, net/edge v2"; plain text."""
    shown = [
        f"{_one_line(t.package) or 'root package'} "
        + ("removed" if t.removed else f"v{t.revision}")
        for t in proposal.touched
    ]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    rules = "a change of the rules" if proposal.configures else "nothing"
    return ", ".join(shown[:3]) + more or rules


def name(package: str) -> str:
    """A package's name in Markdown."""
    return code(package) if package else "the root package"


def names(packages: Iterable[str]) -> str:
    """Several packages in Markdown, sorted."""
    return _some(name(p) for p in sorted(packages))


def _some(items: Iterable[str]) -> str:
    """The first five of a list; the rest is counted."""
    shown = list(items)
    more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
    return ", ".join(shown[:5]) + more


def label(gate: str) -> str:
    """A gate's name in Markdown; those of checks and tags are somebody else's text."""
    kind, _, rest = gate.partition(" ")
    return f"{kind} {code(rest)}" if kind in {"check", "tag"} and rest else gate


def person(login: str) -> str:
    """A person, without notifying them."""
    return code(login)


def people(logins: Iterable[str]) -> str:
    """Several people, sorted, without notifying them."""
    return ", ".join(person(login) for login in sorted(logins))


def code(text: str) -> str:
    """Any text as a code span that it cannot break out of."""
    line = _one_line(text)
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}" if line else "``` ```"


def quote(text: str) -> str:
    """Text of others on one line, with all that Markdown or a forge acts on made harmless.

    It is never put at the start of a line, where a "/" would make it a command to other bots.
    """
    line = _one_line(text)[:1000]
    line = re.sub(r"([\\`*_{}\[\]<>|~&])", r"\\\1", line)
    # An empty comment stops mentions and issue links, and leaves nothing in what people copy.
    return re.sub(r"(@|#|\bGH-)(?=\w)", r"\1<!-- -->", line, flags=re.IGNORECASE)


def committed(text: str) -> str:
    """Text of others for the message of a commit or tag: on one line, and without effect there.

    Forges close issues that a commit on the default branch names behind a word like "fixes", and
    link people and issues; a space between keeps it readable and ends that.
    """
    line = re.sub(r"https?://", "", _one_line(text), flags=re.IGNORECASE)
    return re.sub(r"([@#!]|\bGH-)(?=\w)", r"\1 ", line, flags=re.IGNORECASE)


def _one_line(text: str) -> str:
    return spelling.shown(_joined(text))


def _joined(text: str) -> str:
    # Names of files need not be UTF-8; what stands for their bytes can be sent nowhere.
    return " ".join(text.encode("utf-8", "replace").decode().split())


def plain_line(text: str) -> str:
    """Text of others as a title: one line, without what cannot be seen, and mentioning nobody.

    A title is no Markdown: nothing in it can be escaped.
    """
    line = spelling.shown("".join(char for char in _joined(text) if char.isprintable()))
    return re.sub(r"(?<!\w)@(?=\w)", "", line).removeprefix("kpt:").strip()


def plain(markdown: str) -> str:
    """Titles of check runs are plain text."""
    return markdown.replace("<!-- -->", "").replace("`", "").replace("\\", "")


def number(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count} {noun}" + ("" if count == 1 else "s")
