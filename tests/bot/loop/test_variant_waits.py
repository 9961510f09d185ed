"""What a look at variants leaves to be told."""

from dataclasses import replace

from bot.loop.variant_look import WantedDownstream
from bot.loop.variant_waits import VariantTelling
from lifecycle.variants.values import Downstream
from tests.lifecycle.variants.samples import VARIANT


def _wanted(package: str) -> WantedDownstream:
    spec = replace(VARIANT.spec, downstream=Downstream("live", package))
    return WantedDownstream(variant=replace(VARIANT, spec=spec), file="", branch="", book=None)


def test_how_many_are_still_to_be_opened() -> None:
    """Short-cuts refused: those with a draft count as well; nothing left is told as nought."""
    telling, left = VariantTelling(), [_wanted(each) for each in ("a", "b/c", "d")]

    telling.later(left, ["drafts/b/c/packagevariant-2", "drafts/e/packagevariant-1"])
    telling.later(left[1:2], ["drafts/b/c/packagevariant-2"])

    (wait,) = telling.waits
    assert wait.why.startswith("2 packages of variants still have no pull request.")


def test_what_nobody_wants_any_more_has_nothing_to_tell() -> None:
    """The short-cut shows for ever why a package cannot be removed whose rule is gone."""
    telling = VariantTelling()

    telling.failed(_wanted("a"), "broken")

    assert (telling.waits, telling.looked) == ([], {"a"})
