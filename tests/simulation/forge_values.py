"""The sandbox's records as values of the bot's port: what GitHub's adapter reads from JSON."""

from typing import Any

from bot.forges.github.people import ANYBODYS
from bot.forges.port import Conversation, HeadChange, ListedProposal, NativeReview
from bot.sandbox.git.objects import Commit as GitCommit
from bot.sandbox.git.objects import Ident
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.refs import Activity, ActivityKind
from bot.sandbox.records.repository import CheckRun as Run
from bot.sandbox.records.repository import Comment as Said
from bot.sandbox.records.repository import Pull, Review
from bot.sandbox.rules.context import Context
from lifecycle.access import Person
from lifecycle.facts.checks import CheckRun, Conclusion, Status
from lifecycle.facts.conversation import Comment, ReadyForReview, ReviewState, ReviewText
from lifecycle.merges import Move
from lifecycle.names import Sha

_PASSING = frozenset({"success", "neutral", "skipped"})
_FORCED = frozenset(
    {ActivityKind.FORCE_PUSH, ActivityKind.BRANCH_CREATION, ActivityKind.BRANCH_DELETION}
)
_VERDICTS = {
    "APPROVED": ReviewState.APPROVED,
    "CHANGES_REQUESTED": ReviewState.CHANGES_REQUESTED,
    "DISMISSED": ReviewState.DISMISSED,
}
_CHANGES = frozenset({"head_ref_force_pushed", "head_ref_deleted", "head_ref_restored", "reopened"})
_BASES = frozenset({"base_ref_changed"})
_MOST_CHANGES = 100


def person(who: User) -> Person:
    """An account."""
    return Person(who.id, who.login, who.kind != "User")


def proposal(pull: Pull) -> ListedProposal:
    """A pull request as lists show it."""
    merged = pull.merged_at is not None
    return ListedProposal(
        number=pull.number,
        title=pull.title,
        author=person(pull.user),
        draft=pull.draft,
        open=pull.state == "open",
        head=Sha(pull.head_sha),
        head_ref=pull.head_ref,
        head_repository=pull.head_repo.id if pull.head_repo else None,
        base_ref=pull.base_ref,
        merge_commit=Sha(pull.merge_commit_sha or "") if merged else None,
        merged_at=pull.merged_at,
        updated_at=pull.updated_at,
        assigned=tuple(sorted(user.login for user in pull.assignees)),
        labels=frozenset(label.name for label in pull.labels),
        locked=pull.locked,
    )


class Talks:
    """Conversations as one value; comments that did not change are not made again.

    Args:
        us: The App's account.
    """

    def __init__(self, us: User) -> None:
        self._us = us
        self._made: dict[int, tuple[object, str, Comment]] = {}

    def conversation(self, pull: Pull) -> Conversation:
        """What was said on a pull request."""
        reviews = [r for r in pull.reviews if r.state != "PENDING"]
        verdicts = [_review(r) for r in reviews if r.state in _VERDICTS]
        bases = [event.at for event in pull.events if event.kind in _BASES]
        changes = [
            HeadChange(event.at, _sha(event.detail.get("after")))
            for event in pull.events
            if event.kind in _CHANGES
        ]
        waiting = pull.repo.queues.get(pull.base_ref, ())
        return Conversation(
            head=Sha(pull.head_sha),
            opened_at=pull.created_at,
            comments=tuple([self._comment(said) for said in pull.comments]),
            reviews=tuple(sorted(verdicts, key=lambda r: (r.at, r.id))),
            review_texts=tuple(
                ReviewText(
                    id=r.id,
                    author=person(r.user),
                    body=r.body,
                    at=r.submitted_at,
                    edited=r.edit is not None,
                    head=Sha(r.commit_id),
                    state=_VERDICTS.get(r.state),
                )
                for r in reviews
                if r.body and r.user is not self._us
            ),
            review_numbers=frozenset(r.id for r in reviews),
            suggested=frozenset(Sha(r.commit_id) for r in reviews if r.user is self._us),
            base_at=max(bases, default=None),
            changes=tuple(changes[-_MOST_CHANGES:]),
            readied=None if pull.draft else self._readied(pull),
            in_queue=any(e.pull is pull for e in waiting),
            enqueued=any(e.pull is pull and e.user is self._us for e in waiting),
        )

    def _readied(self, pull: Pull) -> ReadyForReview | None:
        presses = [event for event in pull.events if event.kind == "ready_for_review"]
        if not presses or presses[-1].actor is self._us:
            return None
        return ReadyForReview(person(presses[-1].actor), presses[-1].at, str(presses[-1].id))

    def _comment(self, said: Said) -> Comment:
        edit, login, made = self._made.get(said.id, (None, "", None))
        same = edit is said.edit and login == said.user.login
        if made is not None and same and made.at == said.created_at:  # stories put it back
            return made
        ours = said.user is self._us
        made = Comment(
            id=said.id,
            author=person(said.user),
            body=said.body,
            at=said.created_at,
            edited=said.edit is not None,
            edited_at=said.edit.at if said.edit else None,
            altered=ours and said.edit is not None and said.edit.editor is not self._us,
            ours=ours,
        )
        self._made[said.id] = said.edit, said.user.login, made
        return made


def _sha(text: object) -> Sha | None:
    return Sha(str(text)) if text else None


def _review(review: Review) -> NativeReview:
    return NativeReview(
        id=review.id,
        author=person(review.user),
        state=_VERDICTS[review.state],
        head=Sha(review.commit_id),
        at=review.submitted_at,
    )


def check(run: Run, app_id: int) -> CheckRun:
    """A check run, and whether it is the App's own."""
    completed = run.status == "completed"
    passed = Conclusion.SUCCESS if run.conclusion in _PASSING else Conclusion.FAILURE
    return CheckRun(
        id=run.id,
        name=run.name,
        status=Status.COMPLETED if completed else Status.IN_PROGRESS,
        conclusion=passed if completed else None,
        digest=run.external_id,
        completed_at=run.completed_at,
        ours=run.suite.app.id == app_id,
        source=run.suite.app.id,
        app=run.suite.app.slug,
    )


def move(entry: Activity) -> Move:
    """One entry of the activity log."""
    return Move(
        before=Sha(entry.before),
        after=Sha(entry.after),
        actor=entry.actor.login,
        at=entry.timestamp,
        forced=entry.kind in _FORCED,
        account=entry.actor.id,
        anybodys=entry.actor.login in ANYBODYS,
    )


def permission(role: Role, user: User) -> dict[str, Any]:
    """The answer about a collaborator, as far as `people.role_of` reads it."""
    steps = {Role.MAINTAIN: Role.WRITE, Role.TRIAGE: Role.READ}
    return {
        "permission": steps.get(role, role).word,
        "role_name": role.word,
        "user": _account(user),
    }


def commit(state: Context, found: GitCommit) -> dict[str, Any]:
    """A commit of a pull request, as far as `people.made_by` reads it."""

    def of(who: Ident) -> dict[str, Any] | None:
        user = state.account_of(who.email)
        return _account(user) if user is not None else None

    return {
        "sha": found.sha,
        "commit": {
            "author": {"email": found.author.email},
            "committer": {"email": found.committer.email},
            "message": found.message.rstrip("\n"),
        },
        "author": of(found.author),
        "committer": of(found.committer),
    }


def _account(user: User) -> dict[str, Any]:
    return {"id": user.id, "login": user.login, "type": user.kind}
