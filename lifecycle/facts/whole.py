"""The repository as a whole, as commands that are about it need to know it."""

from dataclasses import dataclass

from lifecycle.policy import BrokenPolicy, Policy, Root


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

    def branch_of(self, package: str, default: str) -> str:
        """Return the branch that a package is published on; "" where nobody looks after it.

        Args:
            package: Its path.
            default: The default branch.
        """
        roots = self.policy.roots if isinstance(self.policy, Policy) else ()
        holding = [root for root in roots or (Root(),) if root.holds(package)]
        if not holding:
            return ""
        root = max(holding, key=lambda each: len(each.directory))
        return default if root.branch is None else root.branch
