"""A runner of function images: from a registry into the store, from the store into a sandbox.

Rules
- What a name means is asked of its registry, and again after some minutes; a name with a digest
  means that. Where a registry is away, what a name meant last goes on being meant.
- `Outcome.digest` is the digest of what the name means: of the index where it leads to one.
  That is what tools show for a tag, and what can be written behind it.
- The operator's policy is asked before a registry is, as far as names decide.
- An image is brought once, whoever asks for it and however often; whoever gave up waiting finds
  it there the next time.
- Entrypoint, arguments, variables and working directory are the image's own; its user is not:
  the sandbox has its own.
"""

import asyncio
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from threading import Event, Lock
from typing import Any, Final, TypeVar, cast

from cadlib import images as names
from fnrunner import answer, manifest
from fnrunner.errors import (
    FunctionNotFoundError,
    FunctionRefusedError,
    FunctionUnavailableError,
    SandboxError,
)
from fnrunner.manifest import Asked, Image, ManifestError
from fnrunner.policy import Policy
from fnrunner.registry import Access, Name, Registries, Visit
from fnrunner.run import MIB, Granted, Outcome
from fnrunner.sandbox import Program, Sandbox
from fnrunner.store import About, Lease, Store, StoreError
from fnrunner.unpack import LayerError, Room, Tree

_log = logging.getLogger(__name__)

T = TypeVar("T")

_THREADS: Final = 8  # images that are asked for or brought at the same time
_LONGEST_CONFIG: Final = 4 * MIB
_NESTED: Final = 3  # indexes within indexes
_AWAY_SECONDS: Final = 30.0  # how long a registry that is away is not asked again
_MOST_NAMES: Final = 10_000  # kept in memory
_SANDBOX_FOLDERS: Final = ("/proc", "/dev", "/tmp")  # noqa: S108 - of the image, not ours
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # docker's


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How images are had.

    Attributes:
        folder: Where they are kept unpacked; None for the usual place.
        size_bytes: How much they may take together on disk.
        resolve_seconds: How long a tag is taken to mean the same digest.
        offline: No registry is asked: only what is here runs.
        access: How registries are reached.
        room: How much one image may take unpacked.
    """

    folder: Path | None = None
    size_bytes: int = 10 * 1024 * MIB
    resolve_seconds: float = 300.0
    offline: bool = False
    access: Access = field(default_factory=Access)
    room: Room = field(default_factory=Room)


def usual_folder() -> Path:
    """Return where images are kept unless somebody says otherwise.

    Root's own cache folder is closed to the user that a sandbox of root's runs as.
    """
    cache = os.environ.get("XDG_CACHE_HOME")
    if not cache:
        cache = "/var/cache" if os.geteuid() == 0 else str(Path.home() / ".cache")
    return Path(cache, "porchbot", "images")


def images(settings: Settings, policy: Policy) -> "Images":
    """Return a runner of images.

    Where no sandbox can be made it refuses all of them, with the reason.

    Raises:
        StoreError: The folder of images cannot be used.
    """
    sandbox: Sandbox | SandboxError
    try:
        sandbox = Sandbox.here()
    except SandboxError as error:
        sandbox = error
    store = Store(settings.folder or usual_folder(), settings.size_bytes)
    return Images(store, Registries(settings.access), sandbox, policy, settings)


class Images:
    """A runner of images in registries."""

    def __init__(
        self,
        store: Store,
        registries: Registries,
        sandbox: Sandbox | SandboxError,
        policy: Policy,
        settings: Settings,
    ) -> None:
        """Use `images`, which makes these; an error for a sandbox says why there is none."""
        self._store = store
        self._registries = registries
        self._sandbox = sandbox
        self._policy = policy
        self._settings = settings
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="image")
        self._meant: dict[str, tuple[str, float]] = {}
        self._shared: dict[str, asyncio.Future[Any]] = {}
        self._visits: set[Visit] = set()
        self._lock = Lock()
        self._closed = Event()

    def close(self) -> None:
        """Stop bringing images; what runs goes on."""
        self._closed.set()
        with self._lock:
            for visit in self._visits:
                visit.abort()
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def identity(self, image: str) -> str:
        """Return the digest of what would run now.

        Raises:
            FunctionNotFoundError: Its registry does not have it.
            FunctionRefusedError: It may not run, or nothing can fence it here.
            FunctionUnavailableError: Its registry refuses, or does not answer.
        """
        self._fenced(image)
        return await self._digest(self._name(image))

    async def tags(self, image: str) -> tuple[str, ...]:
        """Return the tags that its registry lists for an image, as its name says without a tag.

        Raises:
            FunctionError: As `identity`.
        """
        name = self._name(image)
        return await self._once(f"tags {name.image}", partial(self._tags, name))

    def _tags(self, name: Name) -> tuple[str, ...]:
        with self._visit(name) as visit:
            return visit.tags()

    async def run(self, image: str, resources: bytes, *, seconds: float | None = None) -> Outcome:
        """Run it in a sandbox."""
        begun = time.monotonic()
        sandbox = self._fenced(image)
        name = self._name(image)
        # A little before the caller goes away, to say why.
        patience = None if seconds is None else max(seconds - 1.0, seconds / 2)
        try:
            async with asyncio.timeout(patience):
                digest = await self._digest(name)
                lease = await self._leased(name, digest)
        except TimeoutError:
            raise FunctionUnavailableError(
                image, "its image is still being brought", "Try again in a moment", passing=True
            ) from None
        with lease:
            granted = self._policy.granted(name.image, digest)
            left = None if seconds is None else max(seconds - (time.monotonic() - begun), 0.001)
            bounds = answer.within(granted.bounds, left)
            program = _program(image, lease, granted)
            ended = await sandbox.run(image, program, resources, bounds)
        return answer.outcome(image, ended, digest)

    def _fenced(self, image: str) -> Sandbox:
        if isinstance(self._sandbox, SandboxError):
            raise FunctionRefusedError(
                image,
                f"images run in a sandbox only, and {self._sandbox.reason}",
                self._sandbox.fix,
            )
        return self._sandbox

    def _name(self, image: str) -> Name:
        """Return the full name, if the policy may let it pass."""
        full = names.resolve_image(image, self._policy.prefix)
        if not image or not names.is_image(full):
            raise FunctionNotFoundError(image)
        name = Name.read(full)
        decided = name.digest or not any("sha256:" in each for each in self._policy.allow)
        if decided:  # else its registry has to be asked first
            self._policy.check(full, name.digest or "sha256:…")
        return name

    async def _digest(self, name: Name) -> str:
        """Return what a name means, if that may run."""
        digest, until = self._meant.get(name.image, (name.digest, 0.0))
        if not name.digest and time.monotonic() >= until:
            digest = await self._once(f"name {name.image}", partial(self._resolved, name))
        self._policy.check(name.image, digest)
        return digest

    async def _leased(self, name: Name, digest: str) -> Lease:
        """Return an image that is here, brought if need be."""
        repository = f"{name.host}/{name.repository}"
        if not self._store.looked_at(digest):  # which reads a folder of thousands of files
            await self._once(f"look {digest}", partial(self._look, digest))
        for _ in range(3):  # another process may remove it as soon as it is there
            lease = self._store.lease(digest, repository)
            if lease is not None:
                return lease
            await self._once(f"image {repository}@{digest}", partial(self._brought, name, digest))
        raise FunctionUnavailableError(
            name.image,
            "its image is removed again as soon as it is brought",
            "Allow images more room on disk (`size`)",
        )

    def _look(self, digest: str) -> None:
        lease = self._store.lease(digest)
        if lease is not None:
            lease.release()

    async def _once(self, key: str, work: Callable[[], T]) -> T:
        """Do something in a thread, once for all who ask; it goes on when they go away."""
        shared = self._shared.get(key)
        if shared is None or shared.get_loop() is not asyncio.get_running_loop():
            shared = asyncio.get_running_loop().run_in_executor(self._threads, work)
            self._shared[key] = shared
            shared.add_done_callback(lambda done: self._ended(key, done))
        return cast(T, await asyncio.shield(shared))  # a key always stands for the same work

    def _ended(self, key: str, done: asyncio.Future[Any]) -> None:
        if self._shared.get(key) is done:
            del self._shared[key]
        if not done.cancelled():
            done.exception()  # seen, even if nobody waits any longer

    def _resolved(self, name: Name) -> str:
        """Return what a name means, and keep it."""
        known = self._store.known(name.image)
        lasts = self._settings.resolve_seconds
        if known is not None and 0 <= known.age < lasts:
            return self._means(name, known.digest, lasts - known.age)
        if known is not None and self._settings.offline:
            return self._means(name, known.digest, lasts)
        try:
            with self._visit(name) as visit:
                digest = visit.digest()
        except FunctionUnavailableError as error:
            if known is None or not error.passing:
                raise
            _log.warning("%s still means %s: %s", name.image, known.digest, error)
            return self._means(name, known.digest, min(_AWAY_SECONDS, lasts))
        self._store.remember(name.image, digest)
        return self._means(name, digest, lasts)

    def _means(self, name: Name, digest: str, seconds: float) -> str:
        if len(self._meant) >= _MOST_NAMES:  # names come from packages
            self._meant.clear()
        self._meant[name.image] = (digest, time.monotonic() + seconds)
        return digest

    def _brought(self, name: Name, digest: str) -> None:
        """Bring an image into the store, if it is not there from this repository."""
        try:
            with self._visit(name) as visit:
                data = visit.manifest(digest)
                self._store.add(
                    digest,
                    f"{name.host}/{name.repository}",
                    lambda root: self._unpacked(visit, data, digest, root),
                    lambda: visit.over,
                ).release()
        except (ManifestError, LayerError) as error:
            raise FunctionRefusedError(name.image, error.reason, error.fix) from error
        except StoreError as error:
            raise FunctionUnavailableError(name.image, error.problem, error.fix) from error
        except InterruptedError as error:
            raise FunctionUnavailableError(
                name.image,
                "another process has been bringing its image for too long",
                "Try again later",
                passing=True,
            ) from error

    def _unpacked(self, visit: Visit, data: bytes, digest: str, root: Path) -> About:
        """Fill a folder with an image."""
        image, digest = read_image(visit, data, digest)
        most = self._registries.access.image_bytes
        if image.size_bytes > most:
            raise ManifestError(
                f"its image has {image.size_bytes} bytes, and at most {most} are allowed",
                "Make it smaller, or ask an operator for more",
            )
        wants = read_asked(visit, image)
        tree = Tree(root, self._settings.room)
        for layer in image.layers:
            with tempfile.TemporaryFile(dir=root.parent) as file:
                visit.blob(layer, file)
                file.seek(0)
                tree.add(file)
        for folder in (*_SANDBOX_FOLDERS, wants.folder):
            tree.folder(folder)
        return About(
            image=digest,
            argv=wants.argv,
            environment=wants.environment,
            folder=wants.folder,
            user=wants.user,
            size_bytes=tree.size_bytes,
        )

    @contextmanager
    def _visit(self, name: Name) -> Iterator[Visit]:
        """Give a visit that `close` ends."""
        if self._settings.offline:
            raise FunctionUnavailableError(
                name.image,
                "its image is not here, and registries are not to be asked",
                "Let it be pulled once",
            )
        with self._registries.visit(name) as visit:
            with self._lock:
                self._visits.add(visit)
            try:
                if self._closed.is_set():
                    visit.abort()
                yield visit
            finally:
                with self._lock:
                    self._visits.discard(visit)


def read_image(visit: Visit, data: bytes, digest: str) -> tuple[Image, str]:
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
        data = visit.manifest(digest)
    raise ManifestError(f"it leads through more than {_NESTED} indexes", "Push it again")


def read_asked(visit: Visit, image: Image) -> Asked:
    """Return how the program of an image wants to be started.

    Raises:
        ManifestError: Its configuration cannot be read.
        FunctionUnavailableError: As `read_image`.
    """
    if image.config.size > _LONGEST_CONFIG:
        raise ManifestError(
            f"its configuration has {image.config.size} bytes, and at most {_LONGEST_CONFIG}"
            " are allowed",
            "Build it anew",
        )
    config = BytesIO()
    visit.blob(image.config, config)
    return manifest.asked(config.getvalue())


def _program(image: str, lease: Lease, granted: Granted) -> Program:
    about = lease.about
    if not about.argv:
        raise FunctionRefusedError(
            image, "its image names no program to start", "Build it with an entrypoint"
        )
    # A home that can be written; there is no user whose home it could be.
    usual = {"PATH": _PATH, "HOME": "/tmp"}  # noqa: S108 - inside
    own = dict(each.split("=", 1) for each in about.environment)
    return Program(
        argv=about.argv,
        root=lease.root,
        environment={**usual, **own, **granted.environment},
        folder=about.folder,
        network=granted.network,
    )
