"""`porchbot rpkg`: packages in repositories, with porchctl's verbs."""

from bot.cli.dropin import DropInGroup

_COMMANDS: dict[str, tuple[str, str]] = {
    "diff": ("bot.cli.rpkg.diff:command", "Compare two revisions of any two packages."),
    "graph": ("bot.cli.rpkg.graph:command", "Show which package was made from which."),
    "upgrade": ("bot.cli.rpkg.upgrade:command", "Find packages that are behind their upstream."),
}

rpkg = DropInGroup(
    name="rpkg",
    lazy=_COMMANDS,
    help="Look at packages in repositories.",
    examples="""
    # Show what was made from what in the repository of this folder, and in another one.
    $ porchbot rpkg graph --repository acme/clusters
    """,
)
