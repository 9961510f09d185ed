"""Which rules judge a change: those of its base, never those that it brings.

Where the files are is the caller's affair: the bot has a mirror, `porchbot check` a working tree.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot import config
from bot.config import CONFIG, LEDGER
from cadlib.findings import Finding, Severity
from lifecycle.policy import BrokenPolicy, Policy

Blob = Callable[[str, str], bytes | None]
"""Gives a regular file by commit and path; None where there is none."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a base branch.

    Attributes:
        policy: Its configuration.
        ledger: Package to the revisions whose numbers stay used without a tag.
        published: Packages are published from this branch.
    """

    policy: Policy | BrokenPolicy
    ledger: Mapping[str, frozenset[int]]
    published: bool


def of_base(blob: Blob, at: str, base_ref: str, default: str | None) -> Rules:
    """Read the rules of a base branch.

    The default branch alone says from which other branches packages are published: anybody with
    write access can make a branch whose own rules ask for no approval.

    Args:
        blob: Reads files.
        at: The commit whose rules hold.
        base_ref: The branch's name, such as "main".
        default: Commit of the default branch, "" for none; None where the base is that branch.
    """
    policy = config.read(blob(at, CONFIG))
    above = None if default is None else config.read(blob(default, CONFIG) if default else None)
    if isinstance(above, BrokenPolicy):
        policy = above
    ledger = config.read_ledger(blob(at, LEDGER))
    if isinstance(ledger, BrokenPolicy):
        # Without the ledger the next number cannot be told: nothing is published.
        policy, ledger = ledger, {}
    return Rules(policy, ledger, not isinstance(above, Policy) or base_ref in above.branches)


def problems(blob: Blob, head: str, origin: str) -> tuple[Finding, ...]:
    """Return the problems of the configuration as a change would leave it.

    Args:
        blob: Reads files.
        head: The change's commit.
        origin: What it began with; "" for nothing.
    """
    at_head = blob(head, CONFIG)
    if origin and at_head == blob(origin, CONFIG):
        return ()
    read = config.read(at_head)
    if not isinstance(read, BrokenPolicy):
        return ()
    return tuple(
        Finding(message=p.problem, severity=Severity.ERROR, place=p.place, fix=p.fix)
        for p in read.problems
    )
