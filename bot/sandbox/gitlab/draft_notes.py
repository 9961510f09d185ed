"""GitLab's operations on draft notes: remarks of a review that is not published yet.

Their author alone sees them, and no webhook tells of them, until they are published.
Source: https://docs.gitlab.com/api/draft_notes/
"""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab.errors import missing
from bot.sandbox.gitlab.json import Json
from bot.sandbox.gitlab.merge_requests import at
from bot.sandbox.gitlab.routing import WITH_CODE, ApiRequest, page, route
from bot.sandbox.gitlab.rules import quick_actions, threads
from bot.sandbox.records.merge_requests import MergeRequest
from bot.sandbox.records.premium import DraftNote

_DRAFTS = "/projects/{id}/merge_requests/{iid}/draft_notes"
_DRAFT = f"{_DRAFTS}/{{draft_note_id}}"


@route("GET", _DRAFTS, WITH_CODE)
def list_drafts(request: ApiRequest) -> ApiResponse:
    """One's own draft notes."""
    mr = at(request)
    mine = [d for d in mr.draft_notes.values() if d.user is request.user]
    return page(request, mine, lambda draft: _shown(mr, draft))


@route("POST", _DRAFTS, WITH_CODE)
def add(request: ApiRequest) -> ApiResponse:
    """Write one, alone or in answer to a discussion."""
    mr, given = at(request), request.input
    answers = given.text("in_reply_to_discussion_id")
    if answers is not None:
        threads.discussion(mr, answers, request.level)
    made = DraftNote(
        id=request.state.next_id(),
        user=request.user,
        text=given.filled("note"),
        created_at=request.state.now(),
        discussion=answers,
        resolves=given.flag("resolve_discussion") or False,
    )
    mr.draft_notes[made.id] = made
    return ApiResponse(status=201, body=_shown(mr, made))


@route("GET", _DRAFT, WITH_CODE)
def get(request: ApiRequest) -> ApiResponse:
    """One of one's own."""
    return ApiResponse(body=_shown(at(request), _found(request)))


@route("PUT", _DRAFT, WITH_CODE)
def edit(request: ApiRequest) -> ApiResponse:
    """Change its text."""
    draft = _found(request)
    draft.text = request.input.text("note") or draft.text
    return ApiResponse(body=_shown(at(request), draft))


@route("DELETE", _DRAFT, WITH_CODE)
def remove(request: ApiRequest) -> ApiResponse:
    """Take it away."""
    del at(request).draft_notes[_found(request).id]
    return ApiResponse(status=204)


@route("PUT", f"{_DRAFT}/publish", WITH_CODE)
def publish(request: ApiRequest) -> ApiResponse:
    """Make a note of it."""
    _publish(request, at(request), _found(request))
    return ApiResponse(status=204)


@route("POST", f"{_DRAFTS}/bulk_publish", WITH_CODE)
def publish_all(request: ApiRequest) -> ApiResponse:
    """Make notes of all of one's own: the review is submitted."""
    mr = at(request)
    for draft in [d for d in mr.draft_notes.values() if d.user is request.user]:
        _publish(request, mr, draft)
    return ApiResponse(status=204)


def _publish(request: ApiRequest, mr: MergeRequest, draft: DraftNote) -> None:
    """Its quick actions are carried out now, as those of any note."""
    answers = threads.discussion(mr, draft.discussion) if draft.discussion else ()
    del mr.draft_notes[draft.id]
    quick_actions.say(request.state, mr, draft.user, draft.text, answers=answers)
    if draft.resolves and draft.discussion:
        found = threads.discussion(mr, draft.discussion)
        threads.resolve(request.state, mr, found, draft.user, resolved=True)


def _found(request: ApiRequest) -> DraftNote:
    """404 for those of others, too."""
    draft = at(request).draft_notes.get(request.number("draft_note_id"))
    if draft is None or draft.user is not request.user:
        raise missing()
    return draft


def _shown(mr: MergeRequest, draft: DraftNote) -> Json:
    """Entity `DraftNote`."""
    return {
        "id": draft.id,
        "author_id": draft.user.id,
        "merge_request_id": mr.id,
        "resolve_discussion": draft.resolves,
        "discussion_id": draft.discussion,
        "note": draft.text,
        "commit_id": None,
        "line_code": None,
        "position": None,
    }
