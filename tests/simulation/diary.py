"""The diary: what everybody did, in order, and what stood there to be seen when they did it.

Written from what the forge itself tells of (`bot.sandbox`'s own listeners), and from what people
meant; nothing of it comes from the bot.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bot.sandbox.records.accounts import User
from bot.sandbox.records.memory import Happening
from bot.sandbox.records.merge_requests import MergeRequest
from bot.sandbox.records.refs import RefChange
from bot.sandbox.records.repository import Comment, Issue, Pull, Repository
from tests.simulation.boxes import free, newly
from tests.simulation.setting import BOT, called

OBEYED = "rocket"
"""The reaction by which the bot says that it did what a command asked for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that happened.

    Attributes:
        place: Its place in the diary; nothing else has it.
        at: Seconds of simulated time.
        who: Login.
        what: Kind of thing, such as "push" or "comment created".
        pull: Number of the pull request that it is about; 0 for none.
        number: Of the comment or review; 0 for none.
        text: What was written, or the name of a ref.
        before: A commit, or what else it was.
        after: A commit, or what else it came to be.
        head: Commit of the pull request's head as it stood there to be seen.
        base: Name of its base branch then.
        tip: Commit of that branch then.
        merged: The merge result, where it was merged by then.
        moment: Changes that the forge had seen before this one.
    """

    place: int
    at: float
    who: str
    what: str
    pull: int = 0
    number: int = 0
    text: str = ""
    before: str = ""
    after: str = ""
    head: str = ""
    base: str = ""
    tip: str = ""
    merged: str = ""
    moment: int = 0

    def __str__(self) -> str:
        about = f" #{self.pull}" if self.pull else ""
        text = f" {self.text!r}" if self.text else ""
        moved = f" {self.before[:7]}→{self.after[:7]}" if self.before or self.after else ""
        return f"{self.at:8.1f} s  {self.who}: {self.what}{about}{text}{moved}"


@dataclass
class Diary:
    """All that happened.

    Attributes:
        time: Seconds of simulated time now.
        moment: Changes that the forge has seen.
        entries: In order.
        meant: Number of a comment to the commands that its writer meant.
        quiet: Places at which no bot was doing anything, and the forge's moment then, newest last.
        rested: When it last was so at these places, in seconds.
        of_pull: What is about each pull request.
        of_ref: The moves of each ref.
        roles: What roles each person had, and from which place on.
        obeyed: Comments that were edited or deleted when the bot had obeyed them.
        about: The repository that it is about; None for the only one.
        boards: What the bot wrote as the text of an issue, with no box ticked.
    """

    time: Callable[[], float]
    moment: Callable[[], int]
    entries: list[Entry] = field(default_factory=list)
    meant: dict[int, tuple[str, ...]] = field(default_factory=dict)
    quiet: list[tuple[int, int]] = field(default_factory=list)
    rested: list[float] = field(default_factory=list)
    of_pull: dict[int, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    of_ref: dict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    roles: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    obeyed: set[int] = field(default_factory=set)
    about: Repository | None = None
    boards: set[str] = field(default_factory=set)

    def add(self, who: str, what: str, **about: Any) -> Entry:
        """Write something down."""
        entry = Entry(len(self.entries), self.time(), who, what, moment=self.moment(), **about)
        self.entries.append(entry)
        if entry.pull:
            self.of_pull[entry.pull].append(entry)
        if entry.what == "push":
            self.of_ref[entry.text].append(entry)
        return entry

    def rests(self) -> None:
        """No bot is doing anything now: what is decided from here on is read from here on."""
        here = len(self.entries)
        if self.quiet and self.quiet[-1][0] == here:
            self.quiet.pop()
            self.rested.pop()
        self.quiet.append((here, self.moment()))
        self.rested.append(self.time())

    def role(self, who: str, level: str) -> None:
        """Somebody has another role from now on."""
        self.roles[who].append((len(self.entries), level))
        self.add("forge", "role", text=f"{who}: {level}")

    def moved(self, repo: Repository, change: RefChange, actor: User) -> None:
        """A ref moved, and the forge tells nobody."""
        if self._is_about(repo):
            self.add(
                called(actor.login),
                "push",
                text=change.ref,
                before=change.before,
                after=change.after,
            )

    def hear(self, happening: Happening) -> None:
        """Listen to the forge (`ForgeState.listeners`)."""
        kind, action, extra = happening.kind, happening.action, happening.extra
        who = called(happening.sender.login)
        repo = happening.repo
        if repo is None or not self._is_about(repo):
            return
        if kind == "push":
            change = extra["change"]
            self.add(who, "push", text=change.ref, before=change.before, after=change.after)
        elif kind == "pull_request":
            pull: Pull = extra["pull"]
            was = extra.get("changes", {}).get("base", {}).get("ref", {}).get("from", "")
            what = "merged" if action == "closed" and pull.merged else f"{action}"
            self.add(who, f"pull {what}", before=was, text=_ref(repo, pull), **shown(repo, pull))
        elif kind in ("issues", "issue"):
            self._hear_issue(repo, who, extra["issue"], happening)
        elif kind == "issue_comment":
            comment = extra["comment"]
            if not isinstance(comment.thread, Pull):
                self._said_on_an_issue(who, f"{action}", comment)
                return
            pull = comment.thread
            if action != "created" and any(
                called(r.user.login) == BOT and r.content == OBEYED for r in comment.reactions
            ):
                self.obeyed.add(comment.id)
            self.add(
                who, f"comment {action}", number=comment.id, text=comment.body, **shown(repo, pull)
            )
        elif kind == "pull_request_review":
            review = extra["review"]
            word = f"review {review.state.lower()}"
            self.add(
                who, word, number=review.id, text=review.body or "", **shown(repo, review.pull)
            )
        elif kind == "merge_request":
            self._hear_merge_request(repo, extra["merge_request"], happening)
        elif kind == "note" and isinstance(extra["note"].thread, Issue):
            self._said_on_an_issue(who, _TALKED[f"{action}"], extra["note"])
        elif kind == "note" and isinstance(extra["note"].thread, Pull):
            note = extra["note"]
            if action != "create" and any(
                called(r.user.login) == BOT and r.content == OBEYED for r in note.reactions
            ):
                self.obeyed.add(note.id)
            about = shown(repo, note.thread)
            self.add(
                who, f"comment {_TALKED[f'{action}']}", number=note.id, text=note.body, **about
            )

    def _hear_issue(self, repo: Repository, who: str, issue: Issue, happening: Happening) -> None:
        """What either forge tells of an issue."""
        changes = happening.extra.get("changes") or {}
        if happening.action in ("opened", "open"):
            self.add(who, "issue opened", pull=issue.number)
            self._board(who, issue)
        elif "body" in changes:
            self._edited_issue(repo, who, issue, changes["body"]["from"])
        elif "description" in changes:
            self._edited_issue(repo, who, issue, changes["description"]["previous"] or "")

    def _board(self, who: str, issue: Issue) -> None:
        if who == BOT:
            self.boards.add(free(issue.body or ""))

    def _edited_issue(self, repo: Repository, who: str, issue: Issue, before: str) -> None:
        """The text of an issue is another, or boxes of it are ticked: of the latter each is told.

        One in a text that the bot wrote just so is "box ticked", any other "altered box ticked".
        """
        text = issue.body or ""
        self._board(who, issue)
        self.add(who, "issue edited", number=issue.number, before=before, text=text)
        whole = "" if free(text) in self.boards else "altered "
        for box in newly(before, text) if who != BOT else ():
            pull = repo.pulls.get(box.pull)
            about = {} if pull is None else shown(repo, pull)
            self.add(who, f"{whole}box ticked", text=box.said, **about)

    def _said_on_an_issue(self, who: str, done: str, comment: Comment) -> None:
        about = {"pull": comment.thread.number, "number": comment.id, "text": comment.body}
        self.add(who, f"issue comment {done}", **about)

    def _is_about(self, repo: Repository) -> bool:
        return repo.parent is None and self.about in (None, repo)

    def _hear_merge_request(self, repo: Repository, mr: Pull, happening: Happening) -> None:
        """What GitLab tells of a merge request, in the words of the diary."""
        who, changes = called(happening.sender.login), happening.extra.get("changes") or {}
        about: dict[str, Any] = {"text": _ref(repo, mr), **shown(repo, mr)}
        match happening.action:
            case "approved" | "approval":
                word, about["number"] = "review approved", review_of(happening.sender)
            case "unapproved" | "unapproval":
                word, about["number"] = "review dismissed", review_of(happening.sender)
            case "update" if "target_branch" in changes:
                word, about["before"] = "pull edited", changes["target_branch"]["previous"]
            case "update" if "draft" in changes:
                word = f"pull {'converted_to_draft' if mr.draft else 'ready_for_review'}"
            case action:
                word = f"pull {_DONE.get(f'{action}', 'synchronize')}"
        self.add(who, word, **about)


_TALKED = {"create": "created", "update": "edited"}
_DONE = {"open": "opened", "close": "closed", "reopen": "reopened", "merge": "merged"}


def review_of(user: User) -> int:
    """The number of somebody's review at GitLab, which has one of each person and numbers none."""
    return -user.id


def _ref(repo: Repository, pull: Pull) -> str:
    """The branch that a pull request comes from, where it is no fork's."""
    return f"refs/heads/{pull.head_ref}" if pull.head_repo is repo else ""


def shown(repo: Repository, pull: Pull) -> dict[str, Any]:
    """What whoever does something to a pull request sees of it."""
    return {
        "pull": pull.number,
        "head": pull.head_sha,
        "base": pull.base_ref,
        "tip": repo.branch(pull.base_ref) or "",
        "merged": merged_as(pull) if pull.merged else "",
    }


def merged_as(pull: Pull) -> str:
    """The commit by which a pull request came in: without one of its own it is the head."""
    squashed = pull.squash_commit_sha if isinstance(pull, MergeRequest) else None
    return (
        pull.merge_commit_sha
        or squashed
        or (pull.head_sha if isinstance(pull, MergeRequest) else "")
    )
