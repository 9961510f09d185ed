"""People at GitLab: python-gitlab with their own tokens.

Longer than 400 lines: all that people do at one forge.

They speak and read as people of all stories do: a command is written as it is spelled here, and
what the bot wrote is read back in the stories' words (`heard`).
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import gitlab
import requests

from bot.forges.gitlab.hooks import PROJECT, HookOwner, OurHooks
from lifecycle.messages.forges import GITLAB_PHRASES
from tests.stories.people import PATIENCE, Person
from tests.stories.seen import Board, Check, Made, Pull, Remark, Said

NAME = "porchbot"
"""What the bot is called in commands."""

_COMMAND = re.compile(r"(?m)^/(?=[a-z])")
_ROLES = {
    "the Reporter role": "read access",
    "the Developer role": "write access",
    "the Maintainer role": "maintain access",
    "the Owner role": "admin access",
}
_WRITTEN = {
    theirs: ours
    for ours, theirs in GITLAB_PHRASES.items()
    if theirs != "the bot" and sum(map(str.isalpha, theirs)) > 6
} | _ROLES
"""What the bot says at GitLab to what it is in GitHub's terms, but for what reads alike there."""

_SAID = re.compile("|".join(map(re.escape, sorted(_WRITTEN, key=len, reverse=True))))
_DRAFT = re.compile(r"(?i)^(?:draft:|\[draft\]|\(draft\))\s*")
_FINDING = re.compile(r"\s*<!-- porchbot-finding [^>]*-->\s*\Z")
_CONCLUSIONS = {"success": "success", "failed": "failure", "canceled": "failure"}
_STATES = {"failure": "failed", "error": "failed"}
_EMOJI = {"rocket": "rocket", "thumbsup": "+1", "thumbsdown": "-1", "eyes": "eyes"}


_BOX = re.compile(r"^([-*] \[[ xX]\] `)/", re.MULTILINE)
"""What comes before the command of a box of the dashboard issue."""


def spoken(words: str) -> str:
    """Write the bot's commands in a text as they are at GitLab, which takes `/…` for its own."""
    return _COMMAND.sub(f"@{NAME} ", words)


def heard(text: str) -> str:
    """Return what the bot wrote at GitLab in the words of the stories."""
    text = re.sub(rf"@{NAME} (?=[a-z])", "/", text)
    text = re.sub(r"(?<![\w!])!(?=\d)", "#", text)
    text = _SAID.sub(lambda found: _WRITTEN[found[0]], text)
    text = text.replace("merge request", "pull request").replace("Merge request", "Pull request")
    text = re.sub(r"the (Reporter|Developer|Maintainer|Owner) role", _heard_role, text)
    return text.replace("GitLab", "GitHub")


def _heard_role(found: re.Match[str]) -> str:
    roles = {"Reporter": "read", "Developer": "write", "Maintainer": "maintain", "Owner": "admin"}
    return f"{roles[found[1]]} access"


def called(login: str) -> str:
    """Return what the stories call somebody: the bot is a plain account here."""
    return "porchbot[bot]" if login == NAME else login


class GitLabPerson(Person):
    """Somebody with an account at GitLab; `api_url` is the instance."""

    erasing_is_told = False
    objecting_is_told = False
    checks_are_edited = False
    every_line_takes_remarks = False

    @cached_property
    def project(self) -> Any:
        """The project through this person's own client."""
        return self.client().projects.get(self.full_name)

    def client(self) -> gitlab.Gitlab:
        """A client of the forge's API with this person's token."""
        return gitlab.Gitlab(
            self.api_url,
            private_token=self.token,
            timeout=PATIENCE,
            keep_base_url=True,
            session=self.session(),
        )

    def session(self) -> requests.Session:
        """What carries the requests."""
        made = requests.Session()
        made.trust_env = False
        return made

    def _request(self, number: int) -> Any:
        return self.project.mergerequests.get(number)

    def _below(self, number: int) -> Any:
        """The same, for what is asked of it; it is not asked for itself."""
        return self.project.mergerequests.get(number, lazy=True)

    # --- what this person does ---

    def writes(self, number: int, words: str) -> int:
        """As `Person` has it."""
        return int(self._below(number).notes.create({"body": words}).id)

    def comments_at_once(self, number: int, words: str) -> int:
        """As `Person` has it."""
        return self.writes(number, spoken(words))

    def puts_labels(self, number: int, *names: str) -> None:
        """As `Person` has it."""
        self.project.mergerequests.update(number, {"add_labels": ",".join(names)})

    def edits(self, number: int, comment: int, words: str) -> None:
        """As `Person` has it."""
        self._below(number).notes.update(comment, {"body": spoken(words)})

    def erases(self, number: int, comment: int) -> None:
        """As `Person` has it."""
        self._below(number).notes.delete(comment)

    def opens(
        self,
        branch: str,
        title: str = "Change",
        *,
        base: str = "main",
        body: str = "",
        draft: bool = False,
    ) -> Pull:
        """As `Person` has it; a draft is one by its title."""
        wanted = {
            "source_branch": branch,
            "target_branch": base,
            "title": f"Draft: {title}" if draft else title,
            "description": body,
        }
        owner, colon, name = branch.partition(":")
        if not colon:
            return self.pull(int(self.project.mergerequests.create(wanted).iid))
        fork = self.client().projects.get(f"{owner}/{self.full_name.rpartition('/')[2]}")
        wanted |= {"source_branch": name, "target_project_id": self.project.id}
        return self.pull(int(fork.mergerequests.create(wanted).iid))

    def closes(self, number: int) -> None:
        """As `Person` has it."""
        self.project.mergerequests.update(number, {"state_event": "close"})

    def reopens(self, number: int) -> None:
        """As `Person` has it."""
        self.project.mergerequests.update(number, {"state_event": "reopen"})

    def retargets(self, number: int, base: str) -> None:
        """As `Person` has it."""
        self.project.mergerequests.update(number, {"target_branch": base})

    def rewrites(self, number: int, *, title: str, body: str) -> None:
        """As `Person` has it."""
        self.project.mergerequests.update(number, {"title": title, "description": body})

    def makes_ready(self, number: int) -> None:
        """As `Person` has it: the page takes the word off the title."""
        title = _DRAFT.sub("", self._request(number).title)
        self.project.mergerequests.update(number, {"title": title})

    def takes_label(self, number: int, name: str) -> None:
        """As `Person` has it."""
        self.project.mergerequests.update(number, {"remove_labels": name})

    def approves(self, number: int) -> None:
        """As `Person` has it; who has approved before takes that back first."""
        given = self._below(number).approvals.get().approved_by
        if self.login in {each["user"]["username"] for each in given}:
            self._below(number).unapprove()
        self._below(number).approve()

    def dismisses_approval(self, number: int) -> None:
        """As `Person` has it: a push of nothing is all that another person could do."""
        raise NotImplementedError("nobody at GitLab takes back what another approved")

    def objects(self, number: int) -> int:
        """As `Person` has it: by the quick action."""
        self._below(number).notes.create({"body": "/request_changes"})
        return 0

    def withdraws_objection(self, number: int, objection: int) -> None:
        """As `Person` has it: by an approval, which ends it."""
        del objection
        self.approves(number)

    def merges(self, number: int, method: str = "merge") -> str:
        """As `Person` has it; whether there is a merge commit is the project's to say."""
        for _ in range(3):  # whether it can be merged is worked out when somebody looks
            request = self._request(number)
        request.merge(squash=method == "squash")
        return self.pull(number).merge_commit

    def reports(self, sha: str, context: str, state: str = "success") -> None:
        """As `Person` has it."""
        wanted = {"state": _STATES.get(state, state), "name": context}
        self.project.commits.get(sha, lazy=True).statuses.create(wanted)

    def deletes(self, ref: str) -> None:
        """As `Person` has it."""
        kind, _, name = ref.partition("/")
        {"heads": self.project.branches, "tags": self.project.tags}[kind].delete(name)

    def adds_file(self, path: str, text: str, branch: str = "main") -> str:
        """As `Person` has it."""
        action = {"action": "create", "file_path": path, "content": text}
        wanted = {"branch": branch, "commit_message": "Add a file", "actions": [action]}
        return str(self.project.commits.create(wanted).id)

    def says_on_issue(self, number: int, words: str) -> int:
        """As `Person` has it."""
        return int(
            self.project.issues.get(number, lazy=True).notes.create({"body": spoken(words)}).id
        )

    def rewrites_issue(self, number: int, *, title: str = "", body: str) -> None:
        """As `Person` has it; boxes as GitLab shows them."""
        body = _BOX.sub(rf"\1@{NAME} ", body)
        wanted = {"description": body} | ({"title": title} if title else {})
        self.project.issues.update(number, wanted)

    def locks_issue(self, number: int) -> None:
        """As `Person` has it."""
        self.project.issues.update(number, {"discussion_locked": True})

    def makes_ref(self, ref: str, sha: str) -> None:
        """As `Person` has it."""
        kind, _, name = ref.partition("/")
        if kind == "heads":
            self.project.branches.create({"branch": name, "ref": sha})
        else:
            self.project.tags.create({"tag_name": name, "ref": sha})

    def protects(self, pattern: str, level: int = 30) -> None:
        """Protect branches: who has a level pushes and merges, nobody deletes them by a push."""
        wanted = {"name": pattern, "push_access_level": level, "merge_access_level": level}
        self.project.protectedbranches.create(wanted)

    def makes_webhook(self, ours: OurHooks) -> None:
        """Have the project tell the bot, as `porchbot setup gitlab` does, and of jobs."""
        settings = ours.settings(HookOwner(PROJECT, self.project.id))
        self.project.hooks.create({**settings, "job_events": True})

    # --- what this person sees ---

    def pull(self, number: int) -> Pull:
        """As `Person` has it."""
        return _pull(self._request(number))

    def pulls(self, *, every: bool = False) -> Sequence[Pull]:
        """As `Person` has it."""
        state = "all" if every else "opened"
        return [_pull(each) for each in self.project.mergerequests.list(state=state, get_all=True)]

    def reads(self, path: str, ref: str = "main") -> str:
        """As `Person` has it."""
        return str(self.project.files.get(file_path=path, ref=ref).decode().decode())

    def blob(self, path: str, ref: str) -> str:
        """As `Person` has it."""
        return str(self.project.files.get(file_path=path, ref=ref).blob_id)

    def commit(self, sha: str) -> Made:
        """As `Person` has it."""
        found = self.project.commits.get(sha)
        author, parents = called(found.author_name), tuple(found.parent_ids)
        return Made(sha=found.id, message=found.message, parents=parents, author=author)

    def commits_of(self, number: int) -> Sequence[str]:
        """As `Person` has it."""
        return [each.id for each in self._below(number).commits(get_all=True)]

    def branches(self) -> Mapping[str, str]:
        """As `Person` has it."""
        return {e.name: e.commit["id"] for e in self.project.branches.list(get_all=True)}

    def tags(self) -> dict[str, str]:
        """As `Person` has it."""
        return {each.name: each.commit["id"] for each in self.project.tags.list(get_all=True)}

    def tag_text(self, name: str) -> str:
        """As `Person` has it."""
        return str(self.project.tags.get(name).message)

    def every_check(self, sha: str, number: int = 0) -> Sequence[Check]:
        """As `Person` has it."""
        return self._checks(sha, number, every=True)

    def checks(self, sha: str, number: int = 0) -> dict[str, Check]:
        """As `Person` has it."""
        found = sorted(self._checks(sha, number, every=False), key=lambda check: check.id)
        return {check.name: check for check in found}

    def _checks(self, sha: str, number: int, *, every: bool) -> Sequence[Check]:
        shown = number or next((p.number for p in self.pulls(every=True) if p.head == sha), 0)
        text = self.summary(shown) if shown else ""
        found = self.project.commits.get(sha, lazy=True).statuses.list(get_all=True, all=every)
        return [
            Check(
                name=each.name,
                conclusion=_conclusion(each),
                title=heard(each.description or ""),
                text=text,
                id=each.id,
                head=each.sha,
                mark=f"{each.status} {each.description}",
            )
            for each in sorted(found, key=lambda status: -int(status.id))
        ]

    def remarks(self, number: int, check: str) -> Sequence[Remark]:
        """As `Person` has it: the open threads of the bot on lines."""
        found = []
        for note in self._at_lines(number):
            position = note["position"]
            if f"<!-- porchbot-finding {check} " in note["body"] and not note.get("resolved"):
                found.append(
                    Remark(
                        path=position["new_path"],
                        line=position["new_line"] or 0,
                        text=_FINDING.sub("", heard(note["body"])),
                    )
                )
        return found

    def suggested(self, number: int) -> Sequence[str]:
        """As `Person` has it."""
        texts = [each["body"] for each in self._at_lines(number)]
        return [text for text in texts if "```suggestion" in text]

    def _at_lines(self, number: int) -> list[Any]:
        """The first note of each thread of the bot at a line."""
        threads = self._below(number).discussions.list(get_all=True)
        notes = [each.attributes["notes"][0] for each in threads]
        return [
            each
            for each in notes
            if each.get("position") and called(each["author"]["username"]) == self.bot
        ]

    def comments(self, number: int) -> Sequence[Said]:
        """As `Person` has it; what the forge itself noted is none."""
        return _said(self._below(number))

    def releases(self) -> Mapping[str, tuple[str, str]]:
        """As `Person` has it."""
        found = self.project.releases.list(get_all=True)
        return {each.tag_name: (each.name, heard(each.description or "")) for each in found}

    def issues(self) -> Sequence[Board]:
        """As `Person` has it."""
        return [
            Board(
                number=each.iid,
                title=each.title,
                body=heard(each.description or ""),
                at=datetime.fromisoformat(each.created_at),
                written=each.description or "",
            )
            for each in self.project.issues.list(get_all=True)
        ]

    def comments_on_issue(self, number: int) -> Sequence[Said]:
        """As `Person` has it."""
        return _said(self.project.issues.get(number, lazy=True))

    def reactions(self, number: int, comment: int) -> set[str]:
        """As `Person` has it."""
        found = self._below(number).notes.get(comment, lazy=True).awardemojis.list(get_all=True)
        return {
            _EMOJI.get(each.name, each.name)
            for each in found
            if called(each.user["username"]) == self.bot
        }


def _conclusion(status: Any) -> str | None:
    """What a status comes to; what is neutral is a success whose address says so."""
    if status.status == "success" and str(status.target_url or "").endswith("-neutral"):
        return "neutral"
    return _CONCLUSIONS.get(status.status)


def _said(thread: Any) -> Sequence[Said]:
    found = thread.notes.list(get_all=True, sort="asc", order_by="created_at")
    return [
        Said(
            id=each.id,
            body=heard(each.body),
            author=called(each.author["username"]),
            at=datetime.fromisoformat(each.created_at),
        )
        for each in found
        if not each.system and getattr(each, "type", None) != "DiffNote"
    ]


def _pull(request: Any) -> Pull:
    merged_by = request.attributes.get("merge_user") or request.attributes.get("merged_by") or {}
    merged = request.state == "merged"
    commits = (request.merge_commit_sha, request.squash_commit_sha, request.sha)
    return Pull(
        number=request.iid,
        title=heard(_DRAFT.sub("", request.title)),
        body=heard(request.description or ""),
        author=called(request.author["username"]),
        draft=request.draft,
        open=request.state == "opened",
        merged=merged,
        head=request.sha,
        head_ref=request.source_branch,
        base_ref=request.target_branch,
        merge_commit=next(sha for sha in commits if sha) if merged else "",
        merged_by=called(merged_by.get("username", "")),
        labels=frozenset(request.labels),
        assigned=tuple(sorted(each["username"] for each in request.assignees)),
    )
