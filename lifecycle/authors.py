"""The authors of a proposal, who do not approve it.

Rules (docs/design.md, "Authors"):

1. Authors, committers and co-authors of its commits, whoever pushed them, and whoever asked the bot
   to make one: names in commits can be forged, pushes cannot. Commits of ours name the number of
   the account as well, which stays when its login changes. What they say counts also where a forge
   made them anew, so that our mark does not hold: to be named makes nobody's approval count.
2. A merge of the base's own line whose tree is the clean merge adds nothing: neither who made it
   ("Update branch") nor who pushed it is an author by it.
3. A commit whose author, committer or pusher the forge does not know makes self-approval
   undecidable, and so does one that a workflow pushed: anybody who can push can write one. The
   forge's own committer and co-authors without an account make nobody unknown.
4. What we alone made and pushed, onto a branch that we began, has no author: onboarding.
5. Whoever changed the rule for variants last that we made something by. Where that is not known,
   self-approval is undecidable, as by 3. A rule that approves such things by itself is approved
   itself, and asks for nobody else.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lifecycle.access import Person
from lifecycle.facts.commits import MadeBy
from lifecycle.facts.proposal import Proposal
from lifecycle.merges import Move
from lifecycle.names import Sha

UNKNOWN = "?"
"""Stands among those who changed a rule for somebody whom nobody knows; no login has it."""


@dataclass(frozen=True, slots=True)
class Authors:
    """The authors of a proposal.

    Attributes:
        logins: Everybody who wrote or pushed a part of it.
        known: The forge knows the author, committer and pusher of everything.
        accounts: The forge's numbers of them, as far as it tells: these stay when logins change.
        ruled: Whoever changed the rule last that we made a part of it by; None for nobody.
    """

    logins: frozenset[str]
    known: bool
    accounts: frozenset[int] = frozenset()
    ruled: "Authors | None" = None


def wrote(
    commits: Iterable[MadeBy],
    moves: Sequence[Move],
    *,
    updates: Mapping[Sha, Sha],
    ours: Collection[Sha],
    login: str,
    asked: Iterable[str] = (),
    ruled: Iterable[str] = (),
) -> Authors:
    """Return the authors of a proposal, from its commits and pushes.

    Args:
        commits: Of the proposal.
        moves: Of its branch.
        updates: Clean merges of the base's line among the commits, each to its first parent.
        ours: Commits that we made and marked.
        login: Our own.
        asked: Whom commits name that look like ours, as from `spelled`: who asked for them, and
            who changed rules, where the mark does not hold; `UNKNOWN` as below.
        ruled: Who changed the rules last that commits of ours were made by, as from `spelled`;
            `UNKNOWN` where somebody did of whom nobody can tell.
    """
    askers = [_read(asker) for asker in asked]
    made = [c for c in commits if c.sha not in ours and c.sha not in updates]
    # Who deleted an earlier branch of this name wrote nothing.
    pushed = [
        m for m in moves if m.actor != login and m.after.strip("0") and not _updates(m, updates)
    ]
    people = {
        *(c.author for c in made),
        *(c.committer for c in made),
        *(person for c in made for person in c.coauthors),
        *(m.actor for m in pushed),
        *(login for login, _ in askers),
    }
    known = (
        all(c.author and c.committer is not None for c in made)
        and (UNKNOWN, 0) not in askers
        and all(m.actor and not m.anybodys for m in pushed)
        and (
            any(m.after.strip("0") and m.actor not in ("", login) for m in moves)
            or (bool(commits) and not made)  # of ours the mark tells who asked
            or _is_ours_alone(made, moves, login)
        )
    )
    accounts = {a for c in made for a in c.accounts} | {m.account for m in pushed}
    accounts |= {account for _, account in askers}
    logins = frozenset(person for person in people if person) - {login, UNKNOWN}
    by_rule = [_read(each) for each in ruled]
    writers = Authors(
        frozenset(person for person, _ in by_rule) - {login, UNKNOWN},
        known=(UNKNOWN, 0) not in by_rule,
        accounts=frozenset(account for _, account in by_rule) - {0},
    )
    return Authors(logins, known, frozenset(accounts - {0}), writers if by_rule else None)


def _is_ours_alone(made: Sequence[MadeBy], moves: Sequence[Move], login: str) -> bool:
    """All of it is in our name, on a branch that we made and nobody else pushed to."""
    ours = MadeBy(sha=Sha(""), author=login, committer=login)
    return (
        all(replace(c, sha=ours.sha, accounts=ours.accounts) == ours for c in made)
        and any(not m.before.strip("0") and m.after.strip("0") for m in moves)
        and all(m.actor == login for m in moves)
    )


_ASKER = re.compile(r"(\S+) \(([0-9]{1,19})\)")


def spelled(person: Person) -> str:
    """Return how a commit of ours names who asked for it, such as "ann (7)".

    A login can be changed, the number of the account cannot.
    """
    return f"{person.login} ({person.id})"


def listed(found: Authors) -> tuple[str, ...]:
    """Return who changed a rule, as commits name them, sorted; `UNKNOWN` where not all are known.

    Logins and accounts stand apart: the forge does not tell which account of a commit is whose.
    """
    accounts = (spelled(Person(account, UNKNOWN, bot=False)) for account in found.accounts)
    return tuple(sorted({*found.logins, *accounts, *(() if found.known else (UNKNOWN,))}))


def person_of(asker: str) -> Person | None:
    """Return who asked for a commit of ours; None where it names no account."""
    login, number = _read(asker)
    return Person(number, login, bot=False) if number else None


def _read(asker: str) -> tuple[str, int]:
    """The login and account of who asked for a commit; 0 where an older one names none."""
    found = _ASKER.fullmatch(asker)
    return (found[1], int(found[2])) if found else (asker, 0)


def _updates(move: Move, updates: Mapping[Sha, Sha]) -> bool:
    """A move brought clean merges of the base's line, and nothing else."""
    sha = move.after
    while sha in updates and sha != move.before:
        sha = updates[sha]
    return sha == move.before


def same_people(authors: Authors, people: Mapping[str, int]) -> frozenset[str]:
    """Return the logins of the authors, with the present spellings of their logins.

    Forges ignore case in names, and whoever changes theirs keeps the number of the account.

    Args:
        authors: Who wrote it.
        people: Logins of those whose word matters to their numbers; 0 where it is not known.
    """
    folded = {author.casefold() for author in authors.logins}
    return authors.logins | {
        login
        for login, account in people.items()
        if login.casefold() in folded or (account and account in authors.accounts)
    }


def alone(author: Person, found: Authors) -> Person | None:
    """Return who opened a proposal, and wrote and pushed all of it; None where others may have.

    Args:
        author: Who opened it.
        found: Who wrote it.
    """
    every = [found, *([found.ruled] if found.ruled else [])]
    theirs = all(
        {login.casefold() for login in each.logins} <= {author.login.casefold()}
        and each.accounts <= {author.id}
        and each.known
        for each in every
    )
    return author if theirs and not author.bot else None


def owners(proposal: Proposal) -> frozenset[str]:
    """Return the logins of the assignees, else of who opened the proposal; empty for a machine."""
    if proposal.people.assigned:
        return frozenset(proposal.people.assigned)
    return frozenset() if proposal.people.author.bot else frozenset({proposal.people.author.login})
