"""Runs the functions of the command line: builtin ones in this process, commands as programs.

Rules
- A builtin function takes and returns values: no YAML is written or read for it.
"""

from collections.abc import Callable

from bot.cli import progress
from cadlib.calls import Call, Driven, Outcome, T
from cadlib.resourcelist import ResourceList
from fnrunner import builtin
from fnrunner.errors import FunctionNotFoundError


def drive(steps: Driven[T], watch: Callable[[Call], None]) -> T:
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
            call = steps.send(run(call))
    except StopIteration as done:
        result: T = done.value
        return result


def run(call: Call) -> Outcome:
    """Run one function. One that cannot be run has an outcome with an error, too."""
    return _command(call) if call.exec else _builtin(call)


def tags(image: str) -> tuple[str, ...]:
    """Return the tags of an image that there are here."""
    try:
        return builtin.find(image).tags
    except FunctionNotFoundError:
        return ()


def _builtin(call: Call) -> Outcome:
    try:
        function = builtin.find(call.image)
    except FunctionNotFoundError:
        return Outcome(error=str(FunctionNotFoundError(call.image, builtin.names())))
    verdict = function.run(ResourceList(tuple(call.items), call.config))
    return Outcome(
        items=verdict.items,
        results=verdict.results,
        error=verdict.log or "it failed" if verdict.failed else "",
        log=verdict.log,
        exit_code=1 if verdict.failed else 0,
    )


def _command(call: Call) -> Outcome:
    from bot.cli.fn import command  # needed only where there is one

    try:
        ended = command.run(call.exec, call.resources)
    except command.CommandError as error:
        return Outcome(error=str(error))
    failed = ended.status != 0
    return Outcome(
        resources=ended.output,
        error=f"exit status {ended.status}" if failed else "",
        log=ended.log,
        exit_code=ended.status,
    )
