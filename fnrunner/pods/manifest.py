"""The manifest of a function's pod: our fields over the operator's template.

Rules
- Of maps, what is ours counts over what the template says, key by key. Lists of named things
  (containers, volumes, variables …) are put together by name; of other lists, ours counts.
- Everything that fences the function is ours. Which user that is, the template may say, if it
  is not root.
- Texts of the image reach its program as they are: in a pod, "$(NAME)" would mean a variable.
- There is no field for a network or for processes. Labels say what a function may use, for the
  operator's NetworkPolicy; processes are limited by the kubelet.

Source: Kubernetes API, v1 Pod; pod security standard "restricted";
docs/design.md, "Porch: the function runner".
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cadlib import forms
from cadlib.yaml import Value
from fnrunner.contract.errors import ClusterError
from fnrunner.contract.run import MIB, Granted
from fnrunner.pods import closure

PORT: Final = 9446
"""Where pods serve; Porch's wrapper has the same."""

DOMAIN: Final = "porchbot"
INSTANCE: Final = f"{DOMAIN}/instance"
"""Label: which runner made it."""
SPEC: Final = f"{DOMAIN}/spec"
"""Label: hash of all that it was made of."""
DIGEST: Final = f"{DOMAIN}/digest"
"""Label: digest of its image, the first 32 digits; whole in the annotation `porchbot/image`."""
NETWORK: Final = f"{DOMAIN}/network"
"""Label: whether its function may use the network, "allowed" or "denied"."""

_FOLDER: Final = "/porchbot"
_VOLUME: Final = "porchbot"
_TEMPORARY: Final = "porchbot-tmp"
_FUNCTION: Final = "function"
_COPIER: Final = "porchbot-server"
_NOBODY: Final = 65534  # as in the sandbox
_SERVER_BYTES: Final = 96 * MIB  # what serving takes itself: 45 MiB, and messages
_COPIER_BYTES: Final = 256 * MIB  # the page cache that it fills is counted, too
_FOLDER_BYTES: Final = 512 * MIB
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # docker's
_MINUTES: Final = 600.0  # seconds that a pod stays beyond its time without its runner

# How the entries of a list are told apart, by the name of the list.
_KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFunction:
    """What runs in a pod.

    Attributes:
        image: Repository and digest, "HOST/PATH@sha256:…".
        argv: Entrypoint and arguments.
        environment: Variables of the image, "NAME=value".
        granted: What it may have.
    """

    image: str
    argv: tuple[str, ...]
    environment: tuple[str, ...]
    granted: Granted

    @property
    def short(self) -> str:
        """Its name, as far as it can stand in a pod's name."""
        last = self.image.partition("@")[0].rpartition("/")[2].partition(":")[0].lower()
        return re.sub(r"[^a-z0-9]+", "-", last).strip("-")[:30].strip("-") or "function"

    @property
    def digest(self) -> str:
        """Its digest, 64 digits."""
        return self.image.rpartition(":")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What all pods have in common.

    Attributes:
        template: The operator's, with `metadata` and `spec`.
        server: Image with porchbot.
        instance: Which runner makes them.
        message_bytes: Largest message.
        idle: How long one without calls stays, in seconds.
    """

    template: Mapping[str, Any]
    server: str
    instance: str
    message_bytes: int
    idle: float


def template(path: Path) -> dict[str, Any]:
    """Read an operator's template: a Pod, a PodTemplate, or `metadata` and `spec` alone.

    Raises:
        ClusterError: It is none of these.
    """
    fix = "Give a file with one Pod or PodTemplate"
    try:
        found = [each.value for each in forms.documents(path.read_bytes(), str(path))]
    except OSError as error:
        raise ClusterError(f"the template {path} cannot be read: {error.strerror}", fix) from error
    except forms.FormError as error:
        raise ClusterError(f"the template cannot be read: {error}", fix) from error
    pod: Value = found[0] if len(found) == 1 else None
    if isinstance(pod, dict) and isinstance(pod.get("template"), dict):
        pod = pod["template"]
    if not isinstance(pod, dict) or not isinstance(pod.get("spec", {}), dict):
        raise ClusterError(f"{path} does not contain a pod template", fix)
    return {key: pod[key] for key in ("metadata", "spec") if isinstance(pod.get(key), dict)}


def manifest(function: PodFunction, pattern: Pattern) -> dict[str, Any]:
    """Return the pod for a function; only its name is missing."""
    given = dict(pattern.template)
    spec = given.get("spec", {})
    containers = {
        each.get("name"): each for each in spec.get("containers", ()) if isinstance(each, dict)
    }
    found = {
        "apiVersion": "v1",
        "kind": "Pod",
        **_merged(
            given,
            {
                "metadata": _metadata(function, pattern),
                "spec": _spec(function, pattern, spec, containers.get(_FUNCTION, {})),
            },
        ),
    }
    text = json.dumps(found, sort_keys=True)
    found["metadata"]["labels"][SPEC] = hashlib.sha256(text.encode()).hexdigest()[:32]
    return found


def _metadata(function: PodFunction, pattern: Pattern) -> dict[str, Any]:
    return {
        "labels": {
            "app.kubernetes.io/managed-by": "porchbot",
            "app.kubernetes.io/name": function.short,
            INSTANCE: pattern.instance,
            DIGEST: function.digest[:32],
            NETWORK: "allowed" if function.granted.network else "denied",
        },
        "annotations": {f"{DOMAIN}/image": function.image},
    }


def _spec(
    function: PodFunction, pattern: Pattern, spec: Mapping[str, Any], own: Mapping[str, Any]
) -> dict[str, Any]:
    bounds = function.granted.bounds
    folder, temporary = {"name": _VOLUME, "mountPath": _FOLDER}, {"name": _TEMPORARY}
    user = _user(spec.get("securityContext"), own.get("securityContext"))
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
        "shareProcessNamespace": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "volumes": [
            {"name": _VOLUME, "emptyDir": {"sizeLimit": str(_FOLDER_BYTES)}},
            {"name": _TEMPORARY, "emptyDir": {"sizeLimit": str(bounds.temporary_bytes)}},
        ],
        "initContainers": [
            {
                "name": _COPIER,
                "image": pattern.server,
                "command": ["porchbot", "function-server", "--copy-to", _FOLDER],
                "securityContext": _fence(user),
                "resources": {"limits": {"memory": str(_COPIER_BYTES)}},
                "volumeMounts": [folder],
            }
        ],
        "containers": [
            {
                "name": _FUNCTION,
                "image": function.image,
                "command": _command(function, pattern, own),
                "args": [],
                # The image's own would be loaded into our interpreter.
                "env": [{"name": name, "value": ""} for name in ("LD_AUDIT", "LD_PRELOAD")],
                "ports": [{"name": "grpc", "containerPort": PORT, "protocol": "TCP"}],
                "readinessProbe": {
                    "grpc": {"port": PORT},
                    "periodSeconds": 1,
                    "timeoutSeconds": 5,
                    "failureThreshold": 5,
                },
                "securityContext": _fence(user),
                "resources": {"limits": {"memory": str(bounds.memory_bytes + _SERVER_BYTES)}},
                "volumeMounts": [
                    {**folder, "readOnly": True},
                    {**temporary, "mountPath": "/tmp"},  # noqa: S108 - inside
                ],
            }
        ],
    }


def _command(function: PodFunction, pattern: Pattern, own: Mapping[str, Any]) -> list[str]:
    bounds = function.granted.bounds
    usual = {"PATH": _PATH, "HOME": "/tmp"}  # noqa: S108 - inside
    image = dict(each.split("=", 1) for each in function.environment)
    variables = {**usual, **image, **function.granted.environment}
    kept = [each["name"] for each in own.get("env", ()) if isinstance(each.get("name"), str)]
    words = [
        *(f"{_FOLDER}/{closure.LOADER}", "--library-path", f"{_FOLDER}/lib"),
        *(f"{_FOLDER}/{closure.PYTHON}", "-I", "-B", "-X", "utf8", "-m", "fnrunner.pods.server"),
        *("--listen", f"0.0.0.0:{PORT}"),
        *("--seconds", f"{bounds.seconds:g}"),
        *("--memory-bytes", str(bounds.memory_bytes)),
        *("--output-bytes", str(bounds.output_bytes)),
        *("--log-bytes", str(bounds.log_bytes)),
        *("--open-files", str(bounds.open_files)),
        *("--message-bytes", str(pattern.message_bytes)),
        *("--alone", f"{pattern.idle + _MINUTES:g}"),
        *(f"--set={name}={value}" for name, value in sorted(variables.items())),
        *(f"--keep={name}" for name in sorted(kept)),
        *("--", *function.argv),
    ]
    return [word.replace("$", "$$") for word in words]


def _user(*contexts: object) -> dict[str, int]:
    """Return user and group, the template's where they are not root."""
    found = {"runAsUser": _NOBODY, "runAsGroup": _NOBODY}
    for context in contexts:
        for name in found:
            value = context.get(name) if isinstance(context, dict) else None
            if isinstance(value, int) and value > 0:
                found[name] = value
    return found


def _fence(user: Mapping[str, int]) -> dict[str, Any]:
    return {
        **user,
        "runAsNonRoot": True,
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], "add": []},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _merged(given: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(given)
    for key, value in ours.items():
        there = found.get(key)
        if isinstance(value, dict) and isinstance(there, dict):
            found[key] = _merged(there, value)
        elif key in _KEYS and isinstance(value, list) and isinstance(there, list):
            found[key] = _joined(there, value, _KEYS[key])
        else:
            found[key] = value
    return found


def _joined(given: Sequence[Any], ours: Sequence[Any], key: str) -> list[Any]:
    """Return the entries of two lists, one for each name, those of the template first."""
    found = {each.get(key): each for each in given if isinstance(each, dict)}
    for each in ours:
        found[each[key]] = _merged(found.get(each[key], {}), each)
    return list(found.values())
