"""The command `porchbot`: its groups, read when one is run, and the commands that start servers."""

import sys
from pathlib import Path

import click

from bot.cli.dropin import DropInGroup, StrictCommand
from bot.cli.lazy import importing
from bot.variables import help_text

_COMMANDS = {
    "audit": ("bot.cli.audit:audit", "Print what the bot did, who asked for it, and why."),
    "check": ("bot.cli.check:check", "Check a git working tree as the bot would."),
    "completion": ("bot.cli.about:completion", "Print a script that completes commands."),
    "doctor": ("bot.cli.doctor:doctor", "Check the App and the rules of its repositories."),
    "fn": ("bot.cli.fn.group:fn", "Run functions on packages on disk."),
    "help": ("bot.cli.about:help_", "Show the help of a command."),
    "impact": ("bot.cli.impact:impact", "Show what a change would do to other packages."),
    "live": ("bot.cli.about:live", "Not available: use `kpt live` to deploy packages."),
    "pkg": ("bot.cli.pkg.group:pkg", "Get, update, and inspect packages on disk."),
    "rpkg": ("bot.cli.rpkg.group:rpkg", "List packages in repositories, and change them."),
    "runner": ("bot.cli.runner:runner", "Run the function runner: Porch's gRPC service."),
    "secret": ("bot.cli.secret:secret", "Store the bot's secrets, encrypted."),
    "setup": ("bot.cli.setup:setup", "Register the bot as a GitHub App, or set up a GitLab."),
    "verify": ("bot.cli.verify:verify", "Verify the signature and the provenance of a revision."),
    "version": ("bot.cli.about:version", "Print the version."),
}

ALIASES = {"package": "pkg", "function": "fn", "functions": "fn"}
"""Other names of commands: kpt's, and what people type in their place."""

main = DropInGroup(
    name="porchbot",
    lazy=_COMMANDS,
    aliases=ALIASES,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "A lifecycle for kpt packages in ordinary GitHub and GitLab repositories, and kpt's "
        "commands for packages on disk."
    ),
    examples="""
    # Fetch a package, change it, and see what the bot would report.
    $ porchbot pkg get https://github.com/example/blueprints.git/shop@v1
    $ porchbot fn render shop
    $ porchbot check
    """,
)
click.version_option(package_name="porchbot")(main)


_UNTIL_STDIN_CLOSES = click.option(
    "--until-stdin-closes",
    is_flag=True,
    help="Exit when standard input closes, so that it does not outlive the process that started"
    " it.",
)


@main.command(
    cls=StrictCommand,
    epilog=help_text(),
    examples="""
    # Run the bot with settings from a file of variables.
    $ env $(cat porchbot.env) porchbot serve
    """,
)
@click.option("--no-worker", is_flag=True, help="Serve only webhooks, pages and health.")
@_UNTIL_STDIN_CLOSES
def serve(no_worker: bool, until_stdin_closes: bool) -> None:
    """Run the bot: webhooks, workers, sweeps. Settings come from the environment."""
    with importing():
        from bot.serve import Parts, run  # heavy, and not needed for --help

    sys.exit(run(Parts(work=not no_worker), until_stdin_closes=until_stdin_closes))


@main.command(
    cls=StrictCommand,
    epilog=help_text(),
    examples="""
    # Process what `porchbot serve --no-worker` receives, and serve health and metrics.
    $ env $(cat porchbot.env) porchbot worker --listen 127.0.0.1:8081
    """,
)
@click.option("--listen", default="", metavar="HOST:PORT", help="Serve health and metrics here.")
@_UNTIL_STDIN_CLOSES
def worker(listen: str, until_stdin_closes: bool) -> None:
    """Run the bot's workers and sweeps, without webhooks. Settings come from the environment."""
    with importing():
        from bot.serve import Parts, run

    parts = Parts(web=False, listen=bool(listen))
    sys.exit(run(parts, until_stdin_closes=until_stdin_closes, listen=listen))


_REPO = click.option(
    "--repo",
    type=click.Path(exists=True, path_type=Path),
    help="Git repository, folder or git bundle to start from. Default: the examples.",
)


@main.command(
    cls=StrictCommand,
    examples="""
    # Start with the packages of one of your repositories.
    $ porchbot playground --repo ../blueprints

    # Let one bot serve a GitHub and a GitLab; their addresses and tokens go to the file.
    $ porchbot playground --forge both --info info.json
    """,
)
@_REPO
@click.option(
    "--info",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write addresses, users and tokens to this file as JSON.",
)
@click.option(
    "--replicas",
    type=click.IntRange(1, 9),
    default=1,
    show_default=True,
    help="Number of bots on one database; each is restarted if it dies.",
)
@click.option(
    "--forge",
    type=click.Choice(["github", "gitlab", "both"]),
    default="github",
    show_default=True,
    help="Which forge to start; both: one bot serves one of each.",
)
def playground(repo: Path | None, info: Path | None, replicas: int, forge: str) -> None:
    """Start a local forge together with the bot, to try things out by hand.

    The file of --info has bot_url, bots, log, database_url (for `porchbot audit`, as DATABASE_URL)
    and, under forges, for github and gitlab: web_url (python-gitlab's address), api_url (PyGithub's
    base_url), repositories, and users with their tokens. If there is only one forge, its keys are
    also at the top level.
    """
    with importing():
        from bot.cli.demo.playground import run

    sys.exit(run(repo, info, replicas, forge))


@main.command(
    cls=StrictCommand,
    examples="""
    # Take a package from draft to tag, then exit.
    $ porchbot demo --exit

    # The same on GitLab.
    $ porchbot demo --forge gitlab
    """,
)
@_REPO
@click.option("--exit", "leave", is_flag=True, help="Exit after the demo, even in a terminal.")
@click.option(
    "--forge",
    type=click.Choice(["github", "gitlab"]),
    default="github",
    show_default=True,
    help="Which forge to start.",
)
def demo(repo: Path | None, leave: bool, forge: str) -> None:
    """Start the playground, and take a package from draft to tag, explaining each step."""
    with importing():
        from bot.cli.demo.story import run

    sys.exit(run(repo, forge, leave=leave))


@main.command(
    "function-server",
    cls=StrictCommand,
    hidden=True,
    examples="""
    # Make the folder that pods mount.
    $ porchbot function-server --copy-to /porchbot
    """,
)
@click.option(
    "--copy-to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder that gets an interpreter and what it needs to serve a function.",
)
def function_server(folder: Path) -> None:
    """Make a folder that serves functions inside images of all kinds; for pods."""
    from fnrunner.contract.errors import ClosureError
    from fnrunner.pods import closure

    try:
        closure.copy(folder)
    except (ClosureError, OSError) as error:
        raise click.ClickException(str(error)) from error
