"""`/delete` and `/deprecate`: pull requests that list a revision in the ledger.

Asking is no approving: whoever may approve a deletion may ask for one, also who wrote the pull
request where they ask, and counts as an author of the one that is opened.
"""

from dataclasses import dataclass, replace

from cadlib.package.files import Entry
from lifecycle import authors
from lifecycle.actions import OpenProposal, PushDraft
from lifecycle.commands.grammar import RevisionTarget
from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.facts.drafts import token
from lifecycle.facts.proposal import Proposal
from lifecycle.ledger import LedgerEntry, ListedState, ProposedState, RevisionState
from lifecycle.ledger_files import written
from lifecycle.messages import deletions as texts

MOST_NAMED = 5
"""Revisions that one look reads about because comments name them."""


@dataclass(frozen=True, slots=True)
class DeleteCommand:
    """Withdraw a revision; `reason` may be empty."""

    target: RevisionTarget
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DeprecateCommand:
    """Deprecate a revision."""

    target: RevisionTarget
    reason: str


def named(proposal: Proposal, command: DeleteCommand | DeprecateCommand) -> tuple[str, int] | None:
    """Return the package and number that a command names; None where nobody can tell.

    The package may be left out where the pull request is about one.
    """
    target, about = command.target, _about(proposal)
    if not target.revision or (target.package is None and len(about) != 1):
        return None
    return (about[0] if target.package is None else target.package, target.revision)


def folders(
    _request: CommandRequest, response: CommandResponse, command: DeleteCommand | DeprecateCommand
) -> tuple[str, ...]:
    """Return the packages that a command is about: the one that is named, else the proposal's."""
    package = command.target.package
    return tuple(_about(response.proposal)) if package is None else (package,)


def delete(
    request: CommandRequest, response: CommandResponse, command: DeleteCommand
) -> CommandResponse:
    """Propose to withdraw a revision; say where, or why not."""
    if not command.target.revision:
        return _whole(request, response, command)
    state = _state(response, "delete", command)
    if isinstance(state, CommandResponse):
        return state
    entry = LedgerEntry(ListedState.WITHDRAWN, command.reason or texts.NO_REASON, state.tag)
    if refused := _unfit("delete", state, entry):
        return response.refuse(refused)
    if state.used_by or state.used_unseen:
        return response.refuse(texts.used(state))
    return _propose(request, response, "delete", state, state.withdraws, entry)


def removed(proposal: Proposal, command: DeleteCommand) -> str | None:
    """Return the package that a command without a revision names; None where nobody can tell."""
    there = [t.package for t in proposal.content.touched if t.removed]
    meant = command.target.package
    if command.target.revision or (meant is None and len(there) != 1):
        return None
    package = there[0] if meant is None else meant
    return package if package in there else None


def _whole(
    request: CommandRequest, response: CommandResponse, command: DeleteCommand
) -> CommandResponse:
    """Have the revisions of a package go with it, in the pull request that removes it."""
    facts, p = request.facts, response.proposal
    package = removed(p, command)
    state = None if package is None else p.lookups.removed.get(package)
    if state is None or p.place.closed:
        return response.refuse(texts.whole_package("delete"))
    missing = state.missing(command.reason or texts.NO_REASON)
    if not missing:
        return response.say(texts.all_listed(state))
    refused = facts.push_refused
    if not facts.may_push or (refused and refused.asked >= request.asked):
        return response.refuse(texts.not_pushed(state))
    if facts.head is not None and p.place.head != facts.head:
        # The forge shows a push later than git does, ours as well: what is missing is not known.
        return replace(response, waits=True)
    data = None if state.broken else written(state.file, state.package, missing)
    if data is None or facts.head is None:
        return response.refuse(texts.unlisted(state))
    push = PushDraft(
        head_ref=facts.head_ref,
        tip=facts.head,
        base=facts.head,
        files={state.path: Entry(data)},
        message=texts.with_package(state),
        asked=request.asked,
        asker=authors.spelled(request.comment.author),
    )
    return replace(response, effects=(*response.effects, push), waits=True)


def deprecate(
    request: CommandRequest, response: CommandResponse, command: DeprecateCommand
) -> CommandResponse:
    """Propose to deprecate a revision; say where, or why not."""
    state = _state(response, "deprecate", command)
    if isinstance(state, CommandResponse):
        return state
    entry = LedgerEntry(ListedState.DEPRECATED, command.reason)
    if refused := _unfit("deprecate", state, entry):
        return response.refuse(refused)
    return _propose(request, response, "deprecate", state, state.deprecates, entry)


def _about(proposal: Proposal) -> list[str]:
    content = proposal.content
    listed = (each.package for each in content.ledger)
    return sorted({*(t.package for t in content.touched), *listed})


def _state(
    response: CommandResponse, word: str, command: DeleteCommand | DeprecateCommand
) -> RevisionState | CommandResponse:
    """The revision that is meant; a refusal where there is none."""
    p = response.proposal
    if not command.target.revision:
        return response.refuse(texts.whole_package(word))
    meant = named(p, command)
    if meant is None:
        return response.refuse(texts.which(word, _about(p)))
    state = p.lookups.revisions.get(meant)
    return state or response.refuse(texts.too_many(word, MOST_NAMED))


def _unfit(word: str, state: RevisionState, entry: LedgerEntry) -> str:
    """Why nobody may ask for it; "" where that is not so."""
    if state.broken:
        return texts.broken(word, state)
    if not state.known:
        return texts.unknown(word, state)
    there = state.entry
    if there and there.state in (ListedState.WITHDRAWN, entry.state):
        return texts.listed(word, state, there)
    return ""


def _propose(
    request: CommandRequest,
    response: CommandResponse,
    word: str,
    state: RevisionState,
    there: ProposedState,
    entry: LedgerEntry,
) -> CommandResponse:
    """Make the branch and the pull request, and answer once that is there."""
    if not there.free:
        return response.refuse(texts.taken(word, there))
    # What was proposed for just this and closed before anybody noted it was proposed.
    done = token(request.comment.id, entry) in there.done
    if there.number or (there.ended and done):
        return response.say(texts.proposed(state, there, entry))
    if there.refused and there.asked >= request.asked:
        return response.refuse(texts.push_refused(word, there))
    data = written(state.file, state.package, {state.revision: entry})
    if data is None:
        return response.refuse(texts.broken(word, state))
    asker = request.comment.author
    push = PushDraft(
        head_ref=there.branch,
        tip=there.tip,
        base=state.base,
        files={state.path: Entry(data)},
        message=texts.commit_message(state, request.comment.id, entry),
        asked=request.asked,
        asker=authors.spelled(asker),
    )
    opened = OpenProposal(
        head_ref=there.branch,
        base_ref=state.base_ref,
        title=texts.title(state, entry),
        body=texts.body(state, entry, asker.login, response.proposal.place.number),
        draft=False,
    )
    return replace(response, effects=(*response.effects, push, opened), waits=True)
