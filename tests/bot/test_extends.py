"""`extends:`: defaults of an organisation, judged by the same rules, and unusable in words."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from bot import config, extends
from bot.extends import FileReference, parse
from cadlib.errors import Place
from lifecycle.policy import BrokenPolicy, ConfigurationProblem, MergeMethod, Policy, RenderMode

SHA, OTHER = "a" * 40, "b" * 40
REF = f"acme/.porchbot@{SHA}:defaults.yaml"
DEFAULTS = b"""\
mode: observe
packages: [{directory: elsewhere}]
render: check
guardrails:
  validators: [{image: "kubeconform:v0.1"}]
  mutators: [{image: "set-labels:v0.2"}]
publish: {merge: squash, update: auto}
"""
OWN = f"""\
extends: {REF}
guardrails:
  validators: []
publish: {{update: manual}}
""".encode()


def read(own: bytes, files: Mapping[str, bytes]) -> Policy | BrokenPolicy:
    def give(reference: FileReference) -> bytes | BrokenPolicy:
        missing = ConfigurationProblem(Place(config.CONFIG), "it is not there", "Make it")
        return files.get(str(reference), BrokenPolicy((missing,)))

    return config.read(own, defaults=give)


def problems(found: Policy | BrokenPolicy) -> list[str]:
    assert isinstance(found, BrokenPolicy)
    return [str(each) for each in found.problems]


def test_what_a_file_says_itself_counts_and_the_rest_is_taken_over() -> None:
    """The short-cut replaces whole top-level keys, or lets others say where packages live."""
    found = read(OWN, {REF: DEFAULTS})

    assert isinstance(found, Policy)
    assert found.validators == ()
    assert [each.image for each in found.mutators] == ["set-labels:v0.2"]
    assert (found.render, found.merge, found.update) == (
        RenderMode.CHECK,
        MergeMethod.SQUASH,
        "manual",
    )
    assert (found.observe, found.roots) == (False, ())
    alone = config.read(OWN)
    assert isinstance(alone, Policy)
    assert alone.render is RenderMode.COMMIT
    # Approvals bind to what holds together.
    changed = read(OWN, {REF: DEFAULTS.replace(b"v0.2", b"v0.3")})
    assert isinstance(changed, Policy)
    assert changed.digest != found.digest


@pytest.mark.parametrize(
    "text",
    [
        "acme/.porchbot@main:defaults.yaml",
        f"acme/.porchbot@{SHA[:39]}:defaults.yaml",
        f"acme/secrets@{SHA}:defaults.yaml",
        f"acme/.porchbot@{SHA}",
        f"acme/.porchbot@{SHA}:../defaults.yaml",
        f"acme/.porchbot@{SHA}:a//b.yaml",
        f"https://github.com/acme/.porchbot@{SHA}:defaults.yaml",
        f"acme/.porchbot@{SHA}:defaults.yaml\n",
        "",
    ],
)
def test_what_names_no_defaults(text: str) -> None:
    """The short-cut takes a branch: whoever may push there changes the rules of everybody."""
    assert parse(text) is None
    (said,) = problems(read(f"extends: {text!r}\n".encode(), {})) or [""]
    assert (
        "is not a reference to defaults at a pinned commit. Write <owner>/.porchbot@" in said
        or not text
    )


def test_files_extend_one_another_within_bounds() -> None:
    second, third = REF.replace(SHA, OTHER), REF.replace(SHA, "c" * 40)
    chain = {
        REF: f"extends: {second}\nrender: check\n".encode(),
        second: b"publish: {merge: squash}",
    }
    found = read(OWN, chain)
    assert isinstance(found, Policy)
    assert (found.render, found.merge) == (RenderMode.CHECK, MergeMethod.SQUASH)

    circle = {REF: f"extends: {second}\n".encode(), second: f"extends: {REF}\n".encode()}
    deep = {**circle, second: f"extends: {third}\n".encode(), third: b""}
    for files in (circle, deep, {REF: f"extends: {REF}\n".encode()}):
        assert problems(read(OWN, files)) == [
            ".porchbot.yaml, extends: more than 3 files extend each other, or one extends itself."
            " Remove `extends` from the defaults."
        ]


def test_defaults_that_break_the_rules_break_what_extends_them() -> None:
    """The short-cut drops them and goes on with less; another shows what stands in them."""
    broken = DEFAULTS.replace(b"kubeconform:v0.1", b"hunter2 hunter2")
    assert problems(read(OWN, {REF: broken})) == [
        f".porchbot.yaml, extends: the defaults acme/.porchbot@{SHA[:12]}:defaults.yaml cannot be"
        " used (line 5 guardrails.validators[0].image). Fix them, and pin the commit with the fix."
    ]
    assert problems(read(OWN, {})) == [".porchbot.yaml: it is not there. Make it."]
    few = b"access: {approve: {from: ['user:a']}}\n"
    own = f"extends: {REF}\naccess: {{approve: {{require: 2}}}}\n".encode()
    assert problems(read(own, {REF: few})) == [
        ".porchbot.yaml, extends: this conflicts with the defaults"
        f" acme/.porchbot@{SHA[:12]}:defaults.yaml: access.approve. Set these keys here, or"
        " change the defaults."
    ]
    observing = read(b"mode: observe\n" + OWN, {})
    assert isinstance(observing, BrokenPolicy)
    assert observing.observe


def test_a_reference_is_spelled_as_it_is_read() -> None:
    found = parse(REF)
    assert found == FileReference("acme", ".porchbot", SHA, "defaults.yaml")
    assert str(found) == REF
    assert found is not None
    assert parse(str(replace(found, name=".github"))) is not None
    assert {"mode", "packages"} <= extends.OWN


@pytest.mark.parametrize(
    ("of", "owner", "may"),
    [
        ("acme", "Acme", True),
        ("acme", "acme/net", True),
        ("acme/net", "acme/net", True),
        ("acme/net", "acme", False),
        ("acme/net", "acme/network", False),
        ("acme/net", "other/acme/net", False),
    ],
)
def test_defaults_are_those_of_an_owner_or_of_a_group_above(of: str, owner: str, may: bool) -> None:
    """The short-cut compares beginnings of names, or takes the rules of a group below."""
    reference = parse(f"{of}/.porchbot@{SHA}:defaults.yaml")

    assert reference is not None
    assert reference.owner == of
    assert reference.may_be_used_by(owner) is may
