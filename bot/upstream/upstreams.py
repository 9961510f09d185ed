"""All upstreams: whose package it is, whether it may be had, and from where it comes."""

import asyncio
import time
from collections.abc import Collection
from typing import Protocol
from weakref import WeakValueDictionary

from bot.forges.port import ForgeBusyError, Repository
from bot.git.port import GitBusyError
from bot.upstream.elsewhere import Came
from bot.upstream.fetching import LimitedFetches
from bot.upstream.places import ServedPackage
from bot.upstream.port import FetchedUpstream
from bot.upstream.readers import Readable, Readers
from bot.upstream.routes import MOST_REDIRECTS, PUBLIC, Allowed
from bot.upstream.served import ServedUpstreams
from bot.upstream.standing import Homes
from cadlib.kptfile.values import GitRef
from lifecycle import names
from lifecycle.access import Person
from lifecycle.messages import upstreams as texts
from lifecycle.policy import Policy
from lifecycle.upstreams import use
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.locations import Location, locate
from lifecycle.upstreams.references import (
    GitReference,
    Reference,
    RevisionReference,
    as_git,
    from_lock,
)

MOST_PARTS = 5
"""Folders of a path that may be the name of a repository: groups of GitLab nest."""


def _reader(into: Repository) -> str:
    """Who asks, as the operator's credentials name it; `PUBLIC` where nobody can tell the host."""
    location = locate(into.clone_url)
    return PUBLIC if location is None else str(location)


def _admit(reference: GitReference, location: Location, policy: Policy) -> None:
    """Refuse an address that the configuration does not allow.

    Raises:
        UpstreamError: It does not.
    """
    if not use.may_use(policy, location, reference.directory, served=False):
        problem = texts.not_allowed(str(location), by_default=use.allows_what_is_served(policy))
        raise UpstreamError(UpstreamFault.NOT_ALLOWED, *problem)


class _LeadsOnError(Exception):
    """An address leads to another one, which may be of a repository that is served."""

    def __init__(self, location: Location) -> None:
        super().__init__(str(location))
        self.location = location


class ExternalFetcher(Protocol):
    """Repositories that the bot does not serve; `ExternalRepositories` is one."""

    def fetch(
        self, wanted: GitReference, reader: str, allowed: Allowed, spent: float = 0.0
    ) -> Came:
        """Fetch a package; for threads.

        Args:
            wanted: Which one.
            reader: Location of the repository that it is for; `PUBLIC` for no credentials.
            allowed: Judges each repository that its address leads to.
            spent: Seconds that this took so far, at addresses that led on.

        Raises:
            UpstreamError: It cannot be had.
        """

    def opens(self, at: Location, reader: str) -> bool:
        """Tell whether the operator's credentials are used for a repository.

        Args:
            at: Which one.
            reader: As for `fetch`.
        """


class AllUpstreams:
    """Implements `Upstreams`.

    Args:
        served: The repositories that are served.
        elsewhere: All others.
        fetches: Runs git for these.
        homes: Where the forges are that are served.
    """

    def __init__(
        self,
        served: ServedUpstreams,
        elsewhere: ExternalFetcher,
        fetches: LimitedFetches,
        homes: Homes,
    ) -> None:
        self._served = served
        self._readers = Readers(served)
        self._elsewhere = elsewhere
        self._fetches = fetches
        self._homes = homes
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def fetch(
        self,
        reference: Reference | GitRef,
        *,
        into: Repository,
        caller: Person | None,
        policy: Policy,
    ) -> FetchedUpstream:
        """Fetch a package; see `Upstreams.fetch`."""
        if isinstance(reference, GitRef):
            reference = from_lock(reference)
        if isinstance(reference, GitReference):
            location = locate(reference.repo)
            told = await self._readers.at(location, into, caller) if location else Readable()
            if not told.found:
                if location is not None:  # before a forge is asked about a name that somebody wrote
                    _admit(reference, location, policy)
                # Whoever may not see it gets what the public gets, by no credentials of ours.
                reader = PUBLIC if told.hidden else self._asker(location, _reader(into))
                return await self._from_elsewhere(reference, reader, into, caller, policy)
            place = ServedPackage(told.found[0], reference.directory)
        else:
            place = await self._place(reference, into, caller, policy)
        return await self._from_served(place, reference.ref, into, caller, policy)

    async def _from_served(
        self,
        place: ServedPackage,
        ref: str,
        into: Repository,
        caller: Person | None,
        policy: Policy,
    ) -> FetchedUpstream:
        self._judge(place.repository, place.package, into, policy)
        try:
            # Who may change the rules has approved the revision that a rule for variants names.
            return await self._served.fetch(place, ref, published=caller is not None)
        except GitBusyError as error:
            raise ForgeBusyError(f"fetch {place}", str(error)) from error

    def _asker(self, location: Location | None, reader: str) -> str:
        """Who asks for what no name of a repository that is served leads to.

        A repository that was renamed a moment ago has a name that nobody here knows yet: what the
        operator's credentials opened is shown only once its forge denied that (`_is_ours`).
        """
        if reader == PUBLIC or location is None:
            return reader
        opens = self._elsewhere.opens(location, reader)
        return PUBLIC if opens and self._homes.was_served(location) else reader

    async def _is_ours(self, locations: Collection[Location], reader: str) -> bool:
        """Whether the operator's credentials may have opened a repository that is served."""
        for each in locations:
            if self._elsewhere.opens(each, reader) and await self._homes.may_be_served(each):
                return True
        return False

    async def home(
        self, reference: RevisionReference, *, into: Repository, policy: Policy
    ) -> Repository:
        """Return the repository that a package would be fetched from; see `Upstreams.home`."""
        place = await self._place(reference, into, None, policy)
        self._judge(place.repository, place.package, into, policy)
        return place.repository

    async def published_from(
        self, reference: RevisionReference, *, into: Repository, policy: Policy
    ) -> int | None:
        """Return the newest release of a package that was made from a draft."""
        place = await self._place(reference, into, None, policy)
        self._judge(place.repository, place.package, into, policy)
        try:
            return await self._served.published_from(place, reference.ref)
        except GitBusyError as error:
            raise ForgeBusyError(f"fetch {place}", str(error)) from error

    async def _place(
        self, reference: RevisionReference, into: Repository, caller: Person | None, policy: Policy
    ) -> ServedPackage:
        """The package in a repository that is served, as far as whoever asks may know of it."""
        parts = reference.package.split("/")
        if reference.repository:
            named = {reference.repository.lower(): reference.package}
        else:
            named = {
                "/".join(parts[:end]).lower(): "/".join(parts[end:])
                for end in range(min(len(parts), MOST_PARTS), 1, -1)
            }
        for found in (await self._readers.named(into.id.forge, list(named), into, caller)).found:
            return ServedPackage(found, named[found.full_name.lower()])
        if reference.repository and reference.repository.lower() != into.full_name.lower():
            problem = texts.unserved(reference.package, reference.repository)
            raise UpstreamError(UpstreamFault.MISSING, *problem)
        default = use.default_repository(policy)
        if not default or reference.repository:
            return ServedPackage(into, reference.package)
        for found in (await self._readers.named(into.id.forge, [default], into, caller)).found:
            return ServedPackage(found, reference.package)
        raise UpstreamError(UpstreamFault.MISSING, *texts.unserved(reference.package, default))

    def _judge(
        self, upstream: Repository, directory: str, into: Repository, policy: Policy
    ) -> None:
        location = locate(upstream.clone_url)
        if upstream.id == into.id:
            return
        if location is None or not use.may_use(policy, location, directory, served=True):
            raise UpstreamError(
                UpstreamFault.NOT_ALLOWED, *texts.not_allowed(str(location or upstream.full_name))
            )

    async def _from_elsewhere(
        self,
        reference: GitReference,
        reader: str,
        into: Repository,
        caller: Person | None,
        policy: Policy,
    ) -> FetchedUpstream:
        first = locate(reference.repo)
        known = {first}
        unserved = [first] if first is not None else []

        def allowed(location: Location) -> None:
            _admit(reference, location, policy)
            if location not in known:
                raise _LeadsOnError(location)

        spent = 0.0

        def fetched(reader: str) -> Came:
            nonlocal spent
            began = time.monotonic()
            try:
                return self._elsewhere.fetch(reference, reader, allowed, spent)
            finally:
                spent += time.monotonic() - began

        turn = self._turns.setdefault(str(reference), asyncio.Lock())
        async with turn:  # who asks for the same meanwhile finds it in the cache
            while True:
                try:
                    came = await self._fetches.fetch(into.id, fetched, reader)
                except _LeadsOnError as on:
                    if len(known) > MOST_REDIRECTS:
                        problem = texts.redirects(str(first), str(on.location))
                        raise UpstreamError(UpstreamFault.REFUSED, *problem) from None
                    known.add(on.location)
                    # As a repository does by a name that it had before.
                    told = await self._readers.at(on.location, into, caller)
                    if told.found:
                        # By its former name no other revisions count than by its own.
                        place = ServedPackage(told.found[0], reference.directory)
                        return await self._from_served(place, reference.ref, into, caller, policy)
                    if told.hidden:
                        reader = PUBLIC
                    else:
                        unserved.append(on.location)
                        reader = self._asker(on.location, reader)
                    continue
                except UpstreamError:  # what is missing there is told to nobody either
                    if reader == PUBLIC or not await self._is_ours(unserved, reader):
                        raise
                    reader = PUBLIC
                    continue
                if reader == PUBLIC or not await self._is_ours(unserved, reader):
                    break
                reader = PUBLIC
        release = names.parse_tag(names.tag_ref(came.ref))
        return FetchedUpstream(
            files=came.files,
            ref=as_git(reference.repo, reference.directory, came.ref),
            commit=came.commit,
            tree=came.tree,
            revision=release[1] if release and release[0] == reference.directory else None,
        )
