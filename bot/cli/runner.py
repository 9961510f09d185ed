"""`porchbot runner`: the function runner as a server of its own."""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.cli.dropin import StrictCommand
from bot.cli.lazy import importing
from fnrunner.contract.run import CallLimits

if TYPE_CHECKING:
    from fnrunner.settings import RunnerSettings
    from fnrunner.wire.tls import ServerTls

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    cls=StrictCommand,
    examples="""
    # Run functions for Porch on this machine.
    $ porchbot runner

    # Run images of one registry, over TLS.
    $ porchbot runner --tls-cert tls.crt --tls-key tls.key --allow 'registry.example/functions/*'
    """,
)
@click.option(
    "--listen",
    default="127.0.0.1:9445",
    show_default=True,
    envvar="PORCHBOT_RUNNER_LISTEN",
    show_envvar=True,
    metavar="ADDRESS",
    help="host:port, [::1]:port, or unix:/path of a socket, which only its owner may use.",
)
@click.option("--tls-cert", type=_FILE, help="PEM file with the certificate; serves with TLS.")
@click.option("--tls-key", type=_FILE, help="PEM file with its private key, not encrypted.")
@click.option(
    "--tls-client-ca",
    type=_FILE,
    help="PEM file of certificate authorities; callers must then present a certificate that one of"
    " them signed.",
)
@click.option(
    "--metrics",
    default="",
    metavar="ADDRESS",
    help="host:port to serve Prometheus metrics on, over HTTP. Default: no metrics.",
)
@click.option(
    "--config",
    "file",
    type=_FILE,
    help="YAML file that says which functions may run, and their limits: docs/runner.md.",
)
@click.option(
    "--allow",
    multiple=True,
    metavar="PATTERN",
    help="Images that may run, instead of those in the file: names with * as a wildcard, or"
    " digests.",
)
@click.option(
    "--max-message",
    type=click.IntRange(min=1),
    metavar="BYTES",
    help="Largest resource list that a call may send or receive, instead of the file's limit."
    f" Default: {CallLimits().message_bytes}.",
)
@click.option(
    "--until-stdin-closes",
    is_flag=True,
    help="Exit when standard input closes, so that it does not outlive the process that started"
    " it.",
)
def runner(
    *,
    listen: str,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    metrics: str,
    file: Path | None,
    allow: tuple[str, ...],
    max_message: int | None,
    until_stdin_closes: bool,
) -> None:
    """Run the function runner: Porch's gRPC service.

    Built-in functions run in worker processes; configured executables and all other images run in
    a sandbox without network access.

    Certificates are reloaded when their files change. On SIGTERM or SIGINT, the health service
    reports it, new calls are refused, and running calls have 5 seconds to finish.
    """
    form = _form(file)  # read before anything is imported: what is not there is told at once
    with importing():
        from bot import tracing
        from bot.traced_runner import TracedRunner
        from fnrunner.contract.errors import CertificateError, RunnerAddressError
        from fnrunner.serve import serve  # takes longer to import than --help to print

    serving = serve(
        listen,
        _settings(form, str(file or ""), allow, max_message),
        tls=_tls(tls_cert, tls_key, tls_client_ca),
        metrics_address=metrics,
        wrap=TracedRunner,
        ready=None if until_stdin_closes else _say,
    )
    try:
        with tracing.configured(os.environ, service="porchbot-runner"):
            asyncio.run(_until_told(serving, until_stdin_closes=until_stdin_closes))
    except (RunnerAddressError, CertificateError, tracing.TracingError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _form(file: Path | None) -> bytes:
    try:
        return file.read_bytes() if file else b""
    except OSError as error:
        raise click.ClickException(f"--config {file}: {error.strerror}") from error


def _settings(
    form: bytes, name: str, allow: tuple[str, ...], max_message: int | None
) -> "RunnerSettings":
    from cadlib.forms import FormError
    from fnrunner import settings

    try:
        return settings.read(form, name).overridden(allow=allow, message_bytes=max_message)
    except FormError as error:
        raise click.ClickException(str(error)) from error


def _tls(certificate: Path | None, key: Path | None, client_ca: Path | None) -> "ServerTls | None":
    if certificate is not None and key is not None:
        from fnrunner.wire.tls import ServerTls

        return ServerTls(certificate=certificate, key=key, client_ca=client_ca)
    if certificate is not None or key is not None:
        raise click.UsageError("--tls-cert and --tls-key go together. Give both or neither.")
    if client_ca is not None:
        raise click.UsageError(
            "--tls-client-ca asks callers for certificates, which needs TLS."
            " Give --tls-cert and --tls-key as well."
        )
    return None


def _say(address: str) -> None:
    click.echo(f"The function runner listens on {address}.", err=True)


async def _until_told(serving: Any, *, until_stdin_closes: bool) -> None:
    task = asyncio.ensure_future(serving)
    if until_stdin_closes:
        # A read that ends means that whoever holds the other end is gone, however it went.
        asyncio.get_running_loop().add_reader(
            sys.stdin.fileno(), lambda: os.read(sys.stdin.fileno(), 4096) or task.cancel()
        )
    with suppress(asyncio.CancelledError):
        await task
