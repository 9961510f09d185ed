"""The repository as a whole, as commands that are about it need to know it."""

from dataclasses import dataclass

from lifecycle.policy import BrokenPolicy, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """What holds for a repository, whichever pull request somebody writes under.

    Attributes:
        policy: The configuration of the default branch alone: what stands on other branches may
            neither let nor keep anybody from what reaches beyond them.
        packages: Paths of the packages on the branches that packages are published from.
    """

    policy: Policy | BrokenPolicy
    packages: frozenset[str] = frozenset()
