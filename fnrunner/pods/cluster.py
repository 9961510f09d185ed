"""A client for one Kubernetes namespace: creates, lists and deletes pods.

The client is Kubernetes' own, which waits for its answers: it is called in threads.
Installed by `pip install porchbot[kubernetes]`.
"""

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from fnrunner.contract.errors import ClusterError
from fnrunner.pods.manifest import INSTANCE, SPEC

T = TypeVar("T")

_THREADS: Final = 4
_SECONDS: Final = 15.0  # for one answer
_POOL: Final = "pods"
# Where kubelet goes on trying, though nothing changes before somebody mends it.
_HOPELESS: Final = frozenset(
    (
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodState:
    """A pod, as the cluster tells of it.

    Attributes:
        name: Its name.
        spec: Label: what it was made of.
        address: Its IP address; "" while it has none.
        ready: It serves.
        ended: It has ended, or is being deleted, and will not serve any more.
        hopeless: It will not serve before somebody mends something.
        killed: It ended for want of memory.
        reason: What it is at, in words of the cluster.
    """

    name: str
    spec: str = ""
    address: str = ""
    ready: bool = False
    ended: bool = False
    hopeless: bool = False
    killed: bool = False
    reason: str = ""


class NameTakenError(Exception):
    """There is a pod of that name."""


class Cluster:
    """The pods of one runner in one namespace."""

    def __init__(self, api: Any, namespace: str, instance: str) -> None:
        """Use `connect`.

        Args:
            api: The client (CoreV1Api), which comes without types.
            namespace: Where the pods are.
            instance: Which runner's.
        """
        self._api = api
        self._namespace = namespace
        self._instance = instance
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix=_POOL)

    @classmethod
    def connect(cls, namespace: str, instance: str) -> "Cluster":
        """Find the cluster: the one that this runs in, else the one that kubeconfig names.

        Raises:
            ClusterError: There is none, or its client is not installed.
        """
        try:
            from kubernetes import client, config
        except ImportError as error:
            raise ClusterError(
                "its client is not installed", "Install it: pip install 'porchbot[kubernetes]'"
            ) from error
        settings = client.Configuration()
        try:
            config.load_incluster_config(client_configuration=settings)
        except config.ConfigException:
            try:
                # Its own default is read once, when the client is imported.
                file = os.environ.get("KUBECONFIG") or None
                config.load_kube_config(file, client_configuration=settings)
            except (config.ConfigException, OSError) as error:
                raise ClusterError(
                    f"no cluster is configured: {error}",
                    "Run it inside the cluster, or set KUBECONFIG",
                ) from error
        settings.retries = 1
        return cls(client.CoreV1Api(client.ApiClient(settings)), namespace, instance)

    def close(self) -> None:
        """End its threads and connections."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._api.api_client.close()
        self._api.api_client.rest_client.pool_manager.clear()

    async def create(self, manifest: Mapping[str, Any]) -> None:
        """Make a pod.

        Raises:
            NameTakenError: There is one of that name.
            ClusterError: It is refused, or the cluster does not answer.
        """
        await self._ask(
            "create a pod",
            lambda: self._api.create_namespaced_pod(
                self._namespace, dict(manifest), _request_timeout=_SECONDS
            ),
        )

    async def pods(self) -> list[PodState]:
        """Return this runner's pods.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        listed = await self._ask(
            "list pods",
            lambda: self._api.list_namespaced_pod(
                self._namespace,
                label_selector=f"{INSTANCE}={self._instance}",
                _request_timeout=_SECONDS,
            ),
        )
        return [read(pod) for pod in listed.items]

    async def delete(self, name: str) -> None:
        """Delete a pod; one that is gone already counts as deleted.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        await self._ask(
            "delete a pod",
            lambda: self._api.delete_namespaced_pod(
                name, self._namespace, _request_timeout=_SECONDS
            ),
        )

    async def events(self, name: str) -> str:
        """Return the last warning about a pod; "" if there is none, or it may not be read."""
        try:
            listed = await self._ask(
                "list events",
                lambda: self._api.list_namespaced_event(
                    self._namespace,
                    field_selector=f"involvedObject.name={name},type=Warning",
                    limit=50,
                    _request_timeout=_SECONDS,
                ),
            )
        except ClusterError:  # what it is asked for is an error already, with less to say
            return ""
        texts = [f"{each.reason}: {each.message}" for each in listed.items if each.message]
        return texts[-1] if texts else ""

    async def _ask(self, wanted: str, ask: Callable[[], T]) -> T | Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._asked, wanted, ask)

    def _asked(self, wanted: str, ask: Callable[[], T]) -> T | None:
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        try:
            return ask()
        except ApiException as error:
            if error.status == 404 and wanted.startswith("delete"):
                return None
            raise _told(wanted, error) from error
        except HTTPError as error:
            raise ClusterError(
                f"it does not answer when asked to {wanted}: {error}",
                "Try again later",
                passing=True,
            ) from error


def _told(wanted: str, error: Any) -> Exception:
    """Return what a refusal means."""
    said = _message(error)
    if error.status == 409 and wanted.startswith("create"):
        return NameTakenError(said)
    if error.status in (401, 403):
        return ClusterError(
            f"it refuses to {wanted} ({error.status}): {said}",
            "Let the runner's account create, list and delete pods, within its quota",
        )
    passing = error.status in (0, 409, 429) or error.status >= 500
    return ClusterError(
        f"it does not {wanted} ({error.status}): {said}",
        "Try again later" if passing else "Check the namespace and the pod template",
        passing=passing,
    )


def _message(error: Any) -> str:
    """Return the message of a Status, or what there is instead."""
    try:
        said = json.loads(error.body)["message"]
    except (TypeError, ValueError, KeyError):
        said = error.reason
    return str(said or "it does not say why")


def read(pod: Any) -> PodState:
    """Return the state of a pod, a V1Pod."""
    status = pod.status
    conditions = {each.type: each for each in status.conditions or ()}
    ready = conditions.get("Ready")
    containers = [*(status.init_container_statuses or ()), *(status.container_statuses or ())]
    waiting = [each.state.waiting for each in containers if each.state and each.state.waiting]
    ended = [each.state.terminated for each in containers if each.state and each.state.terminated]
    gone = status.phase in ("Failed", "Succeeded") or pod.metadata.deletion_timestamp is not None
    return PodState(
        name=pod.metadata.name,
        spec=(pod.metadata.labels or {}).get(SPEC, ""),
        address=status.pod_ip or "",
        ready=not gone and ready is not None and ready.status == "True" and bool(status.pod_ip),
        ended=gone,
        hopeless=any(each.reason in _HOPELESS for each in waiting),
        killed=any(each.reason == "OOMKilled" for each in ended),
        reason=_reason(status, waiting, ended, conditions.get("PodScheduled")),
    )


def _reason(status: Any, waiting: list[Any], ended: list[Any], scheduled: Any) -> str:
    if status.phase == "Failed":
        failed = [each for each in ended if each.exit_code]
        if failed and not status.reason:
            return _words(failed[-1].reason, f"exit status {failed[-1].exit_code}")
        return _words(status.reason or "Failed", status.message)
    for each in waiting:
        if each.reason not in ("ContainerCreating", "PodInitializing"):
            return _words(each.reason, each.message)
    if scheduled is not None and scheduled.status == "False":
        return _words(scheduled.reason, scheduled.message)
    return _words(status.phase, waiting[0].reason if waiting else "")


def _words(reason: str | None, message: str | None) -> str:
    return ": ".join(each.strip() for each in (reason, message) if each) or "no reason given"
