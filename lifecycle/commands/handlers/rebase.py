"""`/rebase`: bringing a proposal up to date with its base branch."""

from dataclasses import dataclass, replace

from lifecycle.commands.handlers import drafts
from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.messages import answers
from lifecycle.messages import drafts as draft_texts
from lifecycle.messages import updates as texts


@dataclass(frozen=True, slots=True)
class RebaseCommand:
    """Merge the base branch into the head; or the package goes `onto` another upstream."""

    package: str = ""
    onto: str = ""


def rebase(
    request: CommandRequest, response: CommandResponse, command: RebaseCommand
) -> CommandResponse:
    """Ask for the merge commit, or tell why there is none."""
    if command.onto:
        return _onto(request, response, command)
    facts, p, asked = request.facts, response.proposal, request.asked
    base_ref = p.place.base_ref
    if not facts.same_repository:
        return response.refuse(texts.of_fork(base_ref))
    if not facts.may_push:
        return response.refuse(answers.of_published("rebase", facts.head_ref))
    refused = facts.push_refused
    if refused and refused.asked >= asked:
        return response.refuse(texts.refused(refused, base_ref))
    if p.update is None or p.place.head != facts.head:
        return response.refuse(texts.unknown(base_ref))
    if not p.update.behind:
        return response.say(texts.up_to_date(base_ref))
    if not p.update.possible:
        return response.refuse(texts.impossible(p.update, base_ref))
    return replace(response.say(texts.updated(p)), update_asked=asked)


def _onto(
    request: CommandRequest, response: CommandResponse, command: RebaseCommand
) -> CommandResponse:
    """Replay what was changed here on another upstream."""
    wanted = drafts.rebased(response.proposal, command.package, command.onto)
    if wanted is None:
        return response.refuse(draft_texts.which("rebase", drafts.about(response.proposal)))
    return drafts.make(request, response, "rebase", wanted)
