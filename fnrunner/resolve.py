"""What the name of an image means, asked of its registry without bringing the image.

Rules
- The operator's policy is asked before a registry is, as far as names decide.
- A tag is asked for again after some minutes; a digest means the same for ever.
- What is asked is asked once, whoever waits for it.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar, cast

from cadlib import images as names
from fnrunner.errors import (
    FunctionNotFoundError,
    FunctionRefusedError,
    FunctionUnavailableError,
)
from fnrunner.image import read_asked, read_image
from fnrunner.manifest import Asked, ManifestError
from fnrunner.policy import Policy
from fnrunner.registry import Name, Registries

T = TypeVar("T")

_THREADS: Final = 4
_MOST: Final = 10_000  # names and images kept in memory; names come from packages


class Resolver:
    """Knows what names of images mean, and how the images want to be started."""

    def __init__(self, registries: Registries, policy: Policy, seconds: float) -> None:
        """Make a resolver.

        Args:
            registries: What is asked.
            policy: What may run.
            seconds: How long a tag is taken to mean the same.
        """
        self._registries = registries
        self._policy = policy
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="resolve")
        self._digests: dict[str, tuple[str, float]] = {}
        self._asked: dict[str, Asked] = {}
        self._shared: dict[str, asyncio.Future[Any]] = {}

    def close(self) -> None:
        """End its threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)

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
        decided = name.digest or not any("sha256:" in each for each in self._policy.allow)
        if decided:  # else its registry has to be asked first
            self._policy.check(full, name.digest or "sha256:…")
        return name

    async def digest(self, name: Name) -> str:
        """Return the digest that a name means, of an index or an image.

        Raises:
            FunctionNotFoundError: Its registry does not have it.
            FunctionRefusedError: It may not run.
            FunctionUnavailableError: Its registry refuses, or does not answer.
        """
        digest, until = self._digests.get(name.image, (name.digest, 0.0))
        if not name.digest and time.monotonic() >= until:
            digest = await self._once(f"name {name.image}", partial(self._find_digest, name))
            if len(self._digests) >= _MOST:
                self._digests.clear()
            self._digests[name.image] = digest, time.monotonic() + self._seconds
        self._policy.check(name.image, digest)
        return digest

    async def asked(self, name: Name, digest: str) -> Asked:
        """Return how the program of an image wants to be started.

        Raises:
            FunctionRefusedError: It is no image that runs here, or names no program.
            FunctionUnavailableError: Its registry refuses, or does not answer.
        """
        if digest not in self._asked:
            found = await self._once(f"image {digest}", partial(self._find_asked, name, digest))
            if len(self._asked) >= _MOST:
                self._asked.clear()
            self._asked[digest] = found
        return self._asked[digest]

    def _find_digest(self, name: Name) -> str:
        with self._registries.visit(name) as visit:
            return visit.digest()

    def _find_asked(self, name: Name, digest: str) -> Asked:
        try:
            with self._registries.visit(name) as visit:
                asked = read_asked(visit, read_image(visit, visit.manifest(digest), digest)[0])
        except ManifestError as error:
            raise FunctionRefusedError(name.image, error.reason, error.fix) from error
        if not asked.argv:
            raise FunctionRefusedError(
                name.image, "its image names no program to start", "Build it with an entrypoint"
            )
        return asked

    async def _once(self, key: str, work: Callable[[], T]) -> T:
        """Do something in a thread, once for all who ask; it goes on when they go away."""
        shared = self._shared.get(key)
        if shared is None:
            try:
                shared = asyncio.get_running_loop().run_in_executor(self._threads, work)
            except RuntimeError as error:
                raise FunctionUnavailableError(
                    key.partition(" ")[2], "the runner is being stopped", "Try again", passing=True
                ) from error
            self._shared[key] = shared
            shared.add_done_callback(lambda done: self._ended(key, done))
        return cast(T, await asyncio.shield(shared))  # a key always stands for the same work

    def _ended(self, key: str, done: asyncio.Future[Any]) -> None:
        del self._shared[key]
        if not done.cancelled():
            done.exception()  # seen, even if nobody waits any longer
