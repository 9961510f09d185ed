"""Runs function images: in a sandbox on this machine, or on a remote function runner.

Read only where a command needs it: gRPC and what fetches images take long to import.
"""

import asyncio
import math
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Final

from bot.cli.dropin import CommandFailure
from bot.cli.fn.configured import configured
from bot.cli.fn.options import RunnerOptions
from cadlib.errors import PackageError, Place
from cadlib.render.calls import CallOutcome, FunctionCall
from fnrunner import choose, settings
from fnrunner.contract.errors import CertificateError, FunctionError
from fnrunner.contract.run import MIB, CallLimits, Granted, ResourceLimits, Runner
from fnrunner.images.folders import ImageStoreError
from fnrunner.settings import RunnerSettings
from fnrunner.wire.client import Client
from fnrunner.wire.tls import ClientTls

LIMITS: Final = CallLimits(seconds=300.0, message_bytes=256 * MIB, running=1, waiting=0)
"""Of one call, where no configuration says otherwise: kpt's time, and four times the largest
package that is read."""


class ImageFunctionRunner:
    """Runs functions in an event loop of its own, which begins when it is made."""

    def __init__(self, wanted: RunnerOptions) -> None:
        self._wanted = wanted
        self._settings = None if wanted.address else _settings(wanted)
        self._loop = asyncio.Runner()
        self._stack = AsyncExitStack()
        try:
            self._runner: Runner = self._loop.run(self._begin())
        except BaseException as error:
            self._loop.close()
            if isinstance(error, CertificateError):
                raise CommandFailure(str(error)) from error
            raise

    async def _begin(self) -> Runner:
        if self._settings is None:
            wanted = self._wanted
            client = Client(
                wanted.address, LIMITS, tls=ClientTls.of(wanted.ca, wanted.certificate, wanted.key)
            )
            return await self._stack.enter_async_context(client)
        return await self._stack.enter_async_context(choose.runners(self._settings))

    def close(self) -> None:
        """Stop what runs, and end the loop."""
        self._loop.run(self._stack.aclose())
        self._loop.close()

    def run(self, call: FunctionCall) -> CallOutcome:
        """Run one function.

        Raises:
            FunctionError: It could not be run.
            RunnerBusyError: Too much is being run.
            RunnerBrokenError: Nothing can be run.
        """
        ran = self._loop.run(self._runner.run(call.image, call.resources))
        return CallOutcome(
            resources=ran.resources,
            results=ran.results,
            error=f"exit status {ran.exit_code}" if ran.failed else "",
            log=ran.log,
            exit_code=ran.exit_code,
            digest=ran.digest,
        )

    def tags(self, image: str) -> tuple[str, ...]:
        """Return the tags that an image's registry lists; none where a function runner runs it.

        Raises:
            PackageError: The registry does not tell, or images cannot be kept here.
        """
        if self._settings is None:
            return ()
        try:
            found = choose.images(self._settings)
        except ImageStoreError as error:
            raise PackageError(Place(), error.problem, error.fix) from error
        try:
            return self._loop.run(found.tags(image))
        except FunctionError as error:
            raise PackageError(Place(), str(error).rstrip("."), "Write one tag") from error
        finally:
            found.close()


def _settings(wanted: RunnerOptions) -> RunnerSettings:
    if wanted.config:
        found = configured(wanted.config)
        usual = found.policy.usual
    else:
        found = _FOR_ONE
        usual = Granted(
            bounds=ResourceLimits(
                seconds=LIMITS.seconds, memory_bytes=2048 * MIB, output_bytes=256 * MIB
            )
        )
    usual = replace(
        usual,
        network=wanted.network or usual.network,
        environment={**usual.environment, **wanted.environment},
    )
    images = found.form.images.model_copy(update=_PULLING[wanted.pull])
    form = found.form.model_copy(update={"images": images})
    return replace(found, form=form, policy=replace(found.policy, usual=usual))


# Builtin functions have been looked for; answers are not kept, for whoever types a command wants
# to see it run; and registries of one's own network are one's own.
_FOR_ONE: Final = replace(
    settings.read(
        b"{version: 1, runtimes: [executable, image],"
        b" cache: {enabled: false}, images: {private: true}}",
        "",
    ),
    limits=LIMITS,
)
_PULLING: Final[dict[str, dict[str, object]]] = {
    "Always": {"resolve": 0.001},
    "IfNotPresent": {"resolve": math.inf},
    "Never": {"offline": True, "resolve": math.inf},
}
