"""Reads the rules for variants that stand in a repository, and resolves them by its own table."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TypeAlias

from bot.config import CONFIG
from bot.look import variant_files
from bot.look.variant_files import FileTrees
from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from cadlib.package import files as packages
from lifecycle.messages import configuration
from lifecycle.messages import variants as texts
from lifecycle.names import Sha
from lifecycle.policy import VariantUse
from lifecycle.upstreams.locations import locate
from lifecycle.variants import expressions, resolution
from lifecycle.variants.objects import KubeObject, KubeObjectIndex
from lifecycle.variants.problems import Problem
from lifecycle.variants.reading import VariantFile
from lifecycle.variants.topics import TOPIC
from lifecycle.variants.values import REPOSITORY, Downstream, Variant, VariantUpstream

Topics: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Full names of repositories, in small letters, and the topics of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryObjects:
    """What rules may select and inject of another repository, at one of its branches.

    Attributes:
        repository: Its full name, in small letters.
        tip: The commit that it was read at; "" where it could not be.
        objects: The resources.
        broken: What could not be read.
    """

    repository: str
    tip: str = ""
    objects: tuple[KubeObject, ...] = field(default=(), repr=False, compare=False)
    broken: tuple[VariantFile, ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleBook:
    """What the rules of one repository want.

    Attributes:
        repository: Its full name.
        use: How it is configured.
        variants: One for each downstream, wherever that is, with paths as in its repository.
        objects: What can be injected.
        problems: Why others are not among them.
        complete: Nothing else is wanted.
        outside: What of other repositories was read for it.
        topics: Topics of the repositories that it names, where it chooses by them.
        kept_back: Full names, in small letters, of repositories whose objects chose packages that
            the repository of those packages must not learn of.
    """

    repository: str
    use: VariantUse
    variants: tuple[Variant, ...] = ()
    objects: KubeObjectIndex
    problems: tuple[Problem, ...] = ()
    complete: bool = True
    outside: tuple["RepositoryObjects", ...] = ()
    topics: Topics = ()
    kept_back: tuple[str, ...] = ()

    def full_name(self, name: str) -> str:
        """The full name of a repository that the rules call so; "" for none that they know."""
        found = self.use.repositories.get(name)
        return "" if found is None else found.repository or self.repository

    def branch(self, variant: Variant) -> str:
        """The branch that a variant's package is published from; "" for the default branch."""
        found = self.use.repositories.get(variant.spec.downstream.repo)
        return "" if found is None else found.branch

    def place(self, variant: Variant) -> Downstream:
        """Where a variant's package is: full name of the repository in small letters, and path."""
        spec = variant.spec.downstream
        return Downstream(self.full_name(spec.repo).lower(), spec.package)

    def wanted_in(self, repository: str) -> list[Variant]:
        """The variants whose package is in a repository."""
        return [
            each
            for each in self.variants
            if self.full_name(each.spec.downstream.repo).lower() == repository.lower()
        ]

    def without(self, repositories: Collection[str], downstream: str) -> "RuleBook":
        """Return it for one repository, without what objects of others say.

        What they chose goes as well: its name and its template may be made of them.

        Args:
            repositories: Full names of those others, in small letters.
            downstream: Full name of the repository.
        """
        back = [e for e in self.wanted_in(downstream) if e.is_chosen_from(repositories)]
        names = (n for n in repositories if any(each.is_chosen_from([n]) for each in back))
        gone = {self.place(each) for each in back}
        return replace(
            self,
            variants=tuple(each for each in self.variants if self.place(each) not in gone),
            objects=self.objects.without(repositories),
            complete=self.complete and not back,
            kept_back=tuple(sorted(names)),
        )

    @property
    def reaches(self) -> frozenset[str]:
        """Full names of the repositories that packages are wanted in, in small letters."""
        return frozenset(
            self.full_name(each.spec.downstream.repo).lower() for each in self.variants
        )


@expressions.together()
def read(
    git: FileTrees,
    tip: Sha,
    repository: str,
    use: VariantUse,
    outside: Sequence[RepositoryObjects] = (),
    topics: Topics = (),
) -> RuleBook:
    """Read the rules of a repository.

    Args:
        git: Its mirror, opened.
        tip: The commit whose rules count.
        repository: Its full name.
        use: How it is configured there.
        outside: What was read of the other repositories that it names.
        topics: Topics of repositories.
    """
    version, kind = REPOSITORY
    table = {
        name: KubeObject(
            api_version=version,
            kind=kind,
            name=name,
            labels={
                **_labels(topics, (each.repository or repository).lower()),
                **each.labels,
            },
        )
        for name, each in use.repositories.items()
    }
    room, own = variant_files.ReadBudget(), [e for e in use.objects if not e.repository]
    files = list(variant_files.rules(git, tip, use.files, room))
    found, broken = variant_files.objects(git, tip, repository, own, room)
    for each in outside:
        found += each.objects
        broken += each.broken
    around = resolution.ResolutionContext(
        repositories=table,
        objects=KubeObjectIndex([*table.values(), *found]),
        revision=_revision,
        own=repository,
        places={
            name: (each.repository or repository).lower() for name, each in use.repositories.items()
        },
        directories={name: each.directory for name, each in use.repositories.items()},
        topics=asks_for_topics(git, tip, use),
    )
    resolved = resolution.resolve([*files, *broken], around)
    return RuleBook(
        repository=repository,
        use=use,
        variants=tuple(map(around.placed, resolved.variants)),
        objects=KubeObjectIndex(found),
        problems=resolved.problems,
        complete=resolved.complete,
        outside=tuple(outside),
        topics=topics,
    )


def _labels(topics: Topics, repository: str) -> dict[str, str]:
    """The labels that stand for the topics of a repository."""
    return {
        f"{TOPIC}{each}": "true" for name, some in topics for each in some if name == repository
    }


def asks_for_topics(git: FileTrees, tip: Sha, use: VariantUse) -> bool:
    """Tell whether the rules of a commit choose anything by topics of repositories.

    Args:
        git: The mirror of their repository, opened.
        tip: The commit.
        use: How they are configured there.
    """
    folders = {each.rpartition("/")[0] for each in use.files}
    room = variant_files.ReadBudget()
    found = (variant_files.blobs(git, tip, folder, room) for folder in sorted(folders))
    return any(
        TOPIC.encode() in data
        for blobs in found
        if not isinstance(blobs, VariantFile)
        for path, data in blobs
        if _matches(use.files, path)
    )


def findings(
    git: FileTrees, head: Sha, use: VariantUse, changed: Iterable[str], address: str = ""
) -> tuple[Finding, ...]:
    """Return what is wrong with the rules as a change leaves them; nothing where it changes none.

    Args:
        git: The mirror, opened.
        head: The change's commit.
        use: How they are configured there.
        changed: Paths that differ.
        address: Where git reaches the repository, which the rules may call by its full name.
    """
    folders = tuple(f"{each.directory}/" for each in use.objects if not each.repository)
    changed = frozenset(changed)
    concerned = any(
        path == CONFIG or path.startswith(folders) or _matches(use.files, path) for path in changed
    )
    if not use.files or not concerned:
        return ()
    patterns, room = use.files if CONFIG in changed else (), variant_files.ReadBudget()
    missing = [each for each in patterns if not variant_files.named(git, head, each, room)]
    return tuple(
        Finding(message=problem, severity=Severity.WARNING, place=Place(CONFIG), fix=fix)
        for problem, fix in map(configuration.no_files, missing)
    ) + wrong(git, head, use, address)


def wrong(git: FileTrees, head: Sha, use: VariantUse, address: str) -> tuple[Finding, ...]:
    """Return what is wrong with the rules as they stand, whoever changed them.

    Args:
        git: The mirror, opened.
        head: Where they stand.
        use: How they are configured there.
        address: Where git reaches the repository; "" where that is not known.
    """
    location = locate(address)
    return tuple(
        Finding(
            message=texts.at_column(each.text.removeprefix(f"{each.field}: "), each.column),
            severity=Severity.ERROR,
            place=each.place,
            fix=each.fix,
        )
        for each in read(git, head, location.path if location else "", use).problems
    )


def _matches(patterns: Sequence[str], path: str) -> bool:
    folder, name = packages.folder(path), packages.name(path)
    pairs = (each.rpartition("/") for each in patterns)
    return any(folder == where and fnmatchcase(name, what) for where, _, what in pairs)


def _revision(upstream: VariantUpstream) -> KubeObject:
    """The upstream as expressions see it; whether it is there is asked for each package."""
    package = upstream.package.replace("/", ".")
    version = f"v{upstream.revision}" if upstream.revision > 0 else upstream.workspace or "main"
    return KubeObject(
        api_version="porch.kpt.dev/v1alpha1",
        kind="PackageRevision",
        name=f"{upstream.repo}.{package}.{version}",
        namespace="default",
    )


def together(
    books: Sequence[RuleBook], repository: str
) -> tuple[list[tuple[RuleBook, Variant]], list[Problem]]:
    """What the rules of several repositories want in one; what two of them want, none gets.

    Neither is a package made inside another one: what a rule does to that reaches into it.
    """
    wanted = [(book, each) for book in books for each in book.wanted_in(repository)]
    paths: dict[str, list[str]] = {}
    called: dict[str, list[str]] = {}
    for book, each in wanted:
        paths.setdefault(each.spec.downstream.package, []).append(book.repository)
        called.setdefault(each.name, []).append(book.repository)
    kept: list[tuple[RuleBook, Variant]] = []
    problems: list[Problem] = []
    for book, each in wanted:
        same = [*paths[each.spec.downstream.package]]
        if len(same) == 1 and len(called[each.name]) == 1:
            kept.append((book, each))
            continue
        others = [other for other in (*same, *called[each.name]) if other != book.repository]
        shown = Downstream(repository, each.spec.downstream.package)
        told = texts.same_downstream(f"{shown}", sorted(set(others)))
        problems.append(_problem(book, each, told))
    there = {each.spec.downstream.package for _, each in kept}
    crossing = {path: outer for path in there for outer in _around(path) if outer in there}
    crossing |= {outer: outer for outer in crossing.values()}
    for book, each in kept:
        path = each.spec.downstream.package
        if path in crossing:
            inner = next(p for p, outer in crossing.items() if outer == crossing[path] != p)
            places = (f"{Downstream(repository, p)}" for p in (inner, crossing[path]))
            problems.append(_problem(book, each, texts.inside_another(*places)))
    return [pair for pair in kept if pair[1].spec.downstream.package not in crossing], problems


def _around(path: str) -> list[str]:
    """The folders around one, from the outermost in."""
    parts = path.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]


def _problem(book: RuleBook, variant: Variant, told: tuple[str, str]) -> Problem:
    origin = variant.origin
    return Problem(f"{book.repository}:{origin.path}", origin.line or 0, 0, "", *told)
