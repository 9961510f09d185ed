"""Runs the functions that a rendering calls, on a function runner."""

from bot import metrics
from bot.render import verdicts
from bot.render.rendering import NotRun
from cadlib.render.calls import CallOutcome
from fnrunner.contract.errors import (
    FunctionError,
    FunctionRefusedError,
    FunctionUnavailableError,
    RunnerBrokenError,
    RunnerBusyError,
)
from fnrunner.contract.run import Runner
from lifecycle.messages.checks import ask_operator


async def called(runner: Runner, image: str, resources: bytes) -> CallOutcome | NotRun:
    """Run a function; what is wrong with it is an outcome as well.

    Args:
        runner: Runs it.
        image: Its full name.
        resources: The ResourceList to send.
    """
    try:
        with metrics.STEP_SECONDS.labels("function").time():
            ran = await runner.run(image, resources)
    except FunctionError as error:
        if isinstance(error, FunctionUnavailableError) and error.passing:
            return NotRun(str(error))
        return _refused(error)
    except (RunnerBusyError, RunnerBrokenError) as error:
        return NotRun(str(error))
    return CallOutcome(
        resources=ran.resources,
        results=ran.results,
        error=(ran.log or verdicts.REFUSED) if ran.failed else "",
        log=ran.log,
        digest=ran.digest,
    )


def _refused(error: FunctionError) -> CallOutcome:
    """Why a function cannot be run, and what its author can do about that."""
    if isinstance(error, FunctionRefusedError):
        return CallOutcome(error=error.reason, fix=ask_operator(error.fix))
    if isinstance(error, FunctionUnavailableError):
        return CallOutcome(error=error.reason, fix=error.fix)
    return CallOutcome(error=str(error))
