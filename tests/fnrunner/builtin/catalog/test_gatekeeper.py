"""gatekeeper: which resources a constraint is for, what its policy says, and how it fails.

Longer than 400 lines: a table of policies and mistakes.
"""

import json
from typing import Any

import pytest

from cadlib.stream.resourcelist import Item, ResourceList
from fnrunner.builtin.catalog import gatekeeper
from fnrunner.builtin.verdict import FunctionResult
from tests.fnrunner.builtin.catalog.policies import POLICIES, Policy

NAMED = 'violation[{"msg": msg}] { msg := input.review.object.metadata.name }'
NO_ROOT = 'violation[{"msg": "no root"}] { input.review.object.spec.root }'


def template(rego: str = NO_ROOT, *, package: str = "policy", **changes: Any) -> Any:
    target = {
        "target": "admission.k8s.gatekeeper.sh",
        "rego": f"package {package}\n{rego}",
        "libs": list(changes.pop("libs", ())),
    }
    spec = {
        "crd": {"spec": {"names": {"kind": "Wanted"}, **changes.pop("crd", {})}},
        "targets": changes.pop("targets", [{**target, **changes.pop("target", {})}]),
    }
    return {
        "apiVersion": "templates.gatekeeper.sh/v1",
        "kind": "ConstraintTemplate",
        "metadata": {"name": changes.pop("name", "wanted")},
        "spec": spec,
    }


def constraint(name: str = "rule", kind: str = "Wanted", **spec: Any) -> Any:
    return {
        "apiVersion": "constraints.gatekeeper.sh/v1beta1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def pod(name: str = "a", namespace: str = "", **more: Any) -> Any:
    metadata: dict[str, Any] = {"name": name, **more.pop("metadata", {})}
    if namespace:
        metadata["namespace"] = namespace
    spec = more.pop("spec", {"root": True})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **more}


def namespace(name: str, **labels: str) -> Any:
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def check(*resources: Any) -> FunctionResult:
    given = tuple(Item(value, path=f"f{n}.yaml", index=0) for n, value in enumerate(resources))
    answer = gatekeeper.run(ResourceList(given))
    assert answer.items == given
    return answer


def said(answer: FunctionResult) -> list[str]:
    return [f"{each['severity']}: {each['message']}" for each in answer.results]


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_policies_as_people_write_them(policy: Policy) -> None:
    """Short-cut: an engine that knows only what the cases use."""
    only_pods: dict[str, Any] = {"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}}
    parameters = {} if policy.parameters is None else {"parameters": policy.parameters}
    answer = check(
        pod(spec=policy.spec),
        template(policy.rego, libs=policy.libs),
        constraint(**only_pods, **parameters),
        *policy.others,
    )
    suffix = "\nviolatedConstraint: rule"
    assert said(answer) == [f"error: {text}{suffix}" for text in policy.said]


def test_a_violation_says_what_where_and_by_which_constraint() -> None:
    answer = check(pod("b", "shop"), template(), constraint())
    assert answer.results == (
        {
            "message": "no root\nviolatedConstraint: rule",
            "severity": "error",
            "resourceRef": {"apiVersion": "v1", "kind": "Pod", "name": "b", "namespace": "shop"},
            "file": {"path": "f0.yaml"},
        },
    )
    assert answer.failed
    assert answer.log == "[error] v1/Pod/shop/b : no root\nviolatedConstraint: rule"


ACTIONS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "none": ({}, ["error"]),
    "deny": ({"enforcementAction": "deny"}, ["error"]),
    "warn": ({"enforcementAction": "warn"}, ["warning"]),
    "dryrun": ({"enforcementAction": "dryrun"}, ["info"]),
    "one that nobody knows": ({"enforcementAction": "shout"}, ["error"]),
    "for files": (
        {
            "enforcementAction": "scoped",
            "scopedEnforcementActions": [
                {"action": "warn", "enforcementPoints": [{"name": "gator.gatekeeper.sh"}]},
                {"action": "deny", "enforcementPoints": [{"name": "audit.gatekeeper.sh"}]},
            ],
        },
        ["warning"],
    ),
    "for other places": (
        {
            "enforcementAction": "scoped",
            "scopedEnforcementActions": [
                {"action": "deny", "enforcementPoints": [{"name": "audit.gatekeeper.sh"}]}
            ],
        },
        [],
    ),
}


@pytest.mark.parametrize(("spec", "severities"), ACTIONS.values(), ids=ACTIONS)
def test_the_action_says_how_bad_it_is(spec: dict[str, Any], severities: list[str]) -> None:
    answer = check(pod(), template(), constraint(**spec))
    assert [each["severity"] for each in answer.results] == severities
    assert answer.failed == ("error" in severities)
    assert bool(answer.log) == answer.failed


RESOURCES = (
    pod("a", "shop", metadata={"labels": {"tier": "web"}}),
    pod("b", "shop-test"),
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "c", "namespace": "kube"}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "d"}},
    namespace("shop", env="prod"),
    namespace("shop-test"),
    namespace("kube"),
)
MATCHES: dict[str, tuple[Any, list[str]]] = {
    "everything": (None, ["a", "b", "c", "d", "kube", "rule", "shop", "shop-test", "wanted"]),
    "a kind": ({"kinds": [{"kinds": ["Pod"]}]}, ["a", "b"]),
    "a group": ({"kinds": [{"apiGroups": ["apps"], "kinds": ["*"]}]}, ["c"]),
    "one of several": (
        {"kinds": [{"apiGroups": ["*"], "kinds": ["Node"]}, {"apiGroups": ["apps"]}]}, ["c", "d"],
    ),
    "a kind in another group": ({"kinds": [{"apiGroups": ["apps"], "kinds": ["Pod"]}]}, []),
    "what lives in namespaces": ({"scope": "Namespaced"}, ["a", "b", "c"]),
    "what does not": ({"scope": "Cluster", "name": "d"}, ["d"]),
    "a namespace, itself too": ({"namespaces": ["shop"], "name": "*"}, [
        "a", "d", "rule", "shop", "wanted",
    ]),
    "namespaces by their beginning": (
        {"namespaces": ["shop*"], "kinds": [{"kinds": ["Pod"]}]}, ["a", "b"],
    ),
    "by their end": ({"namespaces": ["*-test"], "scope": "Namespaced"}, ["b"]),
    "by a part": ({"namespaces": ["*op*"], "scope": "Namespaced"}, ["a", "b"]),
    "but not these": ({"excludedNamespaces": ["kube", "*-test"], "scope": "Namespaced"}, ["a"]),
    "labels": ({"labelSelector": {"matchLabels": {"tier": "web"}}}, ["a"]),
    "an expression": (
        {"labelSelector": {"matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["db", "web"]}]}}, ["a"],
    ),
    "a label that is not there": (
        {"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
         "kinds": [{"kinds": ["Pod"]}]}, ["b"],
    ),
    "not in": (
        {"labelSelector": {"matchExpressions": [
            {"key": "tier", "operator": "NotIn", "values": ["web"]}]},
         "kinds": [{"kinds": ["Pod"]}]}, ["b"],
    ),
    "labels of the namespace": (
        {"namespaceSelector": {"matchExpressions": [{"key": "env", "operator": "Exists"}]},
         "kinds": [{"kinds": ["Pod", "Namespace"]}]}, ["a", "shop"],
    ),
    "a name": ({"name": "shop*"}, ["shop", "shop-test"]),
    "made of others": ({"source": "Generated"}, []),
}  # fmt: skip


@pytest.mark.parametrize(("match", "names"), MATCHES.values(), ids=MATCHES)
def test_which_resources_a_constraint_is_for(match: Any, names: list[str]) -> None:
    """Short-cut: look at kinds only."""
    spec = {} if match is None else {"match": match}
    answer = check(*RESOURCES, template(NAMED), constraint(**spec))
    assert sorted(str(each["message"]).partition("\n")[0] for each in answer.results) == names


def test_a_namespace_that_is_not_known_is_told_and_not_passed_over() -> None:
    match = {"namespaceSelector": {"matchLabels": {"env": "prod"}}}
    answer = check(pod("a", "shop"), template(), constraint(match=match))
    assert said(answer) == [
        "error: unable to match constraints: error matching the requested object: a :failed to"
        " run Match criteria: namespace selector for namespace-scoped object but missing Namespace"
        "\nviolatedConstraint: rule"
    ]


@pytest.mark.parametrize(
    ("selector", "count"),
    [({"matchLabels": {"env": "prod"}}, 0),
     ({"matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]}, 1)],
)  # fmt: skip
def test_the_default_namespace_is_known_and_has_no_labels(
    selector: dict[str, Any], count: int
) -> None:
    """Short-cut: ask for it in the package, where hardly anybody has it."""
    match = {"namespaceSelector": selector, "kinds": [{"kinds": ["Pod"]}]}
    answer = check(pod("a", "default"), template(), constraint(match=match))
    assert said(answer) == ["error: no root\nviolatedConstraint: rule"] * count


def test_a_name_that_will_be_generated_fits_by_its_beginning() -> None:
    value = pod("", metadata={"generateName": "job-a-"})
    names = ("job-*", "*b-a*", "*-a-", "job-a-")
    found = [check(value, template(), constraint(match={"name": name})).results for name in names]
    assert [len(each) for each in found] == [1, 1, 0, 0]


def test_the_last_of_two_constraints_of_one_name_counts() -> None:
    """Short-cut: keep both."""
    first, last = constraint(), constraint(enforcementAction="warn")
    answer = check(pod(), template(), first, last)
    assert said(answer) == ["warning: no root\nviolatedConstraint: rule"]


def test_violations_that_differ_beside_text_and_details_are_one() -> None:
    """Short-cut: one result for each element of the set."""
    rego = """
violation[{"msg": "a", "n": n}] { n := [1, 2][_] }
violation[{"msg": "b", "details": {"n": n}}] { n := [1, 2][_] }
"""
    answer = check(pod(), template(rego), constraint(match={"kinds": [{"kinds": ["Pod"]}]}))
    assert [str(each["message"])[:1] for each in answer.results] == ["a", "b", "b"]


DEFAULTS = {"validation": {"openAPIV3Schema": {
    "type": "object",
    "properties": {
        "most": {"type": "integer", "default": 3},
        "list": {"type": "array", "items": {
            "type": "object", "properties": {"x": {"type": "string", "default": "y"}}}},
        "none": {"type": "object", "properties": {"x": {"type": "string", "default": "y"}}},
    },
}}}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({}, {"most": 3}),
        ({"most": 1, "list": [{}, {"x": "z"}]}, {"most": 1, "list": [{"x": "y"}, {"x": "z"}]}),
        (None, {}),
    ],
)
def test_parameters_have_the_defaults_of_the_template(given: Any, seen: Any) -> None:
    """Short-cut: hand over what the constraint says; or make up what nothing holds."""
    rego = 'violation[{"msg": json.marshal(input.parameters)}] { input.review.object.spec.root }'
    spec = {} if given is None else {"parameters": given}
    rule = constraint(**spec)
    answer = check(pod(), template(rego, crd=DEFAULTS | {"names": {"kind": "Wanted"}}), rule)
    [result] = answer.results
    assert json.loads(str(result["message"]).partition("\n")[0]) == seen
    assert rule["spec"] == spec


def test_items_that_are_no_schema_are_passed_over() -> None:
    """Old templates have `items: string`, and Gatekeeper reads it as no items."""
    crd = {"names": {"kind": "Wanted"}, "validation": {"openAPIV3Schema": {
        "type": "object", "properties": {"keys": {"type": "array", "items": "string"}},
    }}}  # fmt: skip
    answer = check(pod(), template(crd=crd), constraint(parameters={"keys": [1]}))
    assert said(answer) == ["error: no root\nviolatedConstraint: rule"]


def test_templates_do_not_see_one_another() -> None:
    """Short-cut: all policies in one engine."""
    other = template('violation[{"msg": "other"}] { true }', name="other")
    other["spec"]["crd"]["spec"]["names"]["kind"] = "Other"
    answer = check(pod(), template(), other, constraint(match={"name": "a"}))
    assert said(answer) == ["error: no root\nviolatedConstraint: rule"]


def test_each_constraint_has_its_own_parameters() -> None:
    rego = 'violation[{"msg": msg}] { msg := input.parameters.text }'
    rules = [constraint(f"r{n}", parameters={"text": f"t{n}"}, match={"name": "a"}) for n in (2, 1)]
    answer = check(pod(), template(rego), *rules)
    assert said(answer) == [
        "error: t1\nviolatedConstraint: r1", "error: t2\nviolatedConstraint: r2",
    ]  # fmt: skip


def test_a_policy_in_the_new_language() -> None:
    code = {"engine": "Rego", "source": {
        "version": "v1",
        "rego": 'package p\nviolation contains {"msg": msg} if { msg := data.lib.l.text }',
        "libs": ["package lib.l\ntext := lower(\"NEW\") if true"],
    }}  # fmt: skip
    targets = [{"target": "admission.k8s.gatekeeper.sh", "code": [{"engine": "CEL"}, code]}]
    answer = check(pod(), template(targets=targets), constraint(match={"name": "a"}))
    assert said(answer) == ["error: new\nviolatedConstraint: rule"]


SCHEMA = {"validation": {"openAPIV3Schema": {
    "type": "object", "required": ["keys"],
    "properties": {
        "keys": {"type": "array", "items": {"type": "string"}},
        "mode": {"type": "string", "enum": ["on", "off"]},
        "more": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}}}  # fmt: skip
BOUND = {"names": {"kind": "Wanted"}, "validation": {"openAPIV3Schema": {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1},
                   "s": {"type": "string", "pattern": "^[0-9]+$"}},
}}}  # fmt: skip
REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "Rego that is none": (
        (template("violation[{"), constraint()),
        'adding template "wanted": spec.targets[0].rego:2:',
    ),
    "a function that there is not": (
        (pod(), template('violation[{"msg": x}] { x := no(1) }'), constraint(match={"name": "a"})),
        'adding template "wanted": spec.targets[0].rego:2:30: the function no is not supported'
        " here",
    ),
    "an error in a policy": (
        (pod(), template('violation[{"msg": x}] {\n x := 1 / 0 }'), constraint()),
        'for constraint "rule": template "wanted": spec.targets[0].rego:3:9: div: divide by zero',
    ),
    "an error in a library": (
        (pod(), template('violation[{"msg": x}] { x := data.lib.l.f(1) }',
                         libs=["package lib.l\nf(x) = y { y := x / 0 }"]), constraint()),
        'template "wanted": spec.targets[0].libs[0]:2:',
    ),
    "no rule": (
        (pod(), template("allow { true }"), constraint()),
        'template "wanted": it has no rule `violation`',
    ),
    "a rule that is no set": (
        (pod(), template("violation = 1"), constraint()),
        'template "wanted": its rule `violation` is not a set',
    ),
    "a violation without a text": (
        (pod(), template('violation[{"msg": 5}] { true }'), constraint()),
        'template "wanted": a violation has no text `msg`: {\'msg\': 5}',
    ),
    "the network": (
        (pod(), template('violation[{"msg": "x"}] { http.send({"url": "http://a"}) }'),
         constraint()),
        "spec.targets[0].rego:2:27: http.send: not allowed in a policy",
    ),
    "a network that is none": (
        (pod(), template('violation[{"msg": "x"}] { net.cidr_intersects("10.0.0.0/8", "x") }'),
         constraint()),
        "net.cidr_intersects: 'x' does not appear to be an IPv4 or IPv6 network",
    ),
    "another name": (
        (template(name="other"),),
        'adding template "other": its name must be "wanted", the kind of its constraints in lower'
        " case",
    ),
    "no kind": (
        (template(crd={"names": {}}),), 'adding template "wanted": spec.crd.spec.names.kind is',
    ),
    "another target": (
        (template(target={"target": "x"}),), 'adding template "wanted": spec.targets must have one',
    ),
    "CEL only": (
        (template(target={"rego": "", "code": [{"engine": "K8sNativeValidation"}]}),),
        'adding template "wanted": its target has no Rego',
    ),
    "an expansion": (
        ({"apiVersion": "expansion.gatekeeper.sh/v1", "kind": "ExpansionTemplate",
          "metadata": {"name": "e"}},),
        'adding expansion "e": what would be made of resources is not checked here',
    ),
    "no template": (
        (template(), constraint(kind="Other")),
        'adding constraint "rule": no template has the kind "Other". Add its ConstraintTemplate',
    ),
    "parameters of another type": (
        (template(crd=SCHEMA | {"names": {"kind": "Wanted"}}),
         constraint(parameters={"keys": "a"})),
        "adding constraint \"rule\": spec.parameters.keys must be of type array, and is 'a'",
    ),
    "an entry of another type": (
        (template(crd=SCHEMA | {"names": {"kind": "Wanted"}}),
         constraint(parameters={"keys": ["a", 1]})),
        'adding constraint "rule": spec.parameters.keys[1] must be of type string, and is 1',
    ),
    "a choice that there is not": (
        (template(crd=SCHEMA | {"names": {"kind": "Wanted"}}),
         constraint(parameters={"keys": [], "mode": "of"})),
        "spec.parameters.mode must be one of 'on', 'off', and is 'of'",
    ),
    "a parameter that is lacking": (
        (template(crd=SCHEMA | {"names": {"kind": "Wanted"}}),
         constraint(parameters={"more": {"a": True}})),
        'adding constraint "rule": spec.parameters.keys is missing',
    ),
    "a parameter that is too small": (
        (template(crd=BOUND), constraint(parameters={"n": 0, "s": "abc"})),
        'adding constraint "rule": spec.parameters.n: minimum: got 0, want 1',
    ),
    "a parameter of another form": (
        (template(crd=BOUND), constraint(parameters={"n": 1, "s": "abc"})),
        "spec.parameters.s: 'abc' does not match pattern '^[0-9]+$'",
    ),
    "a schema that is none": (
        (template(crd={"names": {"kind": "Wanted"}, "validation": {"openAPIV3Schema": {
            "properties": {"n": {"pattern": "("}}}}}), constraint(parameters={"n": "a"})),
        'adding template "wanted": spec.crd.spec.validation.openAPIV3Schema.properties.n.pattern:'
        " '(' is not a valid pattern",
    ),
    "a source that there is not": (
        (template(), constraint(match={"source": "Orginal"})),
        'adding constraint "rule": spec.match.source is \'Orginal\'; it must be one of All,'
        " Original, Generated",
    ),
    "a constraint without a name": (
        (template(), constraint("")), 'adding constraint "": metadata.name is missing. Name it',
    ),
    "an operator that there is not": (
        (template(), constraint(match={"labelSelector": {"matchExpressions": [
            {"key": "a", "operator": "Is"}]}})),
        'spec.match.labelSelector.matchExpressions[0].operator is "Is"; it must be one of In,'
        " NotIn, Exists, DoesNotExist",
    ),
    "an operator without values": (
        (template(), constraint(match={"namespaceSelector": {"matchExpressions": [
            {"key": "a", "operator": "In"}]}})),
        "spec.match.namespaceSelector.matchExpressions[0]: the operator In needs values",
    ),
    "kinds that are no list": (
        (template(), constraint(match={"kinds": "Pod"})), "spec.match.kinds must be a list",
    ),
    "a match that is none": (
        (template(), constraint(match=["Pod"])), "spec.match must be a mapping",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("resources", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_fails_and_is_named(resources: tuple[Any, ...], text: str) -> None:
    """Short-cut: pass it over, so that it looks like a check that passed."""
    answer = check(*resources)
    [result] = answer.results
    assert text in str(result["message"])
    assert (result["severity"], answer.failed) == ("error", True)
    assert answer.log == f"[error] : {result['message']}"


def test_a_policy_without_an_end_is_stopped() -> None:
    rego = 'f(x) = y { y := f(x + 1) }\nviolation[{"msg": x}] { x := f(1) }'
    answer = check(pod(), template(rego), constraint(match={"name": "a"}))
    assert said(answer) == [
        "error: the policies: it ended without an answer (signal SIGSEGV, as after recursion"
        " without an end). Run it by hand to see why."
    ]


def test_what_is_no_resource_is_passed_over() -> None:
    answer = check({"resources": ["a.yaml"]}, {"kind": "Pod"}, template(NAMED), constraint())
    assert [str(each["message"]).partition("\n")[0] for each in answer.results] == [
        "wanted",
        "rule",
    ]


@pytest.mark.parametrize("resources", [(), (pod(),), (pod(), template())])
def test_nothing_to_check_is_fine(resources: tuple[Any, ...]) -> None:
    assert check(*resources) == FunctionResult(items=check(*resources).items, results=())


def test_the_review_is_one_of_an_api_server() -> None:
    rego = (
        'violation[{"msg": json.marshal(seen)}] { seen := object.remove(input.review, ["object"]) }'
    )
    match = {"kinds": [{"kinds": ["Pod"]}]}
    answer = check(pod("a", "shop"), namespace("shop"), template(rego), constraint(match=match))
    [result] = answer.results
    review = json.loads(str(result["message"]).partition("\n")[0])
    assert review.pop("_unstable")["namespace"]["metadata"]["name"] == "shop"
    assert review == {
        "uid": "", "name": "a", "namespace": "shop", "operation": "", "userInfo": {},
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "", "resource": ""},
        "oldObject": None, "options": None,
    }  # fmt: skip


def test_results_are_sorted_by_file_index_and_severity() -> None:
    warn, deny = constraint("w", enforcementAction="warn"), constraint("d")
    given = [
        Item(value, path=path, index=index)
        for path, index, value in (
            ("z.yaml", 10, pod("late")), ("z.yaml", 2, pod("early")), ("a.yaml", 0, pod("first")),
            ("p.yaml", 0, template()), ("p.yaml", 1, warn), ("p.yaml", 2, deny),
        )
    ]  # fmt: skip
    answer = gatekeeper.run(ResourceList(tuple(given)))
    found: list[Any] = list(answer.results)
    assert [(each["resourceRef"]["name"], each["severity"]) for each in found] == [
        ("first", "error"), ("first", "warning"), ("early", "error"), ("early", "warning"),
        ("late", "error"), ("late", "warning"),
    ]  # fmt: skip
    assert [each["file"] for each in found[2::2]] == [
        {"path": "z.yaml", "index": 2}, {"path": "z.yaml", "index": 10},
    ]  # fmt: skip


def test_of_one_place_the_longer_kind_comes_first() -> None:
    """Short-cut: compare kind and names one by one; Go compares what it prints of them."""

    def result(kind: str, name: str) -> Any:
        ref = {"apiVersion": "v1", "kind": kind, "name": name}
        return {"message": "m", "severity": "error", "resourceRef": ref}

    given = [result("Pod", "a"), result("PodList", "a"), result("Pod", "a-b")]
    assert gatekeeper.sort_results(given) == [given[1], given[0], given[2]]
