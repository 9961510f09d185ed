"""What people do at GitLab: its rules, called as the person.

What it has not comes to nothing: buttons of checks, reviews that others dismiss, and merge trains
where the edition has none.
"""

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import ClassVar, Never

from bot.sandbox.git import history, trees
from bot.sandbox.gitlab import levels, protection
from bot.sandbox.gitlab.rules import (
    approvals,
    drafts,
    issues,
    merge_requests,
    merge_status,
    merging,
    pipelines,
    quick_actions,
    threads,
    trains,
)
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.gitlab import FREE, AccessLevel, Allowance, ProtectedRef
from bot.sandbox.records.merge_requests import MergeRequest, Note
from bot.sandbox.records.protection import QueueRule
from bot.sandbox.records.refs import RefChange
from bot.sandbox.records.repository import Comment, Issue, Pull, Repository, Thread
from tests.simulation.diary import OBEYED, merged_as, review_of, shown
from tests.simulation.gitlab_ways import MERGE, SCANNER
from tests.simulation.hands import Hands, ImpossibleError
from tests.simulation.setting import ADMIN, MAIN, PACKAGES, READER, RELEASE, WRITERS, resource

GRANTED = {"read": "triage", "triage": "read"}
"""Roles that the rules name to those of the sandbox's members: a Reporter reads, a Guest does not;
whoever triages has no level of their own."""

WORDS = {Role.TRIAGE: "read", Role.WRITE: "write", Role.MAINTAIN: "maintain", Role.ADMIN: "admin"}
"""What members may do, as rules name it; of a public project everybody else reads."""

CHECKS, THREADS = (
    "only_allow_merge_if_pipeline_succeeds",
    "only_allow_merge_if_all_discussions_are_resolved",
)
_COMMAND = re.compile(r"(?m)(^|[> ])/(?=[a-z])")
_STATES = {"failure": "failed"}
_SERVICES = {"failure": "failed", "success": "passed"}
PUSHED_AFTER = 0.2
"""Share of approvals by the button after which more is pushed at once."""
TRAINS = ("merge_trains_enabled", "merge_pipelines_enabled")


def spoken(text: str) -> str:
    """The bot's commands in a text as they are written there: GitLab takes `/...` for its own."""
    return _COMMAND.sub(r"\1@porchbot ", text)


class GitLabHands(Hands):
    """As `Hands` has it, at GitLab."""

    tags_by: ClassVar[tuple[str, str]] = ("git push", "git")

    @property
    def has_queues(self) -> bool:
        """As `Hands` has it: merge trains, with Premium, where merges make commits."""
        project = self.repo.gitlab
        return project.tier != FREE and project.settings.get("merge_method", MERGE) == MERGE

    # --- roles and refs -------------------------------------------------------------------------

    def _grant(self, who: str, level: str) -> None:
        self.state.add_member(self.repo, who, GRANTED.get(level, level))

    def level(self, who: str) -> str:
        """As `Hands` has it."""
        return WORDS.get(self.state.member_role(self.repo, self.user(who)), "read")

    def _allowed(self, where: Repository, change: RefChange, user: User) -> None:
        git = self.state.git(where)
        forced = lambda: not history.contains(git, change.after, change.before)  # noqa: E731 (short)
        if protection.refusal(self.state, where, change, user, forced, web=False):
            raise ImpossibleError

    # --- merge requests and talk ----------------------------------------------------------------

    def open(self, who: str, branch: str, base: str, title: str, *, draft: bool = False) -> Pull:
        """As `Hands` has it; a draft is one by its title."""
        owner, fork, name = branch.rpartition(":")
        source = self.forks[owner] if fork else self.repo
        ends = merge_requests.SourceAndTarget(
            source=source, source_branch=name, target=self.repo, target_branch=base
        )
        titled = drafts.draft(title) if draft else title
        return self._try(
            lambda: merge_requests.open(self.state, self.user(who), ends, title=titled)
        )

    def say(self, who: str, about: Thread, text: str, *means: str) -> Comment:
        """As `Hands` has it."""
        if means:
            self.diary.meant[self.state.data.last_id + 1] = means
        report = lambda: quick_actions.say(  # noqa: E731 (short)
            self.state, about, self.user(who), spoken(text)
        )
        _, note = self._try(report)
        if note is None:
            raise ImpossibleError
        return note

    def _edit_issue(self, who: str, issue: Issue, text: str) -> None:
        issues.edit(self.state, issue, self.user(who), description=text)

    def edit(self, who: str, comment: Comment, text: str) -> None:
        """As `Hands` has it."""
        note = _note(comment)
        self._try(lambda: threads.edit(self.state, note, self.user(who), spoken(text)))

    def delete(self, who: str, comment: Comment) -> None:
        """As `Hands` has it; no webhook tells of it."""
        note = _note(comment)
        obeyed = any(self.is_bot(r.user) and r.content == OBEYED for r in note.reactions)
        self._try(lambda: threads.delete(self.state, note, self.user(who)))
        if obeyed:
            self.diary.obeyed.add(note.id)
        about = shown(self.repo, self.repo.pulls[note.thread.number])
        self.diary.add(who, "comment deleted", number=note.id, text=note.body, **about)

    def comments(self, pull: Pull) -> list[Comment]:
        """As `Hands` has it; what GitLab itself noted, and what stands at lines, is none."""
        return [n for n in threads.notes(pull) if not n.system and n.kind != "DiffNote"]

    def review(self, who: str, pull: Pull, event: str, text: str = "") -> None:
        """As `Hands` has it: by the button or by the quick action, which leaves no note."""
        mr, user = _mr(pull), self.user(who)
        if event == "REQUEST_CHANGES":
            self._try(lambda: approvals.request_changes(self.state, mr, user))
            word, about = "review changes_requested", shown(self.repo, mr)
            self.diary.add(who, word, number=review_of(user), **about)  # no webhook tells of it
        elif mr.approved_by(user) and self.chance(0.5):
            self._try(lambda: approvals.unapprove(self.state, mr, user))
            self._try(lambda: approvals.approve(self.state, mr, user))
        else:
            self._try(lambda: approvals.approve(self.state, mr, user))
        if event == "APPROVE" and self.own.random() < PUSHED_AFTER:
            with suppress(ImpossibleError):
                self._push_after(mr)

    def _push_after(self, mr: MergeRequest) -> None:
        """Its author pushes more right after an approval, which GitLab says no commit of."""
        git, both = self.state.git(self.repo), (mr.head_sha, self.tip(MAIN))
        changed = [p for p in PACKAGES if len({trees.entry_at(git, s, p) for s in both}) > 1]
        value = f"late{int(self.own.random() * 1000)}"
        files: dict[str, bytes | None] = {f"{p}/a.yaml": resource("a", value) for p in changed[:1]}
        self.commit(mr.user.login, self.own_branch(mr), files, "late")

    def dismiss(self, by: str, pull: Pull, of: Collection[str] = ()) -> str:
        """As `Hands` has it: who approved takes that back, and nobody else can."""
        mr = _mr(pull)
        given = [a.user for a in mr.approvals if not of or a.user.login in of]
        user = self.one(given)
        self._try(lambda: approvals.unapprove(self.state, mr, user))
        return user.login

    def update_branch(self, who: str, pull: Pull) -> None:
        """As `Hands` has it: the button makes the commits anew, and whoever looks sees it end."""
        mr = _mr(pull)
        self._try(lambda: merging.rebase(self.state, mr, self.user(who)))
        if self.chance(0.5):
            self._try(lambda: merging.end_rebase(self.state, mr))

    def set_draft(self, who: str, pull: Pull, draft: bool) -> None:
        """As `Hands` has it: by a word in the title."""
        mr = _mr(pull)
        title = drafts.draft(mr.title) if draft else drafts.ready(mr.title)
        self._try(lambda: merge_requests.edit(self.state, mr, self.user(who), title=title))

    def turn(self, who: str, pull: Pull, wanted: str) -> None:
        """As `Hands` has it."""
        act = merge_requests.close if wanted == "closed" else merge_requests.reopen
        self._try(lambda: act(self.state, _mr(pull), self.user(who)))

    def retarget(self, who: str, pull: Pull, base: str) -> None:
        """As `Hands` has it."""
        mr = _mr(pull)
        self._try(lambda: merge_requests.edit(self.state, mr, self.user(who), target=base))

    def merge(self, who: str, pull: Pull, method: str = "merge") -> None:
        """As `Hands` has it: how is the project's to say, but for squashing."""
        mr, wish = _mr(pull), merging.MergeOptions(squash=method == "squash")
        mr.preparing = False
        merge_status.read(self.state, mr)  # the page asks until it is known
        self._try(lambda: merging.merge(self.state, mr, self.user(who), wish))
        if not mr.merged:
            raise ImpossibleError

    def merged_as(self, pull: Pull) -> str:
        """As `Hands` has it."""
        return merged_as(pull)

    # --- checks and settings --------------------------------------------------------------------

    def report(self, who: str, pull: Pull, context: str, state: str, text: str = "") -> None:
        """As `Hands` has it: anybody who may push, under any name."""
        wish = pipelines.StatusRequest(
            sha=pull.head_sha,
            state=_STATES.get(state, state),
            name=context,
            description=text or None,
        )
        if levels.level(self.state, self.repo, self.user(who)) < AccessLevel.DEVELOPER:
            raise ImpossibleError
        self._try(lambda: pipelines.post(self.state, self.repo, self.user(who), wish))
        for check in self.repo.gitlab.status_checks.values():
            if check.name == SCANNER:  # whoever may push answers for a service, too
                check.answers[pull.number] = (pull.head_sha, _SERVICES.get(state, state))

    def rerun(self, who: str, pull: Pull) -> Never:
        """Statuses have no buttons."""
        raise ImpossibleError

    def protect(self) -> str:
        """As `Hands` has it, on Free: levels, and what the project asks of a merge."""
        branch, kind = (
            self.one((MAIN, MAIN, RELEASE)),
            self.one(("branch", "tags", CHECKS, THREADS)),
        )
        project = self.repo.gitlab
        if kind == "branch":
            push, merge = (
                self.one((AccessLevel.DEVELOPER, AccessLevel.MAINTAINER)),
                AccessLevel.DEVELOPER,
            )
            rule = partial(ProtectedRef, id=self.state.next_id(), name=branch)
            project.protected_branches[branch] = rule(
                push=(Allowance(id=self.state.next_id(), level=push),),
                merge=(Allowance(id=self.state.next_id(), level=merge),),
            )
            return f"{branch}: {push.word} push"
        if kind == "tags":
            allowed = (Allowance(id=self.state.next_id(), level=AccessLevel.MAINTAINER),)
            made = ProtectedRef(id=self.state.next_id(), name="*/v*", push=allowed)
            project.protected_tags[made.name] = made
            return "tags: Maintainers make them"
        project.settings[kind] = True
        return f"every branch: {kind}"

    def unprotect(self) -> None:
        """As `Hands` has it."""
        project = self.repo.gitlab
        bound = [name for name in (CHECKS, THREADS) if project.settings.pop(name, False)]
        if not bound and not project.protected_branches and not project.protected_tags:
            raise ImpossibleError
        project.protected_branches.clear()
        project.protected_tags.clear()

    def regroup(self) -> str:
        """As `Hands` has it: who belongs to the project's group, and what that lets them do."""
        group = self.state.data.organizations[self.repo.owner.login.lower()]
        login = self.one((*WRITERS, READER))
        if login in group.members:
            del group.members[login]
            group.roles.pop(login, None)
        else:
            group.members[login] = "member"
            group.roles[login] = self.one((Role.TRIAGE, Role.WRITE, Role.ADMIN))
        for each in (*WRITERS, READER):
            self.role_seen(each)
        return ", ".join(group.members) or "nobody"

    def add_queue(self, rule: QueueRule) -> Callable[[], None]:
        """As `Hands` has it: a merge train; GitLab has no more to say of one."""
        if not self.has_queues:
            raise ImpossibleError
        self.repo.gitlab.settings.update(dict.fromkeys(TRAINS, True))

        def remove() -> None:
            for each in trains.cars(self.repo, MAIN):
                trains.leave(self.state, each, self.user(ADMIN), "because trains were switched off")
            for name in TRAINS:
                self.repo.gitlab.settings.pop(name, None)

        return remove

    def dequeue(self, who: str, pull: Pull) -> None:
        """As `Hands` has it."""
        mr = _mr(pull)
        if mr.car is not None:
            trains.leave(self.state, mr, self.user(who), f"on request of {who}")


def _mr(pull: Pull) -> MergeRequest:
    if not isinstance(pull, MergeRequest):
        raise TypeError(f"#{pull.number} is no merge request")
    return pull


def _note(comment: Comment) -> Note:
    if not isinstance(comment, Note):
        raise TypeError(f"{comment.id} is no note")
    return comment
