"""The file behind `--runner-config`: a function runner's configuration, for one command."""

from pathlib import Path

from bot.cli.dropin import CommandFailure
from cadlib.forms import FormError
from fnrunner import settings
from fnrunner.settings import RunnerSettings


def configured(file: str) -> RunnerSettings:
    """Read a configuration file of the runner; fail where it cannot be used."""
    try:
        return settings.read(Path(file).read_bytes(), file)
    except OSError as error:
        raise CommandFailure(f"--runner-config {file}: {error.strerror}") from error
    except FormError as error:
        raise CommandFailure(str(error)) from error
