"""What rules for variants would want otherwise, read of the two states of a branch."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import pytest

from bot.clock import in_thread
from bot.look import impact_variants
from bot.look.impact_plan import ImpactPlan
from bot.look.impact_variants import Lent, VariantTrials, compared
from bot.look.variant_rules import RepositoryObjects
from cadlib.limits import PackageLimits
from cadlib.package.files import Entry, Files
from lifecycle.facts.impact import VariantOutcome
from lifecycle.names import Sha
from lifecycle.policy import NamedRepository, ObjectFolder, Policy, VariantUse
from lifecycle.variants.objects import KubeObject

SET = """apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: edges}
spec:
  upstream: {repo: here, package: net/base, revision: 1}
  targets:
  - TARGET
"""
SELECTOR = """objectSelector: {apiVersion: v1, kind: ConfigMap}
    template: {downstream: {repo: here, packageExpr: "'edge/' + target.name"}}
"""
BEFORE, HEAD = Sha("a" * 40), Sha("b" * 40)


@dataclass
class Trees:
    """Folders of two commits; the tree of one is its commit and path."""

    commits: Mapping[str, Mapping[str, str]]
    read: list[str] = field(default_factory=list)

    def tree(self, commit: str, path: str) -> str:
        there = self.commits.get(commit, {})
        return f"{commit}:{path}" if any(p.startswith(f"{path}/") for p in there) else ""

    def files(self, tree: str, limits: PackageLimits) -> Files:
        assert limits
        self.read.append(tree)
        commit, _, folder = tree.partition(":")
        return {
            path.removeprefix(f"{folder}/"): Entry(text.encode())
            for path, text in self.commits[commit].items()
            if path.startswith(f"{folder}/")
        }

    def blob(self, commit: str, path: str, most: int) -> bytes | None:
        found = self.commits[commit].get(path)
        return None if found is None else found.encode()[:most]


def named(*packages: str) -> str:
    """A set over packages of the rules' own repository."""
    target = f"repositories: [{{name: here, packageNames: [{', '.join(packages)}]}}]\n"
    return SET.replace("TARGET", target)


def plan(before: VariantUse, wants: VariantUse) -> ImpactPlan:
    """What is to be tried."""
    held = replace(Policy(), variants=before)
    return ImpactPlan(
        head=HEAD,
        base_ref="main",
        base=BEFORE,
        held=held,
        now=held,
        origin=BEFORE,
        wants=wants,
        variants=True,
    )


USE = VariantUse(files=("variants/*.yaml",), repositories={"here": NamedRepository()})


def test_a_branch_gets_no_more_of_others_than_the_base_branch() -> None:
    """The short-cut gives a branch whatever was lent: a folder more, and its names are told."""
    folder = ObjectFolder("teams", repository="acme/inventory")
    wider = ObjectFolder(".", repository="acme/inventory")
    held, wants = (replace(USE, objects=(each,)) for each in (folder, wider))
    rules = {"variants/a.yaml": SET.replace("TARGET", SELECTOR)}
    team = KubeObject(
        api_version="v1", kind="ConfigMap", name="red", origin="acme/inventory/teams/a.yaml"
    )
    lent = Lent(
        held, [RepositoryObjects(repository="acme/inventory", tip="c" * 40, objects=(team,))]
    )
    git = Trees({BEFORE: rules, HEAD: rules})
    same = compared(git, plan(held, held), "acme/rules", lent)
    assert (same.changes, same.wanted, same.unread) == ((), 1, False)
    other = compared(git, plan(held, wants), "acme/rules", lent)
    assert (other.wanted, other.unread) == (0, True)


async def tagged(packages: Collection[str]) -> Collection[str]:
    """The revisions that are there."""
    return [f"refs/tags/{each}/v1" for each in packages]


async def test_what_came_of_the_same_rules_is_kept() -> None:
    """The short-cut resolves them for each push: a thousand packages are a second each time."""

    class Nobody:
        async def lent(self) -> Lent:
            return Lent(USE)

        async def named(self, _names: object) -> Mapping[str, str]:
            return {}

    git = Trees(
        {BEFORE: {"variants/a.yaml": named("one")}, HEAD: {"variants/a.yaml": named("two")}}
    )
    trials, once = VariantTrials(Nobody(), in_thread), 0
    for _ in range(2):
        found = await trials.tried(git, plan(USE, USE), "acme/rules", tagged)
        assert dict(found.counts) == {VariantOutcome.DRAFTED: 1, VariantOutcome.LEFT: 1}
        once = once or len(git.read)
    assert len(git.read) == once > 0
    trials.forget()
    await trials.tried(git, plan(USE, USE), "acme/rules", tagged)
    assert len(git.read) == 2 * once


async def test_of_large_changes_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut counts changes of rules: fifty of 50,000 downstreams took a gigabyte."""

    class Nobody:
        async def lent(self) -> Lent:
            return Lent(USE)

        async def named(self, _names: object) -> Mapping[str, str]:
            return {}

    monkeypatch.setattr(impact_variants, "MOST_CHANGES_KEPT", 3)
    trials = VariantTrials(Nobody(), in_thread)

    async def reads(package: str) -> int:
        state = {"variants/a.yaml": named(package)}
        git = Trees({BEFORE: {"variants/a.yaml": named("one")}, HEAD: state})
        head = replace(plan(USE, USE), head=Sha(package[0] * 40))
        git.commits = {**git.commits, head.head: state}
        await trials.tried(git, head, "acme/rules", tagged)
        return len(git.read)

    assert [bool(await reads(each)) for each in ("cc", "cc", "dd", "dd", "cc")] == [
        True,
        False,
        True,
        False,
        True,
    ]


def test_where_topics_were_not_read_nothing_is_told_as_removed() -> None:
    """The short-cut takes a selector that matched nothing for a rule that is gone."""
    chooses = "repositorySelector: {matchLabels: {topic.porchbot.dev/edge: 'true'}}\n"
    git = Trees(
        {
            BEFORE: {"variants/a.yaml": named("one")},
            HEAD: {"variants/a.yaml": SET.replace("TARGET", chooses)},
        }
    )
    found = compared(git, plan(USE, USE), "acme/rules", Lent())
    assert (found.changes, found.unread, found.problems) == ((), True, 0)
