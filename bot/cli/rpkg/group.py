"""`porchbot rpkg`: packages in repositories, with porchctl's verbs.

What changes something is asked of the bot, by a comment in the caller's name.
"""

from bot.cli.dropin import DropInGroup

_ASKING = "bot.cli.rpkg.asking"
_COMMANDS: dict[str, tuple[str, str]] = {
    "approve": ("bot.cli.rpkg.approving:approve", "Approve proposals, each at its current commit."),
    "clone": (f"{_ASKING}:clone", "Open a draft with a package from an upstream."),
    "diff": ("bot.cli.rpkg.diff:command", "Compare two revisions of any two packages."),
    "edit": (f"{_ASKING}:edit", "Open a draft of a package or of one of its revisions."),
    "eval": (f"{_ASKING}:eval_", "Run a function on a package once, in a draft."),
    "get": ("bot.cli.rpkg.get:command", "List packages, or those that match a selector."),
    "graph": ("bot.cli.rpkg.graph:command", "Show which package was made from which."),
    "init": (f"{_ASKING}:init", "Open a draft with a new package."),
    "list": ("bot.cli.rpkg.get:command", "List packages, or those that match a selector."),
    "propose": ("bot.cli.rpkg.approving:propose", "Propose drafts."),
    "rebase": (
        f"{_ASKING}:rebase",
        "Update a pull request or draft, or move a package to another upstream.",
    ),
    "resume": (f"{_ASKING}:resume", "End the hold after a rollback."),
    "rollback": (
        "bot.cli.rpkg.rollback:command",
        "Return packages to older revisions, and hold them there.",
    ),
    "set": (f"{_ASKING}:set_", "Change a field or setter; repeated changes share a draft."),
    "upgrade": ("bot.cli.rpkg.upgrade:command", "Find packages that are behind, or upgrade them."),
}

rpkg = DropInGroup(
    name="rpkg",
    lazy=_COMMANDS,
    help="""List packages in repositories, and let the bot make drafts of them.

    GITHUB_TOKEN (or GH_TOKEN) is a token for GitHub, or for the server in PORCHBOT_GITHUB_API_URL;
    GITLAB_TOKEN is one for gitlab.com, or for the server in PORCHBOT_GITLAB_URL.
    """,
    examples="""
    # Show which packages were made from which, in this folder's repository and in another one.
    $ porchbot rpkg graph --repository acme/clusters

    # Bump an image from an application's CI; repeated bumps share one open draft.
    $ porchbot rpkg set --repository acme/deploy --package shop --propose image=v2
    """,
)
