"""Command line options shared by `fn render` and `fn eval`."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import click

from bot.cli.dropin import CommandFailure
from cadlib.images import CATALOG, is_prefix
from fnrunner.builtin.lookup import PREFIXES

F = TypeVar("F", bound=Callable[..., Any])

POLICIES = ("Always", "IfNotPresent", "Never")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerOptions:
    """How functions that are not built in are run.

    Attributes:
        address: The function runner that runs every image, builtin ones too; "" for none.
        ca: File of the authorities that sign its certificate; "" speaks without TLS, unless
            there is a `certificate`.
        certificate: File of the certificate to show it; "" for none.
        key: File of its private key.
        config: File of the configuration of a runner in this process; "" for none.
        pull: One of `POLICIES`.
        network: Functions may use the network.
        environment: Variables they are given.
    """

    address: str = ""
    ca: str = ""
    certificate: str = ""
    key: str = ""
    config: str = ""
    pull: str = "IfNotPresent"
    network: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def prefixes(self) -> tuple[str, ...] | None:
        """Registries and folders whose functions the builtin ones stand for; None for none."""
        if not self.config:
            return PREFIXES
        from bot.cli.fn.configured import configured  # few have a file, which takes long to read

        form = configured(self.config).form
        return tuple(form.prefixes) if "builtin" in form.runtimes else None


def wanted(given: Mapping[str, Any]) -> RunnerOptions:
    """Return what a command's options say; fail where they do not go together."""
    if given.get("mount"):
        raise CommandFailure(
            "--mount is not offered: functions see no files of this machine."
            " Give them what they need as resources or configuration"
        )
    pairs = dict(_variable(each) for each in given.get("env") or ())
    if given["runner"] and (pairs or given.get("network")):
        raise CommandFailure(
            "--network and --env cannot be used with --runner: its operator says what functions get"
        )
    if bool(given["runner_cert"]) != bool(given["runner_key"]):
        raise CommandFailure("--runner-cert and --runner-key belong together: give both, or none")
    return RunnerOptions(
        address=given["runner"],
        ca=given["runner_ca"],
        certificate=given["runner_cert"],
        key=given["runner_key"],
        config=given["runner_config"],
        pull=given["image_pull_policy"],
        network=bool(given.get("network")),
        environment=pairs,
    )


def _variable(text: str) -> tuple[str, str]:
    """Return a variable and its value; the one here, where only a name is given."""
    name, equals, value = text.partition("=")
    if not name:
        raise CommandFailure(f"--env {text!r}: give NAME=VALUE, or a NAME to pass on")
    return name, value if equals else os.environ.get(name, "")


def running(command: F) -> F:
    """Add the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def images(command: F) -> F:
    """Add those of the options that say how images are run."""
    for option in reversed(_IMAGES):
        command = option(command)
    return command


def prefix(given: str | None) -> str:
    """Return where images with a short name come from; fail if that can be no such place."""
    found = os.environ.get("KPT_IMAGE_PREFIX", CATALOG) if given is None else given
    if not is_prefix(found):
        raise CommandFailure(
            f'invalid image prefix "{found}": give a registry and a path, as in {CATALOG}'
        )
    return found


_IMAGES: list[Callable[[Any], Any]] = [
    click.option(
        "--image-pull-policy",
        type=click.Choice(POLICIES, case_sensitive=False),
        default="IfNotPresent",
        help=(
            "When to look up a tag in the registry: every time, only the first time, or never. "
            "Default: IfNotPresent. Built-in functions need no image."
        ),
    ),
    click.option(
        "--runner",
        default="",
        envvar="PORCHBOT_RUNNER",
        metavar="ADDRESS",
        help="Run images on this function runner: host:port, or unix:/path."
        " Default: $PORCHBOT_RUNNER, or none.",
    ),
    *(
        click.option(
            f"--runner-{what}",
            default="",
            envvar=f"PORCHBOT_RUNNER_{what.upper()}",
            metavar="FILE",
            help=f"{does} Default: $PORCHBOT_RUNNER_{what.upper()}, or none.",
        )
        for what, does in (
            ("ca", "PEM file of the authorities that sign the runner's certificate, for TLS."),
            ("cert", "PEM file of the client certificate for the runner."),
            ("key", "PEM file of its private key."),
        )
    ),
    click.option(
        "--runner-config",
        default="",
        envvar="PORCHBOT_RUNNER_CONFIG",
        metavar="FILE",
        help="Configuration for images that run on this machine: limits, registries, executables."
        " Default: $PORCHBOT_RUNNER_CONFIG, or none.",
    ),
]
_OPTIONS: list[Callable[[Any], Any]] = [
    click.option(
        "-o",
        "--output",
        default="",
        metavar="stdout|unwrap|DIR",
        help=(
            "Write the resources to standard output, as a ResourceList or as documents, or to "
            "a new folder, instead of changing them in place."
        ),
    ),
    click.option(
        "--results-dir",
        default="",
        metavar="DIR",
        help="Write what functions report to results.yaml in this folder.",
    ),
    click.option(
        "--truncate-output/--no-truncate-output",
        default=True,
        help="Show at most four lines of a function's messages. Default: yes.",
    ),
    click.option(
        "--image-prefix",
        default=None,
        metavar="PREFIX",
        help="Prefix for images with a short name. Default: $KPT_IMAGE_PREFIX, or the catalog.",
    ),
    *_IMAGES,
]
