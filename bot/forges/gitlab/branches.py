"""Branches, tags and releases of one project on GitLab."""

import hashlib
import json
from datetime import datetime

from bot.forges.gitlab.calls import quoted
from bot.forges.gitlab.http import JSONObject
from bot.forges.gitlab.merging import Merges
from bot.forges.gitlab.people import joined, move_of, of_branch, of_many
from bot.forges.port import (
    AnnotatedTag,
    ForgeMissingError,
    ForgeRefusedError,
    Tagged,
    TagOutcome,
    UnsignedCommit,
)
from bot.forges.releases import Releases
from lifecycle.merges import Move
from lifecycle.names import Sha

MOST_MOVES = 2_000
"""Pushes to a project that are read to find those to a branch: twenty pages."""

_MERGE_SETTINGS = (
    "allow_merge",
    "approvals_",
    "archived",
    "merge_",
    "only_allow_",
    "permissions",
    "squash_",
)
"""Begin the fields of a project that say what may be merged, and by us."""

_UNSIGNED = "Let unsigned commits of the bot into the project"


class Branches(Releases, Merges):
    """Branches, tags and releases of one project."""

    text = "description"

    async def base_moves(self, base_ref: str, since: datetime) -> tuple[Move, ...]:
        """What moved a base branch, newest first: GitLab lists the pushes to all branches.

        Where the newest push was one of many branches at once, this one is asked for its commit.
        """
        found: list[JSONObject] = []
        count = 0
        listed = self._list("read what moved the base branch", "/events", {"action": "pushed"})
        async for each in listed:
            count += 1
            ours = of_branch(each, base_ref)
            if ours or of_many(each):
                found.append(each)
            if (ours and move_of(each).at < since) or count >= MOST_MOVES:
                break
        newest = next(iter(found), None)
        untold = newest is not None and of_many(newest) and move_of(newest).at >= since
        tip = await self._tip(base_ref) if untold else None
        return tuple(joined(found, base_ref, tip))

    async def _tip(self, branch: str) -> Sha | None:
        try:
            found = await self._get(
                "read the base branch", f"/repository/branches/{quoted(branch)}"
            )
        except ForgeMissingError:
            return None
        return Sha(str(found["commit"]["id"]))

    async def rules(self, branch: str) -> str:
        """Digest of the project's settings, our rights, and how the branch is protected."""
        project = await self._project()
        settings = {k: v for k, v in project.items() if k.startswith(_MERGE_SETTINGS)}
        try:
            listed = self._list("read the protected branches", "/protected_branches")
            protected = [each async for each in listed]
        except ForgeRefusedError:
            protected = []  # only maintainers see them
        told = [settings, protected, branch]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    async def has_tag(self, name: str) -> bool:
        """Whether there is a tag of exactly this name."""
        try:
            found = await self._get("look for a tag", f"/repository/tags/{quoted(name)}")
        except ForgeMissingError:
            return False
        return bool(found["name"] == name)

    async def make_tag(self, tag: AnnotatedTag) -> Tagged:
        """GitLab signs a tag with the account and the moment of the request: none is made by it.

        Source: https://docs.gitlab.com/api/tags/#create-a-new-tag
        """
        return Tagged(TagOutcome.OTHERWISE, f"GitLab writes another object than {tag.object}")

    async def _read_release(self, tag: str) -> JSONObject:
        """As `Releases` has it."""
        found: JSONObject = await self._get("look for a release", f"/releases/{quoted(tag)}")
        return found

    async def _new_release(self, tag: str, title: str, body: str) -> None:
        """As `Releases` has it."""
        request = {"tag_name": tag, "name": title, self.text: body}
        await self._send("make a release", "POST", "/releases", request)

    async def _write_release(self, found: JSONObject, title: str, body: str) -> None:
        """As `Releases` has it; a tag that goes takes it along."""
        path = f"/releases/{quoted(found['tag_name'])}"
        await self._send("mark a release", "PUT", path, {"name": title, self.text: body})

    def asks_to_sign(self, reason: str) -> bool:
        """Never: GitLab moves no branch to a commit only while it is at another one."""
        del reason
        return False

    async def commit(self, wanted: UnsignedCommit) -> Sha | None:
        """GitLab's commits name no parent: what somebody pushed meanwhile would be built upon."""
        raise ForgeRefusedError(
            "make a commit", f"GitLab cannot make one only on {wanted.parents[0]}", _UNSIGNED
        )
