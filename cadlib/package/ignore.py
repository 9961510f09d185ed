"""`.krmignore`: files and folders of a package that are not read as resources.

Rules:
- Patterns are those of `.gitignore`, relative to the folder they stand in.
- The file of the nearest package decides about a file: one further up has no say about what
  lies in a subpackage, and one in a folder that is no package counts for nothing.
- A folder that a package excludes is left out whole: a `Kptfile` in it makes no subpackage.
- The `Kptfile` of a package is never excluded.

Source: kyaml `kio/ignorefilesmatcher.go` (kubernetes-sigs/kustomize); kpt `pkg/lib/pkg`.
"""

import re
import warnings
from typing import TYPE_CHECKING

from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from cadlib.package import files as packages
from cadlib.package.files import Files

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Ignored:
    """The packages of a tree, and what their `.krmignore` files exclude.

    Attributes:
        packages: Paths of the package ("") and its subpackages; none in an excluded folder.
        findings: One for each `.krmignore` that cannot be read; it excludes nothing.
    """

    __slots__ = ("_hidden", "_specs", "findings", "packages")

    def __init__(self, files: Files, *, plain: bool = False) -> None:
        """Find the packages, and read what they exclude.

        Args:
            files: The tree.
            plain: Its root counts as a package also without a Kptfile.
        """
        self.packages = frozenset([""] if plain else [])
        self.findings: list[Finding] = []
        self._specs: dict[str, GitIgnoreSpec] = {}
        self._hidden = {"": False}
        for each in sorted({*packages.find(files), *self.packages}):  # what is outside comes first
            if not self._hides(each):
                self.packages |= {each}
                self._read(files, each)

    def __contains__(self, path: str) -> bool:
        """Tell whether a file is excluded, by itself or with its folder."""
        if not self._specs:
            return False
        folder = packages.folder(path)
        if self._hides(folder):
            return True
        if packages.name(path) == packages.KPTFILE and folder in self.packages:
            return False
        return self._excludes(path)

    def _hides(self, folder: str) -> bool:
        """Tell whether a folder is excluded, by itself or with one above it."""
        if not self._specs:
            return False
        if folder not in self._hidden:
            above = packages.folder(folder)
            self._hidden[folder] = self._hides(above) or self._excludes(folder, "/")
        return self._hidden[folder]

    def _excludes(self, path: str, mark: str = "") -> bool:
        """Tell whether the package around a file or folder excludes it; `mark` "/" for a folder."""
        owner = packages.owner_of(packages.folder(path), self.packages)
        spec = self._specs.get(owner) if owner is not None else None
        if spec is None or owner is None:
            return False
        return spec.match_file(packages.relative(owner, path) + mark)

    def _read(self, files: Files, package: str) -> None:
        path = packages.join(package, packages.IGNORE_FILE)
        entry = files.get(path)
        if entry is None or entry.mode == packages.SYMLINK:
            return
        from pathspec import GitIgnoreSpec  # most packages have no such file

        try:
            # Not splitlines(): to git and kpt a form feed or U+2028 does not end a pattern.
            lines = [line.removesuffix("\r") for line in entry.data.decode().split("\n")]
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


def find(files: Files, *, plain: bool = False) -> tuple[str, ...]:
    """Return the packages of a tree, sorted; arguments as for `Ignored`."""
    return tuple(sorted(Ignored(files, plain=plain).packages))
