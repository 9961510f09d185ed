"""The table of commands: a row for each, in the order of the help text."""

from lifecycle.access import AccessAction
from lifecycle.commands.grammar import (
    MOST_REASON,
    GateName,
    OptionalEnd,
    OptionalFolder,
    OptionalRevision,
    OptionalText,
    OptionalWord,
    Text,
)
from lifecycle.commands.handlers import approve, hold, questions, rebase, render, stage, timing
from lifecycle.commands.spec import CommandSpec, Table
from lifecycle.facts.proposal import Stage

_OPEN = frozenset({Stage.DRAFT, Stage.PROPOSED})
_UNPUBLISHED = _OPEN | {Stage.MERGED}
_ALWAYS = frozenset(Stage)

TABLE = Table(
    [
        CommandSpec(
            word="propose",
            command=stage.ProposeCommand,
            stages=_OPEN,
            action=AccessAction.PROPOSE,
            handler=stage.propose,
            help="make this draft a proposal",
        ),
        CommandSpec(
            word="approve",
            command=approve.ApproveCommand,
            stages=frozenset({Stage.PROPOSED, Stage.MERGED}),
            action=AccessAction.APPROVE,
            handler=approve.approve,
            help="approve the content as it stands now",
        ),
        CommandSpec(
            word="unapprove",
            command=approve.UnapproveCommand,
            stages=_UNPUBLISHED,
            action=AccessAction.UNAPPROVE,
            handler=approve.unapprove,
            help="take your own approval back",
            aliases=("remove-approve",),
        ),
        CommandSpec(
            word="reject",
            command=stage.RejectCommand,
            arguments=(OptionalText("reason", MOST_REASON),),
            stages=_OPEN,
            action=AccessAction.REJECT,
            handler=stage.reject,
            help="send this proposal back to draft",
        ),
        CommandSpec(
            word="render",
            command=render.RenderCommand,
            stages=_OPEN,
            action=AccessAction.DRAFT,
            handler=render.render,
            help="render again; commits the result where the bot may push",
            pushes=True,
            aliases=("rerender",),
        ),
        CommandSpec(
            word="rebase",
            command=rebase.RebaseCommand,
            stages=_OPEN,
            action=AccessAction.DRAFT,
            handler=rebase.rebase,
            help="merge the base branch into this one, packages by resource and field",
            pushes=True,
        ),
        CommandSpec(
            word="check",
            command=render.CheckCommand,
            stages=_UNPUBLISHED,
            action=AccessAction.CHECK,
            handler=render.check,
            help="check again, with nothing kept from before",
            aliases=("recheck",),
        ),
        CommandSpec(
            word="hold",
            command=hold.HoldCommand,
            arguments=(OptionalText("reason", MOST_REASON),),
            stages=_UNPUBLISHED,
            action=AccessAction.HOLD,
            handler=hold.hold,
            help="keep this from being published",
        ),
        CommandSpec(
            word="unhold",
            command=hold.UnholdCommand,
            # Said before, and answered after a merge by hand.
            stages=_UNPUBLISHED | {Stage.PUBLISHED},
            action=AccessAction.UNHOLD,
            handler=hold.unhold,
            help="end the hold",
            aliases=("remove-hold",),
        ),
        CommandSpec(
            word="freeze",
            command=timing.FreezeCommand,
            arguments=(OptionalFolder("path"), OptionalEnd("until"), Text("reason", MOST_REASON)),
            stages=_ALWAYS,
            action=AccessAction.FREEZE,
            folders=timing.frozen_folders,
            dashboard=True,
            handler=timing.freeze,
            help="publish nothing of this repository, or of a folder in it, from now on",
        ),
        CommandSpec(
            word="thaw",
            command=timing.ThawCommand,
            arguments=(OptionalFolder("path", otherwise=None, alone=True),),
            stages=_ALWAYS,
            action=AccessAction.FREEZE,
            folders=timing.thawed_folders,
            dashboard=True,
            handler=timing.thaw,
            help="end what was frozen by a comment",
        ),
        CommandSpec(
            word="override",
            command=timing.OverrideCommand,
            arguments=(GateName("gate"), Text("reason", MOST_REASON)),
            stages=frozenset({Stage.PROPOSED, Stage.MERGED}),
            action=AccessAction.OVERRIDE,
            handler=timing.override,
            help="let this past `window`, `freeze` or `check:<name>`",
        ),
        CommandSpec(
            word="diff",
            command=questions.DiffCommand,
            arguments=(OptionalRevision("revision"),),
            stages=_UNPUBLISHED,
            action=AccessAction.READ,
            handler=questions.diff,
            help="tell what changes, here or since a revision, by resource and field",
        ),
        CommandSpec(
            word="why",
            command=questions.WhyCommand,
            arguments=(OptionalWord("field"),),
            stages=_ALWAYS,
            action=AccessAction.READ,
            handler=questions.why,
            help="tell what is still missing",
            question=True,
        ),
        CommandSpec(
            word="help",
            command=questions.HelpCommand,
            stages=_ALWAYS,
            action=AccessAction.READ,
            handler=questions.list_commands,
            help="show this list",
            question=True,
            dashboard=True,
        ),
    ]
)
"""Every command that works."""
