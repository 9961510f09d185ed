"""A stand-in for a Kubernetes cluster: its API over HTTP on loopback, and a kubelet behind it.

The API answers what Kubernetes' own client asks about pods and events, and refuses what the
schemas of Kubernetes do not allow. The kubelet starts what a pod's container says, with the
interpreter of the tests in place of the one that the init container brings, on an address of its
own in 127.0.0.0/8. Nothing of images is unpacked: programs are those of this machine.
"""

from __future__ import annotations

import copy
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cadlib.yaml import read
from fnrunner.builtin import schema
from fnrunner.builtin.resource import mapping
from fnrunner.pods.manifest import PORT
from tests.stories.forked import POD, Forked

BROUGHT = ["/porchbot/lib/ld.so", "--library-path", "/porchbot/lib", "/porchbot/bin/python3"]
"""How the interpreter is started that the init container brings."""

SERVES = ["-I", "-B", "-X", "utf8", "-m", POD]
"""What it runs; `test_server.py` starts it so."""

DEPLOYMENT = Path(__file__).parents[2] / "docs/kubernetes/runner.yaml"
NAMESPACE = "functions"
NOW = "2026-01-01T00:00:00Z"


_VERBS = {"POST": "create", "GET": "list", "DELETE": "delete"}


def _granted() -> set[tuple[str, str]]:
    """What the role that is documented lets a runner do: verbs, and what they are done to."""
    documents = read(DEPLOYMENT.read_bytes()).documents
    (role,) = (each.value for each in documents if mapping(each.value)["kind"] == "Role")
    rules: Any = mapping(role)["rules"]
    return {
        (verb, resource)
        for rule in rules
        for verb in rule["verbs"]
        for resource in rule["resources"]
    }


Process = subprocess.Popen[bytes] | Forked


class Cluster:
    """A cluster with one node. Its API lets a runner do what the documented role lets it.

    Attributes:
        pods: What there is, by name, as the API tells it.
        made: All pods that were ever made, as they were asked for.
        refuse: Answers to the next requests of a method: ("POST", 500), in order.
        fate: What becomes of the next pods: "pull", "crash", "pending", or "" to run.
        requests: Method and path of each request.
    """

    def __init__(self) -> None:
        self.pods: dict[str, dict[str, Any]] = {}
        self.made: list[dict[str, Any]] = []
        self.refuse: list[tuple[str, int]] = []
        self.fate: list[str] = []
        self.requests: list[str] = []
        self._not_pulled: set[str] = set()  # events stay when their pod has gone
        self._processes: dict[str, Process] = {}
        self._lock = threading.RLock()
        self._last = 2
        self._threads: list[threading.Thread] = []
        self._closed = False
        self._may = _granted()

    # -- what tests do to it ----------------------------------------------------------------------

    def kill(self, name: str, reason: str = "Error") -> None:
        """End a pod's process as the kernel does."""
        with self._lock:
            self.pods[name]["reason"] = reason
            self._processes[name].kill()

    def remove(self, name: str) -> None:
        """Delete a pod behind the runner's back, without grace."""
        with self._lock:
            del self.pods[name]
            self._processes[name].kill()

    def adopt(self, name: str, labels: Mapping[str, str]) -> None:
        """Have a pod that no process is behind."""
        self.pods[name] = _pod({"metadata": {"name": name, "labels": dict(labels)}, "spec": {}})

    def wait(self, count: int) -> list[str]:
        """Wait until there are so many pods that are not on their way out; return their names."""
        for _ in range(1200):
            names = self.names()
            if len(names) == count:
                return names
            time.sleep(0.05)
        raise AssertionError(f"{names} instead of {count} pods")

    def names(self) -> list[str]:
        with self._lock:
            return sorted(
                name
                for name, pod in self.pods.items()
                if "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] != "Failed"
            )

    # -- the API ----------------------------------------------------------------------------------

    def answer(self, method: str, url: str, body: bytes) -> tuple[int, dict[str, Any]]:
        parts = urlsplit(url)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        steps = parts.path.removeprefix(f"/api/v1/namespaces/{NAMESPACE}/").split("/")
        with self._lock:
            self.requests.append(f"{method} {parts.path}")
            for number, (wanted, status) in enumerate(self.refuse):
                if wanted == method:
                    del self.refuse[number]
                    return _status(status, f"told to answer {status}")
            if (_VERBS[method], steps[0]) not in self._may:
                return _status(403, f"the documented role may not {method} {steps[0]}")
            match method, steps:
                case "POST", ["pods"]:
                    return self._create(json.loads(body))
                case "GET", ["pods"]:
                    return self._list(query.get("labelSelector", ""))
                case "GET", ["events"]:
                    return self._events(query["fieldSelector"])
                case "DELETE", ["pods", name] if name in self.pods:
                    return self._delete(name)
        return _status(404, f"there is no {parts.path}")

    def _create(self, pod: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        problems = _problems(pod)
        if problems:
            return _status(422, "; ".join(problems))
        name = pod["metadata"]["name"]
        if name in self.pods:
            return _status(409, f'pods "{name}" already exists')
        self.made.append(copy.deepcopy(pod))
        found = self.pods[name] = _pod(pod)
        match self.fate.pop(0) if self.fate else "":
            case "pull":
                self._not_pulled.add(name)
                found["status"]["containerStatuses"] = [
                    _container({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off"}})
                ]
            case "pending":
                found["status"]["conditions"] = [
                    _condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available")
                ]
            case fate:
                self._start(name, pod, crash=fate == "crash")
        return 201, found

    def _list(self, selector: str) -> tuple[int, dict[str, Any]]:
        wanted = dict(each.split("=") for each in selector.split(",") if each)
        items = [
            copy.deepcopy(pod)
            for pod in self.pods.values()
            if wanted.items() <= pod["metadata"].get("labels", {}).items()
        ]
        return 200, {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": items}

    def _events(self, selector: str) -> tuple[int, dict[str, Any]]:
        name = dict(each.split("=") for each in selector.split(","))["involvedObject.name"]
        item = {
            "metadata": {"name": f"{name}.1", "namespace": NAMESPACE},
            "involvedObject": {"kind": "Pod", "name": name},
            "type": "Warning",
            "reason": "Failed",
            "message": "Failed to pull image: manifest unknown",
        }
        items = [item] if name in self._not_pulled else []
        return 200, {"apiVersion": "v1", "kind": "EventList", "metadata": {}, "items": items}

    def _delete(self, name: str) -> tuple[int, dict[str, Any]]:
        pod = self.pods[name]
        pod["metadata"]["deletionTimestamp"] = NOW
        process = self._processes.get(name)
        if process is None:
            del self.pods[name]
        else:
            process.terminate()  # the pod goes when its process has gone
        return 200, pod

    # -- the kubelet ------------------------------------------------------------------------------

    def _start(self, name: str, pod: dict[str, Any], *, crash: bool) -> None:
        container = pod["spec"]["containers"][-1]
        words = [_expanded(word) for word in container["command"]]
        assert words[: len(BROUGHT)] == BROUGHT
        started, words = words[len(BROUGHT) :][: len(SERVES)], words[len(BROUGHT) + len(SERVES) :]
        assert started == SERVES
        address = self._address()
        at = words.index("--listen") + 1
        assert words[at] == f"0.0.0.0:{PORT}"
        words[at] = f"{address}:{PORT}"
        given = {each["name"]: each.get("value", "") for each in container.get("env", ())}
        environment = {"PATH": os.environ["PATH"], "SECRET_OF_THE_POD": "1", **given}
        process: Process
        if crash:
            process = subprocess.Popen(["sh", "-c", "exit 3"], start_new_session=True)
        else:
            process = Forked(words, environment, Path(os.devnull), POD)
        self._processes[name] = process
        for work in (self._reap, self._probe):
            thread = threading.Thread(target=work, args=(name, process, address), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _address(self) -> str:
        """An address that no other process of the tests uses: all share the port."""
        while True:
            self._last += 1
            address = f"127.{100 + os.getpid() // 250 % 100}.{os.getpid() % 250}.{self._last}"
            with socket.socket() as probe, suppress(OSError):
                probe.bind((address, PORT))
                return address

    def _reap(self, name: str, process: Process, address: str) -> None:
        status = process.wait() or 0
        with self._lock:
            self._processes.pop(name, None)
            pod = self.pods.get(name)
            if pod is None:
                return
            if "deletionTimestamp" in pod["metadata"]:
                del self.pods[name]
                return
            reason = pod.get("reason", "Error" if status else "Completed")
            code = 128 - status if status < 0 else status
            pod["status"]["phase"] = "Failed" if status else "Succeeded"
            pod["status"]["conditions"] = [_condition("Ready", "False", "PodFailed", "")]
            pod["status"]["containerStatuses"] = [
                _container({"terminated": {"reason": reason, "exitCode": code}})
            ]

    def _probe(self, name: str, process: Process, address: str) -> None:
        """Find out when it serves: a kubelet asks its health, this one whether it listens."""
        while self._processes.get(name) is process and not self._closed:
            try:
                socket.create_connection((address, PORT), timeout=5).close()
            except OSError:
                time.sleep(0.02)
                continue
            with self._lock:
                if name in self.pods and self._processes.get(name) is process:
                    self.pods[name]["status"].update(
                        phase="Running",
                        podIP=address,
                        conditions=[_condition("Ready", "True", "", "")],
                        containerStatuses=[_container({"running": {"startedAt": NOW}}, ready=True)],
                    )
            return

    def close(self) -> None:
        self._closed = True
        for process in list(self._processes.values()):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for thread in self._threads:
            thread.join()


def _expanded(word: str) -> str:
    """What a kubelet makes of a word: "$$" is a dollar, "$(NAME)" would be a variable."""
    parts = word.split("$$")
    assert not any("$(" in part for part in parts), f"{word} names a variable"
    return "$".join(parts)


def _problems(pod: dict[str, Any]) -> list[str]:
    found = schema.load(schema.versions()[-1], strict=True).problems("", "v1", "Pod", pod)
    assert found is not None
    return [f"{'.'.join(map(str, each.path))}: {each.message}" for each in found]


def _pod(pod: dict[str, Any]) -> dict[str, Any]:
    found = copy.deepcopy(pod)
    found["metadata"] |= {"namespace": NAMESPACE, "creationTimestamp": NOW}
    found["spec"].setdefault("containers", [{"name": "function"}])
    found["status"] = {"phase": "Pending"}
    return found


def _container(state: dict[str, Any], *, ready: bool = False) -> dict[str, Any]:
    return {
        "name": "function",
        "image": "",
        "imageID": "",
        "ready": ready,
        "restartCount": 0,
        "state": state,
    }


def _condition(kind: str, status: str, reason: str, message: str) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _status(code: int, message: str) -> tuple[int, dict[str, Any]]:
    return code, {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "message": message,
        "code": code,
    }


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[Cluster, Path]]:
    """Start a cluster; gives it and a kubeconfig that leads there."""
    found = Cluster()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, value = found.answer(self.command, self.path, body)
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - http.server's names

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    config = folder / "kubeconfig"
    config.write_text(
        json.dumps(  # which is YAML as well
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "test",
                "clusters": [
                    {
                        "name": "test",
                        "cluster": {"server": f"http://127.0.0.1:{server.server_port}"},
                    }
                ],
                "users": [{"name": "test", "user": {}}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            }
        )
    )
    try:
        yield found, config
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        found.close()
