"""What `porchbot/impact` says below its title, kept for forges whose checks show one line.

Kept where verdicts are, by what the check shows: lost, the line is left.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from bot.store.values import StoreError
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import IMPACT
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.identity import RepositoryId
from lifecycle.impact import is_done
from lifecycle.terms import kept

MOST_CHARACTERS = 20_000
"""Of a text; the summary has other things to say."""


class Texts(Protocol):
    """Where they are kept; `bot.store.port.Renderings` is one."""

    async def find(self, key: str) -> bytes | None:
        """What is kept under a key; None for nothing."""

    async def keep(self, key: str, data: bytes) -> None:
        """Keep something."""


async def keep(texts: Texts, repository: RepositoryId, check: SetCheck) -> None:
    """Keep what a check says, before it is written."""
    data = check.summary[:MOST_CHARACTERS].encode()
    await texts.keep(_key(repository, check.head, check.digest), data)


async def told(
    texts: Texts | None, proposals: Sequence[Proposal], facts: Facts
) -> tuple[Proposal, ...]:
    """Return proposals with what the check at their head says, as far as that is kept.

    Args:
        texts: Where it is kept; None where nobody keeps it.
        proposals: Of one head.
        facts: Of that.
    """
    run = facts.checks.get(IMPACT)
    if texts is None or run is None or not facts.line_checks or not is_done(run):
        return tuple(proposals)
    try:
        data = await texts.find(_key(facts.repository_id, str(facts.head), run.digest))
    except StoreError:
        data = None
    said = kept((data or b"").decode(errors="replace"))  # in the terms of the forge already
    return tuple(
        replace(p, consequences=replace(p.consequences, impact_text=said)) for p in proposals
    )


def _key(repository: RepositoryId, head: str, digest: str) -> str:
    return hashlib.sha256(f"impact {repository} {head} {digest}".encode()).hexdigest()
