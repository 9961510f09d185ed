"""Configuration files: what they mean, and what is said about those that cannot be used.

Longer than 400 lines: a table of mistakes, and what is said of each.
"""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import config, ledger_paths
from cadlib.kptfile.values import Selector
from cadlib.yaml import read as read_yaml
from lifecycle.access import (
    AccessAction,
    AppSource,
    AuthorSource,
    OwnersSource,
    Role,
    RoleSource,
    TeamSource,
    UserSource,
)
from lifecycle.ledger import LedgerEntry, ListedState
from lifecycle.policy import (
    AccessRule,
    BrokenPolicy,
    GuardrailFunction,
    MergeMethod,
    Mode,
    ObjectFolder,
    OutsideCheck,
    Policy,
    RenderMode,
    Root,
)
from lifecycle.windows import Cron, FixedTime, Window, WindowKind

SCHEMA = Path(__file__).resolve().parents[2] / "docs/reference/porchbot.schema.json"

WHOLE = """\
# everything that is supported
version: 1
packages:
  - directory: packages
    branch: main
  - directory: ./edge/
render: check
guardrails:
  mutators:
    - {image: "set-labels:v0.2", configMap: {owner: network}}
  validators:
    - {image: "kubeconform:v0.1", configMap: {strict: "true"}, name: schema}
    - image: starlark:v0.5
      configPath: .porchbot/policy.yaml
      selectors: [{apiVersion: apps/v1, kind: Deployment, labels: {app: router}}]
      exclude: [{name: old, namespace: net}]
    - {image: "ghcr.io/acme/gatekeeper:v0.2", mode: warn, fix: "see the platform handbook."}
functions:
  allow: ["ghcr.io/acme/*", set-labels]
access:
  approve: {require: 2, from: ["role:maintain", "user:Ann"], self: true}
publish:
  merge: squash
  checks: [security-scan, {name: load test, app: My-Scanner}]
  windows:
    - kind: freeze
      from: "0 18 * * fri"
      until: "0 8 * * MON"
      zone: Europe/Berlin
      paths: [packages/net/, edge]
      reason: nobody is there at the weekend.
    - {kind: allow, until: "2026-12-20 18:00", zone: America/New_York, reason: before the holidays}
"""

MEANT = Policy(
    version=1,
    roots=(Root("packages", "main"), Root("edge")),
    render=RenderMode.CHECK,
    mutators=(GuardrailFunction(image="set-labels:v0.2", config_map={"owner": "network"}),),
    validators=(
        GuardrailFunction(image="kubeconform:v0.1", config_map={"strict": "true"}, name="schema"),
        GuardrailFunction(
            image="starlark:v0.5",
            config_path=".porchbot/policy.yaml",
            selectors=(
                Selector(api_version="apps/v1", kind="Deployment", labels={"app": "router"}),
            ),
            exclude=(Selector(name="old", namespace="net"),),
        ),
        GuardrailFunction(
            image="ghcr.io/acme/gatekeeper:v0.2", mode=Mode.WARN, fix="see the platform handbook"
        ),
    ),
    approve=AccessRule(2, (RoleSource(Role.MAINTAIN), UserSource("Ann")), self_allowed=True),
    merge=MergeMethod.SQUASH,
    allow=(("ghcr.io/acme/*", "set-labels"),),
    checks=(OutsideCheck("security-scan"), OutsideCheck("load test", "my-scanner")),
    calendars=(
        (
            Window(
                kind=WindowKind.FREEZE,
                begins=Cron("0 18 * * FRI", ZoneInfo("Europe/Berlin")),
                ends=Cron("0 8 * * MON", ZoneInfo("Europe/Berlin")),
                zone=ZoneInfo("Europe/Berlin"),
                paths=("packages/net", "edge"),
                reason="nobody is there at the weekend",
            ),
            Window(
                kind=WindowKind.ALLOW,
                ends=FixedTime(datetime(2026, 12, 20, 23, tzinfo=UTC)),
                zone=ZoneInfo("America/New_York"),
                reason="before the holidays",
            ),
        ),
    ),
)

# The example of the design with all its keys; those that do not work yet must say so.
DESIGNED = """\
version: 1
packages:
  - directory: packages
    branch: main
deployment: false
metadata: {team: network}
drafts:
  open_pull_request: true
render: commit
guardrails:
  mutators:
    - {image: set-labels:v0.2, configMap: {owner: network}}
  validators:
    - {image: kubeconform:v0.1, configMap: {strict: "true"}}
    - {image: gatekeeper:v0.2, mode: warn, fix: "see the platform handbook"}
functions:
  allow: ["ghcr.io/kptdev/krm-functions-catalog/*"]
access:
  approve: {require: 1, from: [codeowners, "team:network-leads"], self: false}
  propose: {from: ["role:write"]}
  configure: {from: ["role:admin"]}
  delete: {require: 2, from: ["role:admin"]}
publish:
  merge: merge
  checks: [security-scan]
  release: false
  oci: null
upstreams:
  default: acme/blueprints
  allow: ["github.com/acme/*"]
variants: ["variants/*.yaml"]
"""

QUOTED = re.sub(r"image: ([^,}]+)", r'image: "\1"', DESIGNED)


def said(text: str) -> list[str]:
    """What is said about a file; [] when it can be used."""
    found = config.read(text.encode())
    return [str(p) for p in found.problems] if isinstance(found, BrokenPolicy) else []


@pytest.mark.parametrize(
    "text",
    [QUOTED, DESIGNED],
    ids=["images in quotes", "to the letter"],
)
def test_every_key_of_the_design_that_does_not_work_yet_is_refused_by_name(text: str) -> None:
    """Short-cut refused: ignoring what is not understood, so that a rule silently fails to hold."""
    later = {7: "drafts", 27: "publish.oci"}
    expected = [
        (line, f".porchbot.yaml:{line}, {key}: {key.rsplit('.')[-1]!r} is not supported."
         " Leave it out.")
        for line, key in later.items()
    ]  # fmt: skip
    assert said(text) == [problem for _, problem in sorted(expected)]


def test_everything_that_is_supported_is_read() -> None:
    assert config.read(WHOLE.encode()) == MEANT
    assert config.read(WHOLE.replace("\n", "\r\n").encode("utf-8-sig")) == MEANT


def test_resources_of_a_branch_are_those_of_another_repository() -> None:
    """The short-cut reads `branch` and forgets it where no repository is named."""
    found = config.read(b"objects: [{repository: a/b, branch: release, directory: sites}]\n")
    assert isinstance(found, Policy)
    assert found.variants.objects == (ObjectFolder("sites", "default", "a/b", "release"),)
    (problem,) = said("objects: [{branch: release, directory: sites}]\n")
    assert "own resources are read at the commit of its rules" in problem
    assert "Leave `branch` out" in problem


def test_a_name_of_a_repository_is_bounded() -> None:
    """The short-cut takes a name of any length, and the error quotes all of it."""
    assert said(f"repositories: {{{'n' * 253}: {{}}}}\n") == []
    for name, length in (("n" * 254, 254), ("n" * 100_000, 100_000)):
        (problem,) = said(f"repositories: {{? {name} : {{}}}}\n")
        assert problem.endswith(
            f"the name of a repository has {length} characters. Give it 1 to 253 characters, as the"
            " rules write it in `repo`."
        )
        assert len(problem) < 400


def test_access_by_action_folder_and_upstream_is_read() -> None:
    """Short-cut refused: one list of approvers for everything."""
    found = config.read(
        b"""\
access:
  approve: {require: 1, from: [codeowners, "team:network-leads", "app:renovate"]}
  propose: {from: [author, "role:triage"]}
  register: {from: ["user:Ann"]}
  delete: {require: 2, from: ["role:admin"]}
  paths:
    - directory: packages/prod/
      approve: {require: 2, from: ["role:maintain"], automatic: {by: ["app:renovate"]}}
    - directory: packages/prod/edge
      rollback: {from: ["role:read"]}
      register: {require: 2, from: ["role:admin"]}
  upstreams:
    - {upstream: "github.com/acme/*", clone: {from: ["role:triage"]}}
"""
    )

    assert isinstance(found, Policy)
    rule = found.rule
    named = (OwnersSource(), TeamSource("network-leads"), AppSource("renovate"))
    prod = AccessRule(2, (RoleSource(Role.MAINTAIN),), automatic=(AppSource("renovate"),))
    assert rule(AccessAction.APPROVE, "packages/net") == AccessRule(1, named)
    assert rule(AccessAction.APPROVE, "packages/prod/edge/dns") == prod
    assert rule(AccessAction.APPROVE, "packages/prod-2") == AccessRule(1, named)
    assert rule(AccessAction.DEPRECATE, "packages/prod/db") == replace(prod, automatic=())
    assert rule(AccessAction.DELETE, "packages/prod/db").sources == (RoleSource(Role.ADMIN),)
    assert rule(AccessAction.PROPOSE).sources == (AuthorSource(), RoleSource(Role.TRIAGE))
    assert rule(AccessAction.REGISTER).sources == (UserSource("Ann"),)
    assert rule(AccessAction.REGISTER, "packages/prod/edge").require == 2
    assert Policy().rule(AccessAction.REGISTER) == Policy().approve
    assert rule(AccessAction.ROLLBACK, "packages/prod/edge").sources == (RoleSource(Role.READ),)
    assert rule(AccessAction.ROLLBACK, "packages/prod").sources == (RoleSource(Role.WRITE),)
    clone = AccessAction.CLONE
    assert rule(clone, upstream="github.com/acme/x").sources == (RoleSource(Role.TRIAGE),)
    assert rule(clone, upstream="github.com/acmes/x").sources == (RoleSource(Role.WRITE),)


NOTHING: dict[str, bytes | None] = {
    "no file": None,
    "an empty file": b"",
    "comments": b"# nothing yet\n",
    "an empty document": b"---\n",
    "an empty mapping": b"{}",
    "every mapping empty": b"guardrails: {}\naccess: {}\npublish: {}\n",
}


@pytest.mark.parametrize("data", NOTHING.values(), ids=NOTHING)
def test_what_holds_when_nothing_is_said(data: bytes | None) -> None:
    assert config.read(data) == Policy()


_EDGE = "Write one such as 0 18 * * FRI, or 2026-12-20 18:00."
_NO_EDGE = "is neither a five-field cron expression that ever matches, nor a date and time."
WINDOWS = [
    ("six fields", "from: '0 0 18 * * FRI', until: 2026-01-01", ".from",
     f"'0 0 18 * * FRI' {_NO_EDGE} {_EDGE}"),
    ("a day that there is not", "until: 0 0 31 2 *", ".until",
     f"'0 0 31 2 *' {_NO_EDGE} {_EDGE}"),
    ("one half that recurs", "until: 0 0 3 2 *", "",
     "one of `from` and `until` recurs and the other does not. Use cron"
     " expressions for both, or dates for both (one of the dates may be left out)."),
    ("no time between", "from: 0 0 3 2 *, until: 0 0  3 2 *", "",
     "it ends at or before its start. Give `until` a later moment than `from`."),
    ("an end before its beginning", "from: 2026-02-01, until: 2026-01-01", "",
     "it ends at or before its start. Give `until` a later moment than `from`."),
    ("a date that there is not", "until: 2026-02-30", ".until",
     "'2026-02-30' is not a date and time: day is out of range for month."
     " Write one such as 2026-12-20 18:00."),
    ("a zone of no place", "zone: Europe/Atlantis", ".zone",
     "'Europe/Atlantis' is not a time zone. Write its IANA name, such as Europe/Berlin, or UTC."),
    ("a zone that is a file", "zone: ../../etc/passwd", ".zone",
     "'../../etc/passwd' is not a time zone. Write its IANA name, such as Europe/Berlin, or UTC."),
]  # fmt: skip

BROKEN: dict[str, tuple[str, list[str]]] = {
    "a misspelt key": (
        "version: 1\nguardrail: {}\n",
        [".porchbot.yaml:2, guardrail: the key 'guardrail' is unknown. Did you mean 'guardrails'?"
         " Leave it out otherwise."],
    ),
    "a key in another spelling": (
        "guardrails:\n  validators:\n  - image: a:v1\n    configmap: {}\n",
        [".porchbot.yaml:4, guardrails.validators[0].configmap: the key 'configmap' is unknown."
         " Did you mean 'configMap'? Leave it out otherwise."],
    ),
    "a key that is like none": (
        "publish: {zzz: 1}\n",
        [
            ".porchbot.yaml:1, publish.zzz: the key 'zzz' is unknown. Leave it out; known keys"
            " are auto_merge, checks, merge, release, update, windows."
        ],
    ),
    "a file for the parameters that anybody may change": (
        "guardrails: {mutators: [{image: a, configPath: .porchbot/../c.yaml}]}\n",
        [".porchbot.yaml:1, guardrails.mutators[0].configPath: '.porchbot/../c.yaml' is not in"
         " .porchbot. Write the path of a file such as .porchbot/policy.yaml: a change of it is"
         " then approved like other changes of the rules."],
    ),
    "parameters twice": (
        "guardrails: {mutators: [{image: a, configPath: .porchbot/c.yaml, configMap: {}}]}\n",
        [".porchbot.yaml:1, guardrails.mutators[0]: it has both `configMap` and `configPath`."
         " Leave one of them out."],
    ),
    "a selector by something else": (
        "guardrails:\n  mutators:\n  - image: a\n    selectors: [{kinds: Pod}]\n",
        [".porchbot.yaml:4, guardrails.mutators[0].selectors[0].kinds: the key 'kinds' is unknown."
         " Did you mean 'kind'? Leave it out otherwise."],
    ),
    "no image": (
        "guardrails:\n  mutators:\n  - name: a\n",
        [".porchbot.yaml:3, guardrails.mutators[0].image: the key 'image' is missing. Add it."],
    ),
    "an image that is none": (
        "guardrails: {mutators: [{image: 'a b'}]}\n",
        [".porchbot.yaml:1, guardrails.mutators[0].image: 'a b' is not an image."
         " Write a name such as set-labels:v0.2."],
    ),
    "a parameter that is not text": (
        "guardrails:\n  validators:\n  - image: a\n    configMap:\n      strict: true\n",
        [".porchbot.yaml:5, guardrails.validators[0].configMap.strict: true is not text."
         " Write text; put a number, true or false in quotes."],
    ),
    "a mode of somebody else's": (
        "guardrails: {validators: [{image: a, mode: audit}]}\n",
        [".porchbot.yaml:1, guardrails.validators[0].mode: 'audit' is not block or warn."
         " Write block or warn."],
    ),
    "a render mode that YAML reads as a boolean": (
        "render: yes\n",
        [".porchbot.yaml:1, render: 'yes' is not commit or check. Write commit or check."],
    ),
    "a key without a value": (
        "render:\n",
        [".porchbot.yaml:1, render: nothing is not commit or check. Write commit or check."],
    ),
    "a mapping without a value": (
        "access:\n",
        [".porchbot.yaml:1, access: nothing is not a mapping. Write `key: value` lines below it."],
    ),
    "a number in quotes": (
        'access: {approve: {require: "2"}}\n',
        [".porchbot.yaml:1, access.approve.require: '2' is not a whole number."
         " Write a whole number without quotes."],
    ),
    "a number that is none": (
        "access: {approve: {require: true}}\n",
        [".porchbot.yaml:1, access.approve.require: true is not a whole number."
         " Write a whole number without quotes."],
    ),
    "a negative number": (
        "access: {approve: {require: -1}}\n",
        [".porchbot.yaml:1, access.approve.require: -1 is out of range."
         " Write a whole number of at least 0."],
    ),
    "a truth in quotes": (
        'access: {approve: {self: "false"}}\n',
        [".porchbot.yaml:1, access.approve.self: 'false' is not true or false."
         " Write true or false without quotes."],
    ),
    "a role without its word": (
        "access: {approve: {from: [maintain]}}\n",
        [".porchbot.yaml:1, access.approve.from[0]: 'maintain' names nobody. Write role:maintain."],
    ),
    "a role that there is not": (
        "access: {approve: {from: ['role:none']}}\n",
        [".porchbot.yaml:1, access.approve.from[0]: 'role:none' names nobody. Write role:<role>,"
         " the role being one of read, triage, write, maintain, admin, or user:<login>,"
         " team:<name>, app:<name> or codeowners."],
    ),
    "a machine": (
        "access: {approve: {from: ['user:renovate[bot]']}}\n",
        [".porchbot.yaml:1, access.approve.from[0]: 'user:renovate[bot]' is an App."
         " Write app:renovate."],
    ),
    "the App that speaks for whoever can push a workflow": (
        "access:\n"
        "  approve: {from: ['app:github-actions'], automatic: {by: ['app:github-actions']}}\n"
        "  freeze: {from: ['app:github-actions']}\n",
        [
            f".porchbot.yaml:{line}, access.{key}[0]: 'app:github-actions' is anybody who can"
            " push a workflow. Name an App of your own, and give its token to the workflows of a"
            " protected branch alone."
            for line, key in (
                (2, "approve.automatic.by"), (2, "approve.from"), (3, "freeze.from")
            )
        ],
    ),
    "a team of another organization": (
        "access: {approve: {from: ['team:acme/net']}}\n",
        [".porchbot.yaml:1, access.approve.from[0]: 'team:acme/net' is not a team. Write its name"
         " as in its address, in lower case, without the organization, such as"
         " team:network-leads."],
    ),
    "authors as approvers": (
        "access: {approve: {from: [author]}}\n",
        [".porchbot.yaml:1, access.approve.from[0]: 'author' names nobody. Write role:<role>, the"
         " role being one of read, triage, write, maintain, admin, or user:<login>, team:<name>,"
         " app:<name> or codeowners."],
    ),
    "a person whose changes need no approval": (
        "access: {approve: {automatic: {by: ['user:ann']}}}\n",
        [".porchbot.yaml:1, access.approve.automatic.by[0]: 'user:ann' is not an App. Write its"
         " name as in its address, such as app:renovate."],
    ),
    "code owners of no file": (
        "access:\n  freeze: {from: [codeowners]}\n  bulk: {from: [codeowners]}\n"
        "  paths: [{directory: net, freeze: {from: [codeowners]}}]\n",
        [
            f".porchbot.yaml:{line}, access.{key}: 'codeowners' names the owners of changed files,"
            " and this action changes none. Name a role, a team or users."
            for line, key in [
                (2, "freeze.from[0]"), (3, "bulk.from[0]"), (4, "paths[0].freeze.from[0]"),
            ]
        ],
    ),
    "a rule for the folder that is everything": (
        "access:\n  paths:\n  - {directory: ., propose: {from: ['role:write']}}\n",
        [".porchbot.yaml:3, access.paths[0]: a rule of `paths` is for one folder."
         " Write the rule for the whole repository beside `paths`."],
    ),
    "two rules for one folder": (
        "access: {paths: [{directory: net}, {directory: net/}]}\n",
        [".porchbot.yaml:1, access: 'net' is listed twice. Put all its rules into one entry."],
    ),
    "an upstream with a star inside": (
        "access: {upstreams: [{upstream: 'github.com/*/a'}]}\n",
        [".porchbot.yaml:1, access.upstreams[0].upstream: 'github.com/*/a' is not an upstream."
         " Write an address such as github.com/acme/blueprints, with `*` only at its end."],
    ),
    "nobody": (
        "access: {approve: {from: []}}\n",
        [".porchbot.yaml:1, access.approve.from: it is empty."
         " List at least one, or leave the key out."],
    ),
    "a list that is none": (
        "access: {approve: {from: 'role:write'}}\n",
        [".porchbot.yaml:1, access.approve.from: 'role:write' is not a list."
         " Write one `- ` line for each item, or [a, b]."],
    ),
    "more approvals than people": (
        "access:\n  approve: {require: 2, from: ['user:ann', 'user:Ann']}\n",
        [".porchbot.yaml:2, access.approve: 2 people must approve, and `from` names 1."
         " Name more people, or require fewer."],
    ),
    "another version": (
        "version: 2\n",
        [".porchbot.yaml:1, version: 2 is out of range. Write a whole number of at most 1."],
    ),
    "a folder out of the repository": (
        "packages:\n- directory: ../other\n",
        [".porchbot.yaml:2, packages[0].directory: '../other' is not a folder of the repository."
         " Write its path from the top of the repository, such as packages/net."],
    ),
    "a folder of the machine": (
        "packages: [{directory: /}]\n",
        [".porchbot.yaml:1, packages[0].directory: '/' is not a folder of the repository."
         " Write . for all of it."],
    ),
    "no folder at all": (
        "packages: []\n",
        [".porchbot.yaml:1, packages: it is empty. List at least one, or leave the key out."],
    ),
    "a folder twice": (
        "packages: [{directory: a}, {directory: a/}]\n",
        [".porchbot.yaml:1: packages lists 'a' twice. Remove one of the two."],
    ),
    "a branch in full spelling": (
        "packages: [{branch: refs/heads/main}]\n",
        [".porchbot.yaml:1, packages[0].branch: 'refs/heads/main' is not a branch: it contains"
         " more than the name. Write its name, such as main."],
    ),
    "a branch that git refuses": (
        "packages: [{branch: a..b}]\n",
        [".porchbot.yaml:1, packages[0].branch: 'a..b' is not a branch: git does not allow '..'"
         " in a ref name. Write its name, such as main."],
    ),
    "a text too long": (
        f"guardrails: {{validators: [{{image: a, fix: {'x' * 501}}}]}}\n",
        [".porchbot.yaml:1, guardrails.validators[0].fix: it is too long. Keep it within 500."],
    ),
    "a list instead of keys": (
        "- a\n", [".porchbot.yaml:1: the file is not a mapping. Write `key: value` lines."],
    ),
    "two documents": (
        "version: 1\n---\nversion: 1\n",
        [".porchbot.yaml:3: the file holds more than one document. Keep the first only."],
    ),
    "a template": (
        "render: {{ .mode }}\n",
        [".porchbot.yaml:1: a key is not text. Write every key as plain text."],
    ),
    **{
        f"a window with {name}": (
            f"publish:\n  windows:\n  - {{kind: freeze, reason: r, {given}}}\n",
            [f".porchbot.yaml:3, publish.windows[0]{where}: {problem}"],
        )
        for name, given, where, problem in WINDOWS
    },
    "a check that waits for itself": (
        "publish: {checks: [porchbot/publish]}\n",
        [".porchbot.yaml:1, publish.checks[0].name: 'porchbot/publish' is one of"
         " porchbot's own checks. Name checks of other Apps."],
    ),
    "several problems, by line": (
        "version: 2\nrender: no\npublish: {merge: rebase}\n",
        [".porchbot.yaml:1, version: 2 is out of range. Write a whole number of at most 1.",
         ".porchbot.yaml:2, render: 'no' is not commit or check. Write commit or check.",
         ".porchbot.yaml:3, publish.merge: 'rebase' is not merge or squash."
         " Write merge or squash."],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), BROKEN.values(), ids=BROKEN)
def test_what_is_said_about_a_broken_file(text: str, expected: list[str]) -> None:
    assert said(text) == expected


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "no YAML": (b"version: 1\nrender: [\n", ".porchbot.yaml:"),
    "no UTF-8": (b"version: 1\n# \xff\n", ".porchbot.yaml:2: "),
    "a key twice": (b"version: 1\nversion: 1\n", ".porchbot.yaml:2, version: "),
    "an alias bomb": (
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (n, n, b",".join([b"*%c" % (n - 1)] * 9)) for n in b"bcdef"),
        ".porchbot.yaml:",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "place"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_read_breaks_the_policy(data: bytes, place: str) -> None:
    """Short-cut refused: falling back to what holds without a file."""
    found = config.read(data)

    assert isinstance(found, BrokenPolicy)
    assert [str(p).startswith(place) for p in found.problems] == [True]


def test_a_file_that_is_too_large_is_refused_and_not_read_whole() -> None:
    """The short-cut reads a file of any size: a hundred megabytes, at each look."""
    asked = []

    def blob(commit: str, path: str, most: int) -> bytes:
        asked.append((commit, path, most))
        return b"#" * min(most, 2 * config.MOST_BYTES)

    large = config.fetch(blob, "aaa", config.CONFIG)

    assert asked == [("aaa", config.CONFIG, config.MOST_BYTES + 1)]
    for found, path in (
        (config.read(large), config.CONFIG),
        (config.read_ledger(large), ledger_paths.LEDGER),
    ):
        assert isinstance(found, BrokenPolicy)
        ((place, problem, fix),) = ((str(p.place), p.problem, p.fix) for p in found.problems)
        assert (place, fix) == (path, "Remove what no rule needs")
        assert problem == "it has more than 1048576 bytes, which is too large"
    assert config.read(b"#" * config.MOST_BYTES) == config.read(None)


LEDGER = """\
version: 1
revisions:
  net/core:
    5: {state: withdrawn, reason: wrong peers}
    v7: {state: deprecated, reason: "use v8"}
  .:
    "1": {state: withdrawn, reason: never worked, tag: TAG}
""".replace("TAG", "a" * 40)


def test_the_ledger_keeps_numbers_used() -> None:
    withdrawn, deprecated = ListedState.WITHDRAWN, ListedState.DEPRECATED
    expected = {
        "net/core": {
            5: LedgerEntry(withdrawn, "wrong peers"),
            7: LedgerEntry(deprecated, "use v8"),
        },
        "": {1: LedgerEntry(withdrawn, "never worked", "a" * 40)},
    }

    assert config.read_ledger(LEDGER.encode()) == expected
    assert config.read_ledger(None) == {}
    assert config.read_ledger(b"# empty\n") == {}


BROKEN_LEDGERS: dict[str, tuple[str, str]] = {
    "a number that is none": (
        "revisions:\n  net:\n    latest: {state: withdrawn, reason: x}\n",
        ".porchbot/ledger.yaml:3, revisions.net.latest: 'latest' is not a revision."
        " Write its number, such as 5.",
    ),
    "a second spelling of a package": (
        "revisions:\n  net/: {}\n",
        ".porchbot/ledger.yaml:2, revisions.net/: 'net/' is not a package."
        " Write its path such as net/core, or . for the root.",
    ),
    "two spellings of a number": (
        "revisions:\n  net: {v5: {state: withdrawn, reason: x}, 5: {}}\n",
        ".porchbot/ledger.yaml:2, revisions.net: revision 5 is listed twice. Keep one of 5 and v5.",
    ),
    "no reason": (
        "revisions: {net: {5: {state: withdrawn}}}\n",
        ".porchbot/ledger.yaml:1, revisions.net.5.reason: the key 'reason' is missing. Add it.",
    ),
    "a state that there is not": (
        "revisions: {net: {5: {state: gone, reason: x}}}\n",
        ".porchbot/ledger.yaml:1, revisions.net.5.state: 'gone' is not withdrawn, deprecated or"
        " held. Write withdrawn, deprecated or held.",
    ),
    "what comes later": (
        "holds: {}\n",
        ".porchbot/ledger.yaml:1, holds: the key 'holds' is unknown."
        " Leave it out; known keys are revisions, version.",
    ),
    "an unknown key below": (
        "revisions: {net: {5: {state: withdrawn, reason: x, by: ann}}}\n",
        ".porchbot/ledger.yaml:1, revisions.net.5.by: the key 'by' is unknown."
        " Leave it out; known keys are reason, state, tag.",
    ),
}


@pytest.mark.parametrize(("text", "expected"), BROKEN_LEDGERS.values(), ids=BROKEN_LEDGERS)
def test_a_broken_ledger_says_so(text: str, expected: str) -> None:
    """Short-cut refused: an empty ledger instead, so that a withdrawn number is used again."""
    found = config.read_ledger(text.encode())

    assert isinstance(found, BrokenPolicy)
    assert [str(p) for p in found.problems] == [expected]


KEYS = st.sampled_from(
    ["version", "packages", "directory", "branch", "render", "guardrails", "mutators", "validators",
     "image", "configMap", "mode", "access", "approve", "from", "require", "self", "publish",
     "merge", "variants", "revisions", "5", "x"]
)  # fmt: skip
VALUES: st.SearchStrategy[object] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 3), st.floats(), st.text(max_size=5),
              st.sampled_from(["commit", "role:write", "user:ann", "a:v1", "team:x", "."])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=10,
)  # fmt: skip


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_file_is_read_or_refused_with_a_place(value: dict[str, object]) -> None:
    data = json.dumps(value).encode()

    for found in (config.read(data), config.read_ledger(data)):
        if isinstance(found, BrokenPolicy):
            assert found.problems
            for problem in found.problems:
                assert problem.place.line == 1
                assert problem.problem
                assert problem.fix


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    config.read(data)
    config.read_ledger(data)


def test_the_ledger_of_one_package_is_a_file_of_its_own() -> None:
    """Short-cuts refused: the form of the older file; a broken one taken for an empty one."""
    path = ledger_paths.package_ledger("net/core")
    assert path == ".porchbot/ledger/net/core.yaml"
    assert ledger_paths.package_ledger("") == ""

    text = b"revisions: {3: {state: withdrawn, reason: broken}, v5: {state: deprecated, reason: x}}"
    assert config.read_package_ledger(text, path) == {
        3: LedgerEntry(ListedState.WITHDRAWN, "broken"),
        5: LedgerEntry(ListedState.DEPRECATED, "x"),
    }
    assert config.read_package_ledger(None, path) == {}
    assert ledger_paths.ledger_package(path) == "net/core"
    assert ledger_paths.ledger_package(ledger_paths.LEDGER) is None
    for broken in (b"revisions: {net: {5: {state: withdrawn, reason: x}}}", b"revisions: {3: x}"):
        assert isinstance(config.read_package_ledger(broken, path), BrokenPolicy)


# --- the schema -----------------------------------------------------------------------------------


def test_the_schema_agrees_with_the_reader() -> None:
    schema = json.loads(config.schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    whole = read_yaml(WHOLE.encode()).documents[0].value
    designed = read_yaml(QUOTED.encode()).documents[0].value

    assert list(validator.iter_errors(whole)) == []
    assert list(validator.iter_errors({})) == []
    assert list(validator.iter_errors(designed)) != []
    assert list(validator.iter_errors({"render": "yes"})) != []


def test_every_key_of_the_schema_is_explained() -> None:
    schema = json.loads(config.schema_text())
    mappings = [schema, *schema["$defs"].values()]
    silent = [
        key
        for mapping in mappings
        for key, value in mapping["properties"].items()
        if "description" not in value and "$ref" not in value
    ]

    assert silent == []


@given(st.text(alphabet="0123456789*/-,#LWMONFRI ²", max_size=30))
def test_any_text_is_a_window_or_is_refused(text: str) -> None:
    """Short-cut refused: an error of the library in the middle of a look."""
    quoted = json.dumps(text)
    said(f"publish: {{windows: [{{kind: allow, from: {quoted}, until: {quoted}, reason: r}}]}}")


@pytest.mark.parametrize(
    ("begins", "ends", "zone"),
    [
        ("0001-01-01", "2026-01-02", "Asia/Tokyo"),
        ("2026-12-20", "9999-12-31 23:30", "America/Los_Angeles"),
    ],
)
def test_a_date_at_the_edge_of_the_calendar_is_a_problem_and_no_crash(
    begins: str, ends: str, zone: str
) -> None:
    """Short-cut: trust the calendar, which has no such moment on the clock of another zone."""
    window = f'{{kind: freeze, from: "{begins}", until: "{ends}", zone: {zone}, reason: r}}'
    read = config.read(f"version: 1\npublish:\n  windows: [{window}]\n".encode())
    assert isinstance(read, BrokenPolicy)
    assert ["its year is not between 1971 and 2999" in each.problem for each in read.problems] == [
        True
    ]


def test_a_group_of_gitlab_is_named_by_its_whole_path() -> None:
    """The short-cut takes a path for a team's name, of which GitHub has no such."""
    found = config.read(b"access: {approve: {from: ['group:acme/net.x/leads_1']}}\n")
    assert isinstance(found, Policy)
    (source,) = found.approve.sources
    assert source == TeamSource("acme/net.x/leads_1")
    assert (str(source), source.spelling) == (
        "the group `acme/net.x/leads_1`",
        "group:acme/net.x/leads_1",
    )
    for bad in ("group:", "group:/acme", "group:acme//net", "group:acme/", "group:acme net"):
        text = f"access: {{approve: {{from: ['{bad}']}}}}\n".encode()
        assert not isinstance(config.read(text), Policy), bad


def test_a_status_is_of_a_user_on_gitlab() -> None:
    """The short-cut takes names of Apps alone, which have no underscore."""
    text = b"publish: {checks: [{name: scan, app: project_7_bot_0a.b}]}\n"
    found = config.read(text)
    assert isinstance(found, Policy)
    assert [check.app for check in found.checks] == ["project_7_bot_0a.b"]


@pytest.mark.parametrize(
    ("whole", "own", "expected"),
    [
        ("held", "deprecated", "deprecated"),
        ("deprecated", "held", "held"),
        ("withdrawn", "held", "withdrawn"),
        ("deprecated", "withdrawn", "withdrawn"),
        ("held", "", "held"),
        ("", "deprecated", "deprecated"),
        ("", "", ""),
    ],
)
def test_two_ledgers_say_of_a_revision_what_counts(whole: str, own: str, expected: str) -> None:
    """The short-cut asks them in another order than those who publish: `porchbot pkg get` warns of
    what the bot does not."""

    def listed(state: str, before: str, after: str) -> bytes | None:
        entry = f"{{v3: {{state: {state}, reason: x}}}}"
        return f"version: 1\nrevisions: {before}{entry}{after}\n".encode()

    found = config.ledger_entry(
        listed(whole, "{net/core: ", "}") if whole else None,
        listed(own, "", "") if own else None,
        "net/core",
        3,
    )

    assert not isinstance(found, BrokenPolicy)
    assert (found.state if found else "") == expected
