"""`porchbot pkg`: packages on disk, with kpt's arguments, output and exit codes."""

from bot.cli.dropin import DropInGroup

_COMMANDS: dict[str, tuple[str, str]] = {
    "cat": ("bot.cli.pkg.cat:cat", "Print the resources of a package."),
    "diff": ("bot.cli.pkg.diff:diff", "Show what differs from upstream."),
    "tree": ("bot.cli.pkg.tree:tree", "Show resources, files and packages as a tree."),
    "get": ("bot.cli.pkg.get:command", "Fetch a package from a git repository."),
    "merge": ("bot.cli.pkg.merge:command", "Merge three folders, without git."),
    "update": ("bot.cli.pkg.update:command", "Apply what is new in the upstream of a package."),
    "init": ("bot.cli.pkg.init:init", "Begin a package in a folder."),
}


pkg = DropInGroup(
    name="pkg",
    lazy=_COMMANDS,
    help="Get, update, and look into packages on disk.",
    epilog="Other names: package",
    examples="""
    # Bring a package up to version v2 of its upstream.
    $ porchbot pkg update shop@v2
    """,
)
