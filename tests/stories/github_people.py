"""People at GitHub: PyGithub with their own tokens."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import github
from github.Auth import Token
from github.CheckRun import CheckRun
from github.PullRequest import PullRequest
from github.Repository import Repository

from tests.stories.people import PATIENCE, Person
from tests.stories.seen import Board, Check, Made, Pull, Remark, Said


class GitHubPerson(Person):
    """Somebody with an account at GitHub."""

    @cached_property
    def repository(self) -> Repository:
        """The repository through this person's own client."""
        return self.client().get_repo(self.full_name)

    def client(self) -> github.Github:
        """A client of the forge's API with this person's token."""
        return github.Github(
            auth=Token(self.token),
            base_url=self.api_url,
            timeout=int(PATIENCE),
            seconds_between_requests=0,
            seconds_between_writes=0,
            retry=None,
            lazy=True,  # what is asked of a thing is asked for, and the thing itself is not before
        )

    # --- what this person does ---

    def writes(self, number: int, words: str) -> int:
        """As `Person` has it."""
        return int(self.repository.get_issue(number).create_comment(words).id)

    def comments_at_once(self, number: int, words: str) -> int:
        """As `Person` has it."""
        return self.writes(number, words)

    def puts_labels(self, number: int, *names: str) -> None:
        """As `Person` has it."""
        path = f"{self.repository.get_issue(number).url}/labels"
        self.repository.requester.requestJsonAndCheck("POST", path, input={"labels": [*names]})

    def edits(self, number: int, comment: int, words: str) -> None:
        """As `Person` has it."""
        self.repository.get_issue(number).get_comment(comment).edit(words)

    def erases(self, number: int, comment: int) -> None:
        """As `Person` has it."""
        self.repository.get_issue(number).get_comment(comment).delete()

    def opens(
        self,
        branch: str,
        title: str = "Change",
        *,
        base: str = "main",
        body: str = "",
        draft: bool = False,
    ) -> Pull:
        """As `Person` has it."""
        made = self.repository.create_pull(
            base=base, head=branch, title=title, body=body, draft=draft
        )
        return _pull(made)

    def closes(self, number: int) -> None:
        """As `Person` has it."""
        self.repository.get_pull(number).edit(state="closed")

    def reopens(self, number: int) -> None:
        """As `Person` has it."""
        self.repository.get_pull(number).edit(state="open")

    def retargets(self, number: int, base: str) -> None:
        """As `Person` has it."""
        self.repository.get_pull(number).edit(base=base)

    def rewrites(self, number: int, *, title: str, body: str) -> None:
        """As `Person` has it."""
        self.repository.get_pull(number).edit(title=title, body=body)

    def makes_ready(self, number: int) -> None:
        """As `Person` has it."""
        self.repository.get_pull(number).mark_ready_for_review()

    def takes_label(self, number: int, name: str) -> None:
        """As `Person` has it."""
        self.repository.get_pull(number).remove_from_labels(name)

    def approves(self, number: int) -> None:
        """As `Person` has it."""
        self._review(number, "", "APPROVE")

    def objects(self, number: int) -> int:
        """As `Person` has it."""
        return self._review(number, "No.", "REQUEST_CHANGES")

    def withdraws_objection(self, number: int, objection: int) -> None:
        """As `Person` has it."""
        self.repository.get_pull(number).get_review(objection).dismiss("Talked about.")

    def dismisses_approval(self, number: int) -> None:
        """As `Person` has it."""
        next(iter(self.repository.get_pull(number).get_reviews())).dismiss("A mistake.")

    def _review(self, number: int, body: str, event: str) -> int:
        pull = self.repository.get_pull(number)
        made = pull.create_review(pull.get_commits().reversed[0], body=body, event=event)
        return int(made.id)

    def merges(self, number: int, method: str = "merge") -> str:
        """As `Person` has it."""
        result = self.repository.get_pull(number).merge(merge_method=method)
        return str(result.sha)

    def reports(self, sha: str, context: str, state: str = "success") -> None:
        """As `Person` has it."""
        self.repository.get_commit(sha).create_status(state, context=context)

    def deletes(self, ref: str) -> None:
        """As `Person` has it."""
        self.repository.get_git_ref(ref).complete().delete()  # its own address is another one

    def adds_file(self, path: str, text: str, branch: str = "main") -> str:
        """As `Person` has it."""
        made = self.repository.create_file(path, "Add a file", text, branch=branch)
        return str(made["commit"].sha)

    def says_on_issue(self, number: int, words: str) -> int:
        """As `Person` has it."""
        return self.writes(number, words)

    def rewrites_issue(self, number: int, *, title: str = "", body: str) -> None:
        """As `Person` has it."""
        issue = self.repository.get_issue(number)
        issue.edit(title=title or issue.title, body=body)

    def locks_issue(self, number: int) -> None:
        """As `Person` has it."""
        self.repository.get_issue(number).lock("too heated")

    def makes_ref(self, ref: str, sha: str) -> None:
        """As `Person` has it."""
        self.repository.create_git_ref(f"refs/{ref}", sha)

    # --- what this person sees ---

    def pull(self, number: int) -> Pull:
        """As `Person` has it."""
        return _pull(self.repository.get_pull(number))

    def pulls(self, *, every: bool = False) -> Sequence[Pull]:
        """As `Person` has it."""
        state = "all" if every else "open"
        return [_pull(each) for each in self.repository.get_pulls(state=state)]

    def reads(self, path: str, ref: str = "main") -> str:
        """As `Person` has it."""
        found = self.repository.get_contents(path, ref=ref)
        assert not isinstance(found, list)
        return found.decoded_content.decode()

    def blob(self, path: str, ref: str) -> str:
        """As `Person` has it."""
        found = self.repository.get_contents(path, ref=ref)
        assert not isinstance(found, list)
        return str(found.sha)

    def commit(self, sha: str) -> Made:
        """As `Person` has it."""
        found = self.repository.get_commit(sha)
        parents = tuple(each.sha for each in found.parents)
        author = found.author.login if found.author else ""
        return Made(sha=found.sha, message=found.commit.message, parents=parents, author=author)

    def commits_of(self, number: int) -> Sequence[str]:
        """As `Person` has it."""
        return [each.sha for each in self.repository.get_pull(number).get_commits()]

    def branches(self) -> Mapping[str, str]:
        """As `Person` has it."""
        return {each.name: each.commit.sha for each in self.repository.get_branches()}

    def tags(self) -> dict[str, str]:
        """As `Person` has it."""
        return {t.name: t.commit.sha for t in self.repository.get_tags()}

    def tag_text(self, name: str) -> str:
        """As `Person` has it."""
        ref = self.repository.get_git_ref(f"tags/{name}")
        assert ref.object.type == "tag"
        return self.repository.get_git_tag(ref.object.sha).message

    def every_check(self, sha: str, number: int = 0) -> Sequence[Check]:
        """As `Person` has it."""
        del number
        return [_check(run) for run in self._runs(sha, "all")]

    def checks(self, sha: str, number: int = 0) -> dict[str, Check]:
        """As `Person` has it."""
        del number
        found = sorted(self._runs(sha, "latest"), key=lambda run: run.id)
        return {run.name: _check(run) for run in found}

    def _runs(self, sha: str, which: str) -> Sequence[CheckRun]:
        return [*self.repository.get_commit(sha).get_check_runs(filter=which)]

    def remarks(self, number: int, check: str) -> Sequence[Remark]:
        """As `Person` has it."""
        head = self.repository.get_pull(number).head.sha
        run = max((r for r in self._runs(head, "latest") if r.name == check), key=lambda r: r.id)
        return [
            Remark(path=n.path, line=n.start_line, text=n.message, level=n.annotation_level)
            for n in run.get_annotations()
        ]

    def suggested(self, number: int) -> Sequence[str]:
        """As `Person` has it."""
        found = self.repository.get_pull(number).get_review_comments()
        return [each.body for each in found if each.user.login == self.bot]

    def comments(self, number: int) -> Sequence[Said]:
        """As `Person` has it."""
        return [
            Said(id=c.id, body=c.body, author=c.user.login, at=c.created_at)
            for c in self.repository.get_issue(number).get_comments()
        ]

    def releases(self) -> Mapping[str, tuple[str, str]]:
        """As `Person` has it."""
        return {r.tag_name: (r.name or "", r.body or "") for r in self.repository.get_releases()}

    def issues(self) -> Sequence[Board]:
        """As `Person` has it; pull requests are no issues."""
        return [
            Board(
                number=each.number,
                title=each.title,
                body=each.body or "",
                at=each.created_at,
                written=each.body or "",
            )
            for each in self.repository.get_issues(state="all")
            if each.pull_request is None
        ]

    def comments_on_issue(self, number: int) -> Sequence[Said]:
        """As `Person` has it."""
        return self.comments(number)

    def reactions(self, number: int, comment: int) -> set[str]:
        """As `Person` has it."""
        found = self.repository.get_issue(number).get_comment(comment)
        return {r.content for r in found.get_reactions() if r.user.login == self.bot}


def _pull(pull: PullRequest) -> Pull:
    return Pull(
        number=pull.number,
        title=pull.title,
        body=pull.body or "",
        author=pull.user.login,
        draft=pull.draft,
        open=pull.state == "open",
        merged=pull.merged_at is not None,
        head=pull.head.sha,
        head_ref=pull.head.ref,
        base_ref=pull.base.ref,
        merge_commit=(pull.merge_commit_sha or "") if pull.merged_at else "",
        # Lists do not say who merged: each pull request would be asked for.
        merged_by=pull.merged_by.login if pull.merged_at and pull.merged_by else "",
        labels=frozenset(each.name for each in pull.labels),
        assigned=tuple(each.login for each in pull.assignees),
    )


def _check(run: CheckRun) -> Check:
    return Check(
        name=run.name,
        conclusion=run.conclusion,
        title=run.output.title or "",
        text="\n".join(part for part in (run.output.summary, run.output.text) if part),
        id=run.id,
        head=run.head_sha,
        mark=run.external_id or "",
        began=run.started_at,
        ended=run.completed_at,
    )


def at_github(person: Person) -> Repository:
    """The repository through PyGithub, for a story that only GitHub has."""
    assert isinstance(person, GitHubPerson)
    return person.repository


def repository_at_github(person: Person, full_name: str) -> Repository:
    """Another repository, likewise."""
    assert isinstance(person, GitHubPerson)
    return person.client().get_repo(full_name)
