"""`porchbot fn render`: run the pipelines of a package and of those inside it."""

from pathlib import Path
from typing import IO, Any

import click

from bot.cli import terminal
from bot.cli.disk import folder, parallel
from bot.cli.dropin import CommandFailure, DropIn, at_most
from bot.cli.fn import options, place
from bot.cli.fn.report import RunReport
from bot.cli.fn.runner import CommandFunctionRunner
from cadlib.errors import PackageError
from cadlib.findings import Severity
from cadlib.kptfile.reader import KptfileError
from cadlib.package.files import KPTFILE, Files
from cadlib.render import pipeline as rendering
from cadlib.render import status


class RenderFailure(CommandFailure):
    """Ends the command; kpt writes some of its messages with a capital."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message, if there is one."""
        if self.message:
            click.echo(terminal.lines(self.message), file=file, err=file is None)


@click.command(
    cls=DropIn,
    examples="""
    # Render the package in the current folder.
    $ porchbot fn render

    # Render a package into another folder, and leave it as it is.
    $ porchbot fn render shop --output rendered
    """,
)
@click.argument("args", metavar="[PKG_PATH]", nargs=-1)
@click.option("--allow-exec", is_flag=True, help="Allow commands (`exec`) to be run as functions.")
@click.option(
    "--allow-network", "network", is_flag=True, help="Allow functions to use the network."
)
@click.option(
    "--write-status", is_flag=True, help="Write the result to `status` in the Kptfile, as kpt does."
)
@options.running
def render(
    args: tuple[str, ...],
    allow_exec: bool,
    write_status: bool,
    output: str,
    results_dir: str,
    truncate_output: bool,
    image_prefix: str | None,
    **given: Any,
) -> None:
    """Run the pipelines of the package at PKG_PATH, by default the current folder.

    Subpackages are rendered first. The resources are changed in place. If a function fails, nothing
    is changed, unless the Kptfile has the annotation kpt.dev/save-on-render-failure.
    """
    at_most(args, 1)
    path = place.found(args[0] if args else ".")
    place.check_output(output)
    files = folder.read(path)
    if KPTFILE not in files:
        raise RenderFailure(f'Error: No Kptfile found at "{path}".')
    report = RunReport(path.name, truncate=truncate_output)
    with CommandFunctionRunner(options.wanted(given)) as functions, parallel.bulk() as bulk:
        how = rendering.Options(
            as_kpt=True,
            allow_exec=allow_exec,
            tags=functions.tags,
            prefix=options.prefix(image_prefix),
            folder=str(path),
        )
        steps = rendering.render(files, bulk=bulk, options=how, watch=report.step)
        rendered = functions.drive(steps, report.call)
    _write(path, files, rendered, output, write_status=write_status)
    _sum_up(rendered, report, output)
    place.save_results(results_dir, rendered.steps)
    if rendered.failed:
        raise RenderFailure(_message(rendered, path, files))


def _write(
    path: Path, files: Files, rendered: rendering.Rendered, output: str, *, write_status: bool
) -> None:
    if output:
        if not rendered.failed:
            place.write_output(output, place.changed(files, rendered.changes))
        return
    changes: dict[str, bytes | None] = dict(
        rendered.partial if rendered.failed else rendered.changes
    )
    if write_status:
        old = changes.get(KPTFILE) or files[KPTFILE].data
        new = status.with_status(old, rendered)
        if new != old:
            changes[KPTFILE] = new
    folder.write(path, changes)


def _sum_up(rendered: rendering.Rendered, report: RunReport, output: str) -> None:
    for finding in rendered.findings:
        if finding.severity is Severity.WARNING and not finding.function:
            terminal.say(f"[WARN] {finding}", err=True)
    ran = sum(step.ok for step in rendered.steps)
    if rendered.failed:
        if rendered.partial:
            how = f"Partially executed {ran}" if ran else "Failed to execute any"
            terminal.say(f"{how} function(s) in {rendered.packages} package(s).", err=True)
        return
    report.end()
    if not output:
        text = f"Successfully executed {ran} function(s) in {rendered.packages} package(s)."
        terminal.say(text, err=True)


def _message(rendered: rendering.Rendered, path: Path, files: Files) -> str:
    """Return what ended the rendering; "" where a function said so itself."""
    match rendered.failure.error if rendered.failure else None:
        case KptfileError() as error if error.opening or error.details:
            at = path / rendered.failure.package if rendered.failure else path
            return f"{error.as_kpt(str(at))}\n{error.fix}."
        case PackageError() as error:
            ours = f"{error.problem}\n{error.place}: {error.fix}."
            return f"Error: {place.no_yaml(path, files, error) or ours}"
        case _:
            return ""
