"""Notes and the discussions they stand in: written, changed, resolved; what GitLab itself notes.

Source: https://docs.gitlab.com/api/notes/ and https://docs.gitlab.com/api/discussions/
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta

from bot.sandbox.errors import RefusedError
from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.errors import bad_request, forbidden, missing
from bot.sandbox.gitlab.rules import positions
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.merge_requests import DiffVersion, MergeRequest, Note, Position
from bot.sandbox.records.repository import Thread
from bot.sandbox.rules.context import Context

LONGEST_NOTE = 1_000_000  # characters, as GitLab says


def notes(thread: Thread, viewer_level: AccessLevel = AccessLevel.OWNER) -> list[Note]:
    """Notes of a thread that somebody with an access level sees, oldest first."""
    found = [note for note in thread.comments if isinstance(note, Note)]
    return [n for n in found if not n.internal or viewer_level >= AccessLevel.REPORTER]


def discussions(thread: Thread, viewer_level: AccessLevel = AccessLevel.OWNER) -> list[list[Note]]:
    """Notes by their discussion, in the order in which these began."""
    found: dict[str, list[Note]] = {}
    for note in notes(thread, viewer_level):
        found.setdefault(note.discussion, []).append(note)
    return list(found.values())


def discussion(
    thread: Thread, name: str, viewer_level: AccessLevel = AccessLevel.OWNER
) -> list[Note]:
    """The notes of one discussion; 404 where there is none."""
    found = [note for note in notes(thread, viewer_level) if note.discussion == name]
    if not found:
        raise missing("Discussion")
    return found


def find(thread: Thread, number: int, viewer_level: AccessLevel = AccessLevel.OWNER) -> Note:
    """A note of a thread; 404 where there is none, or none for the viewer."""
    note = thread.repo.comments.get(number)
    seen = isinstance(note, Note) and note.thread is thread
    if (
        not seen
        or not isinstance(note, Note)
        or (note.internal and viewer_level < AccessLevel.REPORTER)
    ):
        raise missing("Note")
    return note


def write(
    state: Context,
    thread: Thread,
    user: User,
    body: str,
    *,
    kind: str | None = None,
    internal: bool = False,
    position: Position | None = None,
    code: str | None = None,
    answers: Sequence[Note] = (),
) -> Note:
    """Write a note: alone, as the beginning of a discussion (`kind`), or into one (`answers`).

    Raises:
        RefusedError: 400 for an empty or too long text, 403 in a locked conversation.
    """
    _check(body)
    member = levels.level(state, thread.repo, user) >= AccessLevel.GUEST
    if thread.locked and not member:
        raise forbidden()
    if answers:
        kind = answers[0].kind or "DiscussionNote"
        for note in answers:
            note.kind = note.kind or kind  # what stood alone is a discussion from now on
    first = answers[0] if answers else None
    now = state.now()
    made = Note(
        id=state.next_id(),
        thread=thread,
        user=user,
        body=body,
        created_at=now,
        updated_at=now,
        discussion=first.discussion if first else secrets.token_hex(20),
        kind=kind,
        internal=internal or bool(first and first.internal),
        position=first.position if first else position,
        original=first.original if first else position,
        line_code=first.line_code if first else code,
    )
    _add(made)
    if first is not None and first.resolvable:
        _set_resolved(answers, None, state)  # an answer opens a thread again
    state.emit("note", "create", thread.repo, user, note=made)
    return made


def system(state: Context, thread: Thread, user: User, body: str, icon: str) -> Note:
    """Note that something happened; webhooks do not hear of it."""
    now = state.now()
    made = Note(
        id=state.next_id(),
        thread=thread,
        user=user,
        body=body,
        created_at=now,
        updated_at=now,
        discussion=secrets.token_hex(20),
        system=True,
        icon=icon,
    )
    _add(made)
    return made


def edit(state: Context, note: Note, user: User, body: str) -> None:
    """Change a note's text; its author may, and Maintainers."""
    _own(state, note, user)
    _check(body)
    if body != note.body:
        # No clock of GitLab's shows the same twice, however soon it is asked again.
        later = note.updated_at + timedelta(milliseconds=1)
        note.body, note.updated_at = body, max(state.now(), later)
        note.last_edited_at = note.updated_at
        state.emit("note", "update", note.thread.repo, user, note=note)


def delete(state: Context, note: Note, user: User) -> None:
    """Take a note away; its author may, and Maintainers."""
    _own(state, note, user)
    note.thread.comments.remove(note)
    del note.thread.repo.comments[note.id]


def resolve(
    state: Context, thread: Thread, found: Sequence[Note], user: User, resolved: bool
) -> None:
    """Resolve a discussion, or open it again; its author may, that of the change, Developers.

    Raises:
        RefusedError: 403 for others, 400 for what cannot be resolved.
    """
    if not found[0].resolvable:
        raise bad_request("400 Bad request - Discussion is not resolvable")
    own = user in (thread.user, found[0].user)
    if not own and levels.level(state, thread.repo, user) < AccessLevel.DEVELOPER:
        raise forbidden()
    _set_resolved(found, user if resolved else None, state)


def is_resolved(found: Sequence[Note]) -> bool:
    """Whether all of a discussion that can be resolved is."""
    return all(note.resolved_by is not None for note in found if note.resolvable)


def all_resolved(mr: MergeRequest) -> bool:
    """Whether every thread of a merge request is resolved."""
    return is_resolved(notes(mr))


def diff_moved(state: Context, mr: MergeRequest, user: User, version: DiffVersion) -> None:
    """Let positions follow a new diff; those whose line is gone stay, and are outdated.

    Where the project says so, outdated threads are resolved.
    """
    git = state.git(mr.repo)
    for found in discussions(mr):
        first = found[0]
        if first.position is None or first.position.head_sha != mr.versions[-2].head_sha:
            continue
        moved = positions.traced(git, first.position, version)
        if moved is not None:
            for note in found:
                note.position = moved
        elif mr.repo.gitlab.settings.get("resolve_outdated_diff_discussions"):
            _set_resolved(found, user, state)


def _add(note: Note) -> None:
    note.thread.comments.append(note)
    note.thread.repo.comments[note.id] = note
    note.thread.updated_at = max(note.thread.updated_at, note.created_at)


def _set_resolved(found: Sequence[Note], user: User | None, state: Context) -> None:
    for note in found:
        if note.resolvable and (note.resolved_by is None) != (user is None):
            note.resolved_by = user
            note.resolved_at = None if user is None else state.now()
            note.updated_at = state.now()  # as `ResolvableNote.resolve!` of GitLab has it


def _own(state: Context, note: Note, user: User) -> None:
    maintains = levels.level(state, note.thread.repo, user) >= AccessLevel.MAINTAINER
    if note.system or (note.user is not user and not maintains):
        raise forbidden()


def _check(body: str) -> None:
    if not body.strip():
        raise _invalid("can't be blank")
    if len(body) > LONGEST_NOTE:
        raise _invalid(f"is too long (maximum is {LONGEST_NOTE} characters)")


def _invalid(words: str) -> RefusedError:
    return bad_request(f'400 Bad request - Note {{:note=>["{words}"]}}')
