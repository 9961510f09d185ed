"""Resolves image names to digests, and reads the images' configuration.

Rules
- The operator's policy is asked before a registry is, as far as names decide.
- A tag is asked for again after some minutes; a digest means the same for ever. Where a registry
  is away, what a name meant last goes on being meant, as far as somebody kept that.
- What is asked is asked once, whoever waits for it, and no longer than somebody does.
- Registries answer such questions within moments: one that does not is not waited for as long as
  for an image, and keeps no more than a few threads waiting.
- A digest is an image of a repository only once that has shown it, whatever other repository has.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from threading import Event, Lock
from typing import Final, Protocol, TypeVar

from cadlib import images as names
from fnrunner.contract.errors import (
    FunctionNotFoundError,
    FunctionRefusedError,
    FunctionUnavailableError,
)
from fnrunner.contract.policy import RunnerPolicy
from fnrunner.contract.run import MIB
from fnrunner.images import manifest
from fnrunner.images.folders import ResolvedName
from fnrunner.images.manifest import Image, ImageConfig, ImageManifestError
from fnrunner.images.names import Name
from fnrunner.images.once import SingleFlight, Stop
from fnrunner.images.registry import Registries, RegistrySession

T = TypeVar("T")

_log = logging.getLogger(__name__)

_THREADS: Final = 64  # most wait for an answer
_HOST_THREADS: Final = 4  # for one host
_MOST: Final = 10_000  # names and images kept in memory; names come from packages
_ASK_SECONDS: Final = 60.0  # with three tries, and what registries may ask us to wait
_AWAY_SECONDS: Final = 30.0  # how long a registry that is away is not asked again
_LONGEST_CONFIG: Final = 4 * MIB
_NESTED: Final = 3  # indexes within indexes


class KnownDigests(Protocol):
    """Digests of names, kept beyond this process; see `Store`."""

    def known(self, image: str) -> ResolvedName | None:
        """Return what a name meant when it was last asked for, or None."""

    def remember(self, image: str, digest: str) -> None:
        """Keep what a name means now."""

    def had(self, digest: str, repository: str) -> bool:
        """Tell whether an image that is here was brought from a repository."""


class Resolver:
    """Knows what names of images mean, and how the images want to be started."""

    def __init__(
        self,
        registries: Registries,
        policy: RunnerPolicy,
        seconds: float,
        *,
        offline: bool = False,
        kept: KnownDigests | None = None,
    ) -> None:
        """Make a resolver; whoever makes one closes it.

        Args:
            registries: What is asked.
            policy: What may run.
            seconds: How long a tag is taken to mean the same.
            offline: No registry is asked.
            kept: What names meant before; None keeps that in memory only.
        """
        self._registries = registries
        self._policy = policy
        self._seconds = seconds
        self._offline = offline
        self._kept = kept
        self._once = SingleFlight(_THREADS, "resolve", each=_HOST_THREADS)
        self._meant: dict[str, tuple[str, float]] = {}
        self._asked: dict[tuple[str, str], ImageConfig] = {}
        self._shown: set[tuple[str, str]] = set()
        self._sessions: set[RegistrySession] = set()
        self._lock = Lock()
        self._closed = Event()

    def close(self) -> None:
        """End all sessions, and its threads."""
        self._closed.set()
        with self._lock:
            for session in self._sessions:
                session.abort()
        self._once.close()

    def name(self, image: str) -> Name:
        """Return the full name of an image, if the policy may let it pass.

        Raises:
            FunctionNotFoundError: It is no name of an image.
            FunctionRefusedError: It may not run, whatever it means.
        """
        full = names.resolve_image(image, self._policy.prefix)
        if not image or not names.is_image(full):
            raise FunctionNotFoundError(image)
        name = Name.read(full)
        self._policy.check_host(full, named=self._registries.configured(name.host))
        return name

    async def digest(self, name: Name) -> str:
        """Return the digest that a name means, of an index or an image.

        Raises:
            FunctionNotFoundError: Its registry does not have it.
            FunctionRefusedError: It may not run.
            FunctionUnavailableError: Its registry refuses, or does not answer.
            RunnerBusyError: It is being closed, as with all that asks a registry.
        """
        digest, until = self._meant.get(name.image, (name.digest, 0.0))
        if not name.digest and time.monotonic() >= until:
            digest = await self._do(f"name {name.image}", name, self._find_digest)
        self._policy.check(name.image, digest)
        return digest

    async def shown(self, name: Name) -> str:
        """Return the digest that a name means, once its repository was seen to have that image.

        What is kept about a digest may have come from another repository, which not everybody
        may read, or which this one only claims to equal.

        Raises:
            FunctionError: As `digest`.
        """
        digest = await self.digest(name)
        key = (_repository(name), digest)
        if key not in self._shown:
            await self._do(f"shown {'@'.join(key)}", name, partial(self._see, digest))
            if len(self._shown) >= _MOST:
                self._shown.clear()
            self._shown.add(key)
        return digest

    async def config(self, name: Name, digest: str) -> ImageConfig:
        """Return how the program of an image wants to be started.

        Raises:
            FunctionRefusedError: It is no image that runs here, or names no program.
            FunctionUnavailableError: Its registry refuses, or does not answer.
        """
        key = (_repository(name), digest)
        if key not in self._asked:
            found = await self._do(
                f"image {'@'.join(key)}", name, partial(self._find_config, digest)
            )
            if len(self._asked) >= _MOST:
                self._asked.clear()
            self._asked[key] = found
        return self._asked[key]

    async def tags(self, name: Name) -> tuple[str, ...]:
        """Return the tags that its registry lists.

        Raises:
            FunctionNotFoundError: Its registry does not have it.
            FunctionUnavailableError: Its registry refuses, or does not answer.
        """
        return await self._do(f"tags {name.image}", name, self._find_tags)

    async def _do(self, key: str, name: Name, work: Callable[[Name, Stop], T]) -> T:
        """Ask a registry something in a thread, once for all who wait for it."""
        stop = Stop()
        return await self._once.do(key, partial(work, name, stop), host=machine(name), stop=stop)

    @contextmanager
    def session(
        self, name: Name, stop: Stop, seconds: float | None = None
    ) -> Iterator[RegistrySession]:
        """Give a session of its registry that `close` ends.

        Args:
            name: The image.
            stop: Ends it as well.
            seconds: How long it may take; None for as long as an image may take.

        Raises:
            FunctionUnavailableError: Registries are not to be asked.
        """
        if self._offline:
            raise FunctionUnavailableError(
                name.image,
                "its image is not in the local store, and pulling is turned off",
                "Pull it once with pulling turned on",
            )
        with self._registries.session(name, seconds) as session:
            with self._lock:
                self._sessions.add(session)
            stop.calls(session.abort)
            try:
                if self._closed.is_set():
                    session.abort()
                yield session
            finally:
                with self._lock:
                    self._sessions.discard(session)

    def _find_digest(self, name: Name, stop: Stop) -> str:
        """Return what a name means, and keep it."""
        known = self._kept.known(name.image) if self._kept else None
        if known is not None and 0 <= known.age < self._seconds:
            return self._means(name, known.digest, self._seconds - known.age)
        if known is not None and self._offline:
            return self._means(name, known.digest, self._seconds)
        try:
            with self.session(name, stop, _ASK_SECONDS) as session:
                digest = session.digest()
        except FunctionUnavailableError as error:
            if known is None or not error.passing:
                raise
            _log.warning("%s still means %s: %s", name.image, known.digest, error)
            return self._means(name, known.digest, min(_AWAY_SECONDS, self._seconds))
        if self._kept is not None:
            self._kept.remember(name.image, digest)
        return self._means(name, digest, self._seconds)

    def _means(self, name: Name, digest: str, seconds: float) -> str:
        if len(self._meant) >= _MOST:
            self._meant.clear()
        self._meant[name.image] = (digest, time.monotonic() + seconds)
        return digest

    def _see(self, digest: str, name: Name, stop: Stop) -> None:
        """Have a repository show an image, unless it was brought from there."""
        if self._kept is None or not self._kept.had(digest, _repository(name)):
            with self.session(name, stop, _ASK_SECONDS) as session:
                session.manifest(digest)

    def _find_config(self, digest: str, name: Name, stop: Stop) -> ImageConfig:
        try:
            with self.session(name, stop, _ASK_SECONDS) as session:
                asked = read_config(
                    session, read_image(session, session.manifest(digest), digest)[0]
                )
        except ImageManifestError as error:
            raise FunctionRefusedError(name.image, error.reason, error.fix) from error
        check_program(name.image, asked.argv)
        return asked

    def _find_tags(self, name: Name, stop: Stop) -> tuple[str, ...]:
        with self.session(name, stop, _ASK_SECONDS) as session:
            return session.tags()


def _repository(name: Name) -> str:
    return f"{name.host}/{name.repository}"


def machine(name: Name) -> str:
    """Return the host of a registry without its port: ports of one machine share its bounds."""
    return name.host.partition(":")[0].lower()


def read_image(session: RegistrySession, data: bytes, digest: str) -> tuple[Image, str]:
    """Return the image that a manifest leads to, for this machine, and its digest.

    Raises:
        ManifestError: It leads to none.
        FunctionUnavailableError: Its registry refuses, or does not answer.
    """
    for _ in range(_NESTED):
        found = manifest.read(data)
        if isinstance(found, Image):
            return found, digest
        digest = manifest.choose(found).digest
        data = session.manifest(digest)
    raise ImageManifestError(f"it leads through more than {_NESTED} indexes", "Push it again")


def read_config(session: RegistrySession, image: Image) -> ImageConfig:
    """Return how the program of an image wants to be started.

    Raises:
        ManifestError: Its configuration cannot be read.
        FunctionUnavailableError: As `read_image`.
    """
    if image.config.size > _LONGEST_CONFIG:
        raise ImageManifestError(
            f"its configuration has {image.config.size} bytes, and at most {_LONGEST_CONFIG}"
            " are allowed",
            "Rebuild it",
        )
    config = BytesIO()
    session.blob(image.config, config)
    return manifest.image_config(config.getvalue())


def check_program(image: str, argv: tuple[str, ...]) -> None:
    """Raise FunctionRefusedError for an image that names nothing to start."""
    if not argv:
        raise FunctionRefusedError(
            image, "its image has no entrypoint and no command", "Build it with an entrypoint"
        )
