"""Finds what a proposal is compared with: the tip of its base or, once merged, the tip before that.

The forge's log of moves is asked for merges that are not settled, and only for those.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.port import Forge, ForgeMissingError, ListedProposal
from bot.look.reader import Basis, MirrorReader
from bot.recent import Recent
from bot.store.port import LookRevisions
from lifecycle import merges, names
from lifecycle.identity import RepositoryId
from lifecycle.merges import Arrival, Move, UnknownRules
from lifecycle.names import Sha

LATE = 15.0
"""Seconds that the forge may take to log a move: as long as looks are repeated for what is known to
exist (1, 2, 4 and 8 s). A sweep asks again later."""

MARGIN = timedelta(minutes=10)
"""How much older than its merge a move may be: both times are the forge's own."""

MOST_KEPT = 1_000
"""Merges of one repository that are remembered, and answers about its rules: many times what is
looked at while one is published. Of others the forge's log is asked again."""


@dataclass(frozen=True, slots=True)
class NotLogged:
    """The forge's log does not show yet what brought a merge in."""


@dataclass(frozen=True, slots=True)
class RulesSince:
    """Since when the rules of a base branch are what they are.

    Attributes:
        at: Their last change; None when they did not change in the time that was asked about.
        told: The forge's log tells; without, nobody knows.
    """

    at: datetime | None = None
    told: bool = True


class Bases:
    """Finds the basis of each proposal of one repository.

    Args:
        repository_id: Which repository.
        forge: Its forge.
        revisions: Tips that base branches had when we looked.
        late: Seconds that the forge may take to log a move.
        clock: Seconds that waiting for it is counted in.
        offload: Where git is read.
    """

    def __init__(
        self,
        repository_id: RepositoryId,
        forge: Forge,
        revisions: LookRevisions,
        late: float = LATE,
        *,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
    ) -> None:
        self._repository_id = repository_id
        self._forge = forge
        self._revisions = revisions
        self._late = late
        self._clock = clock
        self._offload = offload
        self._arrivals: Recent[Sha, Arrival] = Recent(MOST_KEPT)
        self._asked: Recent[Sha, float] = Recent(MOST_KEPT)
        self._rules: Recent[tuple[str, Sha, datetime], RulesSince] = Recent(MOST_KEPT)

    async def find(self, git: MirrorReader, pull: ListedProposal) -> Basis | NotLogged | None:
        """Find a pull request's basis; None when git has no such base, or not yet the merge."""
        tip = git.git.ref(names.branch_ref(pull.base_ref))
        if tip is None:
            return None
        if not pull.merged:
            return Basis(rules=tip, base=tip)
        merge = pull.merge_commit
        if merge is None or not await self._offload(git.git.has, merge):
            return None
        arrival = self._arrivals.get(merge) or await self._arrival(git, pull, merge)
        if arrival is None:
            now = self._clock.monotonic()
            first = self._asked.get(merge)
            if first is None:
                self._asked.put(merge, first := now)
            if now - first < self._late:
                return NotLogged()
            arrival = await self._recorded(git, pull, merge)
        if arrival is None:
            parents = git.git.commit(merge).parents
            # Which rules held is unknown: those that hold now judge, and somebody must look.
            base = parents[0] if parents else None
            return Basis(rules=tip, base=base, merge=merge, doubt=UnknownRules.BASE)
        self._arrivals.put(merge, arrival)
        if await self._offload(git.rules_differ, (arrival.before, *arrival.line)):
            return Basis(rules=tip, base=arrival.parent, merge=merge, doubt=UnknownRules.RULES)
        return Basis(rules=arrival.before, base=arrival.parent, merge=merge)

    async def rules_since(
        self, git: MirrorReader, pull: ListedProposal, basis: Basis, since: datetime
    ) -> RulesSince:
        """Since when the rules that judge a proposal are what they are.

        The default branch's rules judge proposals to other branches as well. One request a branch
        for what was said and is bound to nothing yet, kept while the rules' commit is the same: a
        look that changes nothing asks nobody.

        Args:
            git: What git says.
            pull: The pull request.
            basis: What it is compared with.
            since: When the oldest of what was said was said.
        """
        settled = basis.merge is not None and basis.doubt is None
        until = pull.merged_at if settled else None
        found = await self._told(git, pull.base_ref, basis.rules, since, until)
        default = git.default_branch
        tip = git.git.ref(names.branch_ref(default))
        if pull.base_ref == default or tip is None or not found.told:
            return found
        above = await self._told(git, default, tip, since, None)
        at = max((each.at for each in (found, above) if each.at is not None), default=None)
        return RulesSince(at, above.told)

    async def _told(
        self, git: MirrorReader, branch: str, rules: Sha, since: datetime, until: datetime | None
    ) -> RulesSince:
        """Since when the rules on one branch are what they are, or were at a merge into it."""
        key = (branch, rules, since)
        known = self._rules.get(key)
        if known is not None:
            return known
        try:
            moves = await self._forge.base_moves(branch, since)
        except ForgeMissingError:
            return RulesSince(told=False)  # an older forge without this log
        if until is not None:
            moves = tuple(move for move in moves if move.at <= until)
        else:
            moves = moves_until(moves, rules)
            if not await self._offload(_complete, git, moves, rules):
                return RulesSince(told=False)
        found = await self._offload(_changed_at, git, moves, rules, since)
        self._rules.put(key, found)
        return found

    async def _arrival(self, git: MirrorReader, pull: ListedProposal, merge: Sha) -> Arrival | None:
        """What the forge's log tells; None when it does not, or not yet."""
        if pull.merged_at is None:
            return None
        try:
            moves = await self._forge.base_moves(pull.base_ref, pull.merged_at - MARGIN)
        except ForgeMissingError:
            return None  # an older forge without this log
        found = await self._offload(merges.entry, moves, merge, git.line)
        if found is None or not await self._offload(git.git.has, found.before):
            return None
        parents = git.git.commit(merge).parents
        others: Collection[Sha] = ()
        if merges.needs_others(found, merge, parents):
            merged = await self._forge.merged_proposals(pull.base_ref, pull.merged_at - MARGIN)
            others = {p.merge_commit for p in merged if p.merge_commit and p.number != pull.number}
        return merges.arrival(found, merge, parents, others)

    async def _recorded(
        self, git: MirrorReader, pull: ListedProposal, merge: Sha
    ) -> Arrival | None:
        """The newest tip that we saw before the merge, if the merge was made right on top of it."""
        parents = git.git.commit(merge).parents
        for tip in await self._revisions.tips(self._repository_id, pull.base_ref):
            if not await self._offload(git.git.contains, tip, merge):
                return Arrival(tip, tip) if parents and parents[0] == tip else None
        return None


def moves_until(moves: Sequence[Move], tip: Sha) -> tuple[Move, ...]:
    """Return the moves up to a tip: the log may know of newer ones than git had when fetched.

    Rules that those changed make what is bound meanwhile fall at the next look.
    """
    for place, move in enumerate(moves):
        if tip in {move.after, move.before}:
            return tuple(moves[place:] if move.after == tip else moves[place + 1 :])
    return tuple(moves)


def _complete(git: MirrorReader, moves: Sequence[Move], tip: Sha) -> bool:
    """The log shows how the branch came to its tip, or nothing that it lacks changed the rules."""
    if not moves or moves[0].after == tip:
        return True
    line = git.line(tip, moves[0].after)
    return line is not None and not git.rules_differ((moves[0].after, *line))


def _changed_at(
    git: MirrorReader, moves: Sequence[Move], rules: Sha, since: datetime
) -> RulesSince:
    """The newest move that came from other rules, or from what nobody can read any more."""
    for move in moves:
        if move.at < since:
            break
        if not git.git.has(move.before) or git.rules_differ((rules, move.before)):
            return RulesSince(move.at)
    return RulesSince()
