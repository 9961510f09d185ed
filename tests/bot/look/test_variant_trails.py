"""Which heads the bot alone made for a variant."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.look.variant_trails import made_alone, of_variant
from lifecycle.names import Sha
from lifecycle.variants import trailer
from lifecycle.variants.facts import REMOVED, Recipe
from lifecycle.variants.trailer import Trail
from tests.lifecycle.variants.samples import VARIANT

BRANCH = "drafts/edge/core/packagevariant-1"
OURS = trailer.line(VARIANT, Recipe("a" * 40, "rule"))


def reader(*commits: str, asker: str = "", sealed: bool = True) -> Any:
    """Reads a branch with these commits, the oldest first; "" is one of somebody's."""
    line = [SimpleNamespace(sha=f"{n}", message=text) for n, text in enumerate(commits)]
    git = SimpleNamespace(merge_base=lambda *_: "base", first_parents=lambda *_: tuple(line))
    return SimpleNamespace(
        git=git,
        made_by_us=lambda sha: bool(commits[int(sha)]),
        render_asker=lambda _: asker,
        is_sealed=lambda _: sealed,
    )


@pytest.mark.parametrize(
    ("there", "branch", "alone"),
    [
        (reader(OURS), BRANCH, True),
        (reader(OURS, "Render"), BRANCH, True),
        (reader(OURS, ""), BRANCH, False),
        (reader("", OURS), BRANCH, False),
        (reader("Render"), BRANCH, False),
        (reader(), BRANCH, False),
        (reader(f"{OURS} {trailer.CONFLICTS}"), BRANCH, False),
        (reader(f"{OURS} {trailer.CLOSED}"), BRANCH, False),
        (reader(trailer.line(VARIANT, Recipe("", REMOVED))), BRANCH, False),
        (reader(OURS, asker="ann"), BRANCH, False),
        (reader(OURS, sealed=False), BRANCH, False),
        (reader(OURS), "drafts/edge/core/mine", False),
        (reader(OURS), "drafts/edge/other/packagevariant-1", False),
    ],
    ids=[
        *("one commit", "with its rendering", "somebody's after it", "somebody's before it"),
        *("of no variant", "nothing", "a conflict", "closed", "a removal", "asked for"),
        *("a line of somebody's", "another name", "another package"),
    ],
)
def test_only_what_the_bot_alone_made_is_made_alone(there: Any, branch: str, alone: bool) -> None:
    """The short-cut goes by the line in the newest commit."""
    found = made_alone(there, Sha("head"), Sha("base"), branch, "edge/core")

    assert isinstance(found, Trail) is alone


@pytest.mark.parametrize(
    ("there", "base", "branch", "alone"),
    [
        (reader(OURS), "base", BRANCH, True),
        (reader(OURS, "Render"), "base", BRANCH, True),
        (reader(f"{OURS} {trailer.CONFLICTS}"), "base", BRANCH, True),
        (reader(OURS, ""), "base", BRANCH, False),
        (reader(OURS, asker="ann"), "base", BRANCH, False),
        (reader(OURS, sealed=False), "base", BRANCH, False),
        (reader(OURS), "base", "drafts/edge/core/mine", False),
        (None, "", BRANCH, False),
    ],
    ids=[
        *("one commit", "with its rendering", "a conflict", "somebody's after it", "asked for"),
        *("a line of somebody's", "another name", "no past in common: git has no answer"),
    ],
)
def test_whether_somebody_has_a_part_in_it(there: Any, base: str, branch: str, alone: bool) -> None:
    """Short-cuts refused: any line that names a variant counts; git is asked about no commit, and
    the look of a branch that somebody pushed without a past fails for good."""
    assert of_variant(there, Sha("head"), Sha(base), branch) is alone
