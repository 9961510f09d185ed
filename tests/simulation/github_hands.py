"""What people do at GitHub: its rules, called as the person."""

from collections.abc import Callable, Collection

from bot.sandbox.records.accounts import App, Role, User
from bot.sandbox.records.protection import QueueRule
from bot.sandbox.records.refs import RefChange
from bot.sandbox.records.repository import (
    CheckRun,
    Comment,
    Issue,
    Pull,
    Repository,
    Thread,
)
from tests.simulation.hands import Hands, ImpossibleError
from tests.simulation.setting import MAIN, READER, RELEASE, TEAM, WRITERS


class GitHubHands(Hands):
    """As `Hands` has it, at GitHub."""

    def open(self, who: str, branch: str, base: str, title: str, *, draft: bool = False) -> Pull:
        """Open a pull request."""
        return self._try(
            lambda: self.state.pulls.open(
                self.repo, self.user(who), title=title, head=branch, base=base, draft=draft
            )
        )

    def say(self, who: str, about: Thread, text: str, *means: str) -> Comment:
        """Write a comment; `means` are the commands that it holds."""
        user = self.user(who)
        if means:  # before the forge tells: whoever listens knows what was meant
            self.diary.meant[self.state.data.last_id + 1] = means
        return self._try(lambda: self.state.talk.comment(about, user, text))

    def _edit_issue(self, who: str, issue: Issue, text: str) -> None:
        self.state.issues.edit(issue, self.user(who), body=text)

    def edit(self, who: str, comment: Comment, text: str) -> None:
        """Change a comment."""
        self._try(lambda: self.state.talk.edit(comment, self.user(who), text))

    def delete(self, who: str, comment: Comment) -> None:
        """Delete a comment."""
        self._try(lambda: self.state.talk.delete(comment, self.user(who)))

    def review(self, who: str, pull: Pull, event: str, text: str = "") -> None:
        """Submit a review."""
        self._try(lambda: self.state.reviews.submit(pull, self.user(who), event, text))

    def comments(self, pull: Pull) -> list[Comment]:
        """All that was said on a pull request."""
        return list(pull.comments)

    def update_branch(self, who: str, pull: Pull) -> None:
        """Bring the head up to its base, by the forge's button."""
        self._try(lambda: self.state.pulls.update_branch(pull, self.user(who), None))

    def set_draft(self, who: str, pull: Pull, draft: bool) -> None:
        """Make a draft of a pull request, or mark it ready."""
        self._try(lambda: self.state.pulls.set_draft(pull, self.user(who), draft))

    def turn(self, who: str, pull: Pull, wanted: str) -> None:
        """Make a pull request "open" or "closed"."""
        self._try(lambda: self.state.pulls.edit(pull, self.user(who), state=wanted))

    def retarget(self, who: str, pull: Pull, base: str) -> None:
        """Let it come to another branch."""
        self._try(lambda: self.state.pulls.edit(pull, self.user(who), base=base))

    def merge(self, who: str, pull: Pull, method: str = "merge") -> None:
        """Merge by hand: "merge", "squash" or "rebase"."""
        self._try(lambda: self.state.pulls.merge(pull, self.user(who), method=method))

    def merged_as(self, pull: Pull) -> str:
        """The commit by which a pull request came in."""
        return pull.merge_commit_sha or ""

    def dismiss(self, by: str, pull: Pull, of: Collection[str] = ()) -> str:
        """Take a review away, of one of these people where some are named; gives whose."""
        found = self.one(
            [
                r
                for r in pull.reviews
                if r.state in ("APPROVED", "CHANGES_REQUESTED") and (not of or r.user.login in of)
            ]
        )
        self._try(lambda: self.state.reviews.dismiss(found, self.user(by), "not so"))
        return found.user.login

    def report(self, who: str, pull: Pull, context: str, state: str, text: str = "") -> None:
        """Put a status on the head: success, failure or pending."""
        self._try(
            lambda: self.state.checks.add_status(
                self.repo,
                pull.head_sha,
                self.user(who),
                state=state,
                context=context,
                description=text or None,
                target_url=None,
            )
        )

    def rerun(self, who: str, pull: Pull) -> str:
        """Press Re-run on one of the bot's checks; gives its name."""
        run: CheckRun = self.one(self.state.checks.runs_on(self.repo, pull.head_sha))
        self._try(lambda: self.state.checks.rerequest(run, self.user(who)))
        return run.name

    def app(self) -> App:
        """The App that the bot is, whose check a rule may require."""
        return self.one(list(self.state.data.apps.values()))

    def protect(self) -> str:
        """Bind people at a branch, as the forge can; gives what it asks for then."""
        branch, app = self.one((MAIN, MAIN, RELEASE)), self.app()
        checks = self.one(((), (("ci", None),), (("porchbot/publish", app.id),)))
        reviews, strict = self.one((0, 0, 1)), self.chance(0.3)
        if self.chance(0.5):
            self.state.rules.add(
                self.repo,
                (f"refs/heads/{branch}",),
                required_checks=checks,
                required_reviews=reviews,
                strict=strict,
            )
        else:
            self.state.protect(
                self.repo,
                branch,
                checks,
                required_reviews=reviews,
                dismiss_stale=self.chance(0.3),
                strict=strict,
                allow_direct_push=self.chance(0.7),
            )
        names = ", ".join(name for name, _ in checks) or "no check"
        return f"{branch}: {names}, {reviews} reviews{', strict' if strict else ''}"

    def unprotect(self) -> None:
        """Bind nobody any more."""
        if not self.repo.protections and not self.repo.rulesets:
            raise ImpossibleError
        self.repo.protections.clear()
        for ruleset in list(self.repo.rulesets.values()):
            self.state.rules.remove(self.repo, ruleset)

    def regroup(self) -> str:
        """Change who belongs to a team, or what it may do; gives who does then."""
        found = self.state.organizations.team(self.repo.owner.login, TEAM)
        user = self.user(self.one((*WRITERS, READER)))
        if self.chance(0.3):
            level = self.one((Role.READ, Role.WRITE, Role.ADMIN))
            self.state.organizations.grant(found, self.repo, level)
        elif user in found.members:
            found.members.remove(user)
        else:
            found.members.append(user)
        for login in (*WRITERS, READER):
            self.role_seen(login)
        return ", ".join(u.login for u in found.members) or "nobody"

    def add_queue(self, rule: QueueRule) -> Callable[[], None]:
        """Put a merge queue before the main branch; gives what takes it away, where it is there."""
        ruleset = self.state.rules.add(
            self.repo,
            (f"refs/heads/{MAIN}",),
            merge_queue=rule,
            required_checks=(("porchbot/publish", self.app().id),),
        )

        def remove() -> None:
            if ruleset.id in self.repo.rulesets:
                self.state.rules.remove(self.repo, ruleset)

        return remove

    def dequeue(self, who: str, pull: Pull) -> None:
        """Take a pull request out of the queue, where it is in one."""
        if self.state.queues.entry(pull) is not None:
            self.state.queues.dequeue(pull, self.user(who))

    def _allowed(self, where: Repository, change: RefChange, user: User) -> None:
        """Whether the forge's rules let somebody move a ref."""
        self._try(lambda: self.state.rules.check_api(where, change, user))

    def _grant(self, who: str, level: str) -> None:
        self.state.add_member(self.repo, who, level)

    def level(self, who: str) -> str:
        """The role that somebody has, as rules name it."""
        return self.state.role(self.repo, self.user(who)).word
