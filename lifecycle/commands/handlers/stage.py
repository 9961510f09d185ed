"""`/propose` and `/reject`: from draft to proposal and back."""

from dataclasses import dataclass

from lifecycle.authors import owners
from lifecycle.commands.handlers.approve import approves, take_back
from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.events import Rejected
from lifecycle.messages import answers as texts


@dataclass(frozen=True, slots=True)
class ProposeCommand:
    """Make a draft a proposal; only while its head is `commit`, where it names one."""

    commit: str = ""


@dataclass(frozen=True, slots=True)
class RejectCommand:
    """Send a proposal back to draft; `reason` may be empty."""

    reason: str = ""


def propose(
    request: CommandRequest, response: CommandResponse, command: ProposeCommand
) -> CommandResponse:
    """Mark it ready; refuse where it moved since it was looked at, or was sent back since."""
    head, asked, sent = response.proposal.place.head, request.comment, response.memory.rejected
    if sent and (sent.at > asked.at or (sent.at == asked.at and 0 < asked.id < sent.comment)):
        return response.refuse(texts.SENT_BACK_SINCE)
    if not head.startswith(command.commit):
        return response.refuse(texts.other_head(command.commit, head))
    if response.proposal.content.drafted is not None:
        return response.refuse(texts.NOTHING_TO_PROPOSE)
    return response.as_draft(False)


def reject(
    request: CommandRequest, response: CommandResponse, command: RejectCommand
) -> CommandResponse:
    """Send it back; whoever does so no longer approves it, so `/propose` publishes nothing."""
    comment = request.comment
    who, reason = comment.author.login, command.reason
    sent = Rejected(person=who, at=comment.at, comment=comment.id, reason=reason)
    known = sent in response.memory.log  # and done, while another command of the comment waits
    response = response.cause(sent)
    response = response.say(texts.rejected_notice(owners(response.proposal), who, reason))
    if response.approval:
        response = response.without(response.approval).say(texts.APPROVED_AND_REJECTED)
    if approves(request, response):
        response = take_back(request, response)
    return response if known and not response.turned else response.as_draft(True)
