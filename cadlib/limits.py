"""Limits on the size of a package's input.

The numbers were measured on real packages: the largest file among them has about
1 MB and the largest benchmark 2,500 files, so each limit leaves room for a
package several times larger, and stops input that was made to exhaust memory.
"""

from dataclasses import dataclass, replace

MIB = 1024 * 1024

SEGMENT_BYTES = 255
"""Longest name of a file or folder, in bytes: NAME_MAX on Linux and macOS."""

PATH_BYTES = 4096
"""Longest path, and longest target of a symlink, in bytes: PATH_MAX on Linux."""

FOLDERS = 100
"""How many parts a path may have: ten times what real packages need, and shallow enough
to walk packages inside of packages by recursion."""

LINK_STEPS = 1_000_000
"""How many parts of paths are looked at to follow all symlinks of a package: about a
second. A package needs some ten for each of its symlinks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageLimits:
    """Bounds on one package; each is the largest value still accepted.

    Attributes:
        file_bytes: Size of one YAML file (4 times the largest real one). Files that
            are never parsed count towards `package_bytes` only.
        package_bytes: Size of all files of a package together.
        files: Number of files in a package, subpackages included.
        file_nodes: Nodes of one YAML file, keys and what aliases stand for included: 7 times
            those of the largest real one, and read in about a second into 70 MB. In a file
            of `file_bytes` there may be two million.
        package_marks: How many of the characters that separate nodes the YAML files of a
            package may hold together. Counting them costs nothing, and each stands for two
            nodes at most: this keeps a package below some 500 MB of nodes. The largest
            package has 34,000.
        depth: How many mappings and lists may lie inside one another in a document.
        nodes: How many nodes the aliases of one file may add when they are written
            out. An alias bomb of 442 bytes stands for more than half a million.
        package_nodes: How many the aliases of all files of a package may add together,
            since a package can hold many files that stay just below `nodes`.
    """

    file_bytes: int = 4 * MIB
    package_bytes: int = 64 * MIB
    files: int = 20_000
    file_nodes: int = 250_000
    package_marks: int = 2_000_000
    depth: int = 64
    nodes: int = 10_000
    package_nodes: int = 100_000


DEFAULT = PackageLimits()

STREAM = replace(
    DEFAULT,
    file_bytes=DEFAULT.package_bytes,
    file_nodes=2 * DEFAULT.package_marks,
    depth=DEFAULT.depth + 2,
)
"""For one document that holds all resources of a package, each two levels further in."""
