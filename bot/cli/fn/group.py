"""`porchbot fn`: functions on packages on disk, with kpt's arguments, output and exit codes."""

from bot.cli.dropin import DropInGroup

_COMMANDS = {
    "doc": ("bot.cli.fn.catalog:doc", "Describe a built-in function and its configuration."),
    "list": ("bot.cli.fn.catalog:names", "List the built-in functions."),
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
