"""What was said on a proposal: comments, native reviews, and what is remembered of our own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from lifecycle.access import Person
from lifecycle.events import Log
from lifecycle.facts.boxes import NOTHING_TICKED, BoxWaves
from lifecycle.names import Sha
from lifecycle.numbers import in_review
from lifecycle.records import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """One comment of the conversation.

    Attributes:
        id: The forge's number; later comments have higher ones.
        author: Who wrote it.
        body: Markdown as written.
        at: When it was written.
        edited: It was changed after it was written, by anybody.
        edited_at: When it was changed last; None when it never was, or the forge does not say.
        altered: It is ours, and somebody else changed it last.
        ours: Written by our App; `body` then is the visible text alone.
        records: The hidden records in it that carry our MAC; empty in the comments of others.
        summary: It is our summary comment.
        button: Nobody wrote it: a button of a check was pressed, or a box of the dashboard ticked,
            which gives a command. Its number is negative, and no forge knows it.
        boxed: Of a `button`, that it is a box about this very proposal.
        review: What the native review says whose text it is; None for a comment. Its number is one
            of `in_review`, and no comment of the forge.
    """

    id: int
    author: Person
    body: str
    at: datetime
    edited: bool = False
    edited_at: datetime | None = None
    altered: bool = False
    ours: bool = False
    records: tuple[Mapping[str, JSON], ...] = ()
    summary: bool = False
    button: bool = False
    boxed: bool = False
    review: "ReviewText | None" = None


@dataclass(frozen=True, slots=True)
class Written:
    """A comment that we wrote, as the database keeps it.

    Attributes:
        body: The visible text; "" for the summary, which is made anew.
        record: Its hidden record; empty for the summary.
    """

    body: str = ""
    record: Mapping[str, JSON] = field(default_factory=dict)


class ReviewState(StrEnum):
    """What a native review says; comments without a verdict are left out."""

    APPROVED = "approved"
    CHANGES_REQUESTED = "changes requested"
    DISMISSED = "dismissed"


class ReviewDecision(StrEnum):
    """What native reviews come to, where the rules of the base branch ask for reviews.

    Source: https://docs.github.com/graphql/reference/enums#pullrequestreviewdecision
    """

    APPROVED = "APPROVED"
    CHANGES_REQUESTED = "CHANGES_REQUESTED"
    REQUIRED = "REVIEW_REQUIRED"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewText:
    """What somebody wrote in a native review.

    Attributes:
        id: The review's number.
        author: Who wrote it.
        body: As written.
        at: When it was submitted.
        head: The commit that was reviewed; "" where the forge does not tell.
        edited: It was changed since, by anybody; in the second of its submission counts as since.
        state: Its verdict; None for a review that only says something.
    """

    id: int
    author: Person
    body: str
    at: datetime
    head: Sha
    edited: bool = False
    state: ReviewState | None = None

    @property
    def as_comment(self) -> Comment:
        """The same as a comment, whose commands are obeyed like those of any other."""
        return Comment(
            id=in_review(self.id),
            author=self.author,
            body=self.body,
            at=self.at,
            edited=self.edited,
            review=self,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One native review.

    Attributes:
        id: The forge's number.
        author: Who reviewed.
        state: The verdict.
        head: The commit that was reviewed; "" where the forge does not tell.
        trees: Package to tree at that commit, for each touched package; None when the commit
            is gone, or not told.
        at: When it was submitted.
        beside: As in `Content`, at that commit.
        head_at: When the branch last got to that commit before the review; None when the forge
            does not say.
    """

    id: int
    author: Person
    state: ReviewState
    head: Sha
    trees: Mapping[str, str] | None
    at: datetime
    beside: str = ""
    head_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReadyForReview:
    """*Ready for review*, pressed by somebody else than us.

    Attributes:
        person: Who pressed it.
        at: When.
        id: The forge's name of the press.
    """

    person: Person
    at: datetime
    id: str


@dataclass(frozen=True, kw_only=True)
class Discussion:
    """What was said on one proposal.

    Attributes:
        comments: Without our own, oldest first.
        answers: Our own comments, oldest first.
        reviews: Native reviews with a verdict, oldest first.
        review_texts: What reviews say, oldest first; without our own.
        suggested: Commits at which we suggested changes in a review.
        pressed: Buttons of our checks that were pressed, as comments.
        boxes: Of the dashboard, how far the boxes are that make drafts.
        kept: The events that the database remembers of it.
        written: The comments that we wrote, as the database knows them, by their numbers.
        decision: What reviews come to for the rules of the base branch; None where these ask for
            none.
        reviews_required: How many approving reviews they ask for; 0 where that is not told.
        missing: Those of them that the forge shows no more, long enough to be gone.
        readied: Who made it ready last; None for nobody, for us, and where the forge does not tell.
    """

    comments: tuple[Comment, ...] = ()
    answers: tuple[Comment, ...] = ()
    reviews: tuple[Review, ...] = ()
    review_texts: tuple[ReviewText, ...] = ()
    suggested: frozenset[Sha] = frozenset()
    pressed: tuple[Comment, ...] = ()
    boxes: BoxWaves = NOTHING_TICKED
    kept: Log = frozenset()
    written: Mapping[int, Written] = field(default_factory=dict)
    missing: tuple[int, ...] = ()
    decision: ReviewDecision | None = None
    reviews_required: int = 0
    readied: ReadyForReview | None = None

    @property
    def said(self) -> tuple[Comment, ...]:
        """What people wrote in comments and in reviews, oldest first."""
        if not self.review_texts:
            return self.comments
        found = (*(text.as_comment for text in self.review_texts), *self.comments)
        return tuple(sorted(found, key=lambda comment: (comment.at, comment.id)))

    @cached_property
    def logins(self) -> Mapping[int, str]:
        """The forge's numbers of who said something to their logins; worked out once."""
        people = *(each.author for each in self.reviews), *(each.author for each in self.said)
        return {person.id: person.login for person in people if person.id}

    @property
    def edited(self) -> frozenset[int]:
        """Numbers of what people changed after they wrote it."""
        return frozenset(comment.id for comment in self.said if comment.edited)

    @property
    def newest_comment(self) -> int:
        """Highest number of a comment, ours included; 0 when there is none."""
        return max((c.id for c in (*self.comments, *self.answers)), default=0)

    @property
    def newest_review(self) -> int:
        """Highest number of a native review, with a verdict or a text; 0 when there is none."""
        numbers = {r.id for r in self.reviews} | {text.id for text in self.review_texts}
        return max(numbers, default=0)
