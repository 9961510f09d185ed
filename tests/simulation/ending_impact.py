"""What the check `porchbot/impact` says of changed rules for variants is so, by git.

A proposal's rules are compared with those that its branch began with, and what would become of each
package with what stands on the base that the check names.
"""

import re
from collections.abc import Iterator
from typing import Any

from tests.simulation.beyond import ZONE
from tests.simulation.catalog import FAR
from tests.simulation.evidence_variants import Variants
from tests.simulation.setting import MAIN
from tests.simulation.variants import OBJECTS

IMPACT = "porchbot/impact"
COMPARED = re.compile(r"compared with `main` at `([0-9a-f]{10})`")
GROUP = re.compile(r"\*\*\d+ packages? would ([^*\n]+)\*\*\n\n((?:- .*\n?)+)")
NAMED = re.compile(r"^- `([a-z/]+)`, from ", re.MULTILINE)

MADE = ("get a draft", "be adopted", "be left alone")
"""What becomes of one that no rule wanted: it is not there, is taken over, or is another's."""

GONE = ("be proposed for deletion", "no longer be followed")
"""What becomes of one that no rule wants any more: it goes with its rule, or stays."""

OTHERWISE = ("be made from another", "have something else injected", "be made by other settings")
"""What becomes of one that is wanted otherwise."""

WAITS = "wait for the revision"


def untrue(v: Variants, repo: Any, app: Any) -> Iterator[str]:
    """What checks say of rules that is not so.

    Args:
        v: Rules as they stand in commits.
        repo: The repository.
        app: The bot, whose checks these are; None where checks are of one line.
    """
    for pull in repo.pulls.values():
        for text in _said(repo, pull.head_sha, app):
            if pull.base_ref == MAIN:
                yield from (f"the impact of #{pull.number}: {why}" for why in _of(v, pull, text))


def _said(repo: Any, head: str, app: Any) -> list[str]:
    """What the bot's newest check of the name says at a commit; none where there is none."""
    runs = [r for suite in repo.suites.on(head) if suite.app is app is not None for r in suite.runs]
    newest = [run for run in runs if run.name == IMPACT][-1:]
    return [f"{run.summary or ''}\n{run.text or ''}" for run in newest]


def _of(v: Variants, pull: Any, text: str) -> Iterator[str]:
    section = text.partition("### Variants\n")[2]
    at = COMPARED.search(section or text)
    tips = v.evidence.tips(MAIN, 0, len(v.diary.entries))
    base = next((tip for tip in tips if at is not None and tip.startswith(at[1])), "")
    left = v.history.left(base, pull.head_sha) if base else ""
    if not left:
        return
    before, after = v.wants(left), v.wants(pull.head_sha)
    if before is None or after is None or "cannot be resolved" in section:
        return
    if "Not read, " in text or "Not compared" in text:
        return  # what another repository lends is not told to who may not read it
    told = {name: group for group, names in GROUP.findall(section) for name in NAMED.findall(names)}
    for package in sorted({*before, *after, *told} - {FAR, ZONE}):
        said, right = told.get(package, ""), _outcomes(v, package, left, pull.head_sha, base)
        words = tuple(filter(None, right))
        if not (said.startswith(words) if said else "" in right):
            yield f"{package} would {said or 'stay as it is'}, and it would {' or '.join(words)}"


def _outcomes(v: Variants, package: str, left: str, head: str, base: str) -> tuple[str, ...]:
    """How what a check may say of a package begins; "" where it may say nothing, last."""
    old, new = (v.wants(left) or {}).get(package), (v.wants(head) or {}).get(package)
    if new is None and old is None:
        return ("stay as it is",)
    keeper = v.owner(base, package)
    if new is None:
        return (
            (GONE[0],) if old is not None and keeper == old.owner and not old.orphans else GONE[1:]
        )
    waits = (WAITS,) if new.revision else ()
    if old is None and not v.history.package(base, package):
        return (MADE[0], *waits)
    if old is None:
        return (MADE[1] if new.adopts or keeper == new.owner else MADE[2], *waits)
    sites = {v.history.at(commit, f"{OBJECTS}/site.yaml") for commit in (left, head)}
    if old != new or (new.injects and not new.afar and len(sites) > 1):
        return (*OTHERWISE, *waits)
    return (OTHERWISE[-1], *waits, "")  # what drafts begin as is no part of what is wanted
