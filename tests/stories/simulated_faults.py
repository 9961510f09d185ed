"""Faults of a simulated forge as stories order them: of webhooks, and of calls by name.

People's calls are calls of the API. A call of the bot's port stands for the operation of GitHub's
API that its adapter would ask for; how many of them a look makes is for the real world to tell.
"""

from typing import Any

from bot.sandbox.faults.calls import FaultPlan, Faults, LoggedCall, OrderedFailure
from tests.simulation import forge_calls
from tests.simulation.forge import SimulatedForge
from tests.simulation.forge_calls import Fault, ForgeCall


class NotSimulatedError(AssertionError):
    """A story uses what only the real world has: mark it `real_parts`."""


class StageFaults(Faults):
    """Implements `Faults` for a simulated forge, as far as its calls have what a fault needs.

    Args:
        forge: The forge.
    """

    def __init__(self, forge: SimulatedForge) -> None:
        super().__init__(forge.state)
        self._forge = forge

    def befalls(self, call: ForgeCall) -> Fault | None:
        """Return what was ordered for a call of the bot; implements `forge_calls.Faults`."""
        method, _, template = call.operation.partition(" ")
        plan = self.plan(method, template, template, self._forge.us.login)
        for callback in plan.before:
            callback()
        failure = plan.failure or plan.late_failure
        if plan.after or plan.memory is not None:
            raise NotSimulatedError(f"{call.operation}: only `before`, `fail` and `slow`")
        if failure is not None:
            return _fault(failure, plan)
        return forge_calls.slow(plan.delay) if plan.delay else None

    def answered(self, call: ForgeCall, status: int) -> None:
        """Log a call of the bot; implements `forge_calls.Answered`."""
        method, _, template = call.operation.partition(" ")
        self.record(
            LoggedCall(
                caller=self._forge.us.login,
                kind="git" if ".git/" in template else "api",
                method=method,
                template=template,
                path=template,
                status=status,
                began=self._forge.clock.monotonic(),
                seconds=0.0,
            )
        )

    def left(self) -> list[str]:
        """Return the faults that were ordered and never came about."""
        return [rule.call for rule in self._rules if rule.seen < rule.nth]

    def stale(self, seconds: float, call: str = "GET *", caller: str | None = None) -> None:
        """Refuse: answers of the past are for the real world."""
        raise NotSimulatedError("stale answers")

    def freeze(self, call: str = "GET *", caller: str | None = None) -> None:
        """Refuse, as `stale`."""
        raise NotSimulatedError("frozen answers")


def _fault(failure: OrderedFailure, plan: FaultPlan) -> Fault:
    if failure.status < 400:
        raise NotSimulatedError("answers that break the adapter")
    body: Any = failure.body if isinstance(failure.body, dict) else {}
    return Fault(
        status=failure.status,
        message=body.get("message", "Server Error"),
        headers={name.lower(): value for name, value in failure.headers.items()},
        done=plan.failure is None,
        late=plan.delay,
    )
