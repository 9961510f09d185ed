"""Runs the function runner as a server until it is told to stop."""

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from fnrunner import choose
from fnrunner.contract.run import Runner
from fnrunner.settings import RunnerSettings
from fnrunner.wire import metrics
from fnrunner.wire.lists import KEPT_BYTES
from fnrunner.wire.server import GRACE, listening
from fnrunner.wire.tls import ServerTls

_log = logging.getLogger(__name__)


async def serve(
    address: str,
    settings: RunnerSettings | None = None,
    *,
    tls: ServerTls | None = None,
    metrics_address: str = "",
    grace: float = GRACE,
    wrap: Callable[[Runner], Runner] = lambda runner: runner,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or cancellation; then let running calls end.

    Args:
        address: "unix:/PATH", "HOST:PORT" or "[IPv6]:PORT"; port 0 takes a free one.
        settings: What runs functions, and what each may take; None has the defaults.
        tls: Certificates; None serves in plain.
        metrics_address: "HOST:PORT" where metrics are served over HTTP; "" serves none.
        grace: How long running calls may go on after it is told to stop, in seconds.
        wrap: Adds a behaviour to the runner, such as traces.
        ready: Called once calls are taken, with the address as a client needs it.

    Raises:
        RunnerAddressError: An address cannot be listened on.
        CertificateError: A certificate cannot be used.
        OSError: The folder of answers cannot be used.
    """
    stop = asyncio.Event()
    how = settings or RunnerSettings()
    with _signals(stop), ExitStack() as stack:
        if metrics_address:
            shown = stack.enter_context(metrics.served(metrics_address))
            _log.info("metrics on http://%s/metrics", shown)
        async with (
            choose.runners(how) as answers,
            listening(
                address,
                wrap(answers),
                how.limits,
                tls=tls,
                grace=grace,
                means=choose.means(answers, how),
                lists_bytes=KEPT_BYTES,
            ) as bound,
        ):
            _log.info("function runner listens on %s", bound)
            if ready is not None:
                ready(bound)
            await stop.wait()


@contextmanager
def _signals(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` on SIGTERM and SIGINT inside the block, where signals can be had."""
    loop = asyncio.get_running_loop()
    taken = []
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(RuntimeError, ValueError, NotImplementedError):  # not the main thread
            loop.add_signal_handler(number, stop.set)
            taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)
