"""Drafts made in the process that asks."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from bot.render.drafts import draft_inputs
from bot.render.port import DraftSides, FetchPackage, TreeFiles
from bot.render.rendering import NotRun
from cadlib.errors import PackageError
from cadlib.limits import PackageLimits
from cadlib.package.files import join
from cadlib.render.calls import CallOutcome, FunctionCall
from cadlib.update.upstream import Fetch
from lifecycle.drafting.make import make
from lifecycle.facts.drafts import DraftRequest
from lifecycle.facts.update import PackageMerge
from lifecycle.messages import making as texts


async def drafted(
    trees: TreeFiles,
    request: DraftRequest,
    sides: DraftSides,
    limits: PackageLimits,
    fetch: FetchPackage,
    call: Callable[[FunctionCall], Awaitable[CallOutcome | NotRun]],
) -> PackageMerge:
    """Make a draft as `Renderer.drafted` has it.

    Args:
        trees: Where the files are.
        request: What is asked for.
        sides: What it is made from.
        limits: For packages.
        fetch: Fetches packages.
        call: Runs functions.
    """
    try:
        steps = make(request, draft_inputs(trees, sides, limits))
    except PackageError as error:
        return PackageMerge(problem=texts.problem(error))
    try:
        need = next(steps)
        while True:
            try:
                came = await (fetch(need) if isinstance(need, Fetch) else call(need))
            except PackageError as error:
                need = steps.throw(error)
                continue
            if isinstance(came, NotRun):
                need = steps.throw(texts.not_run(came.reason))
            else:
                need = steps.send(came)
    except StopIteration as done:
        made: PackageMerge = done.value
    files = {join(request.package, path): entry for path, entry in made.files.items()}
    return replace(made, files=files)
