"""`porchbot fn`: functions on packages on disk, with kpt's arguments, output and exit codes."""

from bot.cli.dropin import DropInGroup

_COMMANDS = {
    "doc": ("bot.cli.fn.catalog:doc", "Say what a builtin function does, and how to configure it."),
    "list": ("bot.cli.fn.catalog:names", "List the functions that are built in."),
    "eval": ("bot.cli.fn.evaluate:evaluate", "Run one function on a folder or a stream."),
    "render": ("bot.cli.fn.render:render", "Run the pipelines of a package."),
    "sink": ("bot.cli.fn.sink:sink", "Write a stream of resources to a folder."),
    "source": ("bot.cli.fn.source:source", "Write a folder's resources as a stream."),
}


fn = DropInGroup(
    name="fn",
    lazy=_COMMANDS,
    help="Run functions on packages on disk.",
    epilog="Other names: function, functions",
    examples="""
    # Render a package.
    $ porchbot fn render shop
    """,
)
