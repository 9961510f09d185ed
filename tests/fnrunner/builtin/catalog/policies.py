"""Policies as people write them for Gatekeeper, each with a resource and what it objects to."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy.

    Attributes:
        rego: Its text; the package is "policy".
        spec: `spec` of the Pod it looks at.
        said: What it says, sorted.
        parameters: Parameters of its constraint.
        libs: Libraries beside it.
        others: More resources of the package.
    """

    rego: str
    spec: Any
    said: list[str]
    parameters: Any = None
    libs: tuple[str, ...] = ()
    others: list[Any] = field(default_factory=list)


def _containers(*images: str) -> Any:
    return {"containers": [{"name": f"c{n}", "image": image} for n, image in enumerate(images)]}


def _service(name: str, host: str) -> Any:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Route",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"host": host},
    }


POLICIES = {
    "only images from known places": Policy(
        """
violation[{"msg": msg}] {
  container := images[_]
  known := [good | place = input.parameters.places[_]; good = startswith(container.image, place)]
  not any(known)
  known_text := sprintf("known are %v", [input.parameters.places])
  msg := sprintf("%v comes from %v, %v", [container.name, container.image, known_text])
}
images[c] { c := input.review.object.spec.containers[_] }
images[c] { c := input.review.object.spec.initContainers[_] }
""",
        _containers("corp/a", "hub/b"),
        ['c1 comes from hub/b, known are ["corp/", "mine/"]'],
        {"places": ["corp/", "mine/"]},
    ),
    "all ports above a bound": Policy(
        """
violation[{"msg": "a port is too low"}] {
  high := [ok | port := input.review.object.spec.ports[_]; ok := port > input.parameters.bound]
  not all(high)
}
""",
        {"ports": [80, 8080]},
        ["a port is too low"],
        {"bound": 1024},
    ),
    "labels that must be there, and their form": Policy(
        """
violation[{"msg": msg, "details": {"lacking": lacking}}] {
  there := {key | input.review.object.spec.labels[key]}
  wanted := {key | key := input.parameters.labels[_].key}
  lacking := wanted - there
  count(lacking) > 0
  msg := text(input.parameters, sprintf("labels are lacking: %v", [lacking]))
}
violation[{"msg": msg}] {
  value := input.review.object.spec.labels[key]
  wanted := input.parameters.labels[_]
  wanted.key == key
  wanted.form != ""
  not re_match(wanted.form, value)
  msg := sprintf("label %v: %q is not of the form %v", [key, value, wanted.form])
}
text(parameters, _default) = said { not parameters.message; said := _default }
text(parameters, _default) = said { said := parameters.message }
""",
        {"labels": {"owner": "me"}},
        [
            'label owner: "me" is not of the form ^[a-z]+[.]corp$',
            'labels are lacking: {"a", "b"}',
        ],
        {"labels": [{"key": "owner", "form": "^[a-z]+[.]corp$"}, {"key": "b"}, {"key": "a"}]},
    ),
    "limits in units": Policy(
        r"""
factor("Gi") = 1073741824 { true }
factor("Mi") = 1048576 { true }
bytes(x) = n { is_number(x); n := x }
bytes(x) = n {
  not is_number(x)
  unit := substring(x, count(x) - 2, -1)
  re_match("^[0-9]+$", replace(x, unit, ""))
  n := to_number(replace(x, unit, "")) * factor(unit)
}
violation[{"msg": msg}] {
  some i
  c := input.review.object.spec.containers[i]
  bytes(c.memory) > bytes(input.parameters.memory)
  units.parse_bytes(c.memory) > units.parse("512Mi")
  msg := sprintf("container %d may take %s", [i, c.memory])
}
""",
        {"containers": [{"memory": "2Gi"}, {"memory": "1Mi"}, {"memory": "much"}]},
        ["container 0 may take 2Gi"],
        {"memory": "1Gi"},
    ),
    "a library with exemptions": Policy(
        """
import data.lib.exempt.is_exempt
violation[{"msg": msg}] {
  c := input.review.object.spec.containers[_]
  not is_exempt(c)
  c.image != ""
  msg := sprintf("%v is not exempt", [c.image])
}
""",
        _containers("corp/a:1", "hub/b:1"),
        ["hub/b:1 is not exempt"],
        {"exempt": ["corp/*"]},
        (
            """
package lib.exempt
is_exempt(container) {
  wanted := object.get(object.get(input, "parameters", {}), "exempt", [])[_]
  endswith(wanted, "*")
  startswith(container.image, trim_suffix(wanted, "*"))
}
""",
        ),
    ),
    "a host that another resource has": Policy(
        """
same(a, b) { a.metadata.name == b.metadata.name; a.metadata.namespace == b.metadata.namespace }
violation[{"msg": msg}] {
  other := data.inventory.namespace[_][version].Route[_]
  regex.match("^example[.]com/.+$", version)
  other.spec.host == input.review.object.spec.host
  not same(other, input.review.object)
  msg := sprintf("%v has %v too", [other.metadata.name, other.spec.host])
}
""",
        {"host": "shop.corp"},
        ["one has shop.corp too"],
        others=[_service("one", "shop.corp"), _service("two", "other.corp")],
    ),
    "a field wherever it stands": Policy(
        """
violation[{"msg": msg}] {
  walk(input.review.object.spec, [path, true])
  path[count(path) - 1] == "hostNetwork"
  msg := concat(".", [part | part := path[_]])
}
""",
        {"template": {"spec": {"hostNetwork": True}}},
        ["template.spec.hostNetwork"],
    ),
    "a field wherever it stands, found as a value": Policy(
        """
violation[{"msg": msg}] {
  [path, value] := walk(object.get(input.review.object, "spec", {})) # walk(x)
  value == true
  msg := sprintf("%v, not walk(x), %v", [concat(".", path), deepest])
}
deepest = count([1 | [_, true] = walk(input.review.object)])
""",
        {"template": {"spec": {"hostNetwork": True}}},
        ["template.spec.hostNetwork, not walk(x), 1"],
    ),
    "texts as Go formats them": Policy(
        """
violation[{"msg": msg}] {
  values := ["a", 7, 1.50, {"b", "a"}, set(), {"k": [null]}, true, 12345678901234567890]
  msg := sprintf("%-3s|%03d|%v|%v|%v|%v|%v|%v|%v", values)
}
violation[{"msg": sprintf("%v", ["a", 2])}] { true }
""",
        {},
        [
            'a  |007|1.5|{"a", "b"}|set()|{"k": [null]}|true|12345678901234567890|%!v(MISSING)',
            "a%!(EXTRA int=2)",
        ],
    ),
    "bodies in a row": Policy(
        """
violation[{"msg": msg}] { # in a row
  msg := size(input.review.object.spec.n)
} {
  msg := size(1)
}
size(n) = "small" { n < 5 } { n > 100 }
size(n) = "middle" {
  n >= 5
  n <= 100
}
""",
        {"n": 7},
        ["middle", "small"],
    ),
    "digests and networks": Policy(
        """
violation[{"msg": msg}] {
  not crypto.sha1(5)
  keyed := crypto.hmac.sha256("a", "b")
  inside := net.cidr_intersects("10.0.0.0/8", input.parameters.net)
  apart := net.cidr_intersects("10.0.0.0/8", "::/0")
  msg := sprintf("%v %v %v %v", [crypto.md5("a"), substring(keyed, 0, 6), inside, apart])
}
""",
        {},
        ["0cc175b9c0f1b6a831c399e269772661 cb448b true false"],
        {"net": "10.2.0.0/16"},
    ),
    "a rule with a default": Policy(
        """
default allowed = false
allowed { input.review.object.spec.type == "ClusterIP" }
violation[{"msg": msg}] { not allowed; msg = "only ClusterIP" }
""",
        {"type": "NodePort"},
        ["only ClusterIP"],
    ),
    "else": Policy(
        """
level(n) = "high" { n > 10 } else = "middle" { n > 5 } else = "low" { true }
violation[{"msg": msg}] {
  found := level(input.review.object.spec.replicas)
  found != "low"
  msg := sprintf("%s (%d)", [found, input.review.object.spec.replicas])
}
""",
        {"replicas": 7},
        ["middle (7)"],
    ),
    "two that share a name": Policy(
        """
violation[{"msg": msg}] {
  some i, j
  names := [name | name := input.review.object.spec.containers[_].name]
  i < j
  names[i] == names[j]
  msg := sprintf("%d and %d are both %q", [i, j, names[i]])
}
""",
        {"containers": [{"name": "a"}, {"name": "b"}, {"name": "a"}]},
        ['0 and 2 are both "a"'],
    ),
    "capabilities": Policy(
        """
violation[{"msg": msg}] {
  c := input.review.object.spec.containers[_]
  dropped := {each | each := lower(c.drop[_])}
  wanted := {each | each := lower(input.parameters.drop[_])}
  all := {"all"}
  count(wanted - dropped) > 0
  count(all - dropped) > 0
  msg := sprintf("%v must drop %v", [c.name, input.parameters.drop])
}
""",
        {"containers": [{"name": "a", "drop": ["NET_RAW"]}, {"name": "b", "drop": ["ALL"]}]},
        ['a must drop ["SYS_ADMIN"]'],
        {"drop": ["SYS_ADMIN"]},
    ),
    "every, in the words of the next version": Policy(
        """
import future.keywords
violation[{"msg": "not all are ready"}] { not ready }
ready { every c in input.review.object.spec.containers { c.ready == true } }
""",
        {"containers": [{"ready": True}, {"ready": False}]},
        ["not all are ready"],
    ),
    "what has no value holds no rule": Policy(
        """
violation[{"msg": "a"}] { to_number(input.review.object.spec.text) > 0 }
violation[{"msg": "b"}] { count(input.review.object.spec.number) > 0 }
violation[{"msg": "c"}] { startswith(input.review.object.spec.number, "1") }
violation[{"msg": "d"}] { units.parse_bytes(input.review.object.spec.text) > 0 }
violation[{"msg": "e"}] { time.parse_rfc3339_ns(input.review.object.spec.text) > 0 }
violation[{"msg": "f"}] { json.unmarshal(input.review.object.spec.text) }
violation[{"msg": "g"}] { re_match("(", "a") }
violation[{"msg": "h"}] { input.review.object.spec.nothing.at.all }
violation[{"msg": "i"}] { to_number(input.review.object.spec.digits) == 12 }
violation[{"msg": "j"}] { not startswith(input.review.object.spec.number, "1") }
""",
        {"text": "abc", "number": 12, "digits": "12"},
        ["i", "j"],
    ),
    "how values are written": Policy(
        """
violation[{"msg": msg}] {
  msg := sprintf("%v %v %v", [input.review.object.spec, {"b", "a"}, 10000000000])
}
""",
        {"b": [1, 2.5, None, True], "a": {"x": 'q"q'}},
        ['{"a": {"x": "q\\"q"}, "b": [1, 2.5, null, true]} {"a", "b"} 10000000000'],
    ),
    "hosts and networks": Policy(
        """
violation[{"msg": host}] {
  host := input.review.object.spec.hosts[_]
  not glob.match("*.corp", ["."], host)
}
violation[{"msg": address}] {
  address := input.review.object.spec.addresses[_]
  not net.cidr_contains("10.0.0.0/8", address)
}
""",
        {"hosts": ["a.corp", "a.b.corp"], "addresses": ["10.1.2.3", "192.168.0.1"]},
        ["192.168.0.1", "a.b.corp"],
    ),
}
