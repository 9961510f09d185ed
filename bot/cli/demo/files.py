"""Files that the demo writes: the configuration of the repository, a Kptfile and a Deployment."""

from datetime import datetime

from cadlib import yaml
from cadlib.yaml import Value
from lifecycle.policy import LABELS, ShownStage

CONFIGURATION = """\
version: 1
packages:
  - directory: {directory}
guardrails:
  mutators:
    - image: set-labels:v0.2
      configMap:
        owner: network
  validators:
    - image: kubeconform:v0.1
      configMap:
        strict: "true"
access:
  approve:
    require: 1
    from: ["role:maintain"]
publish:
  release: true
"""

KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: {name}
  annotations:
    config.kubernetes.io/local-config: "true"
info:
  description: A small service, made for the demo.
pipeline:
  mutators:
    - image: set-namespace:v0.4
      configMap:
        namespace: {name}
"""

DEPLOYMENT = """\
# The service itself.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: router # one name everywhere
  namespace: {name}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: router
  template:
    metadata:
      labels:
        app: router
    spec:
      containers:
        - name: router
          image: "registry.example/router:1.0"
          ports:
            - containerPort: "http" # a name where a number belongs
"""


def with_window(configuration: bytes, folder: str, until: datetime, reason: str) -> bytes:
    """Return a configuration with a window more, in which a folder is frozen, and with releases.

    Args:
        configuration: A `.porchbot.yaml`; its other lines stay as they are.
        folder: What is frozen.
        until: When that ends, UTC.
        reason: Why.

    Raises:
        PackageError: It is no YAML, or cannot be edited without loss.
    """
    stream = yaml.read(configuration)
    wanted = dict(_mapping(stream.documents[0].value))
    publish = dict(_mapping(wanted.get("publish")))
    there = publish.get("windows")
    window: Value = {
        "kind": "freeze",
        "until": f"{until:%Y-%m-%d %H:%M}",
        "paths": [folder],
        "reason": reason,
    }
    publish |= {"release": True, "windows": [*(there if isinstance(there, list) else []), window]}
    return yaml.edit(stream, {0: wanted | {"publish": publish}})


def label(configuration: bytes, stage: ShownStage) -> str | None:
    """The label that a configuration has for a stage; None where it has none."""
    labels = _mapping(yaml.read(configuration).documents[0].value).get("labels", {})
    return None if labels is False else str(_mapping(labels).get(stage, LABELS[stage]))


def _mapping(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}
