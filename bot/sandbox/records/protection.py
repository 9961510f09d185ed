"""The two kinds of rules that refs can have, as values: classic protection and rulesets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """Classic protection of one branch; rulesets are apart (`Ruleset`).

    Attributes:
        required_checks: Context, and the id of the App that must have made it (None: anybody).
        required_reviews: Approving reviews needed from people who may write.
        dismiss_stale: Whether a push to the head dismisses approving reviews.
        strict: Whether the head must hold the base's tip.
        allow_direct_push: Whether git may push to the branch; never by force, never a deletion.
    """

    required_checks: tuple[tuple[str, int | None], ...] = ()
    required_reviews: int = 0
    dismiss_stale: bool = False
    strict: bool = False
    allow_direct_push: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bypass:
    """Who need not obey a ruleset.

    Attributes:
        actor_type: GitHub's word: `Integration`, `RepositoryRole`, `OrganizationAdmin`, `User`.
        actor_id: Number of the App or user; of a role, GitHub's (2 maintain, 4 write, 5 admin).
        mode: `always`, or `pull_request` for merges of pull requests only.
    """

    actor_type: str
    actor_id: int
    mode: str = "always"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRule:
    """The rule of a branch that is merged into through a queue; fields are GitHub's.

    Attributes:
        merge_method: `MERGE`, `SQUASH` or `REBASE`.
        grouping_strategy: `ALLGREEN`: each merge commit of a group needs its checks; `HEADGREEN`:
            the last one alone.
        max_entries_to_build: How many are built at a time.
        max_entries_to_merge: How many are merged at once, at most.
        min_entries_to_merge: How many there have to be for that.
        min_entries_to_merge_wait_minutes: After so long fewer will do.
        check_response_timeout_minutes: How long checks may take.
    """

    merge_method: str = "MERGE"
    grouping_strategy: str = "ALLGREEN"
    max_entries_to_build: int = 5
    max_entries_to_merge: int = 5
    min_entries_to_merge: int = 1
    min_entries_to_merge_wait_minutes: int = 5
    check_response_timeout_minutes: int = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruleset:
    """Rules of the refs that match; several rulesets hold at once.

    Attributes:
        target: `branch` or `tag`.
        include: Patterns of full or short names (`drafts/**`), `~DEFAULT_BRANCH`, `~ALL`.
        exclude: Patterns of refs that are left out.
        enforcement: `active`, `disabled` or `evaluate`.
        creation: Whether only who bypasses may make a matching ref.
        update: Whether only who bypasses may move one.
        deletion: Whether only who bypasses may remove one.
        non_fast_forward: Whether nobody else may push by force.
        required_signatures: Whether commits that come in must be signed.
        pull_request: Whether changes must come by pull requests.
        required_reviews: Approving reviews that these need.
        dismiss_stale: Whether a push to the head dismisses approving reviews.
        required_checks: Context, and the id of the App that must have made it (None: anybody).
        strict: Whether the head must hold the base's tip.
        bypass: Who need not obey.
        merge_queue: How the queue works that pull requests are merged by; None for no queue.
    """

    id: int
    name: str
    created_at: datetime
    target: str = "branch"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    enforcement: str = "active"
    creation: bool = False
    update: bool = False
    deletion: bool = False
    non_fast_forward: bool = False
    required_signatures: bool = False
    pull_request: bool = False
    required_reviews: int = 0
    dismiss_stale: bool = False
    required_checks: tuple[tuple[str, int | None], ...] = ()
    strict: bool = False
    bypass: tuple[Bypass, ...] = ()
    merge_queue: QueueRule | None = None
