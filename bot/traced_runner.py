"""A runner whose calls are spans, inside those of whoever called."""

from bot import tracing
from fnrunner.contract.run import FunctionOutcome, Runner, current_call


class TracedRunner:
    """Wraps a runner.

    Args:
        inner: Runs functions.
    """

    def __init__(self, inner: Runner) -> None:
        self._inner = inner

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """See `fnrunner.contract.run.Runner.run`."""
        with tracing.span("function", parent=current_call().traceparent, image=image):
            return await self._inner.run(image, resources, seconds=seconds)
