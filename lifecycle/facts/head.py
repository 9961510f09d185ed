"""One head branch as a decision sees it, with every pull request that proposes it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lifecycle import names
from lifecycle.events import Log
from lifecycle.facts.checks import CheckRun
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.verdicts import Verdict
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy
from lifecycle.terms import AS_WRITTEN, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One head branch, and every pull request that proposes it.

    Attributes:
        repository: Full name, such as "acme/blueprints".
        repository_id: Which repository, whatever it is called.
        head_ref: Name of the head branch, such as "drafts/net/core/v2".
        head: Its commit; None once deleted.
        same_repository: The branch is in the repository itself, not in a fork.
        default_ref: The branch to propose a draft to.
        proposals: Open ones, and merged ones that are not yet settled; by number.
        checks: Newest check run by name, ours and others', at `head`.
        ended: The newest pull request of this branch was closed without a merge, or merged as the
            branch stands: nothing new is there to be proposed.
        rerun: Somebody pressed Re-run on our checks.
        pending: The packages are being rendered still: there are no verdicts yet.
        rendered_by_us: The head commit is a render commit that we made and signed.
        draft_touched: Packages touched by a draft branch without a pull request.
        draft_verdicts: Their verdicts.
        draft_policy: The configuration of `default_ref`.
        draft_subjects: First lines of the commits that people made on it, oldest first.
        draft_of_variant: The bot alone made it for a variant: the look at variants opens it.
        draft_pusher: Login of the person who pushed it last; "" when that is not known.
        others: Other head branches whose open proposals have the same head commit, and so share
            its checks; by number.
        shared_mark: `head_mark`, as the look found it that these are among the others of; None for
            facts of a look of their own.
        queued: Branch of the merge group that has this very commit, which a fork proposes; "" for
            any other.
        crowded: More than `MOST_SHARED` other proposals share it: none of them is among `others`,
            and nothing passes.
        push_refused: The forge refused our last push to the branch at this head.
        watched: The default branch says now that the bot only observes, whatever judged what was
            merged before.
        line_checks: A check shows one line and no more, so that the summary has its text.
        unshown: Names of our checks that the forge takes no more of at `head`.
        terms: How the forge is spoken to and of.
        freezes: What was frozen and thawed in the repository, as the database remembers it.
        freezes_unread: Why more may be frozen: the dashboard issue, which tells as well, could not
            be read since the bot was started; "" where it was.
        host: Host of the forge, such as "github.com", by the address that git is told; "" where
            nothing is published.
        path: Path of that address: the name, behind the path of its host that the forge is below.
    """

    repository: str
    repository_id: RepositoryId
    head_ref: str
    head: Sha | None
    same_repository: bool
    default_ref: str
    proposals: tuple[Proposal, ...] = ()
    checks: Mapping[str, CheckRun] = field(default_factory=dict)
    ended: bool = False
    rerun: bool = False
    pending: bool = False
    rendered_by_us: bool = False
    draft_touched: tuple[Touched, ...] = ()
    draft_verdicts: tuple[Verdict, ...] = ()
    draft_policy: Policy | BrokenPolicy | None = None
    draft_subjects: tuple[str, ...] = ()
    draft_of_variant: bool = False
    draft_pusher: str = ""
    others: tuple["Facts", ...] = ()
    shared_mark: str | None = None
    queued: str = ""
    crowded: bool = False
    push_refused: PushRefusal | None = None
    watched: bool = False
    line_checks: bool = False
    unshown: frozenset[str] = frozenset()
    terms: Terms = AS_WRITTEN
    freezes: Log = frozenset()
    freezes_unread: str = ""
    host: str = ""
    path: str = ""

    @property
    def open(self) -> tuple[Proposal, ...]:
        """The proposals that still stand, by number."""
        return tuple(p for p in self.proposals if not p.place.closed)

    @property
    def head_mark(self) -> str:
        """Digest of what the forge tells of changes of the head, over the open proposals.

        Over those of the same commit as well, whoever looks: each writes the checks of their
        commit. None in a crowd, of which each knows its own alone.
        """
        if self.shared_mark is not None:
            return self.shared_mark
        every = (p for facts in (self, *self.others) for p in facts.open)
        told = sorted({(p.place.number, p.times.head_mark) for p in every})
        if self.crowded or not told or not all(mark for _, mark in told):
            return ""
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]

    def beside(self, others: "Sequence[Facts]") -> "Facts":
        """Return these with what shares the commit, of which each is told what all come to."""
        facts = replace(self, others=tuple(others))
        # The checks are those of the commit, whoever read them, and when.
        mark, checks = facts.head_mark, self.checks
        shared = tuple(replace(each, shared_mark=mark, checks=checks) for each in others)
        return replace(facts, others=shared)

    @property
    def published_from(self) -> frozenset[str]:
        """Branches that packages are published from, as far as the rules here tell."""
        known = (self.draft_policy, *(p.rules.policy for p in self.proposals))
        rules = (policy.branches for policy in known if isinstance(policy, Policy))
        return frozenset({self.default_ref}).union(*rules)

    @property
    def may_be_tried(self) -> bool:
        """Whether its changes are tried on what others have: not for whoever cannot push here.

        It takes many requests, and runs functions.
        """
        return self.same_repository

    @property
    def may_push(self) -> bool:
        """The bot may push to it where somebody asks: it changes a base through proposals only."""
        return self.same_repository and self.head_ref not in self.published_from

    @property
    def is_draft_branch(self) -> bool:
        """The bot may push to it unasked: by convention drafts live under `drafts/`.

        Source: docs/design.md, "What is stored in git".
        """
        return self.may_push and self.head_ref.startswith(names.DRAFTS)
