"""`/rebase`: bringing a proposal up to date with its base branch."""

from dataclasses import dataclass, replace

from lifecycle.actions import PushUpdate
from lifecycle.commands.handlers import drafts
from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.drafts import DraftKind, DraftRequest, token, token_line
from lifecycle.messages import answers, commits, diffs
from lifecycle.messages import drafts as draft_texts
from lifecycle.messages import open_drafts as open_texts
from lifecycle.messages import updates as texts
from lifecycle.names import Sha


@dataclass(frozen=True, slots=True)
class RebaseCommand:
    """Merge the base branch into the head; or the package goes `onto` another upstream."""

    package: str | None = None
    onto: str = ""


def folders(
    _request: CommandRequest, _response: CommandResponse, command: RebaseCommand
) -> tuple[str, ...]:
    """Return the package that is named."""
    return () if command.package is None else (command.package,)


def rebase(
    request: CommandRequest, response: CommandResponse, command: RebaseCommand
) -> CommandResponse:
    """Ask for the merge commit, or tell why there is none."""
    if command.onto:
        return _onto(request, response, command)
    facts, p, asked = request.facts, response.proposal, request.asked
    if p.place.issue:
        return _draft_of(request, response, command)
    if command.package is not None and command.package not in drafts.about(p):
        return response.refuse(diffs.not_here("rebase", command.package))
    base_ref = p.place.base_ref
    if not facts.same_repository:
        return response.refuse(texts.of_fork(base_ref))
    if not facts.may_push:
        return response.refuse(answers.of_published("rebase", facts.head_ref))
    refused = facts.push_refused
    if refused and refused.asked >= asked:
        return response.refuse(texts.refused(refused, base_ref))
    update = p.lookups.update
    if update is None or p.place.head != facts.head:
        return response.refuse(texts.unknown(base_ref))
    if not update.behind:
        return response.say(texts.up_to_date(base_ref))
    if not update.possible:
        return response.refuse(texts.impossible(update, base_ref))
    return replace(response.say(texts.updated(p)), update_asked=asked)


def _onto(
    request: CommandRequest, response: CommandResponse, command: RebaseCommand
) -> CommandResponse:
    """Replay what was changed here on another upstream."""
    wanted = drafts.rebased(response.proposal, command.package, command.onto)
    if wanted is None:
        return response.refuse(draft_texts.which("rebase", drafts.about(response.proposal)))
    return drafts.make(request, response, "rebase", wanted)


def _draft_of(
    request: CommandRequest, response: CommandResponse, command: RebaseCommand
) -> CommandResponse:
    """Merge the base branch into the open draft of a package that the dashboard issue names."""
    package, asked = command.package, request.asked
    if package is None:
        return response.refuse(draft_texts.which("rebase", ()))
    found = response.proposal.lookups.open_drafts.updates.get(package)
    if found is None:
        return replace(response, waits=True)
    if found.problem:
        return response.refuse(draft_texts.not_made("rebase", found.problem))
    wanted = DraftRequest(kind=DraftKind.REBASE, package=package)
    if token(asked, wanted) in found.done:
        return response.say(open_texts.updated(found))
    if found.refused and found.refused_asked >= asked:
        refusal = PushRefusal(found.refused, found.refused_asked)
        return response.refuse(texts.refused(refusal, found.base_ref))
    if not found.update.behind:
        return response.say(open_texts.up_to_date(found))
    if not found.update.possible:
        return response.refuse(texts.impossible(found.update, found.base_ref))
    trailers = [token_line(asked, wanted)]
    push = PushUpdate(
        head_ref=found.head_ref,
        head=Sha(found.head),
        base=Sha(found.base),
        files=found.update.files,
        message=commits.update_commit(found.base_ref, found.head_ref, trailers),
        asked=asked,
    )
    return replace(response, effects=(*response.effects, push), waits=True)
