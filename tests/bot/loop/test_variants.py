"""What looks at variants do where a forge, a repository or a rule is not as it should be."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot import keys
from bot.forges.port import ForgeBusyError
from bot.git.port import ObjectTooLargeError
from bot.look import variant_rules
from bot.loop import variant_look, variant_telling
from bot.loop.variant_look import MOST_PROBED
from bot.loop.variant_waits import VariantTelling
from bot.store.hints import NOTHING, Hint
from cadlib.errors import PackageError, Place
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from lifecycle.policy import ObjectFolder, VariantUse
from lifecycle.variants import trailer
from lifecycle.variants.facts import Recipe, VariantFacts
from lifecycle.variants.trailer import Trail
from lifecycle.variants.values import Downstream, Variant, VariantSpec, VariantUpstream

HERE = RepositoryId("github", 7)


class _Queue:
    def __init__(self) -> None:
        self.woken: list[keys.Key] = []

    async def wake(self, key: keys.Key, hint: Hint) -> None:
        assert hint != NOTHING, "what is told has all packages looked at"
        self.woken.append(key)


async def test_rules_that_cannot_be_read_now_do_not_fail_who_tells_of_them() -> None:
    """Short-cut refused: a sweep, and what is published, fail while defaults are out of reach."""

    async def fetched(_: object) -> None:
        raise ForgeBusyError("read the defaults", "it is down")

    queue: Any = _Queue()
    served: Any = SimpleNamespace(
        id=HERE,
        looker=SimpleNamespace(extended=SimpleNamespace(fetched=fetched)),
        repository=SimpleNamespace(full_name="acme/live"),
    )

    await variant_telling.tell(queue, served)

    assert queue.woken == [keys.VariantsKey(HERE)]


@pytest.mark.parametrize("there", [0, 1, 2, 3, 49, 50, 51, 120])
@pytest.mark.parametrize("known", [0, 1, 30])
async def test_the_last_draft_is_found_however_many_there_were(there: int, known: int) -> None:
    """Short-cut refused: fifty are asked for, and what a person closed then is opened again."""
    asked: list[int] = []

    async def newest(number: int) -> Any:
        asked.append(number)
        return number if number <= there else None

    assert await variant_look.last_number(known, newest) == max(there, known)
    assert len(asked) <= 16


@pytest.mark.parametrize("count", [0, 3, 50, 51, 400])
async def test_branches_without_a_pull_request_cost_a_bounded_number_of_requests(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Short-cuts refused: each branch that somebody pushed is asked for at each look; the first
    by name are, and the newest draft is forgotten; they are left out without a word.
    """
    folder, tip, said = "drafts/a/b/packagevariant-", Sha("a" * 40), Trail()
    trails = {f"{folder}{n + 1}": (tip, said) for n in range(count)}
    monkeypatch.setattr(variant_look, "_trails", lambda *_: trails)
    asked = list[str]()

    async def proposals_of(branch: str) -> list[Any]:
        asked.append(branch)
        return []

    async def offload(call: Any, *arguments: Any) -> Any:
        return call(*arguments)

    spec = VariantSpec(upstream=VariantUpstream("base", "a"), downstream=Downstream("here", "a/b"))
    variant = Variant(name="edge", spec=spec)
    served: Any = SimpleNamespace(offload=offload, forge=SimpleNamespace(proposals_of=proposals_of))
    nothing: Any = None
    going = variant_look.VariantPass(
        served=served,
        tip=tip,
        policy=nothing,
        upstreams=nothing,
        pulls={},
        downstreams=nothing,
        records=nothing,
    )
    await variant_look.VariantLook(going)._drafts(variant, tip)

    kept = range(max(1, count - MOST_PROBED + 1), count + 1)
    assert asked == [f"{folder}{n}" for n in kept]
    telling = VariantTelling()
    wanted = variant_look.WantedDownstream(variant=variant, file="", branch="", book=None)
    telling.crowded(wanted, going.crowded["a/b"])
    told = [f"Not looked at: {count - MOST_PROBED} older draft"] if count > MOST_PROBED else []
    assert [each.why.partition(" without")[0].removesuffix("s") for each in telling.waits] == told
    telling.crowded(wanted, going.crowded["a/b"])
    assert len(telling.waits) == len(told)  # one reason for each package


async def test_that_a_branch_is_new_counts_once() -> None:
    """Short-cut refused: what a person closed in the minutes since is opened again."""
    branch, asked = "drafts/a/b/packagevariant-1", list[str]()

    async def proposals_of(branch: str) -> list[Any]:
        asked.append(branch)
        return []

    spec = VariantSpec(upstream=VariantUpstream("base", "a"), downstream=Downstream("here", "a/b"))
    nothing: Any = None
    served: Any = SimpleNamespace(forge=SimpleNamespace(proposals_of=proposals_of))
    going = variant_look.VariantPass(
        served=served,
        tip=Sha("a" * 40),
        policy=nothing,
        upstreams=nothing,
        pulls={},
        downstreams=nothing,
        records=nothing,
        new={branch},
    )
    facts = VariantFacts(variant=Variant(name="edge", spec=spec))
    for known in ([], [branch]):
        await variant_look.VariantLook(going).with_closed(facts)
        assert asked == known


def test_what_a_draft_was_made_of_is_read_back_whatever_its_parts_are() -> None:
    """Short-cut refused: a blank in a name moves all parts, and each look makes the draft anew."""
    spec = VariantSpec(upstream=VariantUpstream("base", "a"), downstream=Downstream("b", "c"))
    for name, upstream in (("edge", "a" * 40), ("set-my repo-a/b", "x\nPorchbot-Variant: y")):
        made = Recipe(upstream, "rule", "", "", number=7)
        line = trailer.line(Variant(name=name, spec=spec), made, ["proposed"])

        found = trailer.read(f"Title\n\n{line}")

        assert found is not None
        assert (found.owner, found.recipe) == (name, made)
        assert found.recipe is not None
        assert found.recipe.number == 7
        assert found.words == {"proposed"}


@pytest.mark.parametrize(
    "error", [PackageError(Place(), "too many files", "Remove some"), ObjectTooLargeError("large")]
)
def test_a_folder_that_cannot_be_read_is_a_problem_of_its_own(error: Exception) -> None:
    """Short-cut refused: the look at a proposal fails, and that of whoever lists this one."""

    def files(*_: object) -> None:
        raise error

    git: Any = SimpleNamespace(tree=lambda *_: "t", files=files)
    use = VariantUse(files=("variants/*.yaml",), objects=(ObjectFolder("teams"),))

    found = variant_rules.findings(git, Sha("a" * 40), use, ["variants/a.yaml"])

    assert [each.place.path for each in found] == ["variants", "teams"]
