"""A runner of function images: from a registry into the store, from the store into a sandbox.

Rules
- What a name means is `resolve`'s to say; what it meant is kept with the images.
- `FunctionOutcome.digest` is the digest of what the name means: of the index where it leads to one.
  That is what tools show for a tag, and what can be written behind it.
- An image is brought once, whoever asks for it and however often. Whoever gave up waiting is told
  to come again, and it goes on meanwhile; it stops when all callers have left.
- Entrypoint, arguments, variables and working directory are the image's own; its user is not:
  the sandbox has its own.
"""

import asyncio
import os
import tempfile
import time
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Final

from fnrunner.contract.errors import FunctionRefusedError, FunctionUnavailableError, SandboxError
from fnrunner.contract.policy import RunnerPolicy
from fnrunner.contract.run import MIB, FunctionOutcome, Granted, within
from fnrunner.fence.reader import OutputReader
from fnrunner.fence.sandbox import Program, Sandbox
from fnrunner.images.folders import ImageMetadata, ImageStoreError
from fnrunner.images.manifest import Descriptor, ImageManifestError
from fnrunner.images.names import Name, RegistryAccess
from fnrunner.images.once import SingleFlight, Stop
from fnrunner.images.registry import Registries, RegistrySession
from fnrunner.images.resolve import Resolver, check_program, machine, read_config, read_image
from fnrunner.images.store import ImageStore, Lease
from fnrunner.images.unpack import LayerError, StoppedError, Tree, UnpackLimits

_THREADS: Final = 8  # images that are brought at the same time
_HOST_THREADS: Final = 2  # from one host
_LINGER_SECONDS: Final = 60.0  # for callers who were told to try again in a moment
_LAYERS: Final = 3  # of one image at the same time, as docker does
_SANDBOX_FOLDERS: Final = ("/proc", "/dev", "/tmp")  # noqa: S108 - of the image, not ours
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # docker's


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSettings:
    """Settings for pulling and keeping images.

    Attributes:
        folder: Where they are kept unpacked; None for the usual place.
        size_bytes: How much they may take together on disk.
        resolve_seconds: How long a tag is taken to mean the same digest.
        offline: No registry is asked: only what is here runs.
        uncounted: As `Sandbox.here` has it.
        access: How registries are reached.
        room: How much one image may take unpacked.
    """

    folder: Path | None = None
    size_bytes: int = 10 * 1024 * MIB
    resolve_seconds: float = 300.0
    offline: bool = False
    uncounted: bool = False
    access: RegistryAccess = field(default_factory=RegistryAccess)
    room: UnpackLimits = field(default_factory=UnpackLimits)


def usual_folder() -> Path:
    """Return where images are kept unless somebody says otherwise.

    Root's own cache folder is closed to the user that a sandbox of root's runs as.
    """
    cache = os.environ.get("XDG_CACHE_HOME")
    if not cache:
        cache = "/var/cache" if os.geteuid() == 0 else str(Path.home() / ".cache")
    return Path(cache, "porchbot", "images")


def images(
    settings: ImageSettings, policy: RunnerPolicy, reader: OutputReader | None = None
) -> "Images":
    """Return a runner of images.

    Where no sandbox can be made it refuses all of them, with the reason.

    Args:
        settings: How they are had.
        policy: Which may run, and what each may have.
        reader: Reads what they write; None makes one.

    Raises:
        ImageStoreError: The folder of images cannot be used.
    """
    sandbox: Sandbox | SandboxError
    try:
        sandbox = Sandbox.here(uncounted=settings.uncounted)
    except SandboxError as error:
        sandbox = error
    store = ImageStore(settings.folder or usual_folder(), settings.size_bytes)
    return Images(store, Registries(settings.access), sandbox, policy, settings, reader)


class Images:
    """A runner of images in registries."""

    def __init__(
        self,
        store: ImageStore,
        registries: Registries,
        sandbox: Sandbox | SandboxError,
        policy: RunnerPolicy,
        settings: ImageSettings,
        reader: OutputReader | None = None,
    ) -> None:
        """Use `images`, which makes these; an error for a sandbox says why there is none."""
        self._reader = reader or OutputReader()
        self._store = store
        self._sandbox = sandbox
        self._policy = policy
        self._settings = settings
        self._resolver = Resolver(
            registries,
            policy,
            settings.resolve_seconds,
            offline=settings.offline,
            kept=store,
        )
        self._once = SingleFlight(_THREADS, "image", each=_HOST_THREADS, linger=_LINGER_SECONDS)

    @property
    def unfenced(self) -> SandboxError | None:
        """Why nothing can be run here; None where it can."""
        return self._sandbox if isinstance(self._sandbox, SandboxError) else None

    def close(self) -> None:
        """Stop bringing images; what runs goes on."""
        self._resolver.close()
        self._once.close()

    async def identity(self, image: str) -> str:
        """Return the digest of what would run now.

        Raises:
            FunctionNotFoundError: Its registry does not have it.
            FunctionRefusedError: It may not run, or nothing can fence it here.
            FunctionUnavailableError: Its registry refuses, or does not answer.
        """
        self._fenced(image)
        return await self._resolver.shown(self._resolver.name(image))

    async def tags(self, image: str) -> tuple[str, ...]:
        """Return the tags that its registry lists for an image, as its name says without a tag.

        Raises:
            FunctionError: As `identity`.
        """
        return await self._resolver.tags(self._resolver.name(image))

    async def ready(self, image: str, *, seconds: float | None = None) -> None:
        """Bring its image here, so that `run` need not wait for it.

        Args:
            image: Its name.
            seconds: How long the caller waits.

        Raises:
            FunctionError: As `run`, before anything is started.
        """
        self._fenced(image)
        (await self._here(image, seconds))[2].release()

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run it in a sandbox."""
        begun = time.monotonic()
        sandbox = self._fenced(image)
        name, digest, lease = await self._here(image, seconds)
        with lease:
            granted = self._policy.granted(name.image, digest)
            bounds = within(granted.bounds, _left(begun, seconds))
            program = _program(image, lease, granted)
            ended = await sandbox.run(image, program, resources, bounds)
        return await self._reader.outcome(image, ended, digest, _left(begun, seconds))

    async def _here(self, image: str, seconds: float | None) -> tuple[Name, str, Lease]:
        """Return what a name means, and the image that is here, brought if need be."""
        name = self._resolver.name(image)
        # A little before the caller goes away, to say why.
        patience = None if seconds is None else max(seconds - 1.0, seconds / 2)
        try:
            async with asyncio.timeout(patience) as until:
                digest = await self._resolver.digest(name)
                end = until.when()
                until.reschedule(None)
            lease = await self._leased(name, digest, end)
        except TimeoutError:
            raise FunctionUnavailableError(
                image, "its image is still being pulled", "Try again in a moment", passing=True
            ) from None
        return name, digest, lease

    def _fenced(self, image: str) -> Sandbox:
        if isinstance(self._sandbox, SandboxError):
            raise FunctionRefusedError(
                image,
                f"images run in a sandbox only, and {self._sandbox.reason}",
                self._sandbox.fix,
            )
        return self._sandbox

    async def _leased(self, name: Name, digest: str, end: float | None) -> Lease:
        """Return an image that is here, brought if need be.

        Args:
            name: What it was asked for by.
            digest: What that means.
            end: When the caller stops waiting, by the loop's clock.

        Raises:
            TimeoutError: It is not here by then.
        """
        clock = asyncio.get_running_loop().time

        def left() -> float | None:
            return None if end is None else max(end - clock(), 0.0)

        repository = f"{name.host}/{name.repository}"
        if not self._store.looked_at(digest):  # which reads a folder of thousands of files
            await self._once.do(f"look {digest}", partial(self._look, digest), seconds=left())
        for _ in range(3):  # another process may remove it as soon as it is there
            lease = self._store.lease(digest, repository)
            if lease is not None:
                return lease
            stop = Stop()
            await self._once.do(
                f"image {repository}@{digest}",
                partial(self._brought, name, digest, stop),
                host=machine(name),
                stop=stop,
                seconds=left(),
            )
        raise FunctionUnavailableError(
            name.image,
            "its image is too large to keep: it is removed as soon as it is pulled",
            "Give images more disk space (`size`)",
        )

    def _look(self, digest: str) -> None:
        lease = self._store.lease(digest)
        if lease is not None:
            lease.release()

    def _brought(self, name: Name, digest: str, stop: Stop) -> None:
        """Bring an image into the store, if it is not there from this repository."""
        try:
            with self._resolver.session(name, stop) as session:
                data = session.manifest(digest)
                self._store.add(
                    digest,
                    f"{name.host}/{name.repository}",
                    lambda root: self._unpacked(session, data, digest, root),
                    lambda: session.over,
                ).release()
        except (ImageManifestError, LayerError) as error:
            raise FunctionRefusedError(name.image, error.reason, error.fix) from error
        except ImageStoreError as error:
            raise FunctionUnavailableError(name.image, error.problem, error.fix) from error
        except StoppedError as error:
            raise FunctionUnavailableError(
                name.image,
                "it takes too long to unpack its image",
                "Make it smaller, or try again later",
                passing=True,
            ) from error
        except InterruptedError as error:
            raise FunctionUnavailableError(
                name.image,
                "another process has been pulling its image for too long",
                "Try again later",
                passing=True,
            ) from error

    def _unpacked(
        self, session: RegistrySession, data: bytes, digest: str, root: Path
    ) -> ImageMetadata:
        """Fill a folder with an image."""
        image, digest = read_image(session, data, digest)
        most = self._settings.access.image_bytes
        if image.size_bytes > most:
            raise ImageManifestError(
                f"its image has {image.size_bytes} bytes, and at most {most} are allowed",
                "Make it smaller, or ask an operator to raise the limit",
            )
        wants = read_config(session, image)
        tree = Tree(root, self._settings.room, lambda: session.over)
        with closing(_layers(session, image.layers, root.parent)) as layers:
            for layer in layers:
                tree.add(layer)
        for folder in (*_SANDBOX_FOLDERS, wants.folder):
            tree.folder(folder)
        return ImageMetadata(
            image=digest,
            argv=wants.argv,
            environment=wants.environment,
            folder=wants.folder,
            user=wants.user,
            size_bytes=tree.size_bytes,
        )


def _left(begun: float, seconds: float | None) -> float | None:
    return None if seconds is None else max(seconds - (time.monotonic() - begun), 0.001)


def _layers(
    session: RegistrySession, layers: Sequence[Descriptor], folder: Path
) -> Generator[IO[bytes], None, None]:
    """Bring layers, a few at the same time, and give each in turn, from the lowest."""

    def bring(layer: Descriptor) -> IO[bytes]:
        with ExitStack() as opened:
            file = opened.enter_context(tempfile.TemporaryFile(dir=folder))
            session.blob(layer, file)
            file.seek(0)
            opened.pop_all()
        return file

    with ThreadPoolExecutor(_LAYERS, "layer") as threads:
        rest = iter(layers)
        coming = deque(threads.submit(bring, layer) for layer in islice(rest, _LAYERS))
        try:
            while coming:
                with coming.popleft().result() as file:
                    coming.extend(threads.submit(bring, layer) for layer in islice(rest, 1))
                    yield file
        except BaseException:
            session.abort()  # the others need not come
            for each in coming:
                each.add_done_callback(_dropped)
            raise


def _dropped(brought: Future[IO[bytes]]) -> None:
    if not brought.exception():
        brought.result().close()


def _program(image: str, lease: Lease, granted: Granted) -> Program:
    about = lease.about
    check_program(image, about.argv)
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
