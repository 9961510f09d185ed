"""Objects of a repository on the user's disk, with the errors of the command line."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bot.git.objects import ObjectReader
from bot.git.trees import StoredTrees
from cadlib.errors import PackageError, Place
from cadlib.limits import PackageLimits
from cadlib.package.files import Files


class RepositoryTrees(StoredTrees):
    """Trees of a repository, by any name that git has for a commit.

    Args:
        folder: Of the repository: bare, or with `.git` in it.
        env: Environment of git.
    """

    fix = "Name a smaller folder of the repository"

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        super().__init__(ObjectReader(folder, env))
        self._place = Place(os.fspath(folder))

    def commit(self, name: str) -> str:
        """Return the commit that a ref or an id stands for, tags followed; "" if none does."""
        return self._named(f"{name}^{{commit}}")

    def root(self, commit: str) -> str:
        """Return the id of the tree of a commit."""
        return self._named(f"{commit}^{{tree}}")

    def files(self, tree: str, limits: PackageLimits) -> Files:
        """Return every file under a tree, by path relative to it; none is too long to be fetched.

        Raises:
            PackageError: There is more than the limits allow.
        """
        return super().files(tree, replace(limits, file_bytes=limits.package_bytes))

    def unreadable(self, sha: str, error: Exception | None) -> Exception:
        """Say what is wrong with the repository."""
        if isinstance(error, FileNotFoundError):
            return PackageError(self._place, "git is not installed", "Install git")
        if error is not None:
            return PackageError(
                self._place,
                f"git cannot read the repository: {error}",
                "Check that it is a git repository, and yours",
            )
        return PackageError(
            self._place,
            f"the repository is damaged or incomplete: {sha} is missing",
            "Repair it with `git fsck`, or clone it anew",
        )

    def too_wide(self, tree: str) -> Exception:
        """Say which folder is too large."""
        problem = f"a folder holds more entries than are read (tree {tree})"
        return PackageError(self._place, problem, self.fix)

    def _named(self, expression: str) -> str:
        found = self.named(expression)
        return found.sha if found else ""
