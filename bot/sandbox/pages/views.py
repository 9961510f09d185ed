"""What the forge's pages show, read from its state: trees, timelines, checks, the merge box.

Everything here reads; the caller holds `ForgeState.lock`. What a viewer may do is decided here
once, for the buttons that are shown and for the forms that come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from bot.sandbox import refnames
from bot.sandbox.errors import not_found
from bot.sandbox.git import trees
from bot.sandbox.git.objects import Commit, TreeEntry
from bot.sandbox.pages.markup import CheckAnnotation, ShownDiff, shown_diff
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.repository import CheckRun, Comment, Pull, Repository, Review, Thread
from bot.sandbox.records.talk import Reaction, TimelineEvent
from bot.sandbox.rules.checks import GOOD
from bot.sandbox.rules.state import ForgeState

MOST_SHOWN_BYTES = 512_000
"""A file above this size is not shown."""

EMOJI = {
    "+1": "👍",
    "-1": "👎",
    "laugh": "😄",
    "confused": "😕",
    "heart": "❤️",
    "hooray": "🎉",
    "rocket": "🚀",
    "eyes": "👀",
    "thumbsup": "👍",
    "thumbsdown": "👎",
    "tada": "🎉",
    "laughing": "😆",
}
"""Reactions as people see them, by the names of both dialects; others are shown by name."""


class Light(StrEnum):
    """How something stands, at a glance."""

    GOOD = "good"
    BAD = "bad"
    WAITING = "waiting"
    QUIET = "quiet"


@dataclass(frozen=True, slots=True, kw_only=True)
class May:
    """What the viewer may do with a pull request, by role and by being its author.

    Attributes:
        comment: Write a comment.
        change: Close, reopen, turn into a draft or back.
        review: Approve or ask for changes; never one's own.
        merge: Merge.
        rerun: Ask for a check to run again.
    """

    comment: bool
    change: bool
    review: bool
    merge: bool
    rerun: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlace:
    """A folder or file at a ref.

    Attributes:
        ref: Branch, tag or commit as it was asked for.
        sha: The commit.
        path: Path inside the repository; "" for its root.
        entries: What a folder holds, folders first; empty for a file.
        text: A file's text; None for a folder, or a file that is binary or too large.
        is_file: Whether it is a file.
        readme: Text of the folder's README.md, or None.
    """

    ref: str
    sha: str
    path: str
    entries: tuple[TreeEntry, ...] = ()
    text: str | None = None
    is_file: bool = False
    readme: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCheck:
    """One check run or status on the head.

    Attributes:
        name: Its name or context.
        light: How it stands.
        word: Its conclusion, or its status while it runs.
        title: One line of what it found; may be empty.
        required: Whether the base branch requires it.
        run: The check run; None for a status, and for a required one that nobody reported.
    """

    name: str
    light: Light
    word: str
    title: str
    required: bool
    run: CheckRun | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeBox:
    """Whether a pull request can be merged, and what is in its way.

    Attributes:
        light: The whole, at a glance.
        headline: The whole in a few words.
        reviews: The newest review that counts of each person.
        checks: The checks on its head.
        conflict: True where head and base do not merge.
        blockers: What the rules of the base branch miss.
    """

    light: Light
    headline: str
    reviews: tuple[Review, ...]
    checks: tuple[ShownCheck, ...]
    conflict: bool
    blockers: tuple[str, ...]

    @property
    def ready(self) -> bool:
        """Whether the button to merge works."""
        return self.light is Light.GOOD


TimelineEntry = Comment | Review | TimelineEvent


def may(state: ForgeState, pull: Pull, viewer: User | None) -> May:
    """What a viewer may do with a pull request."""
    role = state.role(pull.repo, viewer)
    author = viewer is not None and viewer is pull.user
    reads = viewer is not None and role >= Role.READ
    return May(
        comment=reads,
        change=reads and (author or role >= Role.WRITE) and not pull.merged,
        review=reads and not author and pull.state == "open",
        merge=role >= Role.WRITE and pull.state == "open",
        rerun=role >= Role.WRITE,
    )


def visible(state: ForgeState, viewer: User | None) -> list[Repository]:
    """Repositories that a viewer may read, by name."""
    found = state.data.repositories.values()
    readable = [repo for repo in found if state.role(repo, viewer) >= Role.READ]
    return sorted(readable, key=lambda repo: repo.full_name.lower())


def names(repo: Repository, kind: str) -> list[str]:
    """Branches (`heads`) or tags (`tags`), sorted so that v10 comes after v9."""
    prefix = f"refs/{kind}/"
    return sorted((ref.removeprefix(prefix) for ref in repo.refs.below(prefix)), key=_natural)


def place(state: ForgeState, repo: Repository, address: str) -> TreePlace:
    """Find what `<ref>/<path>` names; refs may hold slashes, so the longest one that is wins.

    Raises:
        RefusedError: 404 where there is no such ref or path.
    """
    parts = address.strip("/").split("/")
    for count in range(len(parts), 0, -1):
        ref = "/".join(parts[:count])
        sha = state.resolve(repo, ref)
        if sha is not None:
            return _at(state, repo, ref, sha, "/".join(parts[count:]))
    raise not_found()


def timeline(thread: Thread) -> list[TimelineEntry]:
    """Comments, reviews and events of an issue or a pull request, oldest first."""
    events = [event for event in thread.events if event.kind != "opened"]
    reviews = thread.reviews if isinstance(thread, Pull) else []
    said: list[TimelineEntry] = [*events, *thread.comments, *reviews]
    return sorted(said, key=lambda one: (said_at(one), getattr(one, "id", 0)))


def said_at(one: TimelineEntry) -> datetime:
    """When something was said or done."""
    match one:
        case Comment():
            return one.created_at
        case Review():
            return one.submitted_at
        case TimelineEvent():
            return one.at


def reactions(given: Sequence[Reaction]) -> list[tuple[str, int, str]]:
    """Reactions as (emoji, how many, who)."""
    counted = Counter(reaction.content for reaction in given)
    return [
        (
            EMOJI.get(content, f":{content}:"),
            count,
            ", ".join(r.user.login for r in given if r.content == content),
        )
        for content, count in counted.items()
    ]


def checks(state: ForgeState, pull: Pull) -> tuple[ShownCheck, ...]:
    """Checks and statuses on the head, what is required and missing last; by name otherwise."""
    required = {context for context, _ in state.rules.required_checks(pull.repo, pull.base_ref)}
    found = [
        ShownCheck(
            name=run.name,
            light=_light(run.conclusion if run.status == "completed" else None),
            word=(run.conclusion or run.status).replace("_", " "),
            title=run.title or "",
            required=run.name in required,
            run=run,
        )
        for run in state.checks.runs_on(pull.repo, pull.head_sha)
    ]
    found += [
        ShownCheck(
            name=status.context,
            light=_light({"pending": None, "error": "failure"}.get(status.state, status.state)),
            word=status.state,
            title=status.description or "",
            required=status.context in required,
        )
        for status in state.checks.statuses_on(pull.repo, pull.head_sha, latest=True)
    ]
    found.sort(key=lambda check: check.name)
    for name in sorted(required - {check.name for check in found}):
        found.append(
            ShownCheck(
                name=name, light=Light.WAITING, word="expected", title="not reported", required=True
            )
        )
    return tuple(found)


def light(found: Sequence[ShownCheck]) -> Light:
    """How several checks stand together: the worst of them."""
    lights = {check.light for check in found}
    for worst in (Light.BAD, Light.WAITING, Light.GOOD):
        if worst in lights:
            return worst
    return Light.QUIET


def merge_box(state: ForgeState, pull: Pull) -> MergeBox:
    """Whether a pull request can be merged now, and what is in its way."""
    found = checks(state, pull)
    reviews = _newest_reviews(pull)
    if pull.state != "open":
        return MergeBox(
            light=Light.QUIET,
            headline="Merged" if pull.merged else "Closed without merging",
            reviews=reviews,
            checks=found,
            conflict=False,
            blockers=(),
        )
    conflict = not state.mergeability.test_merge(pull)
    blockers = tuple(state.rules.blockers(pull))
    if conflict:
        headline = "This branch has conflicts with the base branch"
    elif pull.draft:
        headline = "This is still a draft"
    elif blockers:
        headline = "Merging is blocked"
    else:
        headline = "Ready to merge"
    blocked = conflict or pull.draft or bool(blockers)
    return MergeBox(
        light=Light.BAD if conflict else Light.WAITING if blocked else Light.GOOD,
        headline=headline,
        reviews=reviews,
        checks=found,
        conflict=conflict,
        blockers=blockers,
    )


def notes(found: Sequence[ShownCheck]) -> list[CheckAnnotation]:
    """Annotations of all checks."""
    return [
        CheckAnnotation(
            check=check.name,
            path=note.path,
            line=note.end_line,
            level=note.annotation_level,
            message=note.message,
            title=note.title or "",
        )
        for check in found
        if check.run
        for note in check.run.annotations
    ]


def diffs(state: ForgeState, pull: Pull, found: Sequence[ShownCheck]) -> list[ShownDiff]:
    """The files that a pull request changes, with annotations at their lines."""
    remarks = notes(found)
    return [
        shown_diff(file.path, file.patch, remarks, status=file.status, old_path=file.old_path)
        for file in state.pulls.files(pull)
    ]


def pull_word(pull: Pull) -> str:
    """The stage of a pull request in a word: open, draft, merged or closed."""
    if pull.merged:
        return "merged"
    if pull.state == "closed":
        return "closed"
    return "draft" if pull.draft else "open"


def author(state: ForgeState, commit: Commit) -> User | None:
    """The account behind a commit, or None."""
    return state.account_of(commit.author.email)


def release(state: ForgeState, repo: Repository, tag: str) -> tuple[str, str]:
    """A tag's commit and its message; "" for a lightweight tag."""
    sha = repo.refs[refnames.tag_ref(tag)]
    git = state.git(repo)
    message = git.tag(sha).message if git.kind(sha) == "tag" else ""
    return state.peel(repo, sha), message


def _at(state: ForgeState, repo: Repository, ref: str, sha: str, path: str) -> TreePlace:
    git = state.git(repo)
    entry = trees.entry_at(git, sha, path)
    if entry is None or entry.kind == "commit":
        raise not_found()
    if entry.kind == "blob":
        return TreePlace(ref=ref, sha=sha, path=path, is_file=True, text=_text(git.blob(entry.sha)))
    entries = sorted(git.tree(entry.sha), key=lambda e: (e.kind != "tree", _natural(e.name)))
    readme = next((e for e in entries if e.name.lower() == "readme.md" and e.kind == "blob"), None)
    return TreePlace(
        ref=ref,
        sha=sha,
        path=path,
        entries=tuple(entries),
        readme=_text(git.blob(readme.sha)) if readme else None,
    )


def _text(content: bytes) -> str | None:
    if b"\0" in content or len(content) > MOST_SHOWN_BYTES:
        return None
    return content.decode("utf-8", errors="replace")


def _light(conclusion: str | None) -> Light:
    if conclusion is None:
        return Light.WAITING
    if conclusion in ("neutral", "skipped"):
        return Light.QUIET
    return Light.GOOD if conclusion in GOOD else Light.BAD


def _newest_reviews(pull: Pull) -> tuple[Review, ...]:
    newest = {r.user.login: r for r in pull.reviews if r.state != "COMMENTED"}
    return tuple(newest.values())


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key that reads numbers as numbers."""
    key, number = [], ""
    for letter in [*name.lower(), ""]:
        if letter.isdecimal():
            number += letter
            continue
        if number:
            key.append((0, int(number), ""))
            number = ""
        key.append((1, 0, letter))
    return key
