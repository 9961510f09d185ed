"""What people in the stories are shown, as plain values, whatever the forge calls it."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """A proposal as somebody sees it.

    Attributes:
        number: As it is spoken of.
        title: As written.
        body: As written.
        author: Login of who opened it.
        draft: Nobody may merge it yet.
        open: Neither merged nor closed.
        merged: It is in its base branch.
        head: Commit of its branch.
        head_ref: Its branch.
        base_ref: Where it goes to.
        merge_commit: The merge result, once merged; else "".
        merged_by: Login of who merged it; else "".
        labels: Names.
        assigned: Logins.
    """

    number: int
    title: str
    body: str
    author: str
    draft: bool
    open: bool
    merged: bool
    head: str
    head_ref: str
    base_ref: str
    merge_commit: str
    merged_by: str
    labels: frozenset[str]
    assigned: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What is said of a line: an annotation of a check, or a thread.

    Attributes:
        path: File.
        line: The first line that it is about; 0 where it is about the file.
        text: What is said.
        level: "failure", "warning" or "notice"; "" where the forge has no levels.
    """

    path: str
    line: int
    text: str
    level: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What the bot shows of one check at a commit.

    Attributes:
        name: Such as "porchbot/validate".
        conclusion: "success", "failure", "neutral"; None while it goes on.
        title: One line.
        text: All that is told beside it: in the check, or where a check holds one line alone, in
            the summary.
        id: A later one has a higher number.
        head: The commit.
        mark: What it stands for, in the bot's own words; "" where the forge keeps none.
        began: When work on it began; None where the forge does not tell.
        ended: When it ended, likewise.
    """

    name: str
    conclusion: str | None
    title: str
    text: str
    id: int
    head: str
    mark: str = ""
    began: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A comment.

    Attributes:
        id: Its number.
        body: As written.
        author: Login.
        at: When it was written.
    """

    id: int
    body: str
    author: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """An issue.

    Attributes:
        number: As it is spoken of; counted apart from proposals at some forges.
        title: As written.
        body: As people read it, in GitHub's words.
        at: When it was opened.
        written: As it is written there.
    """

    number: int
    title: str
    body: str
    at: datetime
    written: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A commit as the forge shows it.

    Attributes:
        sha: Its id.
        message: Whole text.
        parents: Their ids.
        author: Login of whom it is shown to be of; "" where the forge tells of nobody.
    """

    sha: str
    message: str
    parents: tuple[str, ...]
    author: str = ""
