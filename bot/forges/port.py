"""The forge as the bot needs it: its protocols in our words, their values and errors.

Longer than 400 lines: two protocols, and the values that only they exchange, are read as one.

Adding a method needs a reason. Every method may be called twice with the same effect as once.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum, auto
from typing import Final, Protocol

from bot.keys import Key
from bot.store.hints import Hint
from bot.store.values import Delivered
from cadlib.package.files import Entry
from fnrunner import urls
from lifecycle.access import Person, Role
from lifecycle.actions import OpenProposal, Reaction, SetCheck, Suggest
from lifecycle.facts.checks import CheckRun, CheckState
from lifecycle.facts.commits import MadeBy
from lifecycle.facts.conversation import (
    Comment,
    ReadyForReview,
    ReviewDecision,
    ReviewState,
    ReviewText,
)
from lifecycle.facts.merging import MergeObstacle
from lifecycle.identity import RepositoryId
from lifecycle.merges import Move
from lifecycle.names import Ref, Sha
from lifecycle.owners import CodeownersFormat
from lifecycle.policy import MergeMethod
from lifecycle.terms import Terms


class ForgeBusyError(Exception):
    """The forge could not answer now; trying again may help.

    Attributes:
        after: Seconds that the forge asked us to wait; 0 when it did not say.
        reason: What it said, or how the connection ended.
        once: The message of a command, which tries nothing again.
    """

    _HELPS = " Try again later."

    def __init__(self, wanted: str, reason: str, after: float = 0) -> None:
        said = f"The forge did not {wanted}: {reason.rstrip('.')}."
        super().__init__(f"{said} It is tried again.")
        self.after = after
        self.reason = reason
        self.once = said + self._HELPS


class ForgeUnreadableError(ForgeBusyError):
    """What it answered is not what it documents: a proxy's words for now, or a change for good."""


class ForgeRenamedError(ForgeBusyError):
    """A repository has another name by now than git asks for, and that name may be another's."""


class ForgeUntrustedError(ForgeBusyError):
    """Nobody who is trusted signed the forge's certificate; the reason says what to do."""

    _HELPS = ""


def once(error: Exception) -> str:
    """What a command says of an error that ended it: it tries nothing again.

    Args:
        error: Any.
    """
    return error.once if isinstance(error, ForgeBusyError) else str(error)


class ForgeDeniedError(ForgeBusyError):
    """The forge does not know us: for a moment by a fresh token, and for good once an App is gone.

    The reader of many Apps tells these apart by which App it asked.
    """

    _HELPS = " Check that the token or key is complete and has not expired."


CHECK_APP = (
    "Check the permissions of the App (app-manifest.yml lists them) and that it is installed, then"
    " comment `/check`"
)
"""What an operator does about a refusal where the adapter says nothing else."""


class ForgeRefusedError(Exception):
    """The forge said no until an operator changes a setting.

    Attributes:
        wanted: What it was asked to do.
        reason: Its own words.
    """

    def __init__(self, wanted: str, reason: str, fix: str = CHECK_APP) -> None:
        super().__init__(f"The forge refused to {wanted}: {reason.rstrip('.')}. {fix}.")
        self.wanted = wanted
        self.reason = reason


class ForgeMissingError(ForgeRefusedError):
    """What was asked for is not there, or the App may not see it."""


class CheckFullError(ForgeRefusedError):
    """A commit takes no more of a check: whoever may put statuses has put as many as there can be.

    Source: https://docs.github.com/rest/commits/statuses#create-a-commit-status
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedProposal:
    """One pull request as a list of them shows it.

    Attributes:
        number: Its number.
        title: As written.
        author: Who opened it.
        draft: In draft state.
        open: Neither merged nor closed.
        head: Commit of the head branch.
        head_ref: Name of the head branch.
        head_repository: Number of the head repository; None once the fork is gone.
        base_ref: Name of the base branch.
        merge_commit: The merge result, once merged.
        merged_at: When it was merged.
        updated_at: When anything about it changed.
        assigned: Logins of the people it is assigned to, sorted.
        labels: Names of its labels.
        locked: Its conversation is locked: the bot cannot write there.
    """

    number: int
    title: str
    author: Person
    draft: bool
    open: bool
    head: Sha
    head_ref: str
    head_repository: int | None
    base_ref: str
    merge_commit: Sha | None
    merged_at: datetime | None
    updated_at: datetime
    assigned: tuple[str, ...] = ()
    labels: frozenset[str] = frozenset()
    locked: bool = False

    @property
    def merged(self) -> bool:
        """It is in the base branch."""
        return self.merged_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """A proposal in a merge queue.

    Attributes:
        number: Its number.
        open: It is open, and no draft.
        base_ref: Name of its base branch.
        head: Commit of its head branch.
        merge: What the queue is about to make the base branch, up to this entry; None as long as
            that was not built.
    """

    number: int
    open: bool
    base_ref: str
    head: Sha
    merge: Sha | None


@dataclass(frozen=True, slots=True)
class MergeQueue:
    """A merge queue at one moment.

    Attributes:
        base: Where the base branch was.
        entries: The first is merged next.
    """

    base: Sha
    entries: tuple[QueueEntry, ...]


@dataclass(frozen=True, slots=True)
class IssueEdit:
    """One edit of the text of an issue.

    Attributes:
        person: Number of who made it.
        at: When.
        ticked: Which box it ticked, as `lifecycle.boxes.shown` has it; None where the forge tells
            only that somebody edited the text.
        now: Text of the issue when this was read, where the forge tells which box it was: of what
            stood around that, nobody tells more.
    """

    person: int
    at: datetime
    ticked: str | None = None
    now: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One issue, which is no pull request.

    Attributes:
        number: Its number, which no proposal of the repository has: where the forge counts issues
            apart, it is the forge's own below zero.
        title: As written.
        body: Markdown as written.
        ours: The bot opened it, whoever edited it since.
        open: It is not closed.
    """

    number: int
    title: str
    body: str
    ours: bool
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeReview:
    """One native review, before git was asked for its trees.

    Attributes:
        id: The forge's number; later reviews have higher ones.
        author: Who reviewed.
        state: The verdict.
        head: The commit that was reviewed; "" where the forge does not tell. An approval of that
            is none, and who gave it is asked to give it anew.
        at: When it was submitted.
    """

    id: int
    author: Person
    state: ReviewState
    head: Sha
    at: datetime


@dataclass(frozen=True, slots=True)
class HeadChange:
    """The head branch was pushed by force, deleted, restored, or its proposal reopened.

    Attributes:
        at: When.
        after: The commit that it came to; None when the forge does not say.
    """

    at: datetime
    after: Sha | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What was said on a proposal, and what happened to its branches; read as one.

    Attributes:
        head: Commit of the head branch in the same answer; "" when it moved while being read.
        opened_at: When the proposal was opened.
        comments: Oldest first; bodies as written, records not yet read.
        reviews: Those with a verdict, oldest first.
        review_texts: What was written in reviews, with a verdict or without, oldest first.
        review_numbers: Of all reviews, with a verdict, with words, or with neither.
        suggested: Commits at which we wrote a review ourselves.
        base_at: When its base branch was last exchanged for another; None when it never was.
        changes: The newest changes of the head branch, at most 100, oldest first; None when the
            forge does not tell.
        in_queue: It is in the merge queue of its base branch.
        enqueued: The forge says that we put it there.
        decision: What native reviews come to for the rules of the base branch; None where these ask
            for none.
        readied: Who made it ready for review last; None for nobody and for us, and while it is a
            draft in the same answer.
    """

    head: Sha
    opened_at: datetime
    comments: tuple[Comment, ...]
    reviews: tuple[NativeReview, ...]
    review_texts: tuple[ReviewText, ...]
    review_numbers: frozenset[int]
    base_at: datetime | None
    changes: tuple[HeadChange, ...] | None
    in_queue: bool = False
    enqueued: bool = False
    suggested: frozenset[Sha] = frozenset()
    decision: ReviewDecision | None = None
    readied: ReadyForReview | None = None


@dataclass(frozen=True, slots=True, order=True)
class RequiredCheck:
    """A check that a branch rule requires.

    Attributes:
        name: Its context.
        source: Number, at the forge, of the program that it must come from; None for anybody.
        ours: We may report it, as far as the source goes.
    """

    name: str
    source: int | None
    ours: bool


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The outcome of a merge.

    Attributes:
        obstacle: Why it was not made; None when it was.
        reason: The forge's own words; "" when merged.
        queued: It is in the merge queue, which merges it or does not.
        commit: Where the base branch came to, as far as the forge said; git will show it.
    """

    obstacle: MergeObstacle | None = None
    reason: str = ""
    queued: bool = False
    commit: str = field(default="", compare=False)


MERGED = MergeResult()
"""It is in the base branch."""


@dataclass(frozen=True, slots=True)
class MergeWay:
    """How a proposal gets into its base branch.

    Attributes:
        queue: Through a merge queue.
        bypassed: Name of a rule that does not hold now, and that a merge by us would go around;
            "" for none.
        elsewhere: It goes into another branch by now, where the forge's merges do not name one.
    """

    queue: bool = False
    bypassed: str = ""
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedTag:
    """A tag object that git has written here, to be written by the forge as well.

    Attributes:
        name: Of the tag, such as "net/core/v5".
        target: The commit.
        message: Whole text.
        tagger: Name and address.
        at: When; in whole seconds.
        object: Id of the object.
    """

    name: str
    target: Sha
    message: str
    tagger: tuple[str, str]
    at: datetime
    object: Sha


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsignedCommit:
    """A commit that git has written here, to be made and signed by the forge.

    Attributes:
        head_ref: The branch that it goes to, only while that is at the first of `parents`.
        parents: Its parents.
        base_tree: Tree of the first one.
        tree: Its own tree.
        files: Path to what stands there in it, and otherwise in `base_tree`; None for nothing.
        message: Whole text.
    """

    head_ref: str
    parents: tuple[Sha, ...]
    base_tree: str
    tree: str
    files: Mapping[str, Entry | None]
    message: str


class TagOutcome(StrEnum):
    """How making a tag ended."""

    MADE = "made"
    TAKEN = "taken"
    OTHERWISE = "otherwise"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Tagged:
    """The outcome of making a tag.

    Attributes:
        outcome: MADE: it is there now. TAKEN: it was there, or git cannot hold it beside another.
            OTHERWISE: the forge writes the object in another way than git, and made no tag.
            REFUSED: a rule forbids it.
        reason: The forge's own words; "" when made.
    """

    outcome: TagOutcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file at a commit of another repository.

    Attributes:
        default_branch: Of that repository.
        data: The file; None where that branch does not hold the commit.
    """

    default_branch: str
    data: bytes | None


@dataclass(frozen=True, slots=True)
class NewestChange:
    """The proposal of a repository that changed last, open or closed.

    Attributes:
        shown: Which, and when; another text after each change. "" where there is no proposal.
        at: When, by the forge's clock; None where there is none.
        validator: By which the forge says at no cost that it still is; "" for none.
    """

    shown: str = ""
    at: datetime | None = None
    validator: str = ""


class Unread(Enum):
    """What was not read; no text, since anybody may call a commit status whatever they like."""

    WHOLE = auto()


UNREAD: Final = Unread.WHOLE
"""Stands for every context, or every App, that was not read."""

Context = str | Unread
"""What a commit status is called, or the App that put it."""


class Forge(Protocol):
    """One repository on a forge.

    Every method raises ForgeBusyError when trying again may help, and ForgeRefusedError when an
    operator must change a setting first.
    """

    @property
    def checks_hold_text(self) -> bool:
        """Whether a check holds text, annotations and buttons; else the summary tells the text."""

    @property
    def tells_objections(self) -> bool:
        """Whether an event, or when a proposal changed last, tells that one was withdrawn."""

    @property
    def owners(self) -> CodeownersFormat:
        """How this forge reads CODEOWNERS; always the same."""

    @property
    def terms(self) -> Terms:
        """How this forge is spoken to and of; always the same."""

    async def git_credentials(self) -> str:
        """User and password for git over HTTP, with a colon between, as the forge wants them.

        Short-lived, never to be stored.
        """

    async def open_proposals_of(self, head_ref: str) -> tuple[ListedProposal, ...]:
        """Every open pull request of one branch of this repository, newest first.

        Others may be among them, where the forge ignores what it was asked for.
        """

    async def proposals_of(self, head_ref: str) -> tuple[ListedProposal, ...]:
        """Every open pull request of one branch of this repository, and the newest closed ones.

        At most 30 closed ones, newest first. Others may be among them, likewise.
        """

    async def unproposed(self, head_refs: Collection[str]) -> frozenset[str]:
        """Those of some branches that no pull request was ever opened from, here or in a fork.

        Asked in one request; where the forge has none for it, of no branch is anything told.

        Args:
            head_refs: At most 100.
        """

    def proposal_ref(self, number: int) -> Ref:
        """The ref by which this repository holds a proposal's head, also of a fork or gone."""

    async def proposals_at(self, head: Sha) -> tuple[ListedProposal, ...]:
        """Open and merged pull requests whose head is this commit, of whatever branch or fork."""

    async def proposal(self, number: int) -> ListedProposal:
        """One pull request."""

    async def open_proposals(self) -> tuple[ListedProposal, ...]:
        """Every open pull request of the repository."""

    async def newest_change(self, shown: str = "", validator: str = "") -> NewestChange:
        """What changed last of all proposals: commits, comments and reviews count.

        Args:
            shown: What was shown before.
            validator: What came with it.
        """

    async def highest_number(self) -> int:
        """Number of the newest pull request, open or closed; 0 when there is none."""

    async def merged_proposals(self, base_ref: str, since: datetime) -> tuple[ListedProposal, ...]:
        """Merged pull requests of a base branch that changed since then, last changed first."""

    async def closed_proposals(self, since: datetime) -> tuple[ListedProposal, ...]:
        """Closed and merged pull requests that changed since then, last changed first."""

    async def conversation(self, number: int) -> Conversation:
        """What was said on a proposal."""

    async def checks(self, head: Sha) -> tuple[CheckRun, ...]:
        """The newest check run of each name and source at a commit."""

    async def statuses(self, head: Sha) -> dict[Context, CheckState]:
        """Commit statuses: context to what it says; none is missing.

        Where they could not be read, `UNREAD` alone stands there, with the state UNKNOWN.
        """

    def standing(self, number: int) -> Mapping[Context, CheckState]:
        """What required checks stand for that are of one proposal alone, as they were read last.

        Beside those of its head, which other proposals may have too.
        """

    async def statuses_by(self, head: Sha) -> dict[tuple[Context, Context], CheckState]:
        """Commit statuses by context and by the slug of the App that put them; "" for a person.

        Where there are no Apps, by the login of who put them.

        The newest of each. Of very many the newest ones alone are read: each context of which there
        may be more then stands there once more, by `UNREAD` and with the state UNKNOWN; `UNREAD`
        for a context is any.
        """

    async def required_checks(self, branch: str) -> tuple[RequiredCheck, ...]:
        """What the branch's rules require before a merge."""

    async def required_reviews(self, branch: str) -> int:
        """How many approving reviews a branch's rules ask for; 0 where nobody tells."""

    async def rules(self, branch: str) -> str:
        """Digest of all that the forge may ask of a merge into a branch, as far as we may see it.

        The branch's rules, the repository's settings, and what we may do: that of a merge that was
        refused it is known when one of them has changed.
        """

    async def role(self, login: str, account: int) -> Role:
        """A person's role in the repository, now.

        None for a machine, and where the login is another account's.

        Args:
            login: As the person is called.
            account: The forge's number of the person; 0 where that is not known.
        """

    async def team(self, slug: str) -> frozenset[str]:
        """Who is in a team of the organization that owns the repository, child teams included.

        GitLab's groups have no one of the groups below them. Nowhere does a team have those who are
        only in a team above it.

        Args:
            slug: Its name in addresses.

        Returns:
            Logins in lower case.
        """

    async def commits(self, number: int) -> tuple[MadeBy, ...]:
        """The commits of a pull request with who made them, at most 250."""

    async def pushes(self, head_ref: str, repository_id: int) -> tuple[Move, ...]:
        """Moves of a branch of this repository or a fork, newest first, at most 100."""

    async def base_moves(self, base_ref: str, since: datetime) -> tuple[Move, ...]:
        """What moved a base branch since then, newest first, at most 2,000; may be late.

        The last one is older, where there is one: it tells what the branch was then.
        """

    async def pinned_file(self, repository: str, commit: str, path: str, most: int) -> PinnedFile:
        """A file of another repository, by its full name, at a commit of its default branch.

        Three requests.

        Raises:
            ForgeMissingError: There is no such repository, commit or file, or we may not see it.
            ForgeRefusedError: It is larger than `most` bytes, or no file.
        """

    async def has_tag(self, name: str) -> bool:
        """Whether there is a tag of exactly this name, such as "net/core/v5"."""

    async def make_tag(self, tag: AnnotatedTag) -> Tagged:
        """Write a tag's object, then make the tag, only if there is none of its name.

        Written twice, the object is the same; so whoever finds it without its tag finishes it.
        """

    async def has_release(self, tag: str) -> bool:
        """Whether a tag has a release that is no draft."""

    async def make_release(self, tag: str, title: str, body: str) -> None:
        """Make a release of a tag that is there; one that has one already is left as it is.

        It is not marked as the repository's latest.
        """

    async def is_marked(self, tag: str, mark: str) -> bool | None:
        """Whether the release of a tag has a mark in its title; None where there is no release."""

    async def mark_release(self, tag: str, mark: str, note: str, *, off: bool = False) -> None:
        """Put a word behind the title of a tag's release and a note above its text, once.

        Nothing else of it changes, such as whether it is the latest one. With `off` all that is
        taken away again; a note that somebody has changed stays. A tag without a release
        is left as it is.
        """

    async def open_proposal(self, wanted: OpenProposal) -> int:
        """Open a draft pull request and assign it; one that is there already is taken."""

    async def set_draft(self, number: int, *, draft: bool) -> None:
        """Turn a pull request into a draft, or mark it ready."""

    async def close_proposal(self, number: int) -> None:
        """Close a pull request without a merge; one that is closed already stays so."""

    async def set_title(self, number: int, title: str) -> None:
        """Give a pull request another title; whether it is a draft stays."""

    async def set_labels(
        self, number: int, *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> None:
        """Put labels on a pull request, which are made where they are missing, and take some off.

        One that is not on it counts as taken off.
        """

    async def set_check(self, check: SetCheck) -> None:
        """Make or update a check run with all its annotations."""

    async def comment(self, number: int, body: str) -> int:
        """Write a comment on a proposal or an issue; returns its number."""

    async def edit_comment(self, number: int, comment: int, body: str) -> None:
        """Replace one of our comments on a proposal or an issue."""

    async def delete_comment(self, number: int, comment: int) -> None:
        """Delete one of our comments; one that is gone already counts as success."""

    async def issue(self, number: int) -> Issue:
        """One issue.

        Raises:
            ForgeMissingError: There is none of this number, or the repository has no issues.
        """

    async def own_issues(self) -> tuple[Issue, ...]:
        """Every issue that the bot opened, open and closed, oldest first.

        Where a repository has no issues that is none, or the forge says that they are missing.
        """

    async def open_issue(self, title: str, body: str) -> int:
        """Open an issue; returns its number."""

    async def edit_issue(self, number: int, body: str) -> None:
        """Replace the text of an issue."""

    async def issue_edits(self, number: int, since: datetime) -> tuple[IssueEdit, ...]:
        """Who edited the text of an issue, as far as the forge tells; in no order.

        A forge that tells which box an edit ticked has one for each, and none of other edits.

        Args:
            number: Of the issue.
            since: What was edited before that may be left out.
        """

    async def issue_comments(
        self, number: int, since: datetime | None = None
    ) -> tuple[Comment, ...]:
        """What was said on an issue, oldest first; bodies as written, records not yet read.

        The forge does not tell here who edited a comment: `altered` is never set.

        Args:
            number: Of the issue.
            since: What was written or edited last before that is left out; None for everything.
        """

    async def suggest(self, suggest: Suggest) -> None:
        """Write a review without a verdict, with its suggestions as far as the forge takes them."""

    async def react(self, number: int, comment: int, reaction: Reaction) -> None:
        """React to a comment on a proposal or an issue; a reaction that is there is a success."""

    def asks_to_sign(self, reason: str) -> bool:
        """Whether what the forge said of a refused push is that commits have to be signed."""

    async def commit(self, wanted: UnsignedCommit) -> Sha | None:
        """Make a commit in our name that the forge signs, and move its branch to it.

        Returns:
            The commit; None where the branch is at another one by now, and stays there.
        """

    async def merge_way(self, number: int, base_ref: str) -> MergeWay:
        """How a proposal gets into its base branch now."""

    async def merge(
        self, number: int, head: Sha, method: MergeMethod, title: str, message: str
    ) -> MergeResult:
        """Merge only while the head is `head`; what the forge says against it is an outcome."""

    async def enqueue(self, number: int, head: Sha) -> MergeResult:
        """Put into the merge queue only while the head is `head`; one that is in it already is.

        How it is merged, and what the merge says, is for the queue.
        """

    async def merge_queue(self, base_ref: str) -> MergeQueue | None:
        """The merge queue of a branch, and where the branch is, as of one moment; None without one.

        This alone says what a queue is about to merge: a branch named like those of a queue can be
        pushed by whoever may push.
        """

    async def dequeue(self, number: int) -> None:
        """Take out of the merge queue; one that is not in it counts as success."""


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """Who the bot is at a forge.

    Attributes:
        login: What its comments are signed with, such as "porchbot[bot]".
        address: The mail address that the forge links its commits by.
        account: Number of the machine user that it is; 0 for an App, which its login tells.
        former: Apps that it replaces, login and number of the account of each, 0 for any of that
            login: what they wrote is ours as well.
        accounts: Machine users that it replaces, login and number of each: likewise.
    """

    login: str
    address: str
    account: int = 0
    former: frozenset[tuple[str, int]] = frozenset()
    accounts: frozenset[tuple[str, int]] = frozenset()

    @property
    def earlier(self) -> list[str]:
        """Logins of all that it replaces."""
        return sorted({login for login, _ in (*self.former, *self.accounts)})

    def is_us(self, number: int, login: str, *, app: bool) -> bool:
        """Whether an account is ours.

        A person can take a login that was given up: an App is told by the kind of its account,
        which nobody can choose, and a machine user by its number, which stays.

        Args:
            number: The forge's, of the account.
            login: As it is called.
            app: It is an App's.
        """
        if app:
            former = (login, number) in self.former or (login, 0) in self.former
            return former or (login == self.login and not self.account)
        if number in {before for _, before in self.accounts}:
            return True
        return bool(self.account) and number == self.account


@dataclass(frozen=True, slots=True)
class Installation:
    """A place at a forge where the bot was let in, with the repositories of that place.

    Of an App it is one installation; where there are no Apps, a group or project that gave a token.

    Attributes:
        number: The forge's.
        suspended: It was put to rest; asking for anything in it is refused.
    """

    number: int
    suspended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository that the bot was let into.

    Attributes:
        id: Forge and number, which stay through renames.
        full_name: Such as "acme/blueprints".
        default_branch: Such as "main".
        clone_url: For git over HTTP, without credentials.
        installation: Number of the installation that it belongs to.
        installed_at: When the bot was let in.
        changed: Another text after each push to it, and after changes of its settings; "" where
            the forge does not tell.
        has_issues: It has issues.
        archived: Nobody can write to it, until its owner takes that back.
        public: Anybody may read it, without an account too.
        topics: Words by which it is filed.
    """

    id: RepositoryId
    full_name: str
    default_branch: str
    clone_url: str
    installation: int
    installed_at: datetime
    changed: str = field(default="", compare=False)
    has_issues: bool = True
    archived: bool = False
    public: bool = False
    topics: tuple[str, ...] = field(default=(), compare=False)

    @property
    def owner(self) -> str:
        """The account that owns it."""
        return self.full_name.rpartition("/")[0]

    def named(self, wanted: str, full_name: str) -> None:
        """Hold its name against what the forge calls it: requests go by the number, git by names.

        Args:
            wanted: What was asked of the forge.
            full_name: What it was called in the answer.

        Raises:
            ForgeRenamedError: It is called otherwise.
        """
        if full_name.lower() != self.full_name.lower():
            raise ForgeRenamedError(wanted, f"{self.full_name} is called {full_name} by now")

    def meant(self, wanted: str, number: int) -> None:
        """Hold the number of what a forge found by its name against its own; raises likewise."""
        if number != self.id.number:
            raise ForgeRenamedError(wanted, f"{self.full_name} is another repository by now")

    @property
    def host(self) -> str:
        """Host of its forge, by the address that git is told, such as "github.com"."""
        return urls.parts(self.clone_url).hostname or ""

    @property
    def path(self) -> str:
        """Path of that address: its name, behind the path of its host that the forge is below."""
        return urls.parts(self.clone_url).path.strip("/").removesuffix(".git")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedDelivery:
    """A try to deliver something to the bot that was not accepted, as the forge's log lists it.

    Attributes:
        number: Of the try; a later one has a higher number.
        guid: Of the delivery: each try has the same.
        at: When it was tried.
        heard: It is of a kind that wakes something.
    """

    number: int
    guid: str
    at: datetime
    heard: bool


@dataclass(frozen=True, slots=True)
class FailedDeliveries:
    """A page of the forge's log of them.

    Attributes:
        tries: Newest first.
        older: Names the page after this one; "" where there is none.
    """

    tries: tuple[FailedDelivery, ...]
    older: str = ""


@dataclass(frozen=True, slots=True)
class LoggedDelivery:
    """A delivery out of the forge's log, read as one that came in by itself.

    Attributes:
        delivered: To be stored.
        wakes: Key to what it says exists; what the bot caused itself wakes nothing.
    """

    delivered: Delivered
    wakes: Mapping[Key, Hint]


@dataclass(frozen=True, slots=True)
class Mend:
    """A request that makes a change at the forge; only who owns the place may.

    Attributes:
        verb: Of HTTP.
        path: Below the API's address.
        body: What is sent; it may hold a secret.
    """

    verb: str
    path: str
    body: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Drift:
    """Something that the forge has otherwise than the bot needs it, and an operator has to change.

    Attributes:
        place: What, without a verb: "The App's permission checks".
        found: How it is there.
        wanted: How it has to be.
        fix: The change, as a sentence without its full stop.
        harmful: Something does not work; otherwise it is only more than is needed, or a hint.
        mend: The request that makes the change; None where only a person can, on a page.
    """

    place: str
    found: str
    wanted: str
    fix: str
    harmful: bool = True
    mend: Mend | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.found}. Needed: {self.wanted}. {self.fix}."


class Forges(Protocol):
    """One instance of a forge: who the bot is there, and all that it was let into.

    Every method that asks raises ForgeBusyError when trying again may help, and ForgeRefusedError
    when an operator must change a setting first.
    """

    @property
    def name(self) -> str:
        """Which forge: the first part of each `RepositoryId` of it."""

    @property
    def most_parts(self) -> int:
        """Parts that the full name of a repository has at most; two at least."""

    async def identity(self) -> BotIdentity:
        """Who the bot is there; asked for once."""

    async def check(self) -> None:
        """Ask the forge who we are, every time, at no installation's cost: whether it answers."""

    async def installations(self) -> Sequence[Installation]:
        """Every installation, suspended ones too; may lack one for once."""

    async def installation(self, number: int) -> Installation | None:
        """One installation; None when there is none of this number."""

    async def is_installed(self, repository: RepositoryId | str) -> bool:
        """Whether any installation has a repository.

        Args:
            repository: Its identity here, or a full name that it has or had before.
        """

    async def repositories_of(self, installation: int) -> Sequence[Repository]:
        """Every repository of one installation; may lack one for once.

        Raises:
            ForgeMissingError: There is no such installation.
        """

    async def repository_by_id(self, repository_id: RepositoryId, installation: int) -> Repository:
        """One repository, as it is named now.

        Raises:
            ForgeMissingError: It is not there, or not in this installation.
        """

    def of(self, repository: Repository) -> Forge:
        """The forge for one repository."""

    def wakes_of(self, headers: Mapping[str, str], body: bytes) -> Mapping[Key, Hint]:
        """What a delivery asks to look at again that was verified when it was stored.

        Empty for one that cannot be read any more.
        """

    async def drift(self, url: str = "") -> Sequence[Drift]:
        """What about the bot's registration, permissions and webhook is not as it needs it.

        Args:
            url: Where webhooks are to go; "" where nobody said.
        """

    async def failed_deliveries(self, page: str = "") -> FailedDeliveries:
        """What the bot did not accept of late, newest first; empty where the forge keeps no log.

        Args:
            page: As `FailedDeliveries.older` names it; "" for the first.
        """

    async def delivery(self, guid: str) -> LoggedDelivery | None:
        """A delivery of late, accepted or not, out of the log of whoever has buttons there.

        Args:
            guid: Of the delivery.

        Returns:
            What it says; None where the log does not list it, or not yet, and where no check has
            buttons.
        """

    async def logged_delivery(self, number: int) -> LoggedDelivery | None:
        """One try out of the log; None for what cannot be read.

        Args:
            number: Of a try on the page that `failed_deliveries` read last.

        Raises:
            ForgeMissingError: The log does not hold it any more, or it was on another page.
        """
