"""Checks at a head: our own check runs, and what the base branch requires of others."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

RENDER, VALIDATE, PUBLISH = "porchbot/render", "porchbot/validate", "porchbot/publish"
CONFIGURE, IMPACT = "porchbot/config", "porchbot/impact"
"""The names of our check runs. People put them in branch rules: they are interface
(docs/design.md, "Checks"). The last two are not on every proposal: one on changes of the
configuration, one on what may change other packages."""

OBSERVED = "observed."
"""Begins the digest of a run of ours that only tells what the bot would have shown."""

OURS = frozenset({RENDER, VALIDATE, PUBLISH, CONFIGURE, IMPACT})


class Status(StrEnum):
    """How far a check run is."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class Conclusion(StrEnum):
    """How a completed check run ended; `skipped` counts as passed on forges and is never used."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"
    """Where the bot observes, and for what only informs; forges count it as passed."""


class Button(StrEnum):
    """A button of a check run; its name is the command that it gives."""

    RENDER = "render"
    PROPOSE = "propose"
    WHY = "why"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """The newest check run of one name at the head.

    Attributes:
        id: The forge's number.
        name: Such as "porchbot/render".
        status: How far it is; what waits to begin is in progress.
        conclusion: How it ended, as the forge counts it before a merge; None until completed.
        digest: Kept with it by whoever made it; ours tell what is shown.
        completed_at: When it ended, by the forge's clock.
        ours: Made by us.
        source: Number, at the forge, of the program that made it.
        app: Its name there, such as "github-actions"; "" where that is not told.
    """

    id: int
    name: str
    status: Status
    conclusion: Conclusion | None = None
    digest: str = ""
    completed_at: datetime | None = None
    ours: bool = True
    source: int = 0
    app: str = ""

    @property
    def only_observed(self) -> bool:
        """It is ours, and only tells what the bot would have shown."""
        return self.ours and self.digest.startswith(OBSERVED)


THREADS = "threads resolved"
"""The name of what stands for a project's rule that a merge request is merged without open threads,
in place of a check: people resolve them."""


class CheckState(StrEnum):
    """How a required check stands, or what a commit status says."""

    SUCCESS = "success"
    PENDING = "pending"
    FAILURE = "failure"
    MISSING = "missing"
    UNKNOWN = "unknown"
    """So much was reported at the head that this was not read."""


@dataclass(frozen=True, slots=True)
class Required:
    """A check that the base branch requires and that is not ours.

    Attributes:
        name: Its context.
        state: How it stands.
    """

    name: str
    state: CheckState


@dataclass(frozen=True, slots=True)
class AwaitedCheck:
    """A check of others that the configuration waits for.

    Attributes:
        name: Its name, or the context of a commit status.
        app: The App that has to report it; "" for any.
        state: How it stands at the head.
    """

    name: str
    app: str
    state: CheckState
