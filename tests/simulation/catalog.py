"""A second repository: packages of this one are made of its package, and its rules reach here.

`acme/catalog` is private and `acme/blueprints` is not: its text may come here while it says so
(`upstreams.share`), or while everybody may read it. Its rules may have packages made here while
this repository says so (`variants_from`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.simulation.diary import Diary
from tests.simulation.setting import ADMIN, WRITERS, resource
from tests.simulation.variants import FOLDER

OWNER, NAME = "acme", "catalog"
LIB = "lib"
"""The package of the catalog that others are made of."""

FAR = "far"
"""A package here that a rule here wants to be made of `LIB`."""

CAST = "cast"
"""A package here that a rule in the catalog wants."""

MADE = (FAR, CAST)

RULE = f"{FOLDER}/{FAR}.yaml"
REACHING = f"{FOLDER}/{CAST}.yaml"
ROLES = {ADMIN: "admin", **dict.fromkeys(WRITERS[:2], "write")}
MARKED = re.compile(r"catalog-[0-9]+")
"""What each revision of `LIB` holds, and nobody writes anywhere else."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How it stands with the catalog.

    Attributes:
        shares: It says that its packages may be used here.
        private: Not everybody may read it.
        reaches: Its rule wants a package here.
        served: The App is in it.
        named: It has the name by which rules here name it.
    """

    shares: bool
    private: bool
    reaches: bool
    served: bool
    named: bool

    @property
    def open(self) -> bool:
        """Its text may be seen here."""
        return self.shares or not self.private


@dataclass
class Stood:
    """How it stood with the catalog at each place of the diary.

    Attributes:
        diary: What happens here.
        log: From which place on it stood how.
        published: Tags of `LIB`.
    """

    diary: Diary
    log: list[tuple[int, Standing]] = field(default_factory=list)
    published: list[str] = field(default_factory=list)

    def note(self, now: Standing) -> None:
        """Something of it changed: it stands in the diary from here on."""
        self.log.append((len(self.diary.entries), now))
        self.diary.add("forge", "catalog", text=str(now))

    @property
    def now(self) -> Standing:
        """How it stands now."""
        return self.log[-1][1]

    def within(self, first: int, last: int) -> Iterator[Standing]:
        """How it stood at any time between two places of the diary."""
        ends = [*(place for place, _ in self.log[1:]), last + 1]
        for (place, standing), until in zip(self.log, ends, strict=True):
            if place <= last and until > first:
                yield standing

    def rested(self, first: int, last: int) -> bool:
        """Whether nothing of it changed between two places."""
        return not any(first <= place <= last for place, _ in self.log)


def content(number: int) -> dict[str, bytes]:
    """The files of `LIB` that its revisions have otherwise."""
    return {f"{LIB}/{name}.yaml": resource(name, f"catalog-{number}") for name in "ab"}


def configuration(*, shares: bool, lets_in: bool = False) -> bytes:
    """The catalog's own.

    Args:
        shares: Its packages and objects may be used here.
        lets_in: Rules of this repository may have packages made there.
    """
    lines = ["version: 1", f"variants: [{FOLDER}/*.yaml]"]
    lines += [f"variants_from: [{OWNER}/blueprints]"] * lets_in
    lines.append(f"repositories: {{here: {{}}, there: {{repository: {OWNER}/blueprints}}}}")
    lines += [f"upstreams: {{share: [{OWNER}/blueprints]}}"] * shares
    return "\n".join([*lines, ""]).encode()


def rule(name: str, upstream: str, downstream: str, *, asap: bool) -> bytes:
    """A rule that wants a package made of the newest `LIB`.

    Args:
        name: The package.
        upstream: What the catalog is called where the rule stands.
        downstream: What the other repository is called there.
        asap: What is made is proposed at once.
    """
    propose = "    porchbot.dev/propose: asap\n" * asap
    return (
        "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\n"
        f"metadata:\n  name: {name}\n  annotations:\n    porchbot.dev/follow: latest\n{propose}"
        f"spec:\n  upstream: {{repo: {upstream}, package: {LIB}}}\n"
        f"  downstream: {{repo: {downstream}, package: {name}}}\n"
    ).encode()
