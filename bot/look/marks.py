"""Reads what selectors choose packages by, at one commit: labels, purpose, upstream and the rest.

A file that cannot be read tells nothing: its package is chosen by what is left.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from bot.look import locks
from bot.store.values import UpstreamUse
from cadlib.errors import PackageError
from cadlib.kptfile import reader
from cadlib.kptfile.values import Kptfile
from cadlib.package.files import KPTFILE
from cadlib.render import context
from cadlib.yaml import read
from lifecycle.policy import BrokenPolicy, Policy
from lifecycle.selectors.marks import PackageMarks
from lifecycle.upstreams.graph import Package, Upstream

MOST_BYTES = 256 * 1024
"""Of a Kptfile or package context: a hundred times the largest real one."""


class BlobReader(Protocol):
    """What is asked of git."""

    def blob(self, commit: str, path: str, most: int) -> bytes | None:
        """The first bytes of a file at a commit; None for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedRepository:
    """What all packages of a repository have in common.

    Attributes:
        name: Such as "acme/blueprints".
        policy: The rules of its default branch.
    """

    name: str
    policy: Policy | BrokenPolicy

    def of(
        self, trees: BlobReader, commit: str, package: str, *, revision: int = 0, held: int = 0
    ) -> PackageMarks:
        """Return what one package is chosen by.

        Args:
            trees: Where it is.
            commit: As it was there.
            package: Its path.
            revision: Number of its newest revision; 0 for none.
            held: Number of the revision that it is held at; 0 where it is not.
        """
        kptfile = _kptfile(trees, commit, package)
        made = upstream_of(locks.said_by(package, kptfile))
        known = self.policy if isinstance(self.policy, Policy) else Policy()
        return PackageMarks(
            repository=self.name,
            path=package,
            labels=kptfile.labels,
            annotations=kptfile.annotations,
            context=_context(_file(trees, commit, package, context.FILE)),
            attributes=known.attributes,
            deployed=known.deployment,
            upstream=f"{made.package.place}/{made.package.path}".rstrip("/") if made else "",
            upstream_ref=ref_of(made) if made else "",
            revision=revision,
            held=held,
        )


def ref_of(upstream: Upstream) -> str:
    """Return how selectors name the state that a package was made from."""
    return f"v{upstream.revision}" if upstream.revision else upstream.ref


def upstream_of(uses: Iterable[UpstreamUse]) -> Upstream | None:
    """Return what a package was made from: what its lock names, else what its upstream does."""
    ordered = sorted(uses, key=lambda use: not use.locked)
    return next((Upstream(Package(u.place, u.directory), u.ref, u.commit) for u in ordered), None)


def _file(trees: BlobReader, commit: str, package: str, name: str) -> bytes:
    data = trees.blob(commit, f"{package}/{name}".lstrip("/"), MOST_BYTES + 1)
    return b"" if data is None or len(data) > MOST_BYTES else data


def _kptfile(trees: BlobReader, commit: str, package: str) -> Kptfile:
    return _read(_file(trees, commit, package, KPTFILE))


@lru_cache(maxsize=10_000)
def _read(data: bytes) -> Kptfile:
    """Read a Kptfile; who looks again and again finds most of them as they were."""
    try:
        return reader.read(data, path=KPTFILE) if data else Kptfile()
    except PackageError:
        return Kptfile()


def _context(data: bytes) -> Mapping[str, str]:
    try:
        documents = read(data, path=context.FILE).documents if data else ()
    except PackageError:
        return {}
    for each in documents:
        value = each.value
        said = value.get("data") if isinstance(value, dict) else None
        if context.is_context(value) and isinstance(said, dict):
            return {key: text for key, text in said.items() if isinstance(text, str)}
    return {}
