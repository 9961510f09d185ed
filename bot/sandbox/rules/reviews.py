"""The forge's rules of reviews: submitted, asked for, dismissed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.sandbox.errors import plain, unprocessable
from bot.sandbox.git.diffs import FileDiff
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.repository import Pull, Review
from bot.sandbox.records.talk import LastEdit, ReviewComment
from bot.sandbox.rules import limits
from bot.sandbox.rules.context import Context
from bot.sandbox.rules.talk import Talk

_REVIEW_STATES = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
}


@dataclass(frozen=True, slots=True)
class DraftReviewComment:
    """A remark that comes with a review, at lines of the head.

    Attributes:
        path: The file.
        first: The first line, from 1.
        last: The last one.
        body: Markdown.
    """

    path: str
    first: int
    last: int
    body: str


class Reviews:
    """Reviews of a forge's pull requests; the caller holds `ForgeState.lock`."""

    def __init__(self, state: Context, talk: Talk) -> None:
        self._state = state
        self._talk = talk

    def submit(
        self, pull: Pull, user: User, event: str, body: str, commit_id: str | None = None
    ) -> Review:
        """Submit a review: APPROVE, REQUEST_CHANGES or COMMENT."""
        state = _REVIEW_STATES.get(event)
        if state is None:
            raise plain(f"Invalid request.\n\n{event} is not a possible event.")
        if user is pull.user and state != "COMMENTED":
            what = "approve" if state == "APPROVED" else "request changes on"
            raise unprocessable(f"Review Can not {what} your own pull request")
        limits.check_review(body)
        if state != "APPROVED" and not body:
            raise unprocessable("Body can't be blank")
        now = self._state.now()
        made = Review(
            id=self._state.next_id(),
            pull=pull,
            user=user,
            body=body,
            state=state,
            commit_id=commit_id or pull.head_sha,
            submitted_at=now,
            updated_at=now,
        )
        pull.reviews.append(made)
        if user in pull.requested_reviewers:
            pull.requested_reviewers.remove(user)
        pull.updated_at = now
        self._state.emit("pull_request_review", "submitted", pull.repo, user, review=made)
        return made

    def check_lines(self, files: Sequence[FileDiff], remarks: Sequence[DraftReviewComment]) -> None:
        """Refuse remarks of a review, all of them, for one line that is none of the difference.

        Raises:
            RefusedError: 422.
        """
        shown = {file.path: _lines(file.patch or "") for file in files}
        for remark in remarks:
            there = shown.get(remark.path)
            if there is None:
                raise unprocessable("Path could not be resolved")
            if not any(begin <= remark.first <= remark.last <= end for begin, end in there):
                raise unprocessable("Line could not be resolved")
            limits.check_body("PullRequestReviewComment", remark.body)

    def remark(self, review: Review, remarks: Sequence[DraftReviewComment]) -> None:
        """Add remarks that were checked to a review."""
        review.pull.remarks += [
            ReviewComment(
                id=self._state.next_id(),
                user=review.user,
                body=remark.body,
                path=remark.path,
                line=remark.last,
                first=remark.first if remark.first < remark.last else None,
                side="RIGHT",
                commit_id=review.commit_id,
                answers=None,
                review=review.id,
                created_at=review.submitted_at,
                updated_at=review.submitted_at,
            )
            for remark in remarks
        ]

    def ask(self, pull: Pull, user: User, logins: Sequence[str]) -> None:
        """Ask people for a review; 422 for who cannot read here, and for the author."""
        people = []
        for login in logins:
            found = self._state.data.users.get(login.lower())
            if found is None or self._state.role(pull.repo, found) < Role.READ or found.app:
                raise plain(
                    "Reviews may only be requested from collaborators. One or more of the users"
                    f" or teams you specified is not a collaborator of the {pull.repo.full_name}"
                    " repository."
                )
            if found is pull.user:
                raise plain("Review cannot be requested from pull request author.")
            people.append(found)
        for found in people:
            if found not in pull.requested_reviewers:
                pull.requested_reviewers.append(found)
                pull.updated_at = self._state.now()
                self._talk.tell(pull, "review_requested", user, reviewer=found)

    def unask(self, pull: Pull, user: User, logins: Sequence[str]) -> None:
        """Ask people no more."""
        gone = {login.lower() for login in logins}
        for found in [one for one in pull.requested_reviewers if one.login.lower() in gone]:
            pull.requested_reviewers.remove(found)
            self._talk.tell(pull, "review_request_removed", user, reviewer=found)

    def edit(self, review: Review, user: User, body: str) -> None:
        """Change what a review says; its author may, and who may write."""
        if review.user is not user and user.app is None:
            self._state.need(review.pull.repo, user, Role.WRITE)
        limits.check_review(body)
        before, review.body = review.body, body
        review.updated_at = self._state.now()
        review.edit = LastEdit(user, review.updated_at)
        repo, changes = review.pull.repo, {"body": {"from": before}}
        self._state.emit(
            "pull_request_review", "edited", repo, user, review=review, changes=changes
        )

    def dismiss(self, review: Review, user: User, message: str) -> None:
        """Dismiss an approving or refusing review."""
        if user.app is None:
            self._state.need(review.pull.repo, user, Role.WRITE)
        if review.state not in ("APPROVED", "CHANGES_REQUESTED"):
            raise unprocessable(f"Can not dismiss a {review.state.lower()} pull request review")
        note = {"review": review.id, "message": message, "state": review.state.lower()}
        review.state, review.updated_at = "DISMISSED", self._state.now()
        words = f"dismissed a review: {message}"
        self._state.note(review.pull, user, "review_dismissed", words, **note)
        self._state.emit("pull_request_review", "dismissed", review.pull.repo, user, review=review)


def _lines(patch: str) -> list[tuple[int, int]]:
    """First and last line of each part of a file that a patch shows, as they are after it."""
    found = []
    for head in re.finditer(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", patch, re.MULTILINE):
        first, count = int(head[1]), int(head[2] or 1)
        found.append((first, first + count - 1))
    return found
