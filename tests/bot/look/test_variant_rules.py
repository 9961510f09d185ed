"""Rules for variants of several repositories, put together."""

from dataclasses import replace
from typing import Any

import pytest

from bot.config import CONFIG
from bot.look.variant_rules import RuleBook, findings, read, together
from cadlib.errors import Place
from cadlib.findings import Severity
from lifecycle.messages import configuration
from lifecycle.policy import VariantUse
from lifecycle.variants.objects import Objects
from lifecycle.variants.values import Downstream
from tests.bot.look.test_impact_variants import HEAD, Trees
from tests.lifecycle.variants.samples import VARIANT


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
    return RuleBook(repository=repository, use=use, variants=variants, objects=Objects([]))


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
