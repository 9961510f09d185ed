"""One way to fetch from a repository, for the bot, its controllers and the command line.

A ref is fetched one commit deep and without files, then the files that are wanted: whoever has the
credentials, the bounds are the same.
"""

import os
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bot.git.refs import advertised
from bot.git.trees import StoredTrees
from bot.upstream import bounded
from bot.upstream.bounded import Done, GitCallLimits

MOST_FETCHED: Final = 256 * 1024**2
"""Bytes of what one fetch brings, compressed; a package may have a quarter of that."""

MOST_KEPT: Final = 2 * 1024**3
"""Bytes of a cache; what was used least recently goes first."""

WITHOUT_FILES: Final = "--filter=blob:none"

_PLAIN: Final = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
_REMOTE: Final = "upstream"


@dataclass(frozen=True, slots=True)
class Way:
    """How git gets to a repository.

    Attributes:
        url: Where it is.
        env: All of git's environment, credentials among it.
        asks: Whoever runs it sits at the terminal: git may ask there, and shows how far it is.
    """

    url: str
    env: Mapping[str, str] = field(repr=False)
    asks: bool = False


class FetchCommands:
    """Calls of git for one fetch.

    Args:
        way: To the repository.
        folder: Where git writes.
        bounds: How much all of it may take.
    """

    def __init__(self, way: Way, folder: Path, bounds: GitCallLimits) -> None:
        self.way = way
        self.folder = folder
        self.bounds = bounds

    def git(self, *arguments: str, text: str = "") -> Done:
        """Run git.

        Raises:
            TooSlowError, TooMuchError: It took more than it may.
        """
        way = self.way
        return bounded.run(arguments, self.folder, way.env, self.bounds, text, asks=way.asks)

    def list(self, *arguments: str) -> tuple[Done, list[tuple[str, str]]]:
        """What came of listing refs, and these as pairs of object and name."""
        options = [each for each in arguments if each.startswith("--")]
        patterns = [each for each in arguments if not each.startswith("--")]
        done = self.git("ls-remote", "--quiet", *options, "--", self.way.url, *patterns)
        return done, [] if done.status else [*advertised(done.output)]

    def fetch(self, *arguments: str, text: str = "") -> Done:
        """Fetch refs or objects; options come first."""
        options = [each for each in arguments if each.startswith("--")]
        refs = [each for each in arguments if not each.startswith("--")]
        remote = {
            f"remote.{_REMOTE}.url": self.way.url,
            f"remote.{_REMOTE}.promisor": "true",
            f"remote.{_REMOTE}.partialclonefilter": "blob:none",
        }
        given = [word for key, value in remote.items() for word in ("-c", f"{key}={value}")]
        more = ("-c", "fetch.unpackLimit=1", "-c", "fetch.negotiationAlgorithm=noop")
        quiet = "--progress" if self.way.asks and bounded.is_watched() else "--quiet"
        return self.git(
            *(*given, *more, "-c", "pack.threads=1", "-c", "gc.auto=0"),
            *("fetch", quiet, "--no-tags", "--no-write-fetch-head", *options),
            *("--", _REMOTE, *refs),
            text=text,
        )

    def complete(self, missing: Collection[str], again: str) -> Done | None:
        """Fetch files that are not here; None where there are none.

        Args:
            missing: Their ids.
            again: The commit or ref that they are of, for a server that gives no single files.
        """
        if not missing:
            return None
        done = self.fetch(WITHOUT_FILES, "--stdin", text="\n".join(missing) + "\n")
        # A fetch that names no filter takes that of the remote, and would leave them out again.
        return self.fetch("--no-filter", "--depth=1", "--refetch", again) if done.status else done


def settle(folder: Path) -> None:
    """Have git ask nobody for what a repository lacks, as it would once something was left out."""
    (folder / "config").write_text(_PLAIN)


def lacking(trees: StoredTrees, blobs: Iterable[str]) -> list[str]:
    """Return those of some files that are not in a repository."""
    wanted = sorted(set(blobs))
    with closing(trees.objects.stream(wanted, 0)) as stream:
        return [sha for sha, read in zip(wanted, stream, strict=True) if read is None]


def over(folder: Path, most: int, unused: float) -> list[Path]:
    """Return what of a cache has to go, least recently used first.

    Args:
        folder: The cache.
        most: Bytes that it may keep.
        unused: Seconds for which an entry must not have been used.
    """
    found = []
    for each in folder.glob("*.git"):
        try:
            found.append((each.stat().st_mtime, bounded.written(each), each))
        except OSError:
            continue  # it was removed meanwhile
    total, gone = sum(size for _, size, _ in found), list[Path]()
    for used, size, each in sorted(found):
        if total <= most or used > time.time() - unused:
            break
        gone.append(each)
        total -= size
    return gone


def used(folder: Path) -> None:
    """Remember that an entry of a cache was used now."""
    os.utime(folder)
