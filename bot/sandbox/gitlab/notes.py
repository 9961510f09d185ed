"""GitLab's operations on notes and discussions of merge requests and issues, and on emoji.

Source: https://docs.gitlab.com/api/notes/, https://docs.gitlab.com/api/discussions/,
https://docs.gitlab.com/api/emoji_reactions/
"""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import note_json as talk
from bot.sandbox.gitlab.errors import bad_parameter, bad_request, missing
from bot.sandbox.gitlab.inputs import Inputs
from bot.sandbox.gitlab.routing import CODE, SEEN, SIGNED_IN, ApiRequest, page, route
from bot.sandbox.gitlab.rules import (
    emoji,
    issues,
    merge_requests,
    positions,
    quick_actions,
    threads,
)
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.merge_requests import MergeRequest, Note, Position
from bot.sandbox.records.repository import Comment, Thread

_DEFAULTS = {"activity_filter": "all_notes", "order_by": "created_at", "sort": "desc"}


def thread_at(request: ApiRequest) -> Thread:
    """The merge request or issue of the path; 404 where there is none."""
    number = request.number("iid")
    if "/merge_requests/" in request.template:
        return merge_requests.find(request.project, number)
    return issues.find(request.project, number)


def _note(request: ApiRequest) -> Note:
    return threads.find(thread_at(request), request.number("note_id"), request.level)


def _discussion(request: ApiRequest) -> list[Note]:
    return threads.discussion(thread_at(request), request.params["discussion_id"], request.level)


def _serve(parent: str) -> None:
    """Make the operations known for merge requests, or for issues."""
    base = f"/projects/{{id}}/{parent}/{{iid}}"
    reads = CODE if parent == "merge_requests" else SEEN
    note, discussion = f"{base}/notes/{{note_id}}", f"{base}/discussions/{{discussion_id}}"
    route("GET", f"{base}/notes", reads)(list_notes)
    route("POST", f"{base}/notes", SIGNED_IN)(create_note)
    route("GET", note, reads)(get_note)
    route("PUT", note, SIGNED_IN)(update_note)
    route("DELETE", note, SIGNED_IN)(delete_note)
    route("GET", f"{base}/discussions", reads)(list_discussions)
    route("POST", f"{base}/discussions", SIGNED_IN)(create_discussion)
    route("GET", discussion, reads)(get_discussion)
    route("PUT", discussion, SIGNED_IN)(resolve_discussion)
    route("POST", f"{discussion}/notes", SIGNED_IN)(answer)
    route("GET", f"{discussion}/notes/{{note_id}}", reads)(get_note)
    route("PUT", f"{discussion}/notes/{{note_id}}", SIGNED_IN)(update_note)
    route("DELETE", f"{discussion}/notes/{{note_id}}", SIGNED_IN)(delete_note)
    for on in (base, note):
        route("GET", f"{on}/award_emoji", reads)(list_emoji)
        route("POST", f"{on}/award_emoji", SIGNED_IN)(award)
        route("GET", f"{on}/award_emoji/{{award_id}}", reads)(get_emoji)
        route("DELETE", f"{on}/award_emoji/{{award_id}}", SIGNED_IN)(revoke)


def list_notes(request: ApiRequest) -> ApiResponse:
    """Notes, newest first unless `sort` says otherwise."""
    given = request.input
    order = given.choice("order_by", ("created_at", "updated_at")) or "created_at"
    sort = given.choice("sort", ("asc", "desc")) or "desc"
    wanted = given.choice("activity_filter", ("all_notes", "only_comments", "only_activity"))
    found = [
        note
        for note in threads.notes(thread_at(request), request.level)
        if wanted in (None, "all_notes") or note.system == (wanted == "only_activity")
    ]
    found.sort(key=lambda note: (getattr(note, order), note.id), reverse=sort == "desc")
    return page(request, found, lambda note: talk.note(request.links, note), _DEFAULTS)


def create_note(request: ApiRequest) -> ApiResponse:
    """Write a note; its quick actions are carried out, and are no part of it.

    Returns:
        201 with the note; 202 with what was done where nothing but quick actions was written.
    """
    given, thread = request.input, thread_at(request)
    _check_writer(request, thread)
    internal = given.flag("internal") or given.flag("confidential") or False
    return _said(
        request,
        *quick_actions.say(
            request.state,
            thread,
            request.user,
            given.filled("body"),
            internal=internal and request.level >= AccessLevel.REPORTER,
        ),
    )


def _said(
    request: ApiRequest, report: quick_actions.QuickActionReport, made: Note | None
) -> ApiResponse:
    if made is None:
        body = {"commands_changes": report.changes, "summary": report.summary}
        return ApiResponse(status=202, body=body)
    body = talk.note(request.links, made) | {"commands_changes": report.changes}
    return ApiResponse(status=201, body=body)


def _check_writer(request: ApiRequest, thread: Thread) -> None:
    """Who sees a conversation may speak in it: as if it were not there for others."""
    if isinstance(thread, MergeRequest) and not request.reads_code(thread.repo):
        raise missing()


def get_note(request: ApiRequest) -> ApiResponse:
    """One note."""
    return ApiResponse(body=talk.note(request.links, _note(request)))


def update_note(request: ApiRequest) -> ApiResponse:
    """Change a note's text, or resolve its discussion."""
    note, given = _note(request), request.input
    resolved = given.flag("resolved")
    if resolved is not None and "discussion_id" in request.params:
        threads.resolve(request.state, note.thread, [note], request.user, resolved)
    elif "body" in given:
        thread, text = note.thread, given.filled("body")
        report = quick_actions.run(request.state, thread, request.user, text)
        threads.edit(request.state, note, request.user, report.text or note.body)
    else:
        raise bad_parameter("body is missing")
    return ApiResponse(body=talk.note(request.links, note))


def delete_note(request: ApiRequest) -> ApiResponse:
    """Take a note away."""
    threads.delete(request.state, _note(request), request.user)
    return ApiResponse(status=204)


def list_discussions(request: ApiRequest) -> ApiResponse:
    """Discussions, in the order in which they began."""
    found = threads.discussions(thread_at(request), request.level)
    return page(request, found, lambda notes: talk.discussion(request.links, notes))


def get_discussion(request: ApiRequest) -> ApiResponse:
    """One discussion."""
    return ApiResponse(body=talk.discussion(request.links, _discussion(request)))


def create_discussion(request: ApiRequest) -> ApiResponse:
    """Begin a discussion, at a line of the diff with `position`."""
    thread, given = thread_at(request), request.input
    _check_writer(request, thread)
    where = given.inner("position")
    position = None if where is None else _position(where)
    code = None
    if position is not None:
        code = _line_code(request, thread, position)
    kind = "DiscussionNote" if position is None else "DiffNote"
    report = quick_actions.run(request.state, thread, request.user, given.filled("body"))
    made = threads.write(
        request.state,
        thread,
        request.user,
        report.text,
        kind=kind,
        position=position,
        code=code,
    )
    return ApiResponse(status=201, body=talk.discussion(request.links, [made]))


def _position(given: Inputs) -> Position:
    if given.required("position_type") not in ("text", "image", "file"):
        raise bad_parameter("position[position_type] does not have a valid value")
    new, old = given.text("new_path"), given.text("old_path")
    span = given.inner("line_range")
    return Position(
        base_sha=given.required("base_sha"),
        start_sha=given.required("start_sha"),
        head_sha=given.required("head_sha"),
        old_path=old or new or "",
        new_path=new or old or "",
        old_line=given.number("old_line"),
        new_line=given.number("new_line"),
        line_range=None if span is None else span.plain(),
    )


def _line_code(request: ApiRequest, thread: Thread, position: Position) -> str:
    """The code of the line; 400 for one that the diff does not show."""
    if not isinstance(thread, MergeRequest):
        raise bad_request("400 Bad request - Position is not valid here")
    refs = (position.base_sha, position.start_sha, position.head_sha)
    known = [(v.base_sha, v.start_sha, v.head_sha) for v in thread.versions]
    found = None
    if refs in known:
        files = request.state.git(thread.repo).diff(position.base_sha, position.head_sha)
        found = positions.line_code(files, position)
    if found is None:
        words = (
            '400 Bad request - Note {:line_code=>["can\'t be blank", "must be a valid line code"]}'
        )
        raise bad_request(words)
    return found


def resolve_discussion(request: ApiRequest) -> ApiResponse:
    """Resolve a discussion, or open it again."""
    found, resolved = _discussion(request), request.input.flag("resolved")
    if resolved is None:
        raise bad_parameter("resolved is missing")
    threads.resolve(request.state, thread_at(request), found, request.user, resolved)
    return ApiResponse(body=talk.discussion(request.links, found))


def answer(request: ApiRequest) -> ApiResponse:
    """Write a note into a discussion."""
    found, thread = _discussion(request), thread_at(request)
    _check_writer(request, thread)
    text = request.input.filled("body")
    said = quick_actions.say(request.state, thread, request.user, text, answers=found)
    return _said(request, *said)


def _awardable(request: ApiRequest) -> Comment | Thread:
    return _note(request) if "note_id" in request.params else thread_at(request)


def list_emoji(request: ApiRequest) -> ApiResponse:
    """Emoji on a merge request, an issue or a note."""
    on = _awardable(request)
    return page(request, on.reactions, lambda found: talk.emoji(request.links, on, found))


def award(request: ApiRequest) -> ApiResponse:
    """React; the same emoji again is 404."""
    on = _awardable(request)
    made = emoji.award(request.state, on, request.user, request.input.filled("name"))
    return ApiResponse(status=201, body=talk.emoji(request.links, on, made))


def get_emoji(request: ApiRequest) -> ApiResponse:
    """One emoji."""
    on = _awardable(request)
    found = emoji.find(on, request.number("award_id"))
    return ApiResponse(body=talk.emoji(request.links, on, found))


def revoke(request: ApiRequest) -> ApiResponse:
    """Take an emoji back."""
    emoji.revoke(request.state, _awardable(request), request.user, request.number("award_id"))
    return ApiResponse(status=204)


for _parent in ("merge_requests", "issues"):
    _serve(_parent)
