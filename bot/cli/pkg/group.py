"""`porchbot pkg`: packages on disk, with kpt's arguments, output and exit codes."""

from bot.cli.dropin import DropInGroup

_COMMANDS: dict[str, tuple[str, str]] = {
    "cat": ("bot.cli.pkg.cat:cat", "Print the resources of a package."),
    "diff": ("bot.cli.pkg.diff:diff", "Show what differs from upstream."),
    "tree": ("bot.cli.pkg.tree:tree", "Show resources, files and packages as a tree."),
    "get": ("bot.cli.pkg.get:command", "Fetch a package from a git repository."),
    "merge": ("bot.cli.pkg.merge:command", "Merge three folders, without git."),
    "update": (
        "bot.cli.pkg.update:command",
        "Merge changes of a package's upstream into the package.",
    ),
    "init": ("bot.cli.pkg.init:init", "Make a folder a package."),
}


pkg = DropInGroup(
    name="pkg",
    lazy=_COMMANDS,
    help="Get, update and inspect packages on disk.",
    epilog="Other names: package",
    examples="""
    # Update a package to version v2 of its upstream.
    $ porchbot pkg update shop@v2
    """,
)
