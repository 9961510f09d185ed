"""What it means to run a function: the protocol, its outcome, and the limits."""

from dataclasses import dataclass
from typing import Protocol

from fnrunner.results import Result


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a function that ran left behind.

    Attributes:
        resources: Its ResourceList (YAML, UTF-8): items and results. When it failed and
            the answer had to be cut to fit, the list has results and no items.
        log: What it wrote for people; "" if nothing.
        failed: It refused (exit status other than 0): its items must not be used.
        results: Entries of `results` in order, when it failed; otherwise they are only
            in `resources`, which the caller reads anyway.
    """

    resources: bytes
    log: str = ""
    failed: bool = False
    results: tuple[Result, ...] = ()


class Runner(Protocol):
    """Runs functions; runners wrap one another to add a behaviour."""

    async def run(self, image: str, resources: bytes) -> Outcome:
        """Run a function.

        Args:
            image: Name as in the Kptfile, such as "set-labels:v0.2" or
                "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2".
            resources: A ResourceList (YAML, UTF-8) with items and functionConfig.

        Returns:
            What the function made of it, or that it failed.

        Raises:
            FunctionNotFoundError: This runner does not have the function.
            FunctionTimeoutError: It did not finish in time.
            FunctionFailedError: It failed and left nothing but words.
            MessageTooLargeError: Resources exceed the limit of a message.
            ResourcesRefusedError: `resources` is not a ResourceList.
            RunnerBusyError: It cannot be taken now.
            RunnerBrokenError: The runner has a bug.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a call may take.

    Attributes:
        seconds: Longest run of one function. Porch's API server gives a request 34 s;
            a little less leaves the caller time to hear the reason.
        message_bytes: Largest ResourceList, each way; Porch's 6 MiB.
        running: Functions that run at the same time.
        waiting: Calls that may wait for their turn; more are told to come back.
    """

    seconds: float = 30.0
    message_bytes: int = 6 * 1024 * 1024
    running: int = 4
    waiting: int = 64
