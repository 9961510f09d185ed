"""The protocol `Runner`, the outcome of a run, and its limits."""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, runtime_checkable

from fnrunner.contract.errors import FunctionTimeoutError, RunnerBusyError
from fnrunner.contract.results import Result

_RETRY_AFTER: Final = 1.0  # seconds
_SPARE: Final = 0.1  # seconds

MIB: Final = 1024 * 1024


@dataclass(slots=True)
class CallContext:
    """The context of a call: its caller, and its progress.

    Attributes:
        caller: Who it is for, as far as anybody says; "" for all of whom nobody does.
        waiting: It waits for its turn; nothing runs for it yet.
        traceparent: The caller's span, as W3C's Trace Context has it; "" for none.
    """

    caller: str = ""
    waiting: bool = False
    traceparent: str = ""


CALL: Final[ContextVar[CallContext]] = ContextVar("CALL")
"""The call that a task works for; see `current_call`."""


def current_call() -> CallContext:
    """Return the call that this task works for; another one each time where nobody has said."""
    return CALL.get(None) or CallContext()


def late(image: str, seconds: float, call: CallContext) -> Exception:
    """Return the error for a call whose time is up.

    Args:
        image: The function, as it was asked for.
        seconds: The time it had.
        call: How far it had come. What never had its turn was not too slow.
    """
    if call.waiting:
        said = f"no slot became free within {seconds:g} seconds"
        return RunnerBusyError(f'function "{image}"', said, _RETRY_AFTER)
    return FunctionTimeoutError(image, seconds)


@dataclass(frozen=True, slots=True)
class FunctionOutcome:
    """The outcome of a function that ran.

    Attributes:
        resources: Its ResourceList (YAML, UTF-8): items and results. When it failed and
            the answer had to be cut to fit, the list has results and no items.
        log: What it wrote for people; "" if nothing.
        failed: It refused: its items must not be used.
        exit_code: Its exit status, 128 and more for a signal; 0 unless it failed, and 1 where
            it failed and nobody knows.
        results: Entries of `results` in order, when it failed; otherwise they are only
            in `resources`, which the caller reads anyway.
        digest: What ran: digest of the image's manifest or of the executable, such as
            "sha256:…"; "builtin:" and a version for a builtin function; "" where nobody says.
    """

    resources: bytes
    log: str = ""
    failed: bool = False
    results: tuple[Result, ...] = ()
    digest: str = ""
    exit_code: int = 0

    def __post_init__(self) -> None:
        if self.failed and not self.exit_code:
            object.__setattr__(self, "exit_code", 1)


class Runner(Protocol):
    """Runs functions; runners wrap one another to add a behaviour."""

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run a function.

        A caller who goes away cancels the task; what runs for it is then stopped.

        Args:
            image: Name as in the Kptfile, such as "set-labels:v0.2" or
                "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2".
            resources: A ResourceList (YAML, UTF-8) with items and functionConfig.
            seconds: How long the caller waits at most; None leaves it to the runner's limits.

        Returns:
            What the function made of it, or that it failed.

        Raises:
            FunctionNotFoundError: This runner does not have the function.
            FunctionRefusedError: Policy forbids it, or it cannot be fenced here.
            FunctionUnavailableError: Its image cannot be had now.
            FunctionStoppedError: It went over a limit (FunctionTimeoutError: of time).
            FunctionFailedError: It failed and left nothing but words.
            MessageTooLargeError: Resources exceed the limit of a message.
            ResourcesRefusedError: `resources` is not a ResourceList.
            RunnerBusyError: It cannot be taken now.
            RunnerBrokenError: The runner has a bug.
        """


class Identified(Runner, Protocol):
    """A runner that knows what a name means without running it."""

    async def identity(self, image: str) -> str:
        """Return what would run now, as in `FunctionOutcome.digest`.

        Raises:
            FunctionNotFoundError: This runner does not have the function.
            FunctionRefusedError: As `run`.
            FunctionUnavailableError: As `run`.
        """


Means = Callable[[str], Awaitable[str]]
"""Says what a name means now, as in `FunctionOutcome.digest`; "" where no answer may be kept."""


@runtime_checkable
class Readying(Identified, Protocol):
    """A runner that may have to bring something before a function can run."""

    async def ready(self, image: str, *, seconds: float | None = None) -> None:
        """Bring it, so that `run` need not wait for it.

        Raises:
            FunctionError: As `run`.
        """


Ready = Callable[[str, float | None], Awaitable[None]]
"""Brings what a function needs, for a caller who waits so many seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLimits:
    """Resource limits of a function that runs in a process of its own.

    Attributes:
        seconds: Longest run, by the clock.
        memory_bytes: Memory of all its processes together, files in `/tmp` included.
        processes: Processes and threads at the same time.
        open_files: Files that one process may have open.
        output_bytes: Longest answer on standard output.
        log_bytes: How much is kept of what it says on standard error.
        temporary_bytes: Size of its `/tmp`.
    """

    seconds: float = 30.0
    memory_bytes: int = 512 * MIB
    processes: int = 64
    open_files: int = 256
    output_bytes: int = 64 * MIB
    log_bytes: int = MIB
    temporary_bytes: int = 64 * MIB


def within(bounds: ResourceLimits, seconds: float | None) -> ResourceLimits:
    """Return bounds for a caller who waits so long.

    Args:
        bounds: What the function may take.
        seconds: How long its caller waits; None if that is not known.

    Returns:
        Bounds with a little less time than that, so that the caller still hears what was taken.
    """
    if seconds is None:
        return bounds
    return replace(bounds, seconds=min(bounds.seconds, max(seconds - _SPARE, 0.9 * seconds)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What an operator lets one function have.

    Attributes:
        bounds: How much it may take.
        network: It may use the network; functions may not, unless they are named.
        pure: The same resources always give the same answer, so that answers may be kept.
        environment: Variables it is given besides those of its image.
    """

    bounds: ResourceLimits = field(default_factory=ResourceLimits)
    network: bool = False
    pure: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)


Grant = Callable[[str, str], Granted]
"""Says what a function is granted, by its name as it was asked for and by what that means now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """Limits on the size and duration of a call.

    Attributes:
        seconds: Longest call, waiting included. Porch's API server gives a request 34 s;
            a little less leaves the caller time to hear the reason.
        message_bytes: Largest ResourceList, each way; Porch's 6 MiB.
        running: Functions that run at the same time.
        waiting: Calls that may wait for their turn; more are told to come back.
    """

    seconds: float = 30.0
    message_bytes: int = 6 * 1024 * 1024
    running: int = 4
    waiting: int = 64
