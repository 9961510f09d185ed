"""Renders and validates what a proposal touches, and compares what its base never published."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from bot.git.port import History
from bot.overtaken import unless_overtaken
from bot.render.port import Renderer
from lifecycle.facts.packages import Touched
from lifecycle.facts.verdicts import Verdict
from lifecycle.policy import BrokenPolicy, Policy


async def verdicts(
    renderer: Renderer,
    git: History,
    touched: Sequence[Touched],
    policy: Policy | BrokenPolicy,
    *,
    head: str = "",
    again: bool = False,
) -> tuple[Verdict, ...]:
    """Render and validate every package that is there, at what would be tagged.

    Args:
        renderer: Renders and validates.
        git: Where the trees are.
        touched: The packages.
        policy: The rules; nothing is rendered under broken ones.
        head: The commit that it is about, whose look a newer push ends; "" for one that stays.
        again: Whatever is kept of earlier renderings is dropped first.

    Raises:
        OvertakenError: A newer commit was pushed meanwhile.
    """
    if again:
        renderer.forget(t.tree for t in touched)
    if all(t.done for t in touched) or isinstance(policy, BrokenPolicy):
        return ()

    async def render() -> tuple[Verdict, ...]:
        asked = (
            renderer.verdict(git, t.package, t.tree, t.origin, policy) for t in touched if t.tree
        )
        return tuple(await asyncio.gather(*asked))

    return await unless_overtaken(render(), head)


async def unpublished_changes(
    renderer: Renderer, git: History, touched: Sequence[Touched]
) -> tuple[Touched, ...]:
    """Add what stands in the base and was never published, by resource and field."""
    found = []
    for t in touched:
        there = t.unpublished
        if there is not None and not there.adopted:
            changes = await renderer.changes(git, there.published, there.base)
            t = replace(t, unpublished=replace(there, changes=changes))
        found.append(t)
    return tuple(found)
