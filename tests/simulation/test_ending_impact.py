"""The oracle of impacts of rules: it fails on what is wrong, and not on what is proper."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.simulation import ending_impact
from tests.simulation.setting import MAIN
from tests.simulation.test_oracle_variants import RULE, Content, Variants
from tests.simulation.variants import OBJECTS, SHOP, Wish, thing

OLD = Wish(names=("old",))
TAKEN = "base/v1` (`variants/old.yaml:12`)"


def said(change: Content, *groups: str, rule: Wish = RULE) -> list[str]:
    """What is not so of a check on a proposal that changes these files.

    Args:
        change: The files, beside a rule that wants `shop`.
        groups: What it says of packages: "would be adopted: old".
        rule: That rule.
    """
    there = Variants()
    there.begin(rule)
    h = there.hands
    with there.simulation.forge.change():
        h.commit("bob", "rules", change, "rules", onto=h.tip(MAIN))
        pull = h.open("bob", "rules", MAIN, "Rules")
    at = f"### Variants\n\nWhat they want, compared with `main` at `{h.tip(MAIN)[:10]}`."
    listed = [g.partition(": ") for g in groups]
    told = [f"**1 package {what}**\n\n- `{name}`, from `here/{TAKEN}" for what, _, name in listed]
    app = object()
    run = SimpleNamespace(name="porchbot/impact", summary="\n\n".join([at, *told]), text="")
    suites = SimpleNamespace(on=lambda _: [SimpleNamespace(app=app, runs=[run])])
    repo = SimpleNamespace(pulls={pull.number: pull}, suites=suites)
    assert there.simulation.asked is not None
    return list(ending_impact.untrue(there.simulation.asked, repo, app))


SHOP_GONE = "would no longer be followed: shop"
RED = Wish(names=(SHOP,), label="red")
BASE: Content = {"base/a.yaml": b"# stamped\nvalue: v9\n"}


@pytest.mark.parametrize(
    ("change", "groups"),
    [
        ({OLD.path: OLD.text}, ("would be left alone: old",)),
        ({RULE.path: None}, (SHOP_GONE,)),
        ({RED.path: RED.text}, ("would be made by other settings: shop",)),
        (BASE, ()),
    ],
)
def test_what_is_so_is_let_pass(change: Content, groups: tuple[str, ...]) -> None:
    """Fails on an oracle that finds fault with what is proper."""
    assert said(change, *groups) == []


@pytest.mark.parametrize(
    ("change", "groups"),
    [
        ({OLD.path: OLD.text}, ()),
        ({OLD.path: OLD.text}, ("would get a draft: old",)),
        ({RULE.path: None}, ()),
        ({RULE.path: None}, ("would be proposed for deletion: shop",)),
        ({RED.path: RED.text}, ()),
        (BASE, ("would be made from another upstream: shop",)),
        (BASE, ("would get a draft: old",)),
    ],
)
def test_what_is_not_so_is_seen(change: Content, groups: tuple[str, ...]) -> None:
    """Short-cut refused: a check is right as soon as it is green."""
    assert len(said(change, *groups)) == 1


@pytest.mark.parametrize("afar", [False, True])
def test_an_object_here_changes_what_injects_it(afar: bool) -> None:
    """Short-cuts refused: a rule that injects anything is changed by any object; none is."""
    rule = replace(RULE, injects=True, afar=afar)
    change = {f"{OBJECTS}/site.yaml": thing("site", "ConfigMap", "east")}
    assert bool(said(change, rule=rule)) is not afar
