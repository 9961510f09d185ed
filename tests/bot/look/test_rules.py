"""Which rules judge a change, where several branches are published from."""

import pytest

from bot.config import CONFIG
from bot.ledger_paths import LEDGER as LEDGER_FILE
from bot.look import rules
from lifecycle.access import AccessAction, Role, RoleSource, Source, UserSource
from lifecycle.policy import BrokenPolicy, Policy, configuring

ABOVE = """\
packages: [{directory: net, branch: main}, {directory: net, branch: release}]
guardrails:
  mutators: [{image: "set-labels:v0.2", configMap: {owner: network}}]
  validators: [{image: "kubeconform:v0.1"}]
access: {approve: {require: 1, from: ["role:maintain", "user:Ann"]}}
"""

LOOSE = 'access: {approve: {require: 0, self: true}, configure: {from: ["role:write"]}}'
STRICT = """\
guardrails:
  validators: [{image: "kubeconform:v0.1"}, {image: "gatekeeper:v0.2"}]
access: {approve: {require: 2, from: ["user:ann", "user:bob"]}, configure: {from: ["role:admin"]}}
"""


def of_release(own: str | None, above: str = ABOVE) -> rules.BaseRules:
    """The rules of `release`, whose file says `own`, where the default branch's says `above`."""
    files = {("main", CONFIG): above, ("release", CONFIG): own}

    def blob(at: str, path: str) -> bytes | None:
        text = files.get((at, path))
        return None if text is None else text.encode()

    return rules.of_base(blob, "release", "release", "main")


ANN, MAINTAINER = UserSource("Ann"), RoleSource(Role.MAINTAIN)
APPROVALS: dict[str, tuple[str | None, int, set[Source]]] = {
    "no file": (None, 1, {MAINTAINER, UserSource("Ann", Role.WRITE)}),
    "a looser one": (LOOSE, 1, {MAINTAINER, UserSource("Ann", Role.WRITE)}),
    "the same": (ABOVE, 1, {MAINTAINER, ANN}),
    "a stricter one": (STRICT, 2, {UserSource("bob", Role.MAINTAIN), ANN}),
    "others": ('access: {approve: {from: ["user:x"]}}', 1, {UserSource("x", Role.MAINTAIN)}),
}  # fmt: skip


@pytest.mark.parametrize(("own", "require", "sources"), APPROVALS.values(), ids=APPROVALS)
def test_another_branch_adds_to_the_rules_of_the_default_one_and_takes_nothing_away(
    own: str | None, require: int, sources: set[Source]
) -> None:
    """The short-cut reads the branch's own file: whoever makes the branch asks for nothing."""
    policy = of_release(own).policy

    assert isinstance(policy, Policy)
    approve = policy.rule(AccessAction.APPROVE)
    assert approve.require == require
    assert {source.spelling for source in approve.sources} == {
        source.spelling for source in sources
    }
    assert not approve.self_allowed
    assert [f.image for f in policy.mutators] == ["set-labels:v0.2"]
    assert [f.image for f in policy.validators][:1] == ["kubeconform:v0.1"]
    assert [root.directory for root in policy.roots] == ["net", "net"]


def test_guardrails_and_approvers_of_the_rules_are_those_of_both() -> None:
    """The short-cut takes the one file or the other: what only one of them asks for is lost."""
    strict, loose = of_release(STRICT).policy, of_release(LOOSE).policy
    assert isinstance(strict, Policy)
    assert isinstance(loose, Policy)

    assert [f.image for f in strict.validators] == ["kubeconform:v0.1", "gatekeeper:v0.2"]
    rule = configuring(strict).rule(AccessAction.APPROVE)
    assert {source.spelling for source in rule.sources} == {"role:admin"}
    rule = configuring(loose).rule(AccessAction.APPROVE)
    assert rule.sources == loose.rule(AccessAction.APPROVE).sources


def test_a_broken_file_on_either_branch_is_broken() -> None:
    """The short-cut unites what can be read with nothing."""
    assert isinstance(of_release("{").policy, BrokenPolicy)
    assert isinstance(of_release(None, above="{").policy, BrokenPolicy)


def test_rules_by_folder_are_those_of_both() -> None:
    """Short-cut refused: a rule for one folder, in the branch's own file, that asks for less."""
    above = ABOVE.replace("access: {", "access: {freeze: {from: ['role:admin']}, ")
    own = (
        "access:\n  freeze: {from: ['role:read']}\n  propose: {from: ['role:read']}\n"
        "  paths: [{directory: net/core, approve: {require: 0, self: true, from: ['role:read']}}]\n"
        "  upstreams: [{upstream: 'x*', clone: {from: ['role:read']}}]\n"
    )

    policy = of_release(own, above).policy

    assert isinstance(policy, Policy)
    found = policy.rule(AccessAction.APPROVE, "net/core")
    assert (found.require, found.self_allowed) == (1, False)
    assert {s.spelling for s in found.sources} == {"role:maintain", "user:ann"}
    freeze = policy.rule(AccessAction.FREEZE)
    assert [s.spelling for s in freeze.sources] == ["role:admin"]
    assert [s.spelling for s in policy.rule(AccessAction.CLONE, upstream="xy").sources] == [
        "role:write"
    ]
    propose = policy.rule(AccessAction.PROPOSE).sources
    assert {s.spelling for s in propose} == {"author and role:read", "role:write"}


OBSERVE = "mode: observe\npackages: [{directory: ., branch: release}]\n"
LEDGER = "a: [\n"
OBSERVED: dict[str, tuple[str, str | None, str | None, bool]] = {
    "the default branch says so": (OBSERVE, None, None, True),
    "the branch alone says so": (ABOVE, "mode: observe", None, False),
    "a broken file of the branch": (OBSERVE, "a: [\n", None, True),
    "a broken file of the branch that says so": (ABOVE, "mode: observe\nunknown: 1\n", None, False),
    "a broken ledger": (OBSERVE, None, LEDGER, True),
    "a broken ledger of an active branch": (ABOVE, "mode: observe", LEDGER, False),
    "a broken file of the default branch": ("mode: observe\nunknown: 1\n", None, None, True),
    "one that says nothing": ("unknown: 1\n", "mode: observe", None, False),
}


@pytest.mark.parametrize(
    ("above", "own", "ledger", "observed"), OBSERVED.values(), ids=OBSERVED
)  # fmt: skip
def test_the_default_branch_alone_says_that_the_bot_observes(
    above: str, own: str | None, ledger: str | None, observed: bool
) -> None:
    """Short-cuts refused: the mode of whichever file is broken; whoever makes a branch ends it."""
    files = {
        ("main", CONFIG): above,
        ("release", CONFIG): own,
        ("release", LEDGER_FILE): ledger,
    }

    def blob(at: str, path: str) -> bytes | None:
        text = files.get((at, path))
        return None if text is None else text.encode()

    assert rules.of_base(blob, "release", "release", "main").policy.observe is observed


NAMED = "guardrails: {validators: [{image: a, configPath: .porchbot/rules.yaml}]}\n"
RESOURCE = b"apiVersion: v1\nkind: Rules\nmetadata: {name: mine}\nstrict: true\n"
CONFIGS: dict[str, tuple[bytes | None, str]] = {
    "one resource": (RESOURCE, ""),
    "none": (None, "there is no file '.porchbot/rules.yaml' on this branch"),
    "two": (RESOURCE + b"---\n" + RESOURCE, "it holds 2 resources"),
    "empty": (b"# nothing\n", "it is empty"),
    "no resource": (b"strict: true\n", "it is not the configuration of a function"),
    "no YAML": (b"a: [\n", ""),
}


@pytest.mark.parametrize(("data", "problem"), CONFIGS.values(), ids=CONFIGS)
def test_parameters_of_a_guardrail_come_from_the_base(data: bytes | None, problem: str) -> None:
    """Short-cut refused: parameters that are not there taken for none: nothing is judged then."""
    files = {CONFIG: NAMED.encode(), ".porchbot/rules.yaml": data}

    policy = rules.of_base(lambda _, path: files.get(path), "tip", "main", None).policy

    if data == RESOURCE:
        assert isinstance(policy, Policy)
        assert policy.validators[0].config == {
            "apiVersion": "v1", "kind": "Rules", "metadata": {"name": "mine"}, "strict": True
        }  # fmt: skip
    else:
        assert isinstance(policy, BrokenPolicy)
        assert problem in str(policy.problems[0])


def test_a_change_of_the_parameters_is_judged_and_falls_approvals() -> None:
    """Short-cuts refused: only `.porchbot.yaml` is looked at; a digest of the path alone."""

    def at(data: bytes | None) -> dict[str, bytes | None]:
        return {CONFIG: NAMED.encode(), ".porchbot/rules.yaml": data}

    commits = {
        "good": at(RESOURCE),
        "soft": at(RESOURCE.replace(b"true", b"false")),
        "gone": at(None),
    }

    def blob(commit: str, path: str) -> bytes | None:
        return commits[commit].get(path)

    digests = {
        commit: rules.of_base(blob, commit, "main", None).policy.digest  # type: ignore[union-attr]
        for commit in ("good", "soft")
    }
    assert digests["good"] != digests["soft"]
    assert rules.problems(blob, "soft", "good") == ()
    assert [f.message for f in rules.problems(blob, "gone", "good")] == [
        "there is no file '.porchbot/rules.yaml' on this branch"
    ]
