"""Branches and tags on GitHub: what moved them, merging into them, tags made one by one."""

import asyncio
import base64
from datetime import datetime
from urllib.parse import parse_qs, quote

from bot.forges.exchange import listed
from bot.forges.github import merging
from bot.forges.github.calls import Calls
from bot.forges.github.fields import time
from bot.forges.github.http import Clients, GitHubAnswer, JSONObject, ask, call, failure
from bot.forges.github.limits import Cost
from bot.forges.github.people import ANYBODYS
from bot.forges.port import (
    AnnotatedTag,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    MergeResult,
    MergeWay,
    Tagged,
    TagOutcome,
    UnsignedCommit,
)
from bot.forges.releases import Releases
from cadlib.package.files import Entry
from fnrunner import urls
from lifecycle import names
from lifecycle.merges import Move
from lifecycle.names import Sha
from lifecycle.policy import MergeMethod

MOST_MOVES = 2_000
"""Moves of a base branch that are read to find one: twenty pages, for a bot that was long away."""

_READY = frozenset({"clean", "unstable", "has_hooks"})
"""Words for a pull request that all rules of its base branch let through.

Source: https://docs.github.com/graphql/reference/enums#mergestatestatus"""

_FORCED = frozenset({"force_push", "branch_creation", "branch_deletion"})
"""Moves after which a branch does not stand on what it was before."""


class Branches(Releases, Calls):
    """Branches and tags of one repository."""

    async def pushes(self, head_ref: str, repository_id: int) -> tuple[Move, ...]:
        """Moves of a branch, newest first."""
        path, ref = f"/repositories/{repository_id}/activity", names.branch_ref(head_ref)
        query = {"ref": ref, "per_page": 100}
        wanted = "read who pushed"
        answer = await call(self._pool, wanted, "GET", path, query=query)
        # The filter is not relied on (trap 2): others' moves would tell of other commits.
        told = listed(wanted, answer.data)
        return tuple(move_of(data) for data in told if data["ref"] == ref)

    async def base_moves(self, base_ref: str, since: datetime) -> tuple[Move, ...]:
        """What moved a base branch, newest first; only a cursor leads on."""
        wanted, path, after = "read what moved the base branch", f"{self._path}/activity", ""
        ref = names.branch_ref(base_ref)
        found: list[Move] = []
        for _ in range(MOST_MOVES // 100):
            query = {"ref": ref, "per_page": 100}
            answer = await call(
                self._pool,
                wanted,
                "GET",
                path,
                query=query | ({"after": after} if after else {}),
            )
            for data in listed(wanted, answer.data):
                move = move_of(data)
                if data["ref"] == ref:  # the filter is not relied on (trap 2)
                    found.append(move)
                if move.at < since:
                    return tuple(found)
            after = _cursor(answer.headers.get("link", ""))
            if not after:
                break
        return tuple(found)

    async def has_tag(self, name: str) -> bool:
        """Whether there is a tag of exactly this name."""
        try:
            found = await self._get("look for a tag", f"/git/ref/tags/{quote(name)}")
        except ForgeMissingError:
            return False
        return bool(found["ref"] == names.tag_ref(name))

    async def _read_release(self, tag: str) -> JSONObject:
        """As `Releases` has it; GitHub shows drafts by their numbers only."""
        path = f"/releases/tags/{quote(tag, safe='')}"
        found: JSONObject = await self._get("look for a release", path)
        return found

    async def _latest_release(self) -> int | None:
        """The number of the release that GitHub shows as the latest; None for none."""
        try:
            found = await self._get("look for the latest release", "/releases/latest")
        except ForgeMissingError:
            return None
        return int(found["id"])

    async def _new_release(self, tag: str, title: str, body: str) -> None:
        """As `Releases` has it."""
        request = {"tag_name": tag, "name": title, "body": body, "make_latest": "false"}
        await self._send("make a release", "POST", "/releases", request, Cost.CREATE)

    async def _write_release(self, found: JSONObject, title: str, body: str) -> None:
        """As `Releases` has it; a tag that goes makes a draft of it, which only writers see.

        What is changed may become the latest by default, so that is told where it is not.
        """
        request = {"name": title, "body": body}
        if found["prerelease"] or found["draft"] or await self._latest_release() != found["id"]:
            request["make_latest"] = "false"
        await self._send("mark a release", "PATCH", f"/releases/{found['id']}", request)

    async def make_tag(self, tag: AnnotatedTag) -> Tagged:
        """Write a tag's object, then make the ref that names it; the latter is the condition.

        Source: https://docs.github.com/rest/git/tags
        """
        name, email = tag.tagger
        body = {
            "tag": tag.name,
            "message": tag.message,
            "object": tag.target,
            "type": "commit",
            "tagger": {"name": name, "email": email, "date": f"{tag.at:%Y-%m-%dT%H:%M:%SZ}"},
        }
        made = await self._send("write a tag", "POST", "/git/tags", body)
        if made["sha"] != tag.object:
            return Tagged(TagOutcome.OTHERWISE, f"the object is {made['sha']}")
        ref = {"ref": names.tag_ref(tag.name), "sha": tag.object}
        path = f"{self._path}/git/refs"
        return await self._pool.run(Cost.WRITE, "make a tag", _make_ref, path, ref)

    def asks_to_sign(self, reason: str) -> bool:
        """GitHub's sentence for it, of classic protection and of rulesets alike."""
        return "must have verified signatures" in reason

    async def commit(self, wanted: UnsignedCommit) -> Sha | None:
        """GitHub signs what an App commits without author, committer and signature.

        `createCommitOnBranch` would lose file modes, and makes no merges. REST has no condition on
        where a branch is; only forward it moves, so that nothing which somebody pushed is lost.

        Source: https://docs.github.com/authentication/managing-commit-signature-verification/about-commit-signature-verification#signature-verification-for-bots
        """
        entries: list[JSONObject] = []
        for path, entry in wanted.files.items():
            mode = entry.mode if entry else "100644"
            kind = "commit" if mode == "160000" else "blob"
            made = await self._object(entry) if entry else None
            entries.append({"path": path, "mode": mode, "type": kind, "sha": made})
        body: JSONObject = {"base_tree": wanted.base_tree, "tree": entries}
        tree = (await self._send("make a tree", "POST", "/git/trees", body))["sha"]
        if tree != wanted.tree:
            raise ForgeRefusedError(
                "make a tree", f"it made {tree} of what git makes {wanted.tree}"
            )
        body = {"message": wanted.message, "tree": tree, "parents": list(wanted.parents)}
        made = Sha((await self._send("make a commit", "POST", "/git/commits", body))["sha"])
        named = quote(names.branch_ref(wanted.head_ref).removeprefix("refs/"), safe="/")
        try:
            found = await self._get("look where a branch is", f"/git/ref/{named}")
        except ForgeMissingError:
            return None
        if found["object"]["sha"] != wanted.parents[0]:
            return None
        body = {"sha": made, "force": False}
        answer = await call(
            self._pool, "move a branch", "PATCH", f"{self._path}/git/refs/{named}", body=body
        )
        return made if answer.ok else None

    async def _object(self, entry: Entry) -> str:
        """Id of a file at GitHub, put there first."""
        if entry.mode == "160000":
            return entry.data.decode()
        content = base64.b64encode(entry.data).decode()
        body = {"content": content, "encoding": "base64"}
        return str((await self._send("write a file", "POST", "/git/blobs", body))["sha"])

    async def merge_way(self, number: int, base_ref: str) -> MergeWay:
        """By the rulesets of the base branch, and by what GitHub says of us and each of them.

        Whoever may bypass a ruleset does so by merging: no question is asked. So where we may,
        nothing is merged that GitHub itself does not call ready.

        A merge names the head and not the base branch: that one is read right before it.

        Source: https://docs.github.com/rest/repos/rules
        """
        wanted = "read a pull request"
        rules, pull = await asyncio.gather(
            self._branch_rules(base_ref), self._get(wanted, f"/pulls/{number}")
        )
        self._repository.named(wanted, str(pull["base"]["repo"]["full_name"]))
        if pull["base"]["ref"] != base_ref:
            return MergeWay(elsewhere=True)
        if any(rule["type"] == "merge_queue" for rule in rules):
            return MergeWay(queue=True)
        numbers = sorted({int(rule["ruleset_id"]) for rule in rules if rule.get("ruleset_id")})
        for each in numbers:
            ruleset = await self._get("read a ruleset", f"/rulesets/{each}")
            if ruleset.get("current_user_can_bypass", "never") != "never":
                # GitHub's word for whether it meets all rules, whoever asks.
                state = str(pull["mergeable_state"])
                if state == "unknown":
                    busy = "it is still working it out"
                    raise ForgeBusyError("read whether it can be merged", busy)
                return MergeWay(bypassed="" if state in _READY else str(ruleset["name"]))
        return MergeWay()

    async def merge(
        self, number: int, head: Sha, method: MergeMethod, title: str, message: str
    ) -> MergeResult:
        """Merge only while the head is `head`."""
        body = {
            "sha": head,
            "merge_method": method.value,
            "commit_title": title,
            "commit_message": message,
        }
        path = f"{self._path}/pulls/{number}/merge"
        return await self._pool.run(Cost.CREATE, "merge", merging.merge, path, body)


def _make_ref(pool: Clients, path: str, body: JSONObject) -> Tagged:
    answer = ask(pool, "make a tag", "POST", path, body=body)
    return Tagged(TagOutcome.MADE) if answer.ok else tag_failure(answer)


def tag_failure(answer: GitHubAnswer) -> Tagged:
    """Sort a refusal to make a tag's ref; raises what `failure` makes of any other answer."""
    said = answer.reason.lower()
    if answer.status == 422 and "object does not exist" in said:
        raise ForgeBusyError("make a tag", "it does not show the tag's object yet")
    if answer.status == 409 or (answer.status == 422 and "already exists" in said):
        return Tagged(TagOutcome.TAKEN, answer.reason)
    if answer.status == 422:
        return Tagged(TagOutcome.REFUSED, answer.reason)
    raise failure("make a tag", answer)


def move_of(data: JSONObject) -> Move:
    """Read one entry of a repository's activity."""
    actor = str((data["actor"] or {}).get("login", ""))
    return Move(
        before=Sha(data["before"]),
        after=Sha(data["after"]),
        actor=actor,
        account=int((data["actor"] or {}).get("id") or 0),
        at=time(data["timestamp"]),
        forced=str(data["activity_type"]) in _FORCED,
        anybodys=actor in ANYBODYS,
    )


def _cursor(link: str) -> str:
    """The cursor of the next page in a Link header; "" on the last page."""
    for part in link.split(","):
        address, _, relation = part.partition(";")
        if 'rel="next"' in relation:
            to = urls.parts(address.strip().strip("<>"))
            if to == urls.NONE:
                raise ForgeBusyError("read a list", "the address of its next page is none")
            return parse_qs(to.query).get("after", [""])[0]
    return ""
