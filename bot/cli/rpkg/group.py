"""`porchbot rpkg`: packages in repositories, with porchctl's verbs.

What changes something is asked of the bot, by a comment in the caller's name.
"""

from bot.cli.dropin import DropInGroup

_ASKING = "bot.cli.rpkg.asking"
_COMMANDS: dict[str, tuple[str, str]] = {
    "approve": ("bot.cli.rpkg.approving:approve", "Approve proposals, each at its head."),
    "clone": (f"{_ASKING}:clone", "Have a draft opened with a package from an upstream."),
    "diff": ("bot.cli.rpkg.diff:command", "Compare two revisions of any two packages."),
    "edit": (f"{_ASKING}:edit", "Have a draft opened of a package or one of its revisions."),
    "eval": (f"{_ASKING}:eval_", "Have a function run on a package, once."),
    "get": ("bot.cli.rpkg.get:command", "List packages that a selector chooses."),
    "graph": ("bot.cli.rpkg.graph:command", "Show which package was made from which."),
    "init": (f"{_ASKING}:init", "Have a draft opened with a new package."),
    "list": ("bot.cli.rpkg.get:command", "List packages that a selector chooses."),
    "propose": ("bot.cli.rpkg.approving:propose", "Propose drafts."),
    "resume": (f"{_ASKING}:resume", "Have the hold after a rollback ended."),
    "rollback": (
        "bot.cli.rpkg.rollback:command",
        "Have revisions brought back, and packages held.",
    ),
    "set": (f"{_ASKING}:set_", "Have a field or setter changed; repeated ones share a draft."),
    "upgrade": ("bot.cli.rpkg.upgrade:command", "Find packages that are behind, or upgrade them."),
}

rpkg = DropInGroup(
    name="rpkg",
    lazy=_COMMANDS,
    help="Look at packages in repositories, and have the bot make drafts of them.",
    examples="""
    # Show what was made from what in the repository of this folder, and in another one.
    $ porchbot rpkg graph --repository acme/clusters

    # Bump an image from an application's CI; repeated bumps share one open draft.
    $ porchbot rpkg set --repository acme/deploy --package shop --propose image=v2
    """,
)
