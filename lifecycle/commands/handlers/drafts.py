"""Commands that make a draft, or change the one that they stand under.

Asking is no approving: whoever asks counts as an author of what comes of it, and it is approved as
any other change. A command given again comes to the same pull request: what it makes is worked out
from the branch as it is, and what is there already is said.
"""

from dataclasses import dataclass, replace

from lifecycle import authors
from lifecycle.actions import OpenProposal, PushDraft, SetTitle
from lifecycle.commands.draft_grammar import FieldValue
from lifecycle.commands.grammar import RevisionTarget
from lifecycle.commands.permission import from_upstream
from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.facts.drafts import (
    MOST_DRAFTS,
    ON_DRAFT,
    DraftKind,
    DraftRequest,
    DraftState,
    token,
)
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.upgrades import resolved_line
from lifecycle.messages import drafts as texts
from lifecycle.messages import making
from lifecycle.records import trailer


@dataclass(frozen=True, slots=True)
class InitCommand:
    """Begin a package."""

    path: str


@dataclass(frozen=True, slots=True)
class CloneCommand:
    """Get a package from an upstream."""

    strategy: str
    propose: bool
    upstream: str
    path: str


@dataclass(frozen=True, slots=True)
class EditCommand:
    """Begin a draft of a package, as it is or as a revision was."""

    target: RevisionTarget


@dataclass(frozen=True, slots=True)
class UpgradeCommand:
    """Merge what is new in the upstream; revision 0 is the newest."""

    strategy: str
    propose: bool
    together: bool
    others: tuple[str, ...]
    target: RevisionTarget


@dataclass(frozen=True, slots=True)
class EvalCommand:
    """Run one function on a package; `package` may be empty."""

    package: str
    propose: bool
    function: str
    config: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SetCommand:
    """Change a field or setter of a package; `package` may be empty."""

    package: str
    propose: bool
    change: FieldValue


@dataclass(frozen=True, slots=True)
class ResolveCommand:
    """Decide one conflict of an upgrade in this pull request."""

    number: int
    value: str


@dataclass(frozen=True, slots=True)
class RollbackCommand:
    """Bring back what a revision was, and hold the package there; `reason` may be empty."""

    target: RevisionTarget
    reason: str


@dataclass(frozen=True, slots=True)
class ResumeCommand:
    """End the hold after a rollback; `reason` may be empty."""

    path: str
    reason: str


DraftCommand = (
    InitCommand
    | CloneCommand
    | EditCommand
    | UpgradeCommand
    | EvalCommand
    | SetCommand
    | ResolveCommand
    | RollbackCommand
    | ResumeCommand
)


def about(proposal: Proposal) -> list[str]:
    """Return the packages that a pull request is about, those that it removes left out.

    A draft that changes nothing yet is about the package that it was opened for.
    """
    content = proposal.content
    if content.drafted is not None:
        return [content.drafted]
    return sorted(t.package for t in content.touched if not t.removed)


def request_of(proposal: Proposal, command: DraftCommand) -> DraftRequest | None:
    """Return what a command asks for; None where nobody can tell of which package."""
    package = _package(proposal, command)
    if package is None:
        return None
    return _request(command, package, proposal)


def _package(proposal: Proposal, command: DraftCommand) -> str | None:
    match command:
        case InitCommand(path=path) | CloneCommand(path=path) | ResumeCommand(path=path):
            return path
        case (
            EditCommand(target=target)
            | UpgradeCommand(target=target)
            | RollbackCommand(target=target)
        ):
            named = target.package
        case ResolveCommand(number=number):
            conflict = proposal.upgrades.numbered(number)
            return conflict.upgrade.package if conflict else None
        case EvalCommand(package=package) | SetCommand(package=package):
            named = {"": None, ".": ""}.get(package, package.removeprefix("./").strip("/"))
    there = about(proposal)
    return there[0] if named is None and len(there) == 1 else named


def _request(command: DraftCommand, package: str, proposal: Proposal) -> DraftRequest:
    match command:
        case InitCommand():
            found = DraftRequest(kind=DraftKind.INIT, package=package)
        case CloneCommand(upstream=upstream, strategy=strategy, propose=ready):
            found = DraftRequest(
                kind=DraftKind.CLONE,
                package=package,
                upstream=upstream,
                strategy=strategy,
                ready=ready,
            )
        case EditCommand(target=target):
            found = DraftRequest(kind=DraftKind.EDIT, package=package, revision=target.revision)
        case UpgradeCommand(target=target, strategy=strategy, propose=ready, others=others):
            found = DraftRequest(
                kind=DraftKind.UPGRADE,
                package=package,
                others=tuple(dict.fromkeys(each for each in others if each != package)),
                revision=target.revision,
                strategy=strategy,
                ready=ready,
            )
        case EvalCommand(function=function, config=config, propose=ready):
            found = DraftRequest(
                kind=DraftKind.EVAL, package=package, function=function, config=config, ready=ready
            )
        case ResolveCommand(number=number, value=value):
            found = DraftRequest(
                kind=DraftKind.RESOLVE, package=package, revision=number, value=value
            )
        case RollbackCommand(target=target, reason=reason):
            found = DraftRequest(
                kind=DraftKind.ROLLBACK,
                package=package,
                revision=target.revision,
                reason=reason,
                ready=True,
            )
        case ResumeCommand(reason=reason):
            found = DraftRequest(kind=DraftKind.RESUME, package=package, reason=reason, ready=True)
        case SetCommand(change=change, propose=ready):
            found = DraftRequest(
                kind=DraftKind.SET,
                package=package,
                resource=change.resource,
                field=change.field,
                value=change.value,
                ready=ready,
            )
    here = not proposal.place.closed and found.kind in ON_DRAFT and package in about(proposal)
    here = here and not found.others
    return replace(found, on_draft=here)


def rebased(proposal: Proposal, package: str | None, upstream: str) -> DraftRequest | None:
    """Return what `/rebase onto` asks for; None where nobody can tell of which package.

    Args:
        proposal: Where it is asked for; under a pull request no other package is moved.
        package: Its path; None for the only one there.
        upstream: As somebody wrote it.
    """
    there = [each for each in about(proposal) if package in (None, each)]
    if proposal.place.issue and package is not None:
        there = [package]
    if len(there) != 1:
        return None
    here = not proposal.place.closed
    return DraftRequest(kind=DraftKind.REBASE, package=there[0], upstream=upstream, on_draft=here)


def folders(
    _request: CommandRequest, response: CommandResponse, command: DraftCommand
) -> tuple[str, ...]:
    """Return the package that a command is about."""
    package = _package(response.proposal, command)
    if package is None:
        return tuple(about(response.proposal))
    return (package, *(command.others if isinstance(command, UpgradeCommand) else ()))


def draft(
    request: CommandRequest, response: CommandResponse, command: DraftCommand
) -> CommandResponse:
    """Make the draft, or change the one that is there; say where, or why not."""
    p = response.proposal
    word = request.table.row(command).word
    if isinstance(command, UpgradeCommand) and command.others and not command.together:
        return response.refuse(texts.NOT_TOGETHER)
    wanted = request_of(p, command)
    if wanted is None and isinstance(command, ResolveCommand):
        if p.upgrades.unread:
            return response.refuse(texts.CONFLICTS_UNREAD)
        return response.refuse(texts.no_such_conflict(len(p.upgrades.conflicts)))
    if wanted is None:
        return response.refuse(texts.which(word, about(p)))
    return make(request, response, word, wanted)


def make(
    request: CommandRequest, response: CommandResponse, word: str, wanted: DraftRequest
) -> CommandResponse:
    """Make what was worked out; say where it is, or why it is not."""
    facts, p = request.facts, response.proposal
    if wanted.on_draft and not facts.may_push:
        return response.refuse(texts.not_pushable(word))
    state = p.lookups.drafts.get(replace(wanted, asker=request.comment.author))
    if state is None:
        return response.refuse(texts.too_many(word, MOST_DRAFTS))
    there = state.there
    done = token(request.comment.id, wanted) in there.done
    # What was pushed for just this is not made again: only its pull request is missing. Where that
    # was closed or merged already, it was opened.
    unopened = done and not there.number and not wanted.on_draft
    unmade = _unmade(response, word, state, done=done, unopened=unopened)
    if unmade is not None:
        return unmade
    for package, upstream in ((wanted.package, state.upstream), *state.beside):
        if refused := from_upstream(request, response, word, package, upstream):
            return response.refuse(refused)
    if there.refused and there.asked >= request.asked:
        return response.refuse(texts.push_refused(word, there))
    if not (there.free or there.number or wanted.on_draft):
        return response.refuse(texts.taken(word, there))
    if wanted.on_draft and p.place.head != facts.head:
        # The forge shows a push later than git does, ours as well: what is missing is not known.
        return replace(response, waits=True)
    changes = bool(state.made.files)
    if done and wanted.on_draft:
        response = _retitled(response, state, p.place.number, p.place.title)
        return response.say(texts.committed_here(state))
    opened_once = (there.number and (done or not changes)) or (there.ended and unopened)
    if opened_once and not wanted.on_draft:
        response = _retitled(response, state, there.number, there.title)
        return response.say(texts.opened(state))
    if wanted.on_draft or there.number:
        if not changes and not _undecided(p, wanted):
            return response.say(texts.unchanged(word, state))
        return _with(response, _push(request, state))
    pushed = state.pushed or unopened
    if not changes and not pushed and wanted.kind is not DraftKind.EDIT:
        return response.say(texts.unchanged(word, state))
    opened = OpenProposal(
        head_ref=there.branch,
        base_ref=state.base_ref,
        title=texts.title(state),
        body=texts.body(state, request.comment.author.login, p.place.number),
        draft=not wanted.ready,
    )
    # What was pushed for another command is pushed anew: the branch tells which this one is of.
    return _with(response, *(() if unopened else (_push(request, state),)), opened)


def _unmade(
    response: CommandResponse, word: str, state: DraftState, *, done: bool, unopened: bool
) -> CommandResponse | None:
    """Why nothing can be made, or what is waited for; None where it can, or need not be."""
    wait = state.waits
    if wait is not None and wait.over and not done:
        return response.refuse(texts.given_up(word, state.request, wait))
    if wait is not None and not wait.over and (unopened or not done):
        return replace(response, waits=True)  # it has no answer, and nothing else waits for it
    if state.made.problem and not unopened:
        problem, wanted = state.made.problem, state.request
        if len(about(response.proposal)) != 1 and not wanted.others:
            problem = making.about(wanted.package, problem)  # of several nobody knows which
        return response.refuse(texts.not_made(word, problem))
    return None


def _retitled(
    response: CommandResponse, state: DraftState, number: int, shown: str
) -> CommandResponse:
    """Let a title of ours say what the draft holds by now."""
    title = texts.retitled(state, shown) if number else ""
    effects = (SetTitle(number, title),) if title else ()
    return replace(response, effects=(*response.effects, *effects))


def _undecided(p: Proposal, wanted: DraftRequest) -> bool:
    """Whether a commit that changes no file is wanted, as it decides a conflict for good."""
    found = p.upgrades.numbered(wanted.revision) if wanted.kind is DraftKind.RESOLVE else None
    return found is not None and not found.resolved


def _with(response: CommandResponse, *effects: PushDraft | OpenProposal) -> CommandResponse:
    return replace(response, effects=(*response.effects, *effects), waits=True)


def _push(request: CommandRequest, state: DraftState) -> PushDraft:
    there, wanted = state.there, state.request
    workspace = there.branch.rpartition("/")[2]
    task = {"type": str(wanted.kind)}
    text = "\n".join(trailer(each.package, workspace, None, task) for each in wanted.alone)
    return PushDraft(
        head_ref=there.branch,
        tip=there.tip,
        base=state.start,
        files=state.made.files,
        message=texts.commit_message(state, request.comment.id, text, _resolving(request, wanted)),
        asked=request.asked,
        asker=authors.spelled(request.comment.author),
    )


def _resolving(request: CommandRequest, wanted: DraftRequest) -> str:
    """The line that tells which conflict a commit resolves; "" for any other commit."""
    if wanted.kind is not DraftKind.RESOLVE:
        return ""
    every = [each for p in request.facts.proposals for each in p.upgrades.conflicts]
    found = [e for e in every if (e.number, e.upgrade.package) == (wanted.revision, wanted.package)]
    return resolved_line(found[0]) if found else ""
