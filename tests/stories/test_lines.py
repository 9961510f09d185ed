"""A finding stands at its line: what people see beside a check is the line to mend."""

import pytest

from tests.stories.real import RealWorld
from tests.stories.world import KPTFILE

pytestmark = pytest.mark.real_parts

DEPLOYMENT = """\
# Two documents, the second with the trouble.
apiVersion: v1
kind: ConfigMap
metadata:
  name: router-env
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: router
spec:
  replicas: | # wrong: a block scalar
    two
  selector:
    matchLabels: {app: router}
  template:
    metadata:
      labels: {app: router}
      annotations:
        example.com: fine
    spec:
      nodeSelector:
        example.com/zone: 5 # wrong: a key with a slash
        example.com: fine
      containers:
        - name: first
          image: one
          args: [fine, [listed]] # wrong: a list in a list
        - name: second
          image: two
          ports: [{containerPort: 80},
            {containerPort: "http"}] # wrong: in a flow collection
          env:
            - name: A
              value:
                5 # wrong: below its key
            - name: B # wrong: what holds an unknown key
              valeu: "6"
"""
JSON = """\
{
  "apiVersion": "v1", "kind": "Service",
  "metadata": {"name": "router"},
  "spec": {
    "selector": {"app": "router"},
    "ports": [
      {"name": "one", "port": 80},
      {"name": "two", "port": "wrong: in JSON"}
    ]
  }
}
"""
LIST = """\
apiVersion: v1 # wrong: resources that other functions do not see
kind: List
metadata:
  name: all
items:
  - apiVersion: v1
    kind: Service
    metadata: {name: a}
    spec:
      ports: [{port: 80}]
  - apiVersion: v1
    kind: Service
    metadata: {name: b}
    spec:
      ports:
        - port: "wrong: in a List"
"""
POLICY = """\
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata:
  name: allowednames
spec:
  crd:
    spec:
      names: {kind: AllowedNames}
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package allowednames
        violation[{"msg": "this name is not allowed"}] {
          input.review.object.metadata.name == "forbidden"
        }
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: AllowedNames
metadata:
  name: allowed-names
spec: {}
"""
FORBIDDEN = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: allowed
---
apiVersion: v1 # wrong: a resource by a policy
kind: ConfigMap
metadata:
  name: forbidden
"""
PIPELINE = """\
pipeline:
  validators:
    - image: gatekeeper:v0.2
    - image: starlark:v0.5 # wrong: a script that refuses
      configMap:
        source: |
          fail("not today")
"""


def test_the_text_of_every_annotated_line_is_what_is_wrong(play: RealWorld) -> None:
    """Fails when a path is cut at its dots: what is in a list then stands at the list's key."""
    files = {
        "net/core/Kptfile": KPTFILE.replace("NAME", "core") + PIPELINE,
        "net/core/router.yaml": DEPLOYMENT,
        "net/core/service.json": JSON,
        "net/core/list.yaml": LIST,
        "net/core/policy.yaml": POLICY,
        "net/core/forbidden.yaml": FORBIDDEN,
    }
    branch = "drafts/net/core/lines"
    play.author.pushes(branch, files)
    pull = play.author.pull_of(branch)

    run = play.author.waits_for_check(pull.number, "porchbot/validate", "failure")

    wrong = {
        (path, line.strip())
        for path in files
        for line in play.author.reads(path, branch).split("\n")
        if "wrong:" in line
    }
    annotated = {
        (note.path, play.author.reads(note.path, branch).split("\n")[note.line - 1].strip())
        for note in play.author.remarks(pull.number, run.name)
    }
    assert annotated == wrong
