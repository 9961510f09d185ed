"""The oracle of variants: each of its checks able to fail, and none on what is proper."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from bot.sandbox.git import trees
from bot.sandbox.git.objects import Ident
from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.records.refs import ZERO
from bot.sandbox.records.repository import Pull
from tests.simulation.setting import CONFIG, MAIN, STAMPER, RulesText, resource
from tests.simulation.test_oracle import OracleFixture
from tests.simulation.variants import (
    CONTEXT,
    EDGES,
    HIDDEN,
    LIVE,
    OTHER,
    SITE,
    SITES,
    Wish,
    asking,
    sites,
    wanted,
)

RULE = Wish(names=("shop",), revision=1, follow=False)
BY_RULE = RulesText(variants=True, automatic=True)
KPTFILE = """apiVersion: kpt.dev/v1
kind: Kptfile
metadata: {{name: shop, labels: {{tier: {label}}}, annotations: {{porchbot.dev/variant: shop}}}}
upstreamLock: {{type: git, git: {{ref: base/v{number}, commit: {commit}}}}}
"""
Content = Mapping[str, bytes | None]


class Variants(OracleFixture):
    """A rule that wants a package of an upstream, and somebody who acts as if they were the bot."""

    variants = True

    def begin(self, rule: Wish = RULE, rules: RulesText = BY_RULE) -> None:
        """Rules come in, and the upstream is published."""
        with self.simulation.forge.change():
            files: Content = {CONFIG: rules.text, rule.path: rule.text}
            self.hands.commit("ann", MAIN, files, "rules")
        self.published = self.hands.tip(MAIN)
        self.upstream()
        self.rest()

    def upstream(self, name: str = "base/v1") -> None:
        """The bot tags what the main branch has."""
        pull = self.propose()
        pull.merge_commit_sha = self.hands.tip(MAIN)
        self.tag(pull, name)
        self.rest()
        self.judged()

    def content(self, number: int = 1, label: str = "none") -> dict[str, bytes | None]:
        """What the rule makes."""
        return self.content_of(self.published, number, label)

    def content_of(
        self, upstream: str, number: int = 1, label: str = "none"
    ) -> dict[str, bytes | None]:
        """The same, made of the upstream's content at a commit."""
        text = KPTFILE.format(label=label, number=number, commit=upstream)
        found: dict[str, bytes | None] = {f"shop/{n}.yaml": resource(n, "v0") for n in "ab"}
        return {"shop/Kptfile": text.encode(), f"shop/{SITE}": asking(), **found}

    def pushes(self, files: Content, number: int = 1, *, onto: str = MAIN) -> str:
        """The bot pushes a draft of the variant; gives its branch."""
        state, repo, us = self.hands.state, self.hands.repo, self.simulation.forge.us
        git, branch = state.git(repo), f"drafts/shop/packagevariant-{number}"
        parent = self.hands.tip(onto)
        tree: str | None = git.commit(parent).tree
        for path, data in files.items():
            entry = None if data is None else ("100644", git.write_blob(data))
            tree = trees.put(git, tree, path, entry)
        who = Ident(us.name, us.email, state.now())
        new = NewCommit(
            tree=tree or "", parents=(parent,), message="made\n", author=who, committer=who
        )
        with self.simulation.forge.change():
            state.update_ref(repo, f"refs/heads/{branch}", git.write_commit(new), us)
        return branch

    def opens(self, branch: str) -> Pull:
        """The bot opens its pull request."""
        state, us = self.hands.state, self.simulation.forge.us
        with self.simulation.forge.change():
            pull = state.pulls.open(self.hands.repo, us, title="Made", head=branch, base=MAIN)
        self.rest()
        return pull

    def ends(self, pull: Pull) -> None:
        """It is merged and tagged."""
        self.merge(pull)
        self.tag(pull, "shop/v1")


def asked(a: Variants) -> None:
    a.begin()
    a.ends(a.opens(a.pushes(a.content())))


def pushed_to(a: Variants) -> None:
    a.begin()
    pull = a.opens(a.pushes(a.content()))
    with a.simulation.forge.change():
        a.hands.commit("eve", pull.head_ref, {"shop/a.yaml": resource("a", "v1")}, "x")
    a.rest()
    a.ends(pull)


def other_content(a: Variants) -> None:
    a.begin()
    a.ends(a.opens(a.pushes({**a.content(), "shop/a.yaml": resource("a", "v1")})))


def other_label(a: Variants) -> None:
    a.begin(replace(RULE, label="red"))
    a.ends(a.opens(a.pushes(a.content(label="blue"))))


def more_than_it(a: Variants) -> None:
    a.begin()
    rule = replace(RULE, label="eve")
    a.ends(a.opens(a.pushes({**a.content(), rule.path: rule.text})))


def merged_with_rules(a: Variants) -> None:
    """Whoever pushes the merge puts other rules into it, which no proposal showed."""
    a.begin()
    pull = a.opens(a.pushes(a.content()))
    with a.simulation.forge.change():
        files: Content = {**a.content(), CONFIG: replace(BY_RULE, require=2).text}
        parents = (a.hands.tip(MAIN), pull.head_sha)
        a.hands.commit("eve", MAIN, files, "Merge", parents=parents)
    a.tag(pull, "shop/v1")


def of_a_tag_of_somebody(a: Variants) -> None:
    a.begin()
    with a.simulation.forge.change():
        a.hands.tag("eve", "base/v1", a.published, "mine\n")
    a.rest()
    a.ends(a.opens(a.pushes(a.content())))


def no_rule_approves(a: Variants) -> None:
    a.begin(rules=RulesText(variants=True))
    a.ends(a.opens(a.pushes(a.content())))


def opened_twice(a: Variants) -> None:
    a.begin()
    for number in (1, 2):
        a.opens(a.pushes(a.content(), number))


def closed(
    a: Variants, *, change: Callable[[Variants], None] = lambda _: None, label: str = "none"
) -> None:
    a.begin()
    pull = a.opens(a.pushes(a.content()))
    with a.simulation.forge.change():
        a.hands.turn("bob", pull, "closed")
    a.rest()
    change(a)
    a.opens(a.pushes(a.content(label=label), 2))


def closed_and_changed(a: Variants) -> None:
    def change(a: Variants) -> None:
        with a.simulation.forge.change():
            rule = replace(RULE, label="red")
            a.hands.commit("ann", MAIN, {rule.path: rule.text}, "rule")
        a.rest()

    closed(a, change=change, label="red")


def unwanted(a: Variants) -> None:
    a.begin(replace(RULE, names=("old",), adopts=True))
    a.opens(a.pushes(a.content()))


def another_revision(a: Variants) -> None:
    a.begin()
    a.upstream("base/v2")
    a.pushes(a.content(2))


def another_revision_at_once(a: Variants) -> None:
    """The short-cut lets what was there before the rule excuse what is made by it."""
    a.begin(replace(RULE, names=("old",), adopts=True))
    a.upstream("base/v2")
    with a.simulation.forge.change():
        a.hands.commit("ann", MAIN, {RULE.path: RULE.text}, "rule")
    a.pushes(a.content(2))


def without_context(a: Variants) -> None:
    a.begin(replace(RULE, context="north"))
    a.pushes(a.content())


def without_function(a: Variants) -> None:
    a.begin(replace(RULE, function=True))
    a.pushes(a.content())


def with_all_of_it(a: Variants) -> None:
    a.begin(replace(RULE, context="north", function=True))
    files = dict(a.content())
    files["shop/Kptfile"] = f"""{KPTFILE.format(label="x", number=1, commit=a.published)}
pipeline: {{mutators: [{{name: mine, image: {STAMPER}}}]}}
""".encode()
    files[f"shop/{CONTEXT}"] = b"kind: ConfigMap\ndata: {name: shop, region: north}\n"
    a.pushes(files)


def held(a: Variants) -> None:
    a.begin()
    with a.simulation.forge.change():
        ledger = b"revisions:\n  1: {state: held, reason: worse}\n"
        a.hands.commit("ann", MAIN, {".porchbot/ledger/shop.yaml": ledger}, "held")
    a.rest()
    a.pushes(a.content())


def over_people(a: Variants) -> None:
    a.begin()
    branch = a.pushes(a.content())
    with a.simulation.forge.change():
        a.hands.commit("bob", branch, {"shop/a.yaml": resource("a", "v1")}, "x")
    a.rest()
    a.pushes(a.content())


def people_undone(a: Variants) -> None:
    a.begin(replace(RULE, follow=True))
    branch = a.pushes(a.content())
    with a.simulation.forge.change():
        a.hands.commit("bob", branch, {"shop/a.yaml": resource("a", "v1")}, "x")
    a.upstream("base/v2")
    a.pushes(a.content(2), onto=branch)


def removed(a: Variants, rule: Wish | None = RULE) -> None:
    a.begin(rule or RULE)
    with a.simulation.forge.change():
        a.hands.commit("ann", MAIN, a.content(), "made")
        if rule is None:
            a.hands.commit("ann", MAIN, {RULE.path: None}, "no rule")
    a.rest()
    a.opens(a.pushes(dict.fromkeys(a.content())))


def removed_with_its_rule(a: Variants) -> None:
    removed(a, None)


def not_adopted(a: Variants) -> None:
    a.begin()
    with a.simulation.forge.change():
        files: Content = {"shop/Kptfile": b"metadata: {name: shop}\n"}
        a.hands.commit("ann", MAIN, files, "theirs")
    a.rest()
    a.opens(a.pushes(a.content()))


def secret_told(a: Variants) -> None:
    a.begin()
    a.pushes({**a.content(), "shop/b.yaml": f"where: {HIDDEN}\n".encode()})


def ended(a: Variants) -> None:
    """What the bot alone has made it may take away again."""
    a.begin()
    branch = a.pushes(a.content())
    state, us = a.hands.state, a.simulation.forge.us
    with a.simulation.forge.change():
        state.update_ref(a.hands.repo, f"refs/heads/{branch}", ZERO, us)


def ended_where_nothing_came_in(a: Variants) -> None:
    """The short-cut knows what was there at the beginning by the moves of the main branch alone.

    Whoever makes another branch of that did not commit it.
    """
    branch = a.pushes(a.content_of(a.hands.tip(MAIN)))
    state, us = a.hands.state, a.simulation.forge.us
    with a.simulation.forge.change():
        state.update_ref(a.hands.repo, f"refs/heads/{branch}", ZERO, us)


DEEDS: list[tuple[Callable[[Variants], None], set[str]]] = [
    (asked, set()),
    (ended, set()),
    (ended_where_nothing_came_in, set()),
    (closed_and_changed, set()),
    (removed_with_its_rule, set()),
    (pushed_to, {"approved"}),
    (other_content, {"approved"}),
    (other_label, {"approved", "wanted"}),
    (more_than_it, {"approved"}),
    (merged_with_rules, {"approved"}),
    (of_a_tag_of_somebody, {"approved"}),
    (no_rule_approves, {"approved"}),
    (opened_twice, {"opened once"}),
    (closed, {"stays closed"}),
    (unwanted, {"wanted"}),
    (another_revision, {"wanted"}),
    (another_revision_at_once, {"wanted"}),
    (without_context, {"wanted"}),
    (without_function, {"wanted"}),
    (with_all_of_it, set()),
    (removed, {"wanted"}),
    (not_adopted, {"wanted"}),
    (held, {"held"}),
    (over_people, {"people's"}),
    (people_undone, {"people's"}),
    (secret_told, {"no secrets"}),
]


@pytest.mark.parametrize(("deed", "violated"), DEEDS, ids=lambda d: getattr(d, "__name__", ""))
def test_each_check_sees_what_it_is_there_for(
    deed: Callable[[Variants], None], violated: set[str]
) -> None:
    """Fails on an oracle that finds nothing, or that finds fault with what is proper."""
    scene = Variants()
    with scene.simulation.happening():
        deed(scene)
    found = scene.simulation.oracle.judge()
    assert {v.check for v in found} == violated, [str(v) for v in found]


def test_a_set_that_chooses_wants_what_its_objects_say_at_that_commit() -> None:
    """The short-cut takes what was chosen when the rule was written, or every object there is."""
    rule = Wish(names=EDGES[:2], chosen=True, label="red")
    found = wanted(rule.path, rule.text, rule.files[SITES])
    assert found is not None
    assert {place: (each.owner, each.label) for place, each in found.items()} == {
        place: (f"edges-here-{place}", "red") for place in EDGES[:2]
    }
    assert (wanted(rule.path, rule.text, sites(EDGES[2:])) or {}).keys() == {*EDGES[2:]}
    assert wanted(rule.path, rule.text) == {}
    assert SITES not in Wish(names=EDGES[:2]).files


@pytest.mark.parametrize(("kind", "places"), [(LIVE, {EDGES[1]}), (OTHER, set[str]())])
def test_a_set_over_repositories_wants_one_package_in_each_of_their_kind(
    kind: str, places: set[str]
) -> None:
    """The short-cut takes every repository that rules name."""
    rule = Wish(names=EDGES[1:2], kind=kind, context="south", function=True)
    found = wanted(rule.path, rule.text)
    assert found is not None
    assert found.keys() == places
    assert {(w.owner, w.context, w.function) for w in found.values()} == {
        (f"edges-here-{place}", "south", True) for place in places
    }
