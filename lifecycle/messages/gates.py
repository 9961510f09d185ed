"""Texts of the gates: status, what is needed, and who can supply it.

Longer than 400 lines: the texts of a gate stand beside those of the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from lifecycle import names as names_
from lifecycle.approvals import Approvals, Fallen
from lifecycle.facts.checks import THREADS, CheckState
from lifecycle.facts.commits import MOST_SHARED, PushRefusal
from lifecycle.facts.merging import MergeFailure, MergeObstacle, MergeWait
from lifecycle.facts.packages import Touched
from lifecycle.facts.verdicts import ReadinessGate, Verdict
from lifecycle.ledger import LedgerChange
from lifecycle.merges import Effect
from lifecycle.messages import rights
from lifecycle.messages.markdown import (
    MOST_LISTED,
    code,
    name,
    names,
    number,
    people,
    person,
    quote,
    shell,
    some,
    users,
)
from lifecycle.policy import BrokenPolicy
from lifecycle.rights import Allowed, Refused, Unsure
from lifecycle.tags import Tagging, TagLoss

if TYPE_CHECKING:
    from lifecycle.events import Tampered

APPROVED, RULES_APPROVED = "approved", "rules approved"
CHECK = "check "
CONFIGURATION_WANTED = "a `.porchbot.yaml` that can be read"
CONFIGURATION_WHO = "somebody who may change `.porchbot.yaml` on the base branch"
IS_DRAFT = "it is a draft"
COMMANDS_WANTED = "that upstream, or the comment deleted; after some tries the command is refused"
COMMANDS_WHO = "nobody: it is tried again by itself"
IS_PROPOSED = "it is proposed"
PROPOSE_WANTED = "`/propose`, or *Ready for review*"
PROPOSE_WHO = "the author, or somebody with write access"
RUNNER_WANTED = "a function runner that responds and provides these functions"
RUNNER_WHO = "an operator of the bot; then comment `/check`"
UNRENDERABLE_WANTED = "a rendering that completes: fix the errors below"
PUSH_WANTED = (
    "the rendering committed by hand (the check `porchbot/render` shows the commands), or a rule"
    " that lets the bot push to this branch, then `/render`"
)
PUSH_WHO = "the author; for the rule, an administrator of the repository"
IS_UNUSED = "no package on this branch uses what is removed as its upstream"
UNUSED_WANTED = (
    "those packages removed as well, or given another upstream (`upstream` and `upstreamLock` in"
    " their Kptfiles)"
)
UNUSED_WHO = "the author"
IS_RENDERED = "Rendered output is up to date"
RENDER_WHO = "the author"
FINDINGS_WANTED = "no errors: fix them at their lines and push"
FINDINGS_WHO = "the author"
IS_VALID = "No errors"
READY_WANTED = (
    "status `True`, in `status.conditions`, for each condition that `info.readinessGates` names, in"
    " the Kptfile of this branch"
)
READY_WHO = "the author, or the function that sets it"
UP_TO_DATE_WHO = "the author"
OBJECTION_WANTED = "their approval, or a dismissal of the review"
NO_OBJECTION = "nobody requested changes"
HOLD_WANTED = "`/unhold`"
HOLD_WHO = "the person who holds it, or somebody with write access"
NO_HOLD = "nobody holds it"
NOT_ASKED = "nobody commented `/approve`, and here a review alone does not start the merge"
ASKED_WANTED = "`/approve`"
FRESH_WANTED = "a new approval: `/approve`"
FRESH_WHO = "anybody who may approve here"
RECORD_FULL = "this pull request has had more commands than the bot can keep a record of"
RECORD_FULL_WANTED = "a new pull request from this branch"
RECORD_FULL_WHO = "the author"
CHECK_PASSED = "passed"
CHECK_WANTED = "success"
MERGE_WHO = "somebody who may change the branch rules, or the author"
TAG_WHO = "somebody who may push and delete tags"
TAG_ALLOWED = "a tag rule that lets the bot create them; then comment `/check`"
TAG_DELETABLE = (
    "a rule for tags that lets the bot delete them: *Settings → Rules → Rulesets*, the bot's App in"
    " the bypass list of each ruleset that restricts deletions of these tags; then comment `/check`"
)
SAME_HEAD_WANTED = "all of them ready: a check belongs to the commit they share"
SAME_HEAD_WHO = "the author"
CROWDED = f"More than {MOST_SHARED} other proposals share this commit"
CROWDED_WANTED = "a commit of its own, or the others closed"
IN_LINE_WANTED = "the pull requests ahead of it to finish"
CROWDED_WHO = "the author, or somebody who may close pull requests"

_OBJECTS = "whatever causes this fixed"
_MERGE_WANTED: Mapping[MergeObstacle, str] = {
    MergeObstacle.REVIEW: "the reviews that the branch's rules require",
    MergeObstacle.CHECK: "the checks that the branch's rules require",
    MergeObstacle.CONVERSATION: "every conversation resolved; then comment `/check`",
    MergeObstacle.SIGNATURE: "signed commits, or a rule that does not require them",
    MergeObstacle.METHOD: (
        "a merge method that the repository allows: `merge` in `.porchbot.yaml`, or the"
        " repository's settings; then comment `/check`"
    ),
    MergeObstacle.QUEUE: (
        "a merge queue that accepts it: see the queue's page, then comment `/check`"
    ),
    MergeObstacle.LEFT_QUEUE: (
        "a push, another approval, or `/check`: any of them makes the bot add it to the queue again"
    ),
    MergeObstacle.BYPASS: (
        "what that rule requires; or the bot removed from the rule's bypass list, so that GitHub"
        " says what is missing; then comment `/check`"
    ),
    MergeObstacle.BEHIND: "the base branch merged into this one",
    MergeObstacle.DRAFT: "a pull request that is ready for review",
    MergeObstacle.CONFLICT: "the conflicts with the base branch resolved",
    MergeObstacle.PERMISSION: (
        "permission for the bot to merge here: check the App's permissions and who may push"
        " to the branch;"
        " then comment `/check`"
    ),
}
"""What ends a failure; any other one takes a change of what the forge objects to."""

FALLEN: Mapping[Fallen, str] = {
    Fallen.TREE: "the package changed since",
    Fallen.BESIDE: "what is merged along with the package changed since",
    Fallen.CONFIGURATION: "the rules or functions that check the package changed since",
    Fallen.BASE: "the pull request's base branch was changed since",
    Fallen.INSTALLATION: "it was given before the App was installed",
    Fallen.ADOPTION: "it was given before the bot kept a record of this proposal",
    Fallen.UNSEEN: "it was given at the same moment as a push",
    Fallen.UNTOLD: "GitHub does not say which version it was given for",
    Fallen.EDITED: "the comment was edited afterwards",
    Fallen.UNPUBLISHED: "unpublished changes in the base branch were not shown at that time",
    Fallen.ACCESS: "this person may not approve here",
    Fallen.UNSURE: "it is not known whether this person may approve here",
    Fallen.TAKES_BACK: "the base branch has changed the package since, and this would undo that",
    Fallen.MERGE: "it was given before the merge, and the merge changed more than was shown",
}
"""Reason why an approval does not count."""

_LOST: Mapping[TagLoss, str] = {
    TagLoss.GONE: "gone",
    TagLoss.REPLACED: "replaced by one without porchbot's record",
    TagLoss.RETURNED: "there, although the ledger withdraws the revision",
}


def ready_by(login: str) -> str:
    """Somebody pressed *Ready for review* who may not propose, or of whom nobody can tell."""
    return f"{person(login)} pressed *Ready for review*, which needs the right to propose"


def proposers(found: Allowed | Refused | Unsure | None) -> str:
    """Who may propose; the reason where nobody can tell."""
    if isinstance(found, Refused):
        return rights.needed(found)
    return rights.unsure(found) if isinstance(found, Unsure) else PROPOSE_WHO


def configuration_broken(policy: BrokenPolicy) -> str:
    """Why nothing can be judged."""
    count = len(policy.problems)
    return f"`.porchbot.yaml` on the base branch has {number(count, 'problem')}"


def runner_broken(verdicts: Iterable[Verdict]) -> str:
    """Which functions could not be run."""
    return "; ".join(f"{name(v.package)}: {v.broken}" for v in verdicts)


def not_rendered(verdicts: Sequence[Verdict], refused: PushRefusal | None = None) -> str:
    """How many files differ from their rendering, and why the bot could not push it."""
    files = sum(len(v.changes) for v in verdicts)
    text = f"{number(files, 'file')} of {names(v.package for v in verdicts)} not rendered"
    return f"{text}; {push_refused(refused)}" if refused else text


def push_refused(refused: PushRefusal) -> str:
    """Why the bot could not push to the branch, in the forge's own words."""
    return f"the bot's push was refused: {quote(refused.reason)}"


def unrenderable(verdicts: Iterable[Verdict]) -> str:
    """Which packages could not be rendered to the end."""
    return f"{names(v.package for v in verdicts)} could not be rendered"


def render_wanted(*, bot_pushes: bool) -> str:
    """How the proposal gets rendered."""
    if bot_pushes:
        return (
            "functions whose result does not change when they run again; or `/render` if the"
            " rules changed since"
        )
    return (
        "the rendered files committed: run the commands that `porchbot/render` shows, or comment"
        " `/render` where the bot may push"
    )


def blocking_findings(count: int) -> str:
    """How many findings of severity error there are."""
    return number(count, "error")


def is_ready(count: int) -> str:
    """How many readiness gates hold."""
    be = "is" if count == 1 else "are"
    return f"{number(count, 'condition')} of `info.readinessGates` {be} True"


def not_ready(missing: Sequence[tuple[str, ReadinessGate]]) -> str:
    """Which conditions of which packages are missing or not true, and why."""
    return some(missing, write=_not_ready)


def _not_ready(one: tuple[str, ReadinessGate]) -> str:
    return f"{name(one[0])}: {_condition(one[1])}"


def _condition(one: ReadinessGate) -> str:
    why = ": ".join(quote(text[:200]) for text in (one.reason, one.message) if text)
    status = f"is {code(one.status[:20])}" if one.status else "is not there"
    return f"condition {code(one.type[:100])} {status}" + (f" ({why})" if why else "")


def outdated(touched: Iterable[Touched], base_ref: str) -> str:
    """Which packages the base branch changed meanwhile."""
    return "; ".join(
        f"{name(t.package)} changed in {code(base_ref)} since"
        + (f" ({', '.join(t.changed_by)})" if t.changed_by else "")
        for t in touched
    )


def merge_base_wanted(base_ref: str, *, command: bool) -> str:
    """How to bring a proposal up to date: by the command as well, where the bot may push."""
    merge = f"merge {code(base_ref)} into this branch, so that it contains both"
    return f"comment `/rebase`, or {merge}" if command else merge


def merge_effect(effect: Effect, base_ref: str) -> str:
    """What a merge would do that the proposal does not show."""
    if effect.unknown:
        return (
            f"git takes too long to compute the merge into {code(base_ref)}, so it is unknown what"
            " it would change"
        )
    if effect.unrelated:
        return f"it shares no history with {code(base_ref)}"
    if effect.conflicts:
        return f"it conflicts with {code(base_ref)} in {some(effect.conflicts, write=code)}"
    parts = (
        [f"leave {names(effect.packages)} different from what is shown here"]
        if effect.packages
        else []
    )
    unshown = "which is not part of the changes shown here"
    parts += [f"change {some(effect.files, write=code)}, {unshown}"] if effect.files else []
    return f"merging would {' and '.join(parts)}"


def is_up_to_date(base_ref: str) -> str:
    """The base has nothing newer."""
    return f"{code(base_ref)} has no newer change of these packages"


def approvals(standing: Approvals) -> str:
    """How many approvals count, and whose do not."""
    met = sum(1 for need in standing.needs if not need.missing)
    if len(standing.needs) > 1:
        text = f"{met} of {len(standing.needs)} rules met"
    else:
        text = f"{len(standing.counted)} of {standing.needed}"
    if not standing.needed and any(need.automatic for need in standing.needs):
        text = "by rule"
    if standing.counted:
        text += f" ({people(a.person for a in standing.counted)})"
    fallen = [f"{person(who)}: {FALLEN[why]}" for who, why in sorted(standing.fallen.items())]
    return text + ("; not counted: " + ", ".join(fallen) if fallen else "")


def approvals_wanted(standing: Approvals, *, merged: bool, authors_known: bool) -> str:
    """What is missing."""
    of = " of the merge result" if merged else " of this content"
    text = f"{number(standing.missing, 'more approval')}{of}: `/approve`"
    if not authors_known:
        text += "; one more than usual, because the author or pusher of a commit is unknown"
    whys = dict.fromkeys(need.not_by_rule for need in standing.needs if need.missing)
    return text + "".join(f"; {rights.NOT_BY_RULE[why]}" for why in whys if why)


def rules_wanted(standing: Approvals, *, authors_known: bool) -> str:
    """What is missing for a change of the rules, and the way out where nobody else is there."""
    text = f"{number(standing.missing, 'more approval')} of the changed rules: `/approve`"
    if not authors_known:
        text += "; one more than usual, because the author or pusher of a commit is unknown"
    return (
        f"{text}. Authors can never approve a change to the rules. If there is nobody else to do"
        " it, an administrator can merge past this check: as a member of the bypass list of the"
        " branch's ruleset, or with *Do not allow bypassing* turned off in its protection"
    )


def approvals_who(standing: Approvals, authors: Iterable[str] | None) -> str:
    """Who may approve what still lacks approvals.

    Args:
        standing: The approvals.
        authors: Logins of those who wrote it; None while nobody has looked.
    """
    wrote = None if authors is None else sorted(authors)
    rules = [need for need in standing.needs if need.missing] or list(standing.needs)
    found = dict.fromkeys(rights.somebody(n.rule, n.owned, wrote) for n in rules)
    return "; ".join(list(found)[:MOST_LISTED])


def used_by(found: Sequence[tuple[str, Sequence[str], int]]) -> str:
    """Which packages have as upstream what is removed."""
    return "; ".join(
        f"{what} is the upstream of {users(shown, unseen)}"
        for what, shown, unseen in found[:MOST_LISTED]
    )


def objections(logins: Iterable[str]) -> str:
    """Who asked for changes."""
    return f"{people(logins)} requested changes"


def held(by: str, reason: str) -> str:
    """Who holds it and why."""
    return f"{person(by)} holds it" + (f": {quote(reason)}" if reason else "")


def not_fresh(tampered: Sequence["Tampered"]) -> str:
    """Why approvals of before are not enough: what was done to our comments."""
    if not tampered:
        return "this was already open before the bot started to keep a record of it"
    deleted = sum(1 for one in tampered if one.what == "deleted")
    done = [
        f"{number(count, 'comment')} of the bot {'was' if count == 1 else 'were'} {what}"
        for count, what in ((deleted, "deleted"), (len(tampered) - deleted, "edited"))
        if count
    ]
    return " and ".join(done) + " by somebody else"


def check_state(state: CheckState, name: str = "") -> str:
    """How a required check stands."""
    if name == THREADS and state is CheckState.PENDING:
        return "a thread is open"
    said = {
        CheckState.MISSING: "not reported yet",
        CheckState.PENDING: "still running",
        CheckState.UNKNOWN: (
            "unknown: not every check of this head could be read; where the bot lacks a permission,"
            " `porchbot doctor` names it"
        ),
    }
    return said.get(state, str(state))


def check_wanted(check: str) -> str:
    """What a required check has to say."""
    if check == THREADS:
        return "every thread resolved, then `/check`; the bot resolves its own"
    return CHECK_WANTED


def check_who(check: str) -> str:
    """Who can make a required check pass."""
    if check == THREADS:
        return PROPOSE_WHO
    return f"whatever reports {code(check)}"


def merge_failed(wait: MergeWait) -> str:
    """What the forge said when it was asked to merge, word for word."""
    if wait.obstacle is MergeObstacle.LEFT_QUEUE:
        return "it left the merge queue without being merged"
    if wait.obstacle is MergeObstacle.BYPASS:
        return f"the rule {quote(wait.reason)} is not met; the bot could bypass it, but never does"
    match wait.obstacle.failure:
        case MergeFailure.TRANSIENT:
            return f"merging failed: {quote(wait.reason)}"
        case MergeFailure.UNKNOWN if wait.given_up:
            return (
                "merging was refused three times, for a reason that the bot does not recognize:"
                f" {quote(wait.reason)}"
            )
        case _:
            return f"merging was refused: {quote(wait.reason)}"


def asked(logins: Sequence[str]) -> str:
    """Who asked for the merge, by `/approve`."""
    return f"{people(logins)} asked for it"


def in_queue(base_ref: str) -> str:
    """Where it waits to be merged."""
    return f"in the merge queue of {code(base_ref)}"


def merge_wanted(wait: MergeWait) -> str:
    """What ends it."""
    if not wait.given_up:
        return "nothing: the bot tries again"
    return _MERGE_WANTED.get(wait.obstacle, f"{_OBJECTS}; then comment `/check`")


def merge_who(wait: MergeWait) -> str:
    """Who can end it."""
    return MERGE_WHO if wait.given_up else "the bot"


def tag_refused(reason: str) -> str:
    """The forge's own reason, word for word."""
    return f"creating the tag was refused: {quote(reason)}"


def tag_clash(touched: Touched) -> str:
    """A tag that keeps git from holding ours."""
    tag = names_.spelled(touched.package, touched.revision)
    return f"git cannot hold both the tag {code(tag)} and the tag {_tag(touched.tagging.clash)}"


def clash_removed(tagging: Tagging) -> str:
    """How to make room for a tag."""
    push = code(shell("git", "push", "origin", f":{tagging.clash}"))
    return f"the tag {_tag(tagging.clash)} removed: {push}"


def tag_of_another_bot(name: str) -> str:
    """A tag on the merge with a mark that is not ours: anybody who may push tags can write one."""
    return f"the tag {code(name)} on this merge has the mark of another porchbot"


ONE_BOT = (
    "only one bot that publishes here: if there is another one, set `PORCHBOT_MODE=observe` for it;"
    " delete the tag if this bot should publish the merge"
)


def tags_wrong(touched: Iterable[Touched]) -> str:
    """Headline of a published proposal whose tags are not as they should be."""
    lost = {each.tagging.lost for each in touched} - {None}
    what = "the withdrawn tag is there" if lost == {TagLoss.RETURNED} else "the tag is gone"
    return f"Published, but {what}"


def tag_lost(touched: Touched, lost: TagLoss) -> str:
    """What became of a tag that we made."""
    tag = names_.spelled(touched.package, touched.revision)
    return f"{code(tag)} was published, and its tag is {_LOST[lost]}"


def tag_restored(touched: Touched) -> str:
    """How to bring a tag back, or to say that it is gone for good."""
    ref = names_.tag_ref(names_.spelled(touched.package, touched.revision))
    made = touched.tagging.tag
    if touched.tagging.lost is TagLoss.RETURNED:
        removed = code(shell("git", "push", "origin", f":{ref}"))
        return f"the withdrawal approved where it was merged, or the tag removed: {removed}"
    push = code(shell("git", "push", "--force", "origin", f"{made}:{ref}"))
    again = f": {push}" if made else ""
    return f"the original tag restored{again}; or the revision withdrawn, with `/delete`"


def tag_stays(change: LedgerChange) -> str:
    """A tag that is not the one that is to go with its revision."""
    named = change.after.tag if change.after else ""
    what = code(change.name)
    if named:
        return f"{what} points to {code(change.tag)}, but the ledger withdraws {code(named)}"
    return f"{what} was not made by porchbot for this revision"


def tag_named(change: LedgerChange, *, merged: bool) -> str:
    """How to say which tag goes; once that is merged, its entry may not be changed any more."""
    ref = names_.tag_ref(change.name)
    gone = code(shell("git", "push", f"--force-with-lease={ref}:{change.tag}", "origin", f":{ref}"))
    removed = f"the tag removed, if that is intended: {gone}"
    if merged:
        return removed
    return f"{removed}; or {code(f'tag: {change.tag}')} in the entry of {code(change.path)}"


def _tag(ref: str) -> str:
    return code(names_.tag_name(ref))


def in_line(base_ref: str) -> str:
    """A proposal whose gates hold, while others are merged."""
    return f"in line to be merged into {base_ref} and tagged"


def same_head(numbers: Iterable[int]) -> str:
    """Other proposals of the same commit that are not ready."""
    others = ", ".join(f"#{n}" for n in sorted(numbers))
    return f"the same commit is proposed in {others}, which is not ready"
