"""Drafts that somebody asks the bot to make: what is asked for, and how it stands."""

import hashlib
import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from lifecycle.access import Person
from lifecycle.facts.update import PackageMerge
from lifecycle.ledger import LedgerEntry, ProposedState
from lifecycle.names import Sha

MOST_DRAFTS = 5
"""Drafts that one look works out because comments ask for them, and as many that wait."""


class DraftKind(StrEnum):
    """What a draft does to its package; the name of the command, and of the task in its trailer."""

    INIT = "init"
    """Begin a package, as `kpt pkg init` does."""
    CLONE = "clone"
    """Get a package from an upstream, as `kpt pkg get` does."""
    EDIT = "edit"
    """Begin a draft of what was published."""
    UPGRADE = "upgrade"
    """Merge what is new in the upstream, as `kpt pkg update` does."""
    REBASE = "rebase"
    """Replay what was changed here on another upstream."""
    EVAL = "eval"
    """Run one function, as `kpt fn eval` does."""
    SET = "set"
    """Change one field, or one setter."""
    RESOLVE = "resolve"
    """Decide one conflict of an upgrade."""
    ROLLBACK = "rollback"
    """Bring back what a revision was, and hold the package there."""
    RESUME = "resume"
    """End the hold after a rollback."""


ON_DRAFT = frozenset(
    {DraftKind.UPGRADE, DraftKind.REBASE, DraftKind.EVAL, DraftKind.SET, DraftKind.RESOLVE}
)
"""What changes the draft that it is asked for in, if that touches the package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRequest:
    """What somebody asks for.

    Attributes:
        kind: What is to be done.
        package: Path of the package; "" for one at the root.
        asker: Who asks, and must be able to read what is taken: what one person gets is no answer
            to another. None for nobody. No part of `token`, whose comment has one writer.
        others: Of `UPGRADE`, paths of the packages that are upgraded in the same pull request.
        revision: Of `RESOLVE`, the number of the conflict; of `EDIT` and `ROLLBACK`, the revision
            to begin from; of `UPGRADE`, the one to go to, 0 for the newest.
        upstream: Of `CLONE` and `REBASE`, the upstream as somebody wrote it.
        strategy: Of `CLONE` and `UPGRADE`, how to merge; "" for what the Kptfile says.
        function: Of `EVAL`, the image.
        config: Of `EVAL`, keys and values of its configuration.
        resource: Of `SET`, "Kind/name" of the resource; "" for any.
        field: Of `SET`, the path of the field, or the name of a setter.
        value: Of `SET` and `RESOLVE`, what it is to be, as written.
        reason: Of `ROLLBACK` and `RESUME`, why, as written.
        ready: The pull request is to be proposed at once, and no draft.
        on_draft: It changes the branch on whose pull request it is asked for.
    """

    kind: DraftKind
    package: str
    asker: Person | None = field(default=None, repr=False)  # above the attribute named `field`
    others: tuple[str, ...] = ()
    revision: int = 0
    upstream: str = ""
    strategy: str = ""
    function: str = ""
    config: tuple[tuple[str, str], ...] = ()
    resource: str = ""
    field: str = ""
    value: str = ""
    reason: str = ""
    ready: bool = False
    on_draft: bool = False

    @property
    def alone(self) -> "tuple[DraftRequest, ...]":
        """The same asked for each package by itself, the first one first."""
        return tuple(replace(self, package=p, others=()) for p in (self.package, *self.others))


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftWait:
    """The repository of an upstream could not be read, so that nobody knows what a draft comes to.

    Attributes:
        since: When it was tried first.
        again: When it is tried again.
        tries: How often it was tried; at least 1.
        over: It was tried often and long enough: the command is refused.
    """

    since: datetime
    again: datetime
    tries: int
    over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftState:
    """What a request comes to, and how the branch stands that it goes to.

    Attributes:
        request: What is asked for.
        base_ref: The branch that its pull request is to be merged into.
        there: The branch, and its open pull request.
        start: The commit that the new one stands on.
        made: The files that differ from `start`, by path in the repository, the rendering among
            them; the conflicts, and why nothing can be made.
        pushed: The branch has exactly that already: only its pull request may be missing.
        ledger: Of `ROLLBACK` and `RESUME`, the file that says that the package is held.
        upstream: Where it comes from, as rules of access name it, such as
            "github.com/acme/blueprints"; "" for nowhere.
        version: What it was made from or goes to, for people, such as "v3"; "" for nothing.
        beside: Of further packages of the request, each to where it comes from, as `upstream`.
        waits: Nobody knows yet what it comes to; None where that was worked out.
    """

    request: DraftRequest
    base_ref: str
    there: ProposedState
    start: Sha
    made: PackageMerge = field(default_factory=PackageMerge)
    pushed: bool = False
    ledger: str = ""
    upstream: str = ""
    version: str = ""
    beside: tuple[tuple[str, str], ...] = ()
    waits: DraftWait | None = None


_MARK = "Porchbot-Request"
_TOKEN = re.compile(rf"^{_MARK}: ([0-9a-f]{{16}})$", re.MULTILINE)


def token(asked: int, request: DraftRequest | LedgerEntry) -> str:
    """Return what tells a request of one comment from all others there: 16 hex digits."""
    return hashlib.sha256(f"{asked} {request!r}".encode()).hexdigest()[:16]


def token_line(asked: int, request: DraftRequest | LedgerEntry) -> str:
    """Return the line of a commit's message that tells which request it was made for."""
    return f"{_MARK}: {token(asked, request)}"


def tokens(message: str) -> frozenset[str]:
    """Return the tokens in the message of a commit of ours."""
    return frozenset(_TOKEN.findall(message))
