"""Asks who wrote and pushed a proposal, and for the roles of everybody whose word matters on it."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.port import Forge, ForgeRefusedError, HeadChange, ListedProposal
from bot.look.crowds import asked
from bot.look.reader import MirrorReader
from bot.look.teams import Teams
from bot.recent import Recent
from lifecycle import memory, needs, readied, timing
from lifecycle.access import UNTOLD, Person, Role, Team
from lifecycle.approvals import latest_reviews
from lifecycle.authors import Authors, alone, same_people, wrote
from lifecycle.commands import answers
from lifecycle.events import Approval
from lifecycle.facts.commits import MadeBy
from lifecycle.facts.conversation import ReviewState
from lifecycle.facts.proposal import Proposal
from lifecycle.merges import Move
from lifecycle.names import Sha

KEPT_WAITING = 900.0
"""Seconds that roles and teams are kept while a proposal is held, or too few people have said
anything: nothing can be published then, and a sweep looks no more often (ADR 25)."""

MOST_KEPT = 1_000
"""Proposals of one repository of which that is kept, and heads of which it is kept who wrote them
and who pushed them: more than are mostly open at once. Of others it is asked at each look."""

MOST_COMMITS, MOST_PUSHES = 250, 100
"""Commits of a pull request, and pushes to a branch, that the forge tells at most."""


@dataclass(frozen=True, slots=True)
class _Wrote:
    """Who wrote one head; never changes."""

    authors: Authors
    pushes: tuple[Move, ...]


_Head = tuple[int, Sha, str, str, tuple[str, ...]]
"""Number, head, base branch and mark of a proposal, and the people who have a word."""


@dataclass(frozen=True, slots=True)
class _Told:
    """Roles and teams as the forge told them, for some people.

    Attributes:
        about: The people, and the teams that were asked for.
        at: When, by the monotonic clock.
        roles: In the order of the people.
        teams: In the order of the teams.
    """

    about: tuple[object, ...]
    at: float
    roles: tuple[Role, ...]
    teams: tuple[Team, ...]


class PeopleReader:
    """Finds out about the people of one repository's proposals.

    Args:
        forge: The repository's.
        login: Our own login, such as "porchbot[bot]".
        clock: Seconds that teams are kept for.
        offload: Where git is read.
    """

    def __init__(
        self,
        forge: Forge,
        login: str,
        *,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
    ) -> None:
        self._forge = forge
        self._clock = clock
        self._teams = Teams(forge, clock)
        self._waiting: Recent[int, _Told] = Recent(MOST_KEPT)
        self.login = login
        self._offload = offload
        self._authors: Recent[_Head, _Wrote] = Recent(MOST_KEPT)
        self._pushers: Recent[tuple[int, Sha], str] = Recent(MOST_KEPT)

    async def add(
        self,
        git: MirrorReader,
        pull: ListedProposal,
        p: Proposal,
        changes: Sequence[HeadChange],
        told: Collection[str] | None = None,
    ) -> Proposal:
        """Who wrote it, and the roles of everybody whose word matters; only when it does.

        Args:
            git: What git says.
            pull: The pull request.
            p: The facts so far.
            changes: Changes of its head branch that the conversation tells.
            told: Teams whose members may be told; of others nobody can tell. None for all of them.
        """
        remembered = memory.read(p)
        waiting = await asked(self._offload, p, answers.pending)
        asking = {c.author.login: c.author.id for c, _ in waiting}
        if press := readied.pressed(p):
            asking[press.last.person.login] = press.last.person.id
        people = dict(asking)
        if p.content.approvable:
            words = remembered.words.items()
            people |= {who: w.account for who, w in words if isinstance(w, Approval)}
            people |= {timing.excepting(o, remembered): o.account for o in remembered.overrides}
            latest = latest_reviews(p).items()
            people |= {
                who: r.author.id for who, r in latest if r.state is not ReviewState.DISMISSED
            }
        # What the bot opened names nobody yet, and the summary says who may not approve.
        unknown = p.content.approvable and not p.place.draft and not p.people.authors
        if not people and not unknown and not needs.asks_who_wrote(p):
            return p
        named = needs.teams(p)
        slugs = [slug for slug in named if told is None or slug in told]
        written, found = await asyncio.gather(
            self._who_wrote(git, pull, p.times.head_mark, sorted(people)),
            self._told(p, people, slugs, asking, held=bool(remembered.holds)),
        )
        opened = frozenset({p.people.author.id} if p.people.authors else ())
        authors = Authors(
            p.people.authors | written.authors.logins,
            written.authors.known,
            written.authors.accounts | opened - {0},
            written.authors.ruled,
        )
        ruled = same_people(written.authors.ruled, people) if written.authors.ruled else frozenset()
        reviews = tuple(
            replace(r, head_at=came_to(r.head, written.pushes, changes, by=r.at))
            for r in p.talk.reviews
        )
        return replace(
            p,
            people=replace(
                p.people,
                roles=dict(zip(people, found.roles, strict=True)),
                teams=dict.fromkeys(named, UNTOLD) | dict(zip(slugs, found.teams, strict=True)),
                authors=same_people(authors, people) | ruled,
                ruled=ruled - same_people(authors, people),
                authors_known=authors.known,
                ruled_known=authors.ruled is None or authors.ruled.known,
            ),
            times=replace(p.times, head_at=came_to(pull.head, written.pushes, changes)),
            talk=replace(p.talk, reviews=reviews),
        )

    async def alone(self, git: MirrorReader, pull: ListedProposal, p: Proposal) -> Person | None:
        """Who opened it, where nobody else wrote or pushed a part of it; None otherwise."""
        if p.people.author.bot:
            return None
        written = await self._who_wrote(git, pull, p.times.head_mark, ())
        return alone(p.people.author, written.authors)

    async def wrote(self, git: MirrorReader, pull: ListedProposal) -> Authors:
        """Who opened, wrote and pushed what was merged, and changed the rules that it was made by.

        What a merge leaves of it only at the forge is asked for there.
        """
        here = await self._offload(git.git.has, pull.head)
        found = (await self._who_wrote(git, pull, "", (), here=here)).authors
        who, ruled = pull.author, found.ruled or Authors(frozenset(), known=True)
        opened = Authors(
            frozenset({who.login}) - {self.login}, known=True, accounts=frozenset({who.id})
        )
        every = (found, ruled, *(() if who.login == self.login else (opened,)))
        return Authors(
            frozenset().union(*(each.logins for each in every)),
            all(each.known for each in every),
            frozenset().union(*(each.accounts for each in every)) - {0},
        )

    async def _told(
        self,
        p: Proposal,
        people: Mapping[str, int],
        slugs: Sequence[str],
        asking: Collection[str],
        *,
        held: bool,
    ) -> _Told:
        """Roles and teams, asked for anew unless nothing can follow from them (ADR 23)."""
        about, number = (tuple(people.items()), tuple(slugs)), p.place.number
        waits = not asking and (held or needs.out_of_reach(p, len(people)))
        known, now = self._waiting.get(number), self._clock.monotonic()
        if waits and known and known.about == about and now - known.at < KEPT_WAITING:
            return known
        roles, teams = await asyncio.gather(
            asyncio.gather(*(self._forge.role(*person) for person in people.items())),
            asyncio.gather(*(self._teams.read(slug, asking) for slug in slugs)),
        )
        told = _Told(about, now, tuple(roles), tuple(teams))
        if waits:
            self._waiting.put(number, told)
        else:
            self._waiting.drop(number)
        return told

    async def asking(self, p: Proposal) -> Proposal:
        """The roles and teams of those who ask for something where nobody wrote anything.

        Args:
            p: The dashboard issue, as far as it is known.
        """
        said = await asked(self._offload, p, answers.pending)
        people = {comment.author.login: comment.author.id for comment, _ in said}
        slugs = needs.teams(p) if people else ()
        roles, teams = await asyncio.gather(
            asyncio.gather(*(self._forge.role(*person) for person in people.items())),
            asyncio.gather(*(self._teams.read(slug, people) for slug in slugs)),
        )
        found = dict(zip(people, roles, strict=True)), dict(zip(slugs, teams, strict=True))
        return replace(p, people=replace(p.people, roles=found[0], teams=found[1]))

    async def _who_wrote(
        self,
        git: MirrorReader,
        pull: ListedProposal,
        mark: str,
        people: Sequence[str],
        *,
        here: bool = True,
    ) -> _Wrote:
        """Everybody who made or pushed a commit of one head, until the branch leaves it.

        A name in a commit can be forged, so whoever pushed counts as an author as well; and where
        either is unknown to the forge, self-approval cannot be decided (docs/design.md, "Authors").
        Logins can be exchanged: they are asked for anew when somebody else has a word.
        """
        key = (pull.number, pull.head, pull.base_ref, mark, tuple(people))
        known = self._authors.get(key)
        if known is not None:
            return known
        # The forge tells the whole text of each commit: what is too long is not even asked for.
        too_long = here and await self._offload(git.too_long, pull.head, pull.base_ref)
        commits, pushes = await asyncio.gather(
            _none() if too_long else self._forge.commits(pull.number), self._pushes(pull)
        )
        shas = [commit.sha for commit in commits]
        updates, ours, (asked, ruled) = await asyncio.gather(
            self._offload(git.updates, shas, pull.base_ref),
            self._offload(lambda: {sha for sha in shas if git.render_asker(sha) is not None}),
            self._offload(git.claims, shas),
        )
        last = next((p.at for p in pushes if p.after == pull.head), None)
        # A list that is full may be cut, and one without the head is older than the head.
        whole = (
            not too_long
            and len(commits) < MOST_COMMITS
            and len(pushes) < MOST_PUSHES
            and last is not None
        )
        authors = wrote(
            commits, pushes, updates=updates, ours=ours, login=self.login, asked=asked, ruled=ruled
        )
        found = _Wrote(replace(authors, known=authors.known and whole), pushes)
        if last is not None and mark:
            self._authors.put(key, found)
        return found

    async def pusher_of(self, pull: ListedProposal) -> str:
        """Login of the person who pushed a head last; asked once for each head."""
        key = (pull.number, pull.head)
        found = self._pushers.get(key)
        if found is None:
            found = await self.pusher(pull.head_ref, pull.head_repository)
            if found:
                self._pushers.put(key, found)
        return found

    async def pusher(self, head_ref: str, repository: int | None) -> str:
        """Login of the person who pushed a branch last; "" when the forge does not tell."""
        moves = await self._pushed(head_ref, repository)
        people = (m.actor for m in moves if m.actor != self.login and m.after.strip("0"))
        return next((actor for actor in people if actor), "")

    async def _pushes(self, pull: ListedProposal) -> tuple[Move, ...]:
        return await self._pushed(pull.head_ref, pull.head_repository)

    async def _pushed(self, head_ref: str, repository: int | None) -> tuple[Move, ...]:
        """Who pushed a branch; a fork that the App may not see tells nobody."""
        if repository is None:
            return ()
        try:
            return await self._forge.pushes(head_ref, repository)
        except ForgeRefusedError:
            return ()


async def _none() -> tuple[MadeBy, ...]:
    return ()


def came_to(
    head: Sha,
    pushes: Sequence[Move],
    changes: Sequence[HeadChange],
    by: datetime | None = None,
) -> datetime | None:
    """When a branch last came to a commit; None when the forge does not tell.

    Where a newer push is told than that to the head, the head is not what it was any more. A change
    of the branch that the list of pushes does not show yet is the later one: nobody can tell what
    it came to. A forced push tells of itself, also where that list may not be read.

    Args:
        head: The commit.
        pushes: As the forge tells them, newest first.
        changes: Other changes of the branch.
        by: Leave out what came after.
    """
    there = [p for p in pushes if p.after.strip("0")]
    if by is None and there and there[0].after != head:
        return None
    told = [p.at for p in pushes if p.after == head]
    told += [c.at for c in changes if c.after == head]
    found = max((at for at in told if by is None or at <= by), default=None)
    later = max((c.at for c in changes if by is None or c.at <= by), default=None)
    if found is None or later is None:
        return found
    return max(found, later)
