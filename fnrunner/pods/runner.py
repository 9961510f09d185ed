"""A runner of images in pods of a Kubernetes cluster, for those who outgrow one machine.

Rules
- A pod runs one image, by digest, and serves it over our own gRPC (fnrunner/pods/server.py).
- The cluster is the truth: it is looked at every few seconds, more often while a pod starts.
- Pods bear the name of the runner that made them; no other runner touches them. What a runner of
  the same name finds is taken over if it is as it would be made today, else deleted.
- A call whose pod goes away is given to another pod, once.
- When it is closed, its pods are deleted.
"""

import asyncio
import logging
import re
import socket
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

import grpc
import grpc.aio

from fnrunner import settings as runner_settings
from fnrunner.contract.errors import (
    ClusterError,
    FunctionError,
    FunctionUnavailableError,
    RunnerBusyError,
)
from fnrunner.contract.policy import RunnerPolicy
from fnrunner.contract.run import CallLimits, FunctionOutcome, within
from fnrunner.images.manifest import ImageConfig
from fnrunner.images.names import Name, RegistryAccess
from fnrunner.images.registry import Registries
from fnrunner.images.resolve import Resolver
from fnrunner.pods import group as groups
from fnrunner.pods.cluster import Cluster, PodState
from fnrunner.pods.group import PodGroup, ScaleRule
from fnrunner.pods.manifest import Pattern, PodFunction, manifest
from fnrunner.pods.manifest import template as pod_template
from fnrunner.pods.server import OWNER
from fnrunner.settings import PodRule

_log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 5.0
_HURRY_SECONDS: Final = 0.3  # while a pod starts, which takes some seconds
_GREET_SECONDS: Final = 60.0  # a pod ends when its runner has not looked at it for long
_WARM_SECONDS: Final = 60.0  # how often it is asked what the tag of a warm image means
_NAMES: Final = 1000  # runners on one machine


class Meaning(Protocol):
    """What is asked of a `Resolver`."""

    def name(self, image: str) -> Name:
        """Return the full name of an image."""

    async def digest(self, name: Name) -> str:
        """Return the digest that it means."""

    async def shown(self, name: Name) -> str:
        """Return the digest that it means, once its repository has shown the image."""

    async def config(self, name: Name, digest: str) -> ImageConfig:
        """Return how its program wants to be started."""


class PodCluster(groups.PodClient, Protocol):
    """What is asked of a cluster."""

    def close(self) -> None:
        """End its connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSettings:
    """Settings for pods.

    Attributes:
        pattern: What they have in common.
        rule: How many there are of one function, where no other rule is for it.
        rules: Rules for functions by name.
        warm: Images of which a pod stands ready.
        limits: Time and size of calls.
    """

    pattern: Pattern
    rule: ScaleRule
    rules: Sequence[PodRule] = ()
    warm: Sequence[str] = ()
    limits: CallLimits = CallLimits()  # noqa: RUF009 - frozen


class PodRunner:
    """A runner of images in pods; `running` makes one."""

    def __init__(
        self, cluster: PodCluster, meaning: Meaning, policy: RunnerPolicy, settings: PodSettings
    ) -> None:
        """Make a runner; `start` begins to look at the cluster."""
        self._cluster = cluster
        self._meaning = meaning
        self._policy = policy
        self._settings = settings
        self._groups: dict[str, PodGroup] = {}
        self._spare: dict[str, tuple[PodState, float]] = {}
        self._mine: set[str] = set()  # made or taken over here, those let go included
        self._deleted: set[str] = set()
        self._warm: dict[str, PodGroup] = {}
        self._soon = asyncio.Event()
        self._told = ""
        self._closed = False
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Look at the cluster, and begin to keep warm what should be."""
        await self._look()
        self._tasks.append(asyncio.ensure_future(self._keep_looking()))
        self._tasks.append(asyncio.ensure_future(self._keep_greeting()))
        if self._settings.warm:
            self._tasks.append(asyncio.ensure_future(self._keep_warm()))

    async def close(self) -> None:
        """Take no more calls, and delete all pods of this runner."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(group.close() for group in self._groups.values()))
        try:
            left = [each.name for each in await self._cluster.pods()]
            await asyncio.gather(*map(self._cluster.delete, left))
        except ClusterError as error:  # they end by themselves when nobody looks at them
            _log.warning("pods could not be deleted: %s", error)
        self._cluster.close()

    async def identity(self, image: str) -> str:
        """Return the digest of what would run now.

        Raises:
            FunctionNotFoundError: Its registry does not have it.
            FunctionRefusedError: It may not run.
            FunctionUnavailableError: Its registry refuses, or does not answer.
        """
        return await self._meaning.shown(self._meaning.name(image))

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run it in a pod; see `Runner.run`."""
        clock = time.monotonic
        end = None if seconds is None else clock() + seconds
        # A little before the caller goes away, to say why.
        patience = None if seconds is None else max(seconds - 1.0, seconds / 2)
        try:
            async with asyncio.timeout(patience):
                digest, group = await self._group(image)
        except TimeoutError:
            raise FunctionUnavailableError(
                image, "its registry has not responded yet", "Try again in a moment", passing=True
            ) from None
        until = None if patience is None or end is None else end - (seconds or 0) + patience
        for _ in range(2):
            waits = None if until is None else max(until - clock(), 0.0)
            pod = await group.take(image, waits)
            try:
                left = None if end is None else max(end - clock(), 0.001)
                assert pod.client is not None  # noqa: S101 - it is what makes a pod one that serves
                outcome = await pod.client.run(image, resources, seconds=left)
            except RunnerBusyError as error:
                if not _unreachable(error):
                    raise
                _log.warning("pod %s did not answer: %s", pod.name, error)
                await group.lost(image, pod, group.function.granted.bounds.memory_bytes)
            else:
                return replace(outcome, digest=digest)
            finally:
                group.release(pod)
        raise FunctionUnavailableError(
            image, "two of its pods disappeared while it ran", "See why in their logs", passing=True
        )

    async def _group(self, image: str) -> tuple[str, PodGroup]:
        """Return what an image means, and the pods for it, or none yet."""
        name = self._meaning.name(image)
        digest = await self._meaning.digest(name)
        asked = await self._meaning.config(name, digest)
        granted = self._policy.granted(name.image, digest)
        bounds = within(granted.bounds, self._settings.limits.seconds + 1.0)
        function = PodFunction(
            image=f"{name.host}/{name.repository}@{digest}",
            argv=asked.argv,
            environment=asked.environment,
            granted=replace(granted, bounds=bounds),
        )
        rule = self._rule(name.image)
        made = manifest(function, replace(self._settings.pattern, idle=rule.idle))
        group = PodGroup(
            function,
            made,
            rule,
            self._cluster,
            self._settings.limits,
            self._take_over,
            self._name_made,
        )
        return digest, self._groups.setdefault(group.spec, group)

    def _rule(self, image: str) -> ScaleRule:
        for each in self._settings.rules:
            if each.means.mean(image):
                return replace(
                    self._settings.rule, idle=each.idle, most=each.most, queue=each.queue
                )
        return self._settings.rule

    def _name_made(self, name: str) -> None:
        self._mine.add(name)
        self._soon.set()

    def _take_over(self, spec: str) -> str | None:
        for name, (state, _) in self._spare.items():
            if state.spec == spec:
                del self._spare[name]
                self._mine.add(name)
                return name
        return None

    async def _keep_looking(self) -> None:
        while True:
            settled = all(group.settled for group in self._groups.values())
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS if settled else _HURRY_SECONDS):
                    await self._soon.wait()
                    await asyncio.sleep(_HURRY_SECONDS)
            self._soon.clear()
            await self._look()

    async def _look(self) -> None:
        """See how all pods are."""
        asked = time.monotonic()
        states: dict[str, PodState] | None = None
        try:
            states = {each.name: each for each in await self._cluster.pods()}
            self._told = ""
        except ClusterError as error:
            if str(error) != self._told:  # once, not every few seconds
                _log.warning("pods cannot be watched: %s", error)
            self._told = str(error)
        for spec, group in list(self._groups.items()):
            group.see(states, asked)
            if group.unused:
                await group.close()
                del self._groups[spec]
        if states is not None:
            await self._clear(states)

    async def _clear(self, states: Mapping[str, PodState]) -> None:
        """Delete pods of ours that nobody has, if they have ended or nobody has come for them."""
        ours = {pod.name for group in self._groups.values() for pod in group.pods}
        now = time.monotonic()
        strange = {name: state for name, state in states.items() if name not in ours}
        self._spare = {
            name: (state, self._spare.get(name, (state, now))[1])
            for name, state in strange.items()
            if name not in self._mine and not state.ended and not state.hopeless
        }
        self._mine &= ours | set(strange)
        self._deleted &= set(strange)
        for name in strange:
            kept = name in self._spare and now - self._spare[name][1] < self._settings.rule.ready
            if kept or name in self._deleted:
                continue
            self._spare.pop(name, None)
            try:
                await self._cluster.delete(name)
                self._deleted.add(name)
            except ClusterError as error:
                _log.warning("pod %s is not deleted: %s", name, error)

    async def _keep_greeting(self) -> None:
        """Tell pods now and then that their runner is there."""
        while True:
            clients = [
                pod.client for group in self._groups.values() for pod in group.pods if pod.serving
            ]
            await asyncio.gather(
                *(client.is_ready(5.0, OWNER) for client in clients if client is not None)
            )
            await asyncio.sleep(_GREET_SECONDS)

    async def _keep_warm(self) -> None:
        while True:
            for image in self._settings.warm:
                try:
                    group = (await self._group(image))[1]
                except FunctionError as error:
                    _log.warning("no pod is ready: %s", error)
                    continue
                before = self._warm.get(image)
                if before is not None and before is not group:
                    before.keep = 0
                self._warm[image] = group
                group.keep = 1
            self._soon.set()
            await asyncio.sleep(_WARM_SECONDS)


@asynccontextmanager
async def running(
    settings: runner_settings.RunnerSettings, access: RegistryAccess
) -> AsyncIterator[PodRunner]:
    """Give a runner of images in pods, as an operator configures it.

    Args:
        settings: The runner's.
        access: How registries are reached.

    Raises:
        ClusterError: There is no cluster, its client is not installed, the template cannot be
            used, or no image of ours is named.
    """
    form = settings.form.pods
    if not form.server:
        raise ClusterError(
            "no image is set that provides the server in pods",
            "Name an image of porchbot as `pods.server` in the runner's configuration",
        )
    template = pod_template(Path(form.template)) if form.template else {}
    with ExitStack() as stack:
        instance = RunnerName(form.namespace)
        stack.callback(instance.close)
        resolver = Resolver(Registries(access), settings.policy, settings.form.images.resolve)
        stack.callback(resolver.close)
        cluster = await asyncio.to_thread(Cluster.connect, form.namespace, instance.name)
        pods = PodRunner(
            cluster,
            resolver,
            settings.policy,
            PodSettings(
                pattern=Pattern(
                    template=template,
                    server=form.server,
                    instance=instance.name,
                    message_bytes=settings.limits.message_bytes,
                    idle=form.idle,
                ),
                rule=ScaleRule(most=form.most, queue=form.queue, idle=form.idle, ready=form.ready),
                rules=settings.pods,
                warm=settings.warm,
                limits=settings.limits,
            ),
        )
        await pods.start()
        try:
            yield pods
        finally:
            await pods.close()


def _unreachable(error: RunnerBusyError) -> bool:
    """Tell whether the pod went away, or is on its way."""
    cause = error.__cause__
    if isinstance(cause, grpc.aio.AioRpcError):
        return cause.code() is grpc.StatusCode.UNAVAILABLE
    return isinstance(cause, asyncio.CancelledError)  # its connection was closed


class RunnerName:
    """A name that no other runner has while this one lives, and the next one here has again.

    It is this machine's, and a number. The number is kept by a socket of the abstract namespace,
    which the kernel gives free when the process ends, however it ends.
    """

    def __init__(self, namespace: str) -> None:
        """Take the first name that is free."""
        host = re.sub(r"[^a-z0-9]+", "-", socket.gethostname().lower()).strip("-")[:50] or "runner"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        for number in range(_NAMES):
            self.name = f"{host.strip('-')}-{number}"
            try:
                self._socket.bind(f"\0porchbot-pods-{namespace}-{number}")
            except OSError:
                continue
            return
        raise ClusterError(f"{_NAMES} runners on this machine use pods already", "Stop some")

    def close(self) -> None:
        """Give the name free."""
        self._socket.close()
