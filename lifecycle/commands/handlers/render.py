"""`/render` and `/check`: rendering and checking again."""

from dataclasses import dataclass, replace

from lifecycle.actions import Forget
from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.messages import answers as texts


@dataclass(frozen=True, slots=True)
class RenderCommand:
    """Render again, and commit the result where the bot may push."""


@dataclass(frozen=True, slots=True)
class CheckCommand:
    """Check again."""


def render(
    request: CommandRequest, response: CommandResponse, _command: RenderCommand
) -> CommandResponse:
    """Ask for a render commit, unless the forge refused the push that this comment asked for."""
    if not request.facts.same_repository:
        return response.refuse(texts.RENDER_OF_FORK)
    if not request.facts.may_push:
        return response.refuse(texts.of_published("render", request.facts.head_ref))
    refused, asked = request.facts.push_refused, request.asked
    if refused and refused.asked >= asked:
        return response.refuse(texts.render_refused(refused))
    return _look_again(replace(response, render_asked=asked))


def check(
    _request: CommandRequest, response: CommandResponse, _command: CheckCommand
) -> CommandResponse:
    """Look again, with nothing kept from before."""
    return _look_again(response)


def _look_again(response: CommandResponse) -> CommandResponse:
    """Forget verdicts and the forge's refusal, so that the merge is tried again, once."""
    p = response.proposal
    trees = tuple(sorted(t.tree for t in p.content.touched if t.tree))
    return replace(
        response,
        proposal=replace(p, merging=replace(p.merging, wait=None)),
        effects=(*response.effects, Forget(p.place.number, trees)),
    )
