"""Renders and validates what a proposal touches, and compares what its base never published."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final

from bot.clock import Clock
from bot.git.port import History
from bot.overtaken import unless_overtaken
from bot.render.port import Renderer
from bot.tasks import end
from lifecycle.facts.packages import Touched
from lifecycle.facts.verdicts import Verdict
from lifecycle.policy import BrokenPolicy, Policy

SOON: Final = 1.5
"""Seconds after which a look goes on without the rendering, so that people see that it began: the
checks are to show within five seconds of the push."""

Verdicts = tuple[Verdict, ...]


class Begun:
    """Renderings that a look did not wait for.

    They go on, so that the next look finds them done or waits for the same.

    Args:
        clock: How long a look waits.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[Verdicts]] = set()

    def __bool__(self) -> bool:
        return bool(self._tasks)

    async def wait(self, rendering: Coroutine[Any, Any, Verdicts]) -> Verdicts | None:
        """Return what a rendering comes to; None where that takes longer."""
        task = asyncio.create_task(rendering)
        pause = asyncio.create_task(self._clock.sleep(SOON))
        try:
            await asyncio.wait({task, pause}, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            await end([task])
            raise
        finally:
            await end([pause])
        if task.done():
            return task.result()
        self._tasks.add(task)
        return None

    async def end(self) -> None:
        """Wait for none of them any more."""
        tasks, self._tasks = self._tasks, set()
        await end(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()  # the look that waits for the same is told


async def verdicts(
    renderer: Renderer,
    git: History,
    touched: Sequence[Touched],
    policy: Policy | BrokenPolicy,
    *,
    head: str = "",
    again: bool = False,
) -> Verdicts:
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
    if isinstance(policy, BrokenPolicy):
        return ()
    if all(t.done for t in touched):  # judged then; what changed is still told
        return await _changed(renderer, git, touched)

    async def render() -> Verdicts:
        asked = (
            renderer.verdict(git, t.package, t.tree, t.origin, policy) for t in touched if t.tree
        )
        return tuple(await asyncio.gather(*asked))

    return await unless_overtaken(render(), head)


async def soon(
    render: Callable[[], Coroutine[Any, Any, Verdicts]], begun: Begun | None
) -> Verdicts | None:
    """Return what a rendering comes to; None where that takes longer, and `begun` goes on with it.

    Args:
        render: Calls `verdicts`. A look that is cancelled before it comes to this calls nothing.
        begun: None to wait to the end.
    """
    return await render() if begun is None else await begun.wait(render())


async def _changed(
    renderer: Renderer, git: History, touched: Sequence[Touched]
) -> tuple[Verdict, ...]:
    there = [t for t in touched if t.tree]
    changes = await asyncio.gather(*(renderer.changes(git, t.origin, t.tree) for t in there))
    return tuple(Verdict(package=t.package, diff=c) for t, c in zip(there, changes, strict=True))


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
