"""Runs the functions of the command line: builtin ones in this process, the rest elsewhere.

Rules
- A builtin function takes and returns values: no YAML is written or read for it.
- Other images run in a sandbox on this machine, commands as programs of the user's.
- Where a function runner is named, it runs every image.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bot.cli import progress
from cadlib.render.calls import CallOutcome, Driven, FunctionCall, T
from cadlib.stream.resourcelist import ResourceList
from fnrunner.builtin import lookup
from fnrunner.builtin.lookup import CatalogFunction
from fnrunner.contract.errors import (
    FunctionError,
    FunctionNotFoundError,
    RunnerBrokenError,
    RunnerBusyError,
)

if TYPE_CHECKING:
    from bot.cli.fn.elsewhere import ImageFunctionRunner
    from bot.cli.fn.options import RunnerOptions


class CommandFunctionRunner:
    """What runs the functions of one command.

    Args:
        wanted: Where, and how, images that are not built in are run.
    """

    def __init__(self, wanted: "RunnerOptions") -> None:
        self._wanted = wanted
        self._elsewhere: ImageFunctionRunner | None = None

    def __enter__(self) -> "CommandFunctionRunner":
        return self

    def __exit__(self, *_: object) -> None:
        if self._elsewhere is not None:
            self._elsewhere.close()

    def drive(self, steps: Driven[T], watch: Callable[[FunctionCall], None]) -> T:
        """Run the functions that a rendering or an evaluation asks for.

        Args:
            steps: It.
            watch: Told of each function before it is run.

        Returns:
            What it comes to.
        """
        try:
            call = next(steps)
            while True:
                watch(call)
                progress.at(f'running "{call.function}" on {len(call.items)} resources')
                call = steps.send(self.run(call))
        except StopIteration as done:
            result: T = done.value
            return result

    def run(self, call: FunctionCall) -> CallOutcome:
        """Run one function. One that cannot be run has an outcome with an error, too."""
        try:
            return self.answer(call)
        except (FunctionError, RunnerBusyError, RunnerBrokenError) as error:
            return CallOutcome(error=str(error))

    def answer(self, call: FunctionCall) -> CallOutcome:
        """Run one function.

        Raises:
            FunctionError: It could not be run.
            RunnerBusyError: Too much is being run.
            RunnerBrokenError: Nothing can be run.
        """
        if call.exec:
            return _command(call)
        function = self._builtin(call.image)
        return self._there().run(call) if function is None else _builtin(function, call)

    def tags(self, image: str) -> tuple[str, ...]:
        """Return the tags of an image; those of a builtin function are known here."""
        function = self._builtin(image)
        return self._there().tags(image) if function is None else function.tags

    def _builtin(self, image: str) -> CatalogFunction | None:
        prefixes = None if self._wanted.address else self._wanted.prefixes
        try:
            return None if prefixes is None else lookup.find(image, prefixes)
        except FunctionNotFoundError:
            return None

    def _there(self) -> "ImageFunctionRunner":
        if self._elsewhere is None:
            # A second to read, and few need it.
            from bot.cli.fn.elsewhere import ImageFunctionRunner

            self._elsewhere = ImageFunctionRunner(self._wanted)
        return self._elsewhere


def _builtin(function: CatalogFunction, call: FunctionCall) -> CallOutcome:
    verdict = function.run(ResourceList(tuple(call.items), call.config))
    return CallOutcome(
        items=verdict.items,
        results=verdict.results,
        error=verdict.log or "it failed" if verdict.failed else "",
        log=verdict.log,
        exit_code=1 if verdict.failed else 0,
    )


def _command(call: FunctionCall) -> CallOutcome:
    from bot.cli.fn import command  # needed only where there is one

    try:
        ended = command.run(call.exec, call.resources)
    except command.CommandError as error:
        return CallOutcome(error=str(error))
    failed = ended.status != 0
    return CallOutcome(
        resources=ended.output,
        error=f"exit status {ended.status}" if failed else "",
        log=ended.log,
        exit_code=ended.status,
    )
