"""A process tells that it lives, for people who ask which do; nothing is decided by it."""

import socket
from contextlib import suppress
from importlib.metadata import version

from bot.clock import SYSTEM, Clock
from bot.store.port import Replicas
from bot.store.values import StoreError
from bot.tasks import to_the_end

EVERY = 10.0
"""Seconds between two words."""


async def beat(replicas: Replicas, name: str, parts: str, *, clock: Clock = SYSTEM) -> None:
    """Tell that this process lives, until cancelled; then that it ends.

    Args:
        replicas: Whom to tell.
        name: As its leases have it.
        parts: What it does.
        clock: How long to wait between two words.
    """
    host, running = socket.gethostname(), version("porchbot")
    try:
        while True:
            with suppress(StoreError):  # whoever waits for the database says so already
                await replicas.beat(name, host, parts, running)
            await clock.sleep(EVERY)
    finally:
        with suppress(StoreError):
            await to_the_end(replicas.gone(name))
