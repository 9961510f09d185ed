"""What a group of pods makes of what the cluster tells, whenever it tells it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest

from fnrunner.contract.errors import FunctionUnavailableError
from fnrunner.contract.run import CallLimits, Granted
from fnrunner.pods.cluster import PodState
from fnrunner.pods.group import PodGroup, ScaleRule
from fnrunner.pods.manifest import SPEC, PodFunction


class SlowCluster:
    """A cluster whose pod is listed before the request that makes it is answered."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answered = asyncio.Event()
        self.name = ""

    async def create(self, manifest: Mapping[str, Any]) -> None:
        self.name = manifest["metadata"]["name"]
        self.asked.set()
        await self.answered.wait()

    async def pods(self) -> list[PodState]:
        return []

    async def delete(self, name: str) -> None:
        assert name == self.name

    async def events(self, name: str) -> str:
        return "Failed: manifest unknown" if name == self.name else ""


async def test_a_pod_that_is_listed_before_its_creation_is_answered_tells_its_events() -> None:
    """Fails where events are asked for only once the cluster has said that the pod was made."""
    function = PodFunction(
        image=f"registry.test/copy@sha256:{'0' * 64}", argv=(), environment=(), granted=Granted()
    )
    cluster = SlowCluster()
    group = PodGroup(
        function,
        {"metadata": {"labels": {SPEC: "1"}}},
        ScaleRule(most=1, queue=1, idle=60.0, ready=3000.0),
        cluster,
        CallLimits(),
        lambda _spec: None,
        lambda _name: None,
    )
    call = asyncio.create_task(group.take("copy:v1", None))
    await cluster.asked.wait()
    state = PodState(name=cluster.name, hopeless=True, reason="ImagePullBackOff: Back-off")

    group.see({state.name: state}, asked=time.monotonic())

    with pytest.raises(FunctionUnavailableError, match=r"Back-off \(Failed: manifest unknown\)"):
        await call
    cluster.answered.set()
    await group.close()
