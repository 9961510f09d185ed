"""Rules for variants of several repositories, put together."""

from dataclasses import replace
from typing import Any

import pytest

from bot.config import CONFIG
from bot.look import variant_files
from bot.look.variant_rules import RuleBook, findings, read, together
from cadlib.errors import Place
from cadlib.findings import Severity
from lifecycle.messages import configuration
from lifecycle.messages import variants as texts
from lifecycle.policy import NamedRepository, ObjectFolder, VariantUse
from lifecycle.variants import expressions
from lifecycle.variants.objects import KubeObjectIndex
from lifecycle.variants.values import Downstream
from tests.bot.look.test_impact_variants import HEAD, Trees
from tests.lifecycle.variants.samples import VARIANT
from tests.lifecycle.variants.test_resolution import SET


def test_files_that_are_a_folder_or_not_there_are_told() -> None:
    """The short-cut matches nothing, and says nothing: no package comes, and nobody learns why."""
    git = Trees({HEAD: {"variants/edge/a.yaml": "kind: X"}})
    use = VariantUse(files=("variants/edge", "variants/*.yml", "none/a.yaml"))

    found = findings(git, HEAD, use, [CONFIG])

    assert [(e.severity, e.place.path, e.message, e.fix) for e in found] == [
        (Severity.WARNING, CONFIG, *configuration.no_files("variants/*.yml")),
        (Severity.WARNING, CONFIG, *configuration.no_files("none/a.yaml")),
        (Severity.ERROR, CONFIG, *configuration.files_are_folder("variants/edge")),
    ]
    assert not read(git, HEAD, "acme/rules", use).complete
    assert findings(git, HEAD, replace(use, files=("variants/edge/*.yaml",)), ["a.yaml"]) == ()


def test_no_more_of_rules_and_resources_is_read_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Short-cut refused: each file and folder is bounded, and fifty folders are not.

    They are read in the bot's own process, for a stranger's pull request too: 64 MB took 4 GB.
    """
    rule, resource = "kind: X # - - -\n", "{kind: ConfigMap, metadata: {name: a}}\n"
    git = Trees(
        {HEAD: {"rules/a.yaml": rule, "one/a.yaml": resource, "two/a.yaml": resource, "b/c": "x"}}
    )
    folders = tuple(ObjectFolder(each, "") for each in ("one", "two", "one"))
    use = VariantUse(files=("rules/*.yaml",), objects=folders)
    monkeypatch.setattr(variant_files, "MOST_MARKS", 4 + 2 * 6)

    found = read(git, HEAD, "acme/rules", use)

    assert len([*found.objects.every()]) == 2
    assert [(e.path, e.text) for e in found.problems if "together" in e.text] == [
        ("one/a.yaml", texts.too_much_read(16)[0])
    ]
    assert not found.complete


def test_folders_are_read_up_to_a_bound_for_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cut refused: each folder may have 64 MB inside, and is read for each pattern anew."""
    git = Trees({HEAD: {"a/b/x.yaml": "kind: X", "a/y.yaml": "kind: Y"}})
    use = VariantUse(files=tuple(f"a/y{'*' * stars}.yaml" for stars in range(9)))
    monkeypatch.setattr(variant_files, "MOST_BYTES", 2 * 14 - 1)

    found = read(git, HEAD, "acme/rules", use)
    told = findings(git, HEAD, use, [CONFIG])

    assert "MiB together" in found.problems[-1].text
    assert any("MiB together" in each.message for each in told)
    assert len(git.read) <= 2 * 3 + 2  # for what is read, whether topics are asked for, findings


def test_expressions_of_all_files_are_compiled_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Short-cut refused: each file by itself is bounded, and resolving them compiles all again."""
    used: list[str] = []
    kept = expressions._compiled

    def counted(text: str) -> expressions.Expression:
        used.append(text)
        return kept(text)

    monkeypatch.setattr(expressions, "_compiled", counted)
    monkeypatch.setattr(expressions, "MOST_COMPILED", 30)
    template = "template: {downstream: {packageExpr: \"'net' + target.repo\"}}"
    rule = f"{SET}  - repositories: [{{name: base}}]\n    {template}\n"
    git = Trees({HEAD: {"v/a.yaml": rule, "v/b.yaml": rule.replace("'net'", "'ten'")}})
    use = VariantUse(files=("v/*.yaml",), repositories={"base": NamedRepository()})

    found = read(git, HEAD, "acme/rules", use)

    assert used == ["'net' + target.repo"]
    assert ["together" in each.text for each in found.problems] == [True]


def book(repository: str, *packages: str) -> RuleBook:
    """Rules that want packages in acme/live; each has a name of its own."""
    here: Any = type("Named", (), {"repository": "acme/live", "branch": ""})()
    variants = tuple(
        replace(
            VARIANT,
            name=f"{repository}-{path}",
            spec=replace(VARIANT.spec, downstream=Downstream("live", path)),
            origin=Place(f"variants/{index}.yaml", 3),
        )
        for index, path in enumerate(packages)
    )
    use = VariantUse(repositories={"live": here})
    return RuleBook(repository=repository, use=use, variants=variants, objects=KubeObjectIndex([]))


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        (["apps/a"], ["apps/b", "apps/a-b"], ["apps/a", "apps/b", "apps/a-b"]),
        (["apps/a"], ["apps/a"], []),
        (["apps/a", "x"], ["apps/a/deep/b"], ["x"]),
        (["apps/a/b"], ["apps", "y"], ["y"]),
    ],
    ids=["side by side", "one for two", "one inside another", "one around another"],
)
def test_no_rule_reaches_into_what_another_repository_makes(
    one: list[str], other: list[str], kept: list[str]
) -> None:
    """The short-cut compares paths alone: a removal takes along what is inside."""
    found, problems = together([book("acme/one", *one), book("acme/other", *other)], "acme/live")

    assert [each.spec.downstream.package for _, each in found] == kept
    assert len(problems) == len(one) + len(other) - len(kept)
