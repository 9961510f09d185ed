"""The service with the builtin functions, as tests call it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from fnrunner import choose
from fnrunner.contract.run import CallLimits, Runner
from fnrunner.settings import read
from fnrunner.wire.server import listening


@asynccontextmanager
async def serving(
    address: str, limits: CallLimits, runner: Runner | None = None, more: str = ""
) -> AsyncIterator[str]:
    """Serve a runner, the builtin functions where none is given; gives its address.

    Args:
        address: Where.
        limits: Of calls.
        runner: What answers.
        more: Lines of configuration for the builtin ones.
    """
    if runner is not None:
        async with listening(address, runner, limits) as bound:
            yield bound
        return
    settings = read(f"version: 1\nruntimes: [builtin]\n{more}".encode(), "runner.yaml")
    async with (
        choose.runners(replace(settings, limits=limits)) as functions,
        listening(address, functions, limits, means=choose.means(functions, settings)) as bound,
    ):
        yield bound
