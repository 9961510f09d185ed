"""Packages from repositories that the bot serves, read from their mirrors.

Longer than 400 lines: what is read of a repository, and for whom, is told from one state of it.

Rules:

1. A release that the mirror has is read without asking anybody for it. Anything that moves, and
   anything that is not known, is fetched first.
2. `latest` is the newest release that the ledger neither withdraws nor deprecates.
3. A ref is a release of the package first, then a branch, then any other tag. A branch or a tag
   whose name reads like a release of the package is refused: people would take it for one.
4. What nobody published is not the newest, whatever its number, nor what was published from a draft
   that its commit names, and no person gets it by its number (ADR 78). What is read is what was
   judged.
"""

from collections.abc import Collection, Mapping, Sequence

import structlog

from bot import config
from bot.clock import Clock, Offload
from bot.forges.port import (
    Forge,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    Forges,
    Repository,
)
from bot.git.port import Mirror, Mirrors, MissingObjectError, ObjectTooLargeError, Scope
from bot.store.port import Repositories
from bot.store.values import ServedName
from bot.upstream import releases
from bot.upstream.places import ServedPackage, holds, revision, scoped
from bot.upstream.port import FetchedUpstream, Publications, Published
from bot.upstream.releases import Knowing
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT
from lifecycle import names
from lifecycle.access import Person, Role
from lifecycle.identity import RepositoryId
from lifecycle.ledger import Entries
from lifecycle.messages import upstreams as texts
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy
from lifecycle.upstreams import consents
from lifecycle.upstreams.consents import Consent
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.locations import Location, locate
from lifecycle.upstreams.references import LATEST, as_git, candidates, is_commit
from lifecycle.variants.upstreams import UpstreamState

log = structlog.get_logger()

_MISSING = UpstreamFault.MISSING


class ServedUpstreams:
    """The repositories that are served, as upstreams.

    Args:
        forges: Every forge that is served, by its name.
        mirrors: What the bot has of all repositories.
        repositories: Which are served.
        publications: What was published there.
        clock: How old a fetch is.
        offloads: Where what concerns each forge is waited for: one that is slow holds up no other.

    Attributes:
        forges: Their names, sorted.
        knowing: What is known of commits.
    """

    def __init__(
        self,
        forges: Mapping[str, Forges],
        mirrors: Mirrors,
        repositories: Repositories,
        publications: Publications,
        clock: Clock,
        offloads: Mapping[str, Offload],
    ) -> None:
        self._forges = forges
        self.forges = tuple(sorted(forges))
        self._mirrors = mirrors
        self._repositories = repositories
        self._publications = publications
        self._clock = clock
        self._offloads = offloads
        self.knowing = Knowing()

    async def named(self, forge: str, full_names: Sequence[str]) -> tuple[Repository, ...]:
        """Return the repositories of these names at a forge, in the order of the names."""
        found = [await self.reached(each) for each in await self.known(forge, full_names)]
        return tuple(each for each in found if each is not None)

    async def known(self, forge: str, full_names: Sequence[str]) -> tuple[ServedName, ...]:
        """Return what the database knows by these names at a forge, in their order."""
        known = {
            each.full_name.lower(): each
            for each in await self._repositories.named(forge, full_names)
        }
        named = dict.fromkeys(each.lower() for each in full_names)
        return tuple(known[each] for each in named if each in known)

    async def reached(self, name: ServedName) -> Repository | None:
        """Return a repository as its forge has it now; None if it has that name no more."""
        try:
            forge = self._forges[name.id.forge]
            there = await forge.repository_by_id(name.id, name.installation)
        except ForgeMissingError:
            return None  # it is not ours any more, as discovery will find
        same = there.full_name.lower() == name.full_name.lower()
        return there if same else None  # the name may be another's by now

    async def at(self, location: Location) -> Repository | None:
        """Return the repository at a location; None for one that is not served."""
        for forge in self.forges:
            for each in await self.named(forge, location.names):
                if locate(each.clone_url) == location:
                    return each
        return None

    async def may_read(
        self, repository: Repository, into: Repository, caller: Person | None
    ) -> bool:
        """Tell whether a repository may be read, by a person or by consent."""
        if repository.id == into.id or repository.public:
            return True
        if caller is not None and repository.id.forge == into.id.forge:
            return await self._forge(repository).role(caller.login, caller.id) >= Role.READ
        return await self._consents(repository, into)

    async def may_be_named(
        self, name: ServedName, to: Repository, askers: Sequence[Person]
    ) -> bool:
        """Tell whether a repository may be named where all see it who may read another one.

        Not where its forge does not say so now: another repository's look goes on without it.
        """
        try:
            found = await self._forges[name.id.forge].repository_by_id(name.id, name.installation)
            return await self.is_shown(found, to, askers)
        except (ForgeBusyError, ForgeRefusedError, KeyError):
            return False

    async def is_shown(self, found: Repository, to: Repository, askers: Sequence[Person]) -> bool:
        """As `may_be_named`, of a repository as its forge shows it now."""
        if found.public or found.id == to.id:
            return True
        if to.public or not askers or found.id.forge != to.id.forge:
            return False
        forge = self._forge(found)
        for each in askers:
            if await forge.role(each.login, each.id) < Role.READ:
                return False
        return True

    async def _consents(self, repository: Repository, into: Repository) -> bool:
        """Whether a repository says that another gets packages from it."""
        if repository.id.forge != into.id.forge:
            return False  # a name at another forge is somebody else's
        forge = self._forge(repository)
        mirror, credentials = self._mirror(repository), await forge.git_credentials()
        branch = repository.default_branch

        def read() -> tuple[str, ...]:
            mirror.fetch(credentials, self._clock.monotonic(), Scope(frozenset({branch})))
            with mirror.open() as git:
                tip = git.ref(names.branch_ref(branch))
                data = config.fetch(git.blob, tip, config.CONFIG) if tip else None
            policy = config.read(data)
            return () if isinstance(policy, BrokenPolicy) else policy.upstream_use.share

        share = await self._offload(repository)(read)
        try:
            now = await self._forges[into.id.forge].repository_by_id(into.id, into.installation)
        except ForgeMissingError:
            return False
        return await self.lets_in(share, repository.id, now)

    async def lets_in(
        self, entries: Collection[str], giver: RepositoryId, other: Repository
    ) -> bool:
        """Tell whether what a repository lists means another one of the same forge.

        Args:
            entries: What it lists, as `lifecycle.upstreams.consents` has them.
            giver: The repository that lists.
            other: The other one, as the forge has it now.
        """
        found = consents.consent(entries, other.full_name, other.id)
        if found is not Consent.NAMED:
            return found is Consent.GIVEN
        if await self._repositories.let_in(giver, other.full_name, other.id):
            return True
        log.warning(
            "a name that is listed means another repository by now",
            repository=str(giver),
            name=other.full_name,
            now=str(other.id),
        )
        return False

    async def ledger(
        self, repository: Repository, packages: Collection[str]
    ) -> Mapping[str, Entries]:
        """Return what the ledger of a repository says of packages, as its mirror has it.

        Of one whose ledger cannot be read, nothing.
        """
        mirror = self._mirror(repository)

        def read() -> dict[str, Entries]:
            with mirror.open() as git:
                tip = git.ref(names.branch_ref(repository.default_branch))
                return {each: releases.entries(git, tip, each) or {} for each in packages}

        return await self._offload(repository)(read)

    async def commits(self, repository: Repository, refs: Collection[str]) -> dict[str, str]:
        """Return the commits of refs, as the mirror has them; of those that it has."""

        def read(mirror: Mirror) -> dict[str, str]:
            with mirror.open() as git:
                return {ref: sha for ref in refs if (sha := git.ref(ref))}

        return await self._offload(repository)(read, self._mirror(repository))

    async def releases(
        self, repository: Repository, packages: Collection[str]
    ) -> Mapping[str, tuple[int, ...]]:
        """Return the numbers of packages' releases, rising, that were published and may be used.

        Raises:
            GitBusyError: The forge could not be reached.
        """
        mirror = self._mirror(repository)
        credentials = await self._forge(repository).git_credentials()
        branch, knowing = repository.default_branch, self.knowing
        published = await self._publications.of(repository.id, packages)

        def read() -> dict[str, tuple[int, ...]]:
            scope = Scope(frozenset({branch}), frozenset(packages))
            mirror.fetch(credentials, self._clock.monotonic(), scope)
            with mirror.open() as git:
                tip = git.ref(names.branch_ref(branch))
                found = {}
                for package in packages:
                    known, were = releases.of(git, package), published.numbers(git, package)
                    good = releases.good(git, tip, package, known, knowing, were)
                    found[package] = tuple(sorted(good))
                return found

        return await self._offload(repository)(read)

    async def fetch(
        self, place: ServedPackage, ref: str, *, published: bool = False
    ) -> FetchedUpstream:
        """Read a package; that it may be read is for the caller to have judged.

        Args:
            place: Which.
            ref: As it was written after the "@".
            published: A revision that nobody published is refused by its number as well.

        Raises:
            UpstreamError: There is no such ref or folder, it is too large, was not published, or is
                named like a revision and is none.
            GitBusyError: The forge could not be reached, or what it gave is not whole.
        """
        try:
            return await self._fetched(place, ref, published)
        except MissingObjectError as error:
            log.info("upstream fetched again", place=str(place), error=str(error))
            return await self._fetched(place, ref, published, again=True)
        except ObjectTooLargeError as error:
            problem = texts.too_large(str(place), str(error))
            raise UpstreamError(UpstreamFault.TOO_LARGE, *problem) from error

    async def _fetched(
        self, place: ServedPackage, ref: str, published: bool, *, again: bool = False
    ) -> FetchedUpstream:
        """As `fetch`; `again` where what the mirror had was removed from it, or is not whole."""
        forge, mirror = self._forge(place.repository), self._mirror(place.repository)
        credentials = await forge.git_credentials()
        were = await self._publications.of(place.repository.id, [place.package])
        found = (
            None
            if again
            else await self._offload(place.repository)(self._known, mirror, place, ref)
        )
        if found is None:
            found = await self._offload(place.repository)(
                self._fresh, mirror, credentials, place, ref, were
            )
        if found is None:
            found = await self._other(forge, mirror, credentials, place, ref)
        strict = published or ref == LATEST
        return await self._offload(place.repository)(
            self._read, mirror, place, *found, ref, were, strict, again
        )

    async def published_from(self, place: ServedPackage, workspace: str) -> int | None:
        """Return the newest release that was published from a draft; None for none.

        Raises:
            GitBusyError: The forge could not be reached.
        """
        mirror, package = self._mirror(place.repository), place.package
        credentials = await self._forge(place.repository).git_credentials()
        published = await self._publications.of(place.repository.id, [package])

        def read() -> int | None:
            scope = Scope(packages=frozenset({package}))
            mirror.fetch(credentials, self._clock.monotonic(), scope)
            with mirror.open() as git:
                numbers = published.numbers(git, package)
                return releases.published_from(git, package, workspace, numbers)

        return await self._offload(place.repository)(read)

    def _known(self, mirror: Mirror, place: ServedPackage, ref: str) -> tuple[str, str] | None:
        """The name and commit of what never moves, where the mirror has it."""
        with mirror.open() as git:
            if is_commit(ref):
                return (ref, ref) if holds(git, place, ref) else None
            tag = names.tag_ref(names.tag_name(scoped(place.package, ref)))
            if names.parse_tag(tag) is None:
                return None
            known = releases.of(git, place.package)
            found = known.get(tag)
            return (tag, found[1]) if found and git.has(found[1]) else None

    def _fresh(
        self, mirror: Mirror, credentials: str, place: ServedPackage, ref: str, published: Published
    ) -> tuple[str, str] | None:
        """The name and commit of a release or a branch, as the forge has them now."""
        package, branch = place.package, place.repository.default_branch
        whole = is_commit(ref)
        branches = {branch} if ref == LATEST else {"" if whole else names.branch_name(ref)}
        scope = Scope(frozenset(branches), frozenset({package}))
        mirror.fetch(credentials, self._clock.monotonic(), scope)
        with mirror.open() as git:
            if whole:
                return (ref, ref) if holds(git, place, ref) else None
            tags = releases.of(git, package)
            if ref == LATEST:
                tip, were = git.ref(names.branch_ref(branch)), published.numbers(git, package)
                number = next(releases.good(git, tip, package, tags, self.knowing, were), None)
                if number is None:
                    raise UpstreamError(_MISSING, *texts.no_revision(str(place)))
                tag = names.tag(package, number)
                return tag, tags[tag][1]
            for name in (scoped(package, ref), names.branch_ref(names.branch_name(ref))):
                if commit := git.ref(name):
                    return name, commit
        return None

    async def _other(
        self, forge: Forge, mirror: Mirror, credentials: str, place: ServedPackage, ref: str
    ) -> tuple[str, str]:
        """The name and commit of a tag that is no release of the package."""
        if is_commit(ref):
            raise UpstreamError(_MISSING, *texts.no_commit(ref, str(place)))
        for name in candidates(place.package, ref):
            if not names.is_tag(name) or not await forge.has_tag(names.tag_name(name)):
                continue
            # Of a tag at the top this means all tags: there is no other folder around it.
            around = Scope(packages=frozenset({names.tag_name(name).rpartition("/")[0]}))
            await self._offload(place.repository)(
                mirror.fetch, credentials, self._clock.monotonic(), around
            )
            if found := await self.commits(place.repository, [name]):
                return name, found[name]

        def gone() -> str:
            with mirror.open() as git:
                tip = git.ref(names.branch_ref(place.repository.default_branch))
                return releases.why_gone(git, tip, place.package, scoped(place.package, ref))

        if reason := await self._offload(place.repository)(gone):
            raise UpstreamError(_MISSING, *texts.no_more(ref, str(place), reason))
        raise UpstreamError(_MISSING, *texts.no_version(ref, str(place), served=True))

    def _read(
        self,
        mirror: Mirror,
        place: ServedPackage,
        name: str,
        commit: str,
        ref: str,
        published: Published,
        strict: bool,
        again: bool,
    ) -> FetchedUpstream:
        plain = names.branch_name(names.tag_name(name))
        number = revision(place.package, name)
        if number is None and revision(place.package, plain) is not None:
            raise UpstreamError(_MISSING, *texts.named_like_revision(str(place), plain))
        with mirror.open() as git:
            tag, there = git.refs(name).get(name, ("", ""))
            if number is not None and not there and not again:  # fetched by somebody meanwhile
                raise MissingObjectError(f"{plain} was removed while it was read")
            if not git.has(commit):
                if again and there == commit:  # a tag may name a tree, or a file
                    raise UpstreamError(_MISSING, *texts.names_no_commit(plain, str(place)))
                raise MissingObjectError(f"commit {commit} is not in the mirror")
            was = there == commit and number in published.numbers(git, place.package)
            if number is not None and not was and strict:
                moved = there != commit or number in published.replaced(git, place.package)
                raise UpstreamError(_MISSING, *texts.unpublished(str(place), number, moved))
            tree = git.tree(commit, place.package)
            if not tree:
                problem = texts.no_folder(place.package, place.repository.full_name, ref)
                raise UpstreamError(_MISSING, *problem)
            try:
                files = git.files(tree, DEFAULT)
            except PackageError as error:
                problem = texts.too_large(str(place), error.problem)
                raise UpstreamError(UpstreamFault.TOO_LARGE, *problem) from error
            state = UpstreamState.GOOD
            if number is not None:
                tip = git.ref(names.branch_ref(place.repository.default_branch))
                state = releases.state(git, tip, place.package, number, Sha(commit), self.knowing)
        return FetchedUpstream(
            files=files,
            ref=as_git(place.repository.clone_url, place.package, plain),
            commit=commit,
            tree=tree,
            revision=number,
            state=state,
            unpublished=number is not None and not was,
            served=place.repository.id,
            tag=str(tag),
        )

    def _forge(self, repository: Repository) -> Forge:
        return self._forges[repository.id.forge].of(repository)

    def _mirror(self, repository: Repository) -> Mirror:
        return self._mirrors.of(repository.id, repository.clone_url)

    def _offload(self, repository: Repository) -> Offload:
        return self._offloads[repository.id.forge]
