"""`.krmignore`: which files of a package no function sees.

Rules:
- Patterns are those of `.gitignore`, relative to the folder they stand in.
- The file of the nearest package decides alone: one further up has no say about what lies
  in a subpackage, and one in a folder that is no package counts for nothing.
- A `Kptfile` is never excluded; packages are found whatever is excluded.
- A reader that walks over a package and its subpackages at once (`eval`, `source`, `tree`)
  leaves out the subpackages whose folder the package above them excludes, and theirs.

Source: kyaml `kio/ignorefilesmatcher.go` (kubernetes-sigs/kustomize); kpt `pkg/lib/pkg`.
"""

import re
import warnings
from collections.abc import Collection
from typing import TYPE_CHECKING

from cadlib import package as packages
from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from cadlib.package import Files

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Ignored:
    """The `.krmignore` files of a package and its subpackages.

    Attributes:
        findings: One for each that cannot be read; it excludes nothing.
    """

    __slots__ = ("_hidden", "_packages", "_specs", "findings")

    def __init__(self, files: Files, inside: Collection[str]) -> None:
        """Read them.

        Args:
            files: The package.
            inside: Paths of the package and its subpackages, as from `package.find`.
        """
        self._packages = frozenset(inside)
        self.findings: list[Finding] = []
        self._specs: dict[str, GitIgnoreSpec] = {}
        self._hidden: dict[str, bool] = {}
        for each in sorted(self._packages):
            self._read(files, each)

    def __contains__(self, path: str) -> bool:
        """Say whether the nearest package excludes a file."""
        if not self._specs or packages.name(path) == packages.KPTFILE:
            return False
        owner = packages.owner_of(path, self._packages)
        spec = self._specs.get(owner) if owner is not None else None
        if spec is None or owner is None:
            return False
        return spec.match_file(packages.relative(owner, path))

    def skips(self, path: str) -> bool:
        """Say whether a reader of the whole leaves a file out, its subpackage included."""
        if not self._specs:
            return False
        owner = packages.owner_of(path, self._packages)
        return path in self or (owner is not None and self._skips_package(owner))

    def _skips_package(self, package: str) -> bool:
        if package not in self._hidden:
            above = packages.owner_of(packages.folder(package), self._packages) if package else None
            self._hidden[package] = above is not None and (
                self._excludes(above, package) or self._skips_package(above)
            )
        return self._hidden[package]

    def _excludes(self, above: str, package: str) -> bool:
        spec = self._specs.get(above)
        return spec is not None and spec.match_file(f"{packages.relative(above, package)}/")

    def _read(self, files: Files, package: str) -> None:
        path = packages.join(package, packages.IGNORE_FILE)
        entry = files.get(path)
        if entry is None or entry.mode == packages.SYMLINK:
            return
        from pathspec import GitIgnoreSpec  # most packages have no such file

        try:
            lines = entry.data.decode().splitlines()
            with warnings.catch_warnings():
                # Python warns of what `[[]` may mean to it some day.
                warnings.simplefilter("ignore", FutureWarning)
                self._specs[package] = GitIgnoreSpec.from_lines(lines)
        except (ValueError, re.error) as error:  # `[z-a]` is no regular expression
            self.findings.append(
                Finding(
                    message=f"the patterns cannot be read: {error}",
                    severity=Severity.ERROR,
                    place=Place(path),
                    fix="Write them as in a .gitignore, in UTF-8",
                )
            )
