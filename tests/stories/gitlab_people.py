"""People at GitLab: python-gitlab with their own tokens.

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

from tests.stories.people import PATIENCE, Person
from tests.stories.seen import Check, Made, Pull, Remark, Said

NAME = "porchbot"
"""What the bot is called in commands."""

_COMMAND = re.compile(r"(?m)^/(?=[a-z])")
_FINDING = re.compile(r"\s*<!-- porchbot-finding [^>]*-->\s*\Z")
_CONCLUSIONS = {"success": "success", "failed": "failure", "canceled": "failure"}
_STATES = {"failure": "failed", "error": "failed"}
_EMOJI = {"rocket": "rocket", "thumbsup": "+1", "thumbsdown": "-1", "eyes": "eyes"}


def spoken(words: str) -> str:
    """Write the commands of a text as they are written at GitLab, which takes `/…` for its own."""
    return _COMMAND.sub(f"@{NAME} ", words)


def heard(text: str) -> str:
    """Return what the bot wrote at GitLab in the words of the stories."""
    text = re.sub(rf"@{NAME} (?=[a-z])", "/", text)
    text = re.sub(r"(?<![\w!])!(?=\d)", "#", text)
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

    # --- what this person does ---

    def comments_at_once(self, number: int, words: str) -> int:
        """As `Person` has it."""
        return int(self._request(number).notes.create({"body": spoken(words)}).id)

    def edits(self, number: int, comment: int, words: str) -> None:
        """As `Person` has it."""
        self._request(number).notes.update(comment, {"body": spoken(words)})

    def erases(self, number: int, comment: int) -> None:
        """As `Person` has it."""
        self._request(number).notes.delete(comment)

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
        return self.pull(int(self.project.mergerequests.create(wanted).iid))

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
        title = re.sub(r"(?i)^(?:draft:|\[draft\]|\(draft\))\s*", "", self._request(number).title)
        self.project.mergerequests.update(number, {"title": title})

    def takes_label(self, number: int, name: str) -> None:
        """As `Person` has it."""
        self.project.mergerequests.update(number, {"remove_labels": name})

    def approves(self, number: int) -> None:
        """As `Person` has it."""
        self._request(number).approve()

    def dismisses_approval(self, number: int) -> None:
        """As `Person` has it: a push of nothing is all that another person could do."""
        raise NotImplementedError("nobody at GitLab takes back what another approved")

    def objects(self, number: int) -> int:
        """As `Person` has it: by the quick action."""
        self._request(number).notes.create({"body": "/request_changes"})
        return 0

    def withdraws_objection(self, number: int, objection: int) -> None:
        """As `Person` has it: by an approval, which ends it."""
        del objection
        self.approves(number)

    def merges(self, number: int, method: str = "merge") -> str:
        """As `Person` has it; whether there is a merge commit is the project's to say."""
        request = self._request(number)
        request.merge(squash=method == "squash")
        return self.pull(number).merge_commit

    def reports(self, sha: str, context: str, state: str = "success") -> None:
        """As `Person` has it."""
        wanted = {"state": _STATES.get(state, state), "name": context}
        self.project.commits.get(sha).statuses.create(wanted)

    def deletes(self, ref: str) -> None:
        """As `Person` has it."""
        kind, _, name = ref.partition("/")
        {"heads": self.project.branches, "tags": self.project.tags}[kind].delete(name)

    def makes_ref(self, ref: str, sha: str) -> None:
        """As `Person` has it."""
        kind, _, name = ref.partition("/")
        if kind == "heads":
            self.project.branches.create({"branch": name, "ref": sha})
        else:
            self.project.tags.create({"tag_name": name, "ref": sha})

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

    def commit(self, sha: str) -> Made:
        """As `Person` has it."""
        found = self.project.commits.get(sha)
        return Made(sha=found.id, message=found.message, parents=tuple(found.parent_ids))

    def commits_of(self, number: int) -> Sequence[str]:
        """As `Person` has it."""
        return [each.id for each in self._request(number).commits(get_all=True)]

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
        found = self.project.commits.get(sha).statuses.list(get_all=True, all=every)
        return [
            Check(
                name=each.name,
                conclusion=_CONCLUSIONS.get(each.status),
                title=heard(each.description or ""),
                text=text,
                id=each.id,
                head=each.sha,
                mark=f"{each.status} {each.description}",
            )
            for each in found
        ]

    def remarks(self, number: int, check: str) -> Sequence[Remark]:
        """As `Person` has it: the open threads of the bot on lines, whatever check they are of."""
        del check
        found = []
        for thread in self._request(number).discussions.list(get_all=True):
            note = thread.attributes["notes"][0]
            position = note.get("position")
            if (
                position
                and called(note["author"]["username"]) == self.bot
                and not note.get("resolved")
            ):
                found.append(
                    Remark(
                        path=position["new_path"],
                        line=position["new_line"] or 0,
                        text=_FINDING.sub("", heard(note["body"])),
                    )
                )
        return found

    def comments(self, number: int) -> Sequence[Said]:
        """As `Person` has it; what the forge itself noted is none."""
        found = self._request(number).notes.list(get_all=True, sort="asc", order_by="created_at")
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

    def reactions(self, number: int, comment: int) -> set[str]:
        """As `Person` has it."""
        found = self._request(number).notes.get(comment).awardemojis.list(get_all=True)
        return {
            _EMOJI.get(each.name, each.name)
            for each in found
            if called(each.user["username"]) == self.bot
        }


def _pull(request: Any) -> Pull:
    merged_by = request.attributes.get("merge_user") or request.attributes.get("merged_by") or {}
    merged = request.state == "merged"
    commits = (request.merge_commit_sha, request.squash_commit_sha, request.sha)
    return Pull(
        number=request.iid,
        title=heard(request.title),
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
