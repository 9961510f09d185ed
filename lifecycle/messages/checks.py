"""Titles and summaries of the check runs."""

import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime

from cadlib.kptfile.values import Selector
from lifecycle import limits
from lifecycle.facts.checks import Button, Conclusion
from lifecycle.facts.commits import MOST_SHARED
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages import gates
from lifecycle.messages.findings import findings
from lifecycle.messages.markdown import (
    MOST_LISTED,
    change_lines,
    change_list,
    code,
    fenced,
    names,
    number,
    one_line,
    plain,
    plain_line,
    some,
)
from lifecycle.messages.proposed import plural, revisions
from lifecycle.policy import BrokenPolicy, GuardrailFunction, Policy

RENDERS = "Rendering the packages"
WAITS_FOR_RENDERING = "Waiting for the packages to be rendered"
CONFIGURATION_BROKEN = "The configuration of the base branch cannot be read"
BREAKS_CONFIGURATION = "This change would break the configuration"
RUNNER_BROKEN = "A function could not be run"
NOT_VALIDATED = "Not validated: a function could not be run"
BOT_RENDERS = "On branches under `drafts/`, the bot commits this for you."
MORE_THAN_SHOWN = "Merging would change packages that are not shown here"
MERGE_UNKNOWN = "Git cannot work out what merging would change"
NO_COMMENT = (
    "There is no summary comment yet. It follows when somebody comments here, pushes, or proposes"
    " this."
)
CROWDED_SUMMARY = (
    "A check belongs to a commit, so it passes when every open pull request with this commit"
    f" is ready, and the bot checks at most {MOST_SHARED} others. Push another commit to the branch"
    " (`git commit --allow-empty`), or close the pull requests that are not needed; the checks"
    " come back automatically."
)
RULES_APPROVED = "The change to the rules is approved"
NO_PACKAGE = "No packages changed"
NO_PACKAGE_SUMMARY = (
    "This pull request changes no packages, so there is nothing for porchbot to publish."
)
NOTHING_LEFT = (
    f"### {NO_PACKAGE}\n\nThis pull request changes no packages any more: the base branch holds all"
    " of it. Close it, or push another change to its branch."
)
PUBLISHING_SUMMARY = "All gates passed."
MERGED_NOT_PUBLISHED = "Merged, but not published"


def observed_title(title: str) -> str:
    """Title of a check where the bot only observes."""
    return f"Observing: {title}"[:200]


def observed(conclusion: Conclusion | None) -> str:
    """What stands before the text of a check where the bot only observes."""
    would = "still be in progress" if conclusion is None else f"be {_ENDED[conclusion]}"
    return (
        "The bot writes these checks only (`mode: observe`, or its operator's `PORCHBOT_MODE`)."
        f" In the default mode, this check would **{would}**.\n\n"
    )


_ENDED = {
    Conclusion.SUCCESS: "a success",
    Conclusion.FAILURE: "a failure",
    Conclusion.NEUTRAL: "neutral",
}


def large_folder(tree: str, most: int) -> str:
    """Why a look ends at a folder."""
    return (
        f"A folder holds more than {most} entries (tree {tree}), which is more than the bot"
        " can read. Spread them over several folders, on the base branch too."
    )


def large_commit(sha: str, most: int) -> str:
    """Why a look ends at a commit."""
    return (
        f"Commit {sha} has more than {most} bytes before its message, which is more than the bot"
        " reads. Make the change again in a new commit."
    )


def large_head(most: int) -> str:
    """Why a look ends at the head of a fork."""
    return (
        f"The branch adds more than {most // 1024**2} MB, or files that take too much memory to"
        " unpack, which is more than the bot accepts from a fork. Propose the change from a new"
        " branch whose history does not contain the large files."
    )


def large_push(memory: int) -> str:
    """Why a look ends at what was pushed to the repository itself."""
    return (
        f"What was pushed to the repository takes more than {memory // 1024**2} MiB of memory to"
        " unpack. Remove the branch or tag that brings the large files."
    )


def large_tag() -> str:
    """Why what a tag names cannot be read."""
    return "The tag takes too much memory, or too long, to be fetched. Name another one."


def not_looked_at_title(incident: str, said: str = "") -> str:
    """The same in one line, which is all that a commit status shows."""
    told = f": {said}" if said else f" (incident {incident})"
    return f"The bot could not check this proposal{told}"[:200]


def not_looked_at(incident: str, since: datetime, said: str = "") -> str:
    """What is shown while looks fail; `said` is why, where it is not for an operator to find."""
    if said:
        again = "The bot retries automatically, and this message disappears when it succeeds."
        return f"{said}\n\n{again}"
    return (
        f"Since {since:%Y-%m-%d %H:%M} UTC the bot has failed to check this proposal. It"
        " retries automatically. If this message stays, contact the operator of the"
        f" bot and quote `{incident}`, which is in the bot's log."
    )


LIMITED = "Waiting: the API rate limit is used up for now"


def limited(until: datetime) -> str:
    """What is shown while looks are put off by a limit of the forge."""
    return (
        "The bot has used up its API rate limit. It checks this proposal again at about"
        f" {until:%H:%M} UTC, automatically, including all comments and pushes made until then."
    )


def configuration_problems(policy: BrokenPolicy) -> str:
    """Every problem of the configuration, with what to do."""
    lines = [f"- {code(str(p.place))}: {p.problem}. {p.fix}." for p in policy.problems]
    return "Nothing is published until this is fixed.\n\n" + "\n".join(lines)


def ask_operator(fix: str) -> str:
    """What an author can do about a function that only an operator can allow.

    Args:
        fix: What the operator is to do, a sentence.
    """
    return (
        "Use a function that runs here (`porchbot fn list`), or ask the administrators of this"
        f" repository, or the operator of the bot, to do this: {fix[:1].lower()}{fix[1:]}"
    )


def unrenderable_summary(verdicts: Iterable[Verdict]) -> str:
    """Why packages could not be rendered; each has a finding that says what to do."""
    return findings([found for v in verdicts for found in v.blocking])


def mend_merge(said: str, base_ref: str) -> str:
    """What is wrong with a merge, and how to mend it, as sentences."""
    merge = gates.merge_base_wanted(base_ref, command=False)
    return f"{said[:1].upper()}{said[1:]}. To fix this, {merge}."


def being_rendered(packages: Iterable[str]) -> str:
    """What is shown while packages are rendered and validated."""
    return f"{names(set(packages))}: being rendered and validated. The result will appear here."


def publishing(proposal: Proposal) -> str:
    """Title of `porchbot/publish` when every gate holds."""
    return f"Publishing {revisions(proposal)}"


def more_findings(files: str) -> str:
    """Where the findings are that a summary has no room for, each one at its line."""
    where = f"[at their lines]({files})" if files else "at their lines, as annotations"
    return f"further down, and {where}"


def published_elsewhere(proposal: Proposal) -> str:
    """Title of `porchbot/publish` where nothing is published from the base branch."""
    base, there = (
        plain_line(proposal.place.base_ref),
        plain_line(" or ".join(proposal.content.elsewhere)),
    )
    return f"Not checked: packages are published from {there}, not from {base}"[:200]


def propose_elsewhere(proposal: Proposal) -> str:
    """Why the check stays unfinished there, and what to do."""
    base, there = code(proposal.place.base_ref), some(proposal.content.elsewhere, write=code)
    return (
        f"Nothing is published from {base}, so nothing is checked here. Proposed to {there}, this"
        " commit would need approval. A check belongs to a commit, whichever branch it is"
        " proposed to: if"
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
    be = "are" if plural(proposal) else "is"
    return f"{revisions(proposal)} {be} waiting: {plain(missing[0])}{more}"[:200]


def functions_run(verdicts: Sequence[Verdict]) -> str:
    """Which functions were run."""
    if not verdicts:
        return "Nothing is left to render: the packages are removed."
    count = sum(v.functions for v in verdicts)
    rows = sorted({f"- {code(i)} ({n.asked})" for v in verdicts for i, n in v.versions.items()})
    return f"{number(count, 'function')} run on {names(v.package for v in verdicts)}." + (
        "\n\n" + "\n".join(rows) if rows else ""
    )


def durations(verdicts: Iterable[Verdict]) -> str:
    """How long rendering and validation took, and in it the slowest functions; "" for unknown."""
    spent: dict[str, float] = {}
    for verdict in verdicts:
        for image, seconds in verdict.seconds.items():
            spent[image] = spent.get(image, 0.0) + seconds
    if "" not in spent:
        return ""
    total = spent.pop("")
    slowest = sorted(spent.items(), key=lambda each: (-each[1], each[0]))
    shown = [f"{code(image)} {_seconds(took)}" for image, took in slowest[:_SLOWEST]]
    more = len(slowest) - len(shown)
    shown += [f"{more} more"] if more else []
    of_it = f" Functions: {', '.join(shown)}." if shown else ""
    return f"Rendering and validation took {_seconds(total)}.{of_it}"


_SLOWEST = 10
"""Functions whose time is told."""


def _seconds(taken: float) -> str:
    return f"{taken:.2f} s" if taken < 10 else f"{taken:.0f} s"


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
            "The bot rendered these files, and rendering them again changes them again. If"
            " the rules"
            " changed meanwhile, comment `/render`. Otherwise fix the function, so that it gives"
            " the same result when it runs on its own output."
        )
    return "These files differ from their rendering:\n\n" + "\n".join(shown) + "\n\n" + mend


def suggested(left: int) -> str:
    """What a review with suggestions is about; `left` files have none."""
    more = (
        f" {number(left, 'more file')} would change: the check has all of it as a patch."
        if left > 0
        else ""
    )
    return (
        "Rendering would change these lines. Commit the suggestions (*Add suggestion to batch*"
        " takes several at once), or run the commands that the check `porchbot/render`"
        f" shows.{more}"
    )


def button(which: Button) -> tuple[str, str]:
    """What stands on a button of a check, and what it does: 20 and 40 characters at most."""
    match which:
        case Button.RENDER:
            return "Render and commit", "Commit the rendering to this branch"
        case Button.PROPOSE:
            return "Propose", "Ask for approval of this draft"
        case Button.WHY:
            return "Why?", "Show everything that is still missing"


def patch(unrendered: Iterable[Verdict]) -> str:
    """The rendering as a patch to copy, as much of it as there is room for; "" for nothing."""
    shown: list[str] = []
    left, room = 0, limits.TEXT
    for v in unrendered:
        left += len(v.changes.keys() - v.patch.keys())
        for text in (v.patch[path] for path in sorted(v.patch)):
            size = len(text.encode("utf-8", "replace"))
            left += size > room
            if size <= room:
                room -= size
                shown.append(text)
    if not shown:
        return ""
    rest = (
        f"\n\n{number(left, 'more file')} would change: the commands above render every file. Not"
        " shown here are large and binary files, and what may hold a value of a Secret."
        if left
        else ""
    )
    return (
        "The rendering as a patch: save it as `rendering.patch` at the top of the repository, then"
        f" `git apply rendering.patch`.\n\n{fenced(''.join(shown), 'diff')}{rest}"
    )


def render_commands(
    unrendered: Sequence[Verdict], policy: Policy, program: str = "kpt"
) -> list[str]:
    """What makes the rendering by hand: the pipelines, then what the repository adds to them."""
    return [
        one_line(f"{program} fn {command}")
        for v in unrendered
        for command in (
            f"render {shlex.quote(v.package or '.')}",
            *(_eval_command(v.package or ".", function) for function in policy.mutators),
        )
    ]


def _eval_command(package: str, function: GuardrailFunction) -> str:
    given = [shlex.quote(f"{key}={value}") for key, value in (function.config_map or {}).items()]
    words = ["eval", shlex.quote(package), "--image", shlex.quote(function.image)]
    if function.config_path:
        words += ["--fn-config", shlex.quote(function.config_path)]
    for flag, found in (("match", function.selectors), ("exclude", function.exclude)):
        words += [word for each in found[:1] for word in _flags(flag, each)]
    return " ".join([*words, *(["--", *given] if given else [])])


def _flags(flag: str, selector: Selector) -> Iterable[str]:
    """A selector as `fn eval` takes it; of several it takes one."""
    texts = {
        "api-version": selector.api_version,
        "kind": selector.kind,
        "name": selector.name,
        "namespace": selector.namespace,
        "labels": ",".join(f"{key}={value}" for key, value in selector.labels.items()),
        "annotations": ",".join(f"{key}={value}" for key, value in selector.annotations.items()),
    }
    for name, text in texts.items():
        if text:
            yield f"--{flag}-{name}"
            yield shlex.quote(text)
