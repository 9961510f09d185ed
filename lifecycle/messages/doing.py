"""What the bot would do next, for whoever tries that out: a phrase for each action."""

from typing import assert_never

from lifecycle import names
from lifecycle.actions import (
    Action,
    AskPublish,
    CloseProposal,
    DeleteBranch,
    DeleteTag,
    Dequeue,
    Forget,
    Keep,
    KeepFreezes,
    MakeRelease,
    MarkRelease,
    Merge,
    OpenProposal,
    PushDraft,
    PushRender,
    PushUpdate,
    React,
    RemoveDouble,
    Reply,
    Restore,
    Say,
    SetCheck,
    SetDraft,
    SetLabels,
    SetTitle,
    Suggest,
    Tag,
)
from lifecycle.messages.markdown import number, one_line, plain
from lifecycle.terms import AS_WRITTEN, Terms, kept


def phrase(action: Action, terms: Terms = AS_WRITTEN) -> str:
    """What an action does, as an order without a full stop; plain text in the forge's terms."""
    return terms.said(_phrase(action))


def _phrase(action: Action) -> str:
    match action:
        case PushRender() | PushUpdate() | PushDraft() | OpenProposal() | DeleteBranch():
            return _on_branch(action)
        case SetCheck(name=name, title=title, conclusion=ends):
            return f"show the check {name} ({ends or 'in progress'}): {kept(plain(title))}"
        case Say(comment=None):
            return "write the summary comment"
        case Say():
            return "edit the summary comment"
        case Restore() | RemoveDouble() | Reply() | React():
            return _in_conversation(action)
        case Suggest(suggestions=made):
            return f"write a review with {number(len(made), 'suggestion')}"
        case Keep() | Forget():
            return "update what the bot remembers"
        case KeepFreezes():
            return "remember what was frozen or thawed for the whole repository"
        case SetDraft() | CloseProposal() | SetTitle() | SetLabels():
            return _on_proposal(action)
        case AskPublish() | Merge() | Dequeue() | Tag() | DeleteTag():
            return _publishing(action)
        case MakeRelease() | MarkRelease():
            return _releasing(action)
        case _:
            assert_never(action)


def _on_proposal(action: SetDraft | CloseProposal | SetTitle | SetLabels) -> str:
    match action:
        case SetDraft(draft=draft):
            return "turn the pull request into a draft" if draft else "mark it ready for review"
        case CloseProposal(number=which):
            return f"close #{which}"
        case SetTitle(number=which, title=title):
            return f"give #{which} the title: {kept(title)}"
        case SetLabels(add=add, remove=remove):
            parts = [f"add {', '.join(add)}"] * bool(add)
            parts += [f"remove {', '.join(remove)}"] * bool(remove)
            return f"labels: {'; '.join(parts)}"
        case _:
            assert_never(action)


def _on_branch(
    action: PushRender | PushUpdate | PushDraft | OpenProposal | DeleteBranch,
) -> str:
    match action:
        case PushRender(head_ref=ref, changes=changes):
            return f"commit the rendering to {ref} ({number(len(changes), 'file')})"
        case PushUpdate(head_ref=ref):
            return f"merge the base branch into {ref}"
        case PushDraft(head_ref=ref, files=files):
            what = next(iter(files)) if len(files) == 1 else number(len(files), "file")
            return f"commit {what} to {ref}"
        case OpenProposal(head_ref=ref, title=title, draft=draft):
            return f"open a {'draft ' if draft else ''}pull request for {ref}: {kept(title)}"
        case DeleteBranch(head_ref=ref):
            return f"delete the branch {ref}"
        case _:
            assert_never(action)


def _in_conversation(action: Restore | RemoveDouble | Reply | React) -> str:
    match action:
        case Restore():
            return "restore an answer of the bot that somebody edited"
        case RemoveDouble():
            return "delete a comment of the bot that says the same twice"
        case Reply(body=body):
            return f"answer: {_first_line(body)}"
        case React(reaction=reaction):
            return f"react to a comment: {reaction}"
        case _:
            assert_never(action)


def _publishing(action: AskPublish | Merge | Dequeue | Tag | DeleteTag) -> str:
    match action:
        case AskPublish(number=which, base_ref=base):
            return f"publish #{which}: merge it into {base}, unless it is merged, and tag it"
        case Merge(number=which, base_ref=base):
            return f"merge #{which} into {base}"
        case Dequeue(number=which):
            return f"take #{which} out of the merge queue"
        case Tag(ref=ref):
            return f"tag {names.tag_name(ref)}"
        case DeleteTag(ref=ref):
            return f"delete the tag {names.tag_name(ref)} of a withdrawn revision"
        case _:
            assert_never(action)


def _releasing(action: MakeRelease | MarkRelease) -> str:
    if isinstance(action, MakeRelease):
        return f"make a release of {action.tag}"
    if action.off:
        return f"take {action.mark} off the release of {action.tag}"
    return f"mark the release of {action.tag} as {action.mark}"


def _first_line(text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "")
    return one_line(plain(first))
