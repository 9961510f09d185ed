"""The pods of one function: how many there are, and which gets a call.

Rules
- The pod with the fewest calls gets the next one.
- When at every pod as many calls wait as may, another is made, up to the most that are allowed.
- A pod that never served tells why, and no other is made for some seconds: what is wrong with it
  is wrong with the next.
- A pod that has ended, was deleted, cannot be reached, or is not ready for long is replaced when
  it is needed.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from fnrunner.contract.errors import ClusterError, FunctionStoppedError, FunctionUnavailableError
from fnrunner.contract.run import MIB, CallLimits
from fnrunner.pods.cluster import NameTakenError, PodState
from fnrunner.pods.manifest import PORT, SPEC, PodFunction
from fnrunner.wire.client import Client

_log = logging.getLogger(__name__)

_TRIES: Final = 3  # to make a pod
_PAUSE: Final = 0.5  # seconds before the second try; twice that before the third
_BROKEN_SECONDS: Final = 10.0  # how long no other pod is made after one that never served
_FATE_SECONDS: Final = 3.0  # a kubelet tells within about a second why a pod has ended
_FATE_PAUSE: Final = 0.2


class PodClient(Protocol):
    """What is asked of a cluster; see `Cluster`."""

    async def create(self, manifest: Mapping[str, Any]) -> None:
        """Make a pod."""

    async def pods(self) -> list[PodState]:
        """Return this runner's pods."""

    async def delete(self, name: str) -> None:
        """Delete a pod."""

    async def events(self, name: str) -> str:
        """Return the last warning about a pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleRule:
    """How many pods there are, and for how long.

    Attributes:
        most: Pods at the same time.
        queue: Calls that wait at one pod before another is made.
        idle: How long a pod without calls stays, in seconds.
        ready: How long a pod may take until it serves, in seconds.
    """

    most: int
    queue: int
    idle: float
    ready: float


@dataclass(slots=True, kw_only=True, eq=False)
class Pod:
    """One pod.

    Attributes:
        name: Its name.
        since: When it was begun, by the clock.
        made: When the cluster had it; None while it is being asked.
        client: How it is called; None while it does not serve.
        load: Calls that it has.
        used: When the last of its calls ended.
        away: Since when it is not ready, though it served; None while it is.
        leaving: Nobody may take it any more.
        killed: It ended for want of memory.
        reason: What it is at.
    """

    name: str
    since: float
    made: float | None = None
    client: Client | None = None
    load: int = 0
    used: float = 0.0
    away: float | None = None
    leaving: bool = False
    killed: bool = False
    reason: str = "it is being made"

    @property
    def serving(self) -> bool:
        """Whether it can be given calls."""
        return self.client is not None and self.away is None and not self.leaving


class PodGroup:
    """The pods of one function."""

    def __init__(
        self,
        function: PodFunction,
        manifest: Mapping[str, Any],
        rule: ScaleRule,
        cluster: PodClient,
        limits: CallLimits,
        spare: Callable[[str], str | None],
        named: Callable[[str], None],
    ) -> None:
        """Make a group without pods.

        Args:
            function: What runs in them.
            manifest: What they look like, but for their names.
            rule: How many there are.
            cluster: Where they are made.
            limits: Time and size of calls.
            spare: Gives the name of a pod of a spec that nobody has yet, once.
            named: Told the name of each pod that is made, before and after.
        """
        self.function = function
        self.rule = rule
        self.pods: list[Pod] = []
        self.keep = 0
        self._manifest = manifest
        self._cluster = cluster
        self._limits = limits
        self._spare = spare
        self._named = named
        self._waiting = 0
        self._failure: tuple[str, float] | None = None
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def spec(self) -> str:
        """The hash of what its pods are made of."""
        return str(self._manifest["metadata"]["labels"][SPEC])

    @property
    def settled(self) -> bool:
        """Whether nothing of it is on its way."""
        return all(pod.serving for pod in self.pods)

    @property
    def unused(self) -> bool:
        """Whether it can be forgotten."""
        return not (self.pods or self.keep or self._waiting or self._tasks or self._broken)

    async def take(self, image: str, seconds: float | None) -> Pod:
        """Give a call to a pod, which is there or is made; `release` it afterwards.

        Args:
            image: The function, as it was asked for.
            seconds: How long to wait at most; None waits as long as a pod may take.

        Raises:
            FunctionUnavailableError: No pod serves in time, or none can.
        """
        patience = self.rule.ready if seconds is None else min(seconds, self.rule.ready)
        deadline = time.monotonic() + patience
        self._waiting += 1
        try:
            while True:
                pod = self._best()
                self._grow(pod)
                if pod is not None:
                    pod.load += 1
                    return pod
                if self._broken:
                    raise self._unavailable(image, self._broken)
                try:
                    async with asyncio.timeout(max(deadline - time.monotonic(), 0.0)):
                        await self._changed.wait()
                except TimeoutError:
                    reason = self.pods[0].reason if self.pods else "there is none"
                    raise self._unavailable(
                        image, f"none was ready within {patience:g} seconds: {reason}"
                    ) from None
        finally:
            self._waiting -= 1

    def release(self, pod: Pod) -> None:
        """End a call that `take` gave to a pod."""
        pod.load -= 1
        pod.used = time.monotonic()

    async def lost(self, image: str, pod: Pod, bounds_bytes: int) -> None:
        """Let a pod go that did not answer a call.

        Raises:
            FunctionStoppedError: It has ended for want of memory.
        """
        first = not pod.leaving
        pod.leaving = True
        state = await self._fate(pod)
        if first:
            self._drop(pod)
        if pod.killed or (state is not None and state.killed):
            raise FunctionStoppedError(image, "memory", f"{bounds_bytes / MIB:g} MiB")

    async def _fate(self, pod: Pod) -> PodState | None:
        """Return what became of a pod; None if the cluster does not know it any more."""
        until = time.monotonic() + _FATE_SECONDS
        while True:
            try:
                found = {each.name: each for each in await self._cluster.pods()}
            except ClusterError as error:
                _log.warning("the state of pod %s is unknown: %s", pod.name, error)
                return None
            state = found.get(pod.name)
            if state is None or state.ended or state.killed or time.monotonic() > until:
                return state
            await asyncio.sleep(_FATE_PAUSE)

    def see(self, states: Mapping[str, PodState] | None, asked: float) -> None:
        """Take in how the cluster's pods are.

        Args:
            states: By name; None if the cluster did not tell.
            asked: When it was asked, by the clock.
        """
        for pod in [each for each in self.pods if not each.leaving]:
            self._see(pod, states, asked)
        idle = [each for each in self.pods if self._is_idle(each)]
        for pod in idle[: max(len(self.pods) - self.keep, 0)]:
            _log.info("pod %s is deleted because it was idle", pod.name)
            self._drop(pod)
        while len(self.pods) < self.keep and not self._broken and not self._closed:
            self._make()

    def _see(self, pod: Pod, states: Mapping[str, PodState] | None, asked: float) -> None:
        now = time.monotonic()
        state = states.get(pod.name) if states is not None else None
        if state is not None and not state.ended:
            pod.reason = state.reason
        if states is not None and state is None:
            if pod.made is not None and pod.made < asked:
                self._fail(pod, "it was deleted")
        elif state is not None and (state.ended or (state.hopeless and pod.client is None)):
            pod.killed = state.killed
            self._fail(pod, state.reason)
        elif state is not None and state.ready:
            self._serve(pod, state.address)
        elif state is not None and pod.client is not None and pod.away is None:
            pod.away = now
        late = pod.since if pod.client is None else pod.away
        if late is not None and now - late > self.rule.ready and not pod.leaving:
            self._fail(pod, f"it was not ready within {self.rule.ready:g} seconds: {pod.reason}")

    def _serve(self, pod: Pod, address: str) -> None:
        pod.away = None
        if pod.client is not None:
            return
        host = f"[{address}]" if ":" in address else address
        pod.client = Client(f"{host}:{PORT}", self._limits, patience=0.0)
        pod.used = time.monotonic()
        self._failure = None
        _log.info("pod %s serves %s", pod.name, self.function.image)
        self._wake()

    def _is_idle(self, pod: Pod) -> bool:
        return pod.serving and not pod.load and time.monotonic() - pod.used > self.rule.idle

    async def close(self) -> None:
        """Make no more pods, and end all connections; whoever made the group deletes its pods."""
        self._closed = True
        self._failure = ("the runner is being stopped", time.monotonic() + _BROKEN_SECONDS)
        self._wake()
        while self._tasks:
            await asyncio.gather(*self._tasks)
        for pod in self.pods:
            if pod.client is not None:
                await pod.client.close()

    @property
    def _broken(self) -> str:
        """Why no pod can be had now; "" if one may."""
        if self._failure is None or time.monotonic() > self._failure[1]:
            return ""
        return self._failure[0]

    def _unavailable(self, image: str, reason: str) -> FunctionUnavailableError:
        return FunctionUnavailableError(
            image,
            f"it runs in pods, and {reason}",
            "Try again, or ask an operator to check its pods",
            passing=True,
        )

    def _best(self) -> Pod | None:
        return min((each for each in self.pods if each.serving), key=_load, default=None)

    def _grow(self, best: Pod | None) -> None:
        """Make another pod if calls wait for one."""
        starting = sum(not each.serving and not each.leaving for each in self.pods)
        if best is not None:
            needed = not starting and best.load > self.rule.queue
        else:
            needed = not starting or self._waiting > starting * (self.rule.queue + 1)
        if needed and len(self.pods) < self.rule.most and not self._broken and not self._closed:
            self._make()

    def _make(self) -> None:
        now = time.monotonic()
        there = self._spare(self.spec)
        if there is not None:
            _log.info("pod %s is taken over", there)
            self.pods.append(Pod(name=there, since=now, made=now))
        else:
            pod = Pod(name=self._name(), since=now)
            self.pods.append(pod)
            self._begin(self._create(pod))
        self._named(self.pods[-1].name)

    def _name(self) -> str:
        return f"{self.function.short}-{self.function.digest[:8]}-{secrets.token_hex(4)}"

    async def _create(self, pod: Pod) -> None:
        for attempt in range(1, _TRIES + 1):
            try:
                metadata = {**self._manifest["metadata"], "name": pod.name}
                await self._cluster.create({**self._manifest, "metadata": metadata})
            except NameTakenError:
                pod.name = self._name()
                self._named(pod.name)
            except ClusterError as error:
                pod.reason = str(error)
                if not error.passing or attempt == _TRIES:
                    await self._failed(pod, str(error), made=False)
                    return
                await asyncio.sleep(_PAUSE * attempt)
            else:
                pod.made = time.monotonic()
                self._named(pod.name)
                return
        await self._failed(pod, "no free name for a pod was found", made=False)

    def _fail(self, pod: Pod, reason: str) -> None:
        pod.leaving = True
        self._begin(self._failed(pod, reason, made=True))

    async def _failed(self, pod: Pod, reason: str, *, made: bool) -> None:
        """Let a pod go, and say why if it never served.

        Args:
            pod: Which.
            reason: What is known of it.
            made: It is there, whether or not we were told so yet: events may say more.
        """
        pod.leaving = True
        _log.warning("pod %s of %s: %s", pod.name, self.function.image, reason)
        if pod.client is None:
            event = await self._cluster.events(pod.name) if made else ""
            told = reason if not event or event in reason else f"{reason} ({event})"
            serving = self._best() is not None
            if not serving:
                self._failure = (
                    f"one could not be started: {told}",
                    time.monotonic() + _BROKEN_SECONDS,
                )
        self._drop(pod)

    def _drop(self, pod: Pod) -> None:
        """Forget a pod, and delete it."""
        pod.leaving = True
        if pod in self.pods:
            self.pods.remove(pod)
            self._begin(self._delete(pod))
        self._wake()

    async def _delete(self, pod: Pod) -> None:
        if pod.client is not None:
            await pod.client.close()
        try:
            await self._cluster.delete(pod.name)
        except ClusterError as error:  # it ends by itself when nobody looks at it
            _log.warning("pod %s is not deleted: %s", pod.name, error)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _load(pod: Pod) -> int:
    return pod.load
