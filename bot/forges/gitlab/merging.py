"""Merging on GitLab: what its refusals come to, rebasing where a project wants it, merge trains.

GitLab refuses with a status that says little; why is told by `detailed_merge_status`, whose words
are read here and nowhere else. One that is not known is shown as it is.

Source: https://docs.gitlab.com/api/merge_requests/#merge-status
"""

import asyncio
from collections.abc import Mapping

from bot.forges.gitlab.calls import place, quoted
from bot.forges.gitlab.http import GitLabAnswer, JSONObject, failure
from bot.forges.gitlab.statuses import StatusChecks
from bot.forges.port import (
    MERGED,
    ForgeMissingError,
    ForgeRefusedError,
    MergeQueue,
    MergeResult,
    MergeWay,
    QueueEntry,
)
from lifecycle.facts.merging import MergeObstacle
from lifecycle.names import Sha
from lifecycle.policy import MergeMethod

_OBSTACLES: Mapping[str, MergeObstacle] = {
    # GitLab is still working it out.
    "unchecked": MergeObstacle.UNDER_WAY,
    "checking": MergeObstacle.UNDER_WAY,
    "preparing": MergeObstacle.UNDER_WAY,
    "approvals_syncing": MergeObstacle.UNDER_WAY,
    "cannot_be_merged_recheck": MergeObstacle.UNDER_WAY,
    "cannot_be_merged_rechecking": MergeObstacle.UNDER_WAY,
    "locked": MergeObstacle.UNDER_WAY,
    # Waiting for somebody.
    "not_approved": MergeObstacle.REVIEW,
    "requested_changes": MergeObstacle.REVIEW,
    "draft_status": MergeObstacle.DRAFT,
    "discussions_not_resolved": MergeObstacle.CONVERSATION,
    "ci_must_pass": MergeObstacle.CHECK,
    "ci_still_running": MergeObstacle.CHECK,
    "status_checks_must_pass": MergeObstacle.CHECK,
    "external_status_checks": MergeObstacle.CHECK,
    "security_policy_pipeline_check": MergeObstacle.CHECK,
    "conflict": MergeObstacle.CONFLICT,
    "broken_status": MergeObstacle.CONFLICT,
    "need_rebase": MergeObstacle.BEHIND,
    "merge_request_blocked": MergeObstacle.RULE,
    "security_policy_violations": MergeObstacle.RULE,
    "locked_paths": MergeObstacle.RULE,
    "locked_lfs_files": MergeObstacle.RULE,
    "title_regex": MergeObstacle.RULE,
    "jira_association_missing": MergeObstacle.RULE,
    "merge_time": MergeObstacle.RULE,
    # It said no, and would say yes now.
    "mergeable": MergeObstacle.FORGE,
}

_NOT_MERGED = frozenset({405, 406, 409, 422})


class Merges(StatusChecks):
    """Merges of one project."""

    async def merge_way(self, number: int, base_ref: str) -> MergeWay:
        """Through a merge train where the project has them; nothing of GitLab's is gone around.

        A merge names the head and not the target branch: that one is read right before it.
        """
        project = await self._project()
        target = (await self.proposal(number)).base_ref
        return MergeWay(queue=_has_trains(project), elsewhere=target != base_ref)

    async def merge(
        self, number: int, head: Sha, method: MergeMethod, title: str, message: str
    ) -> MergeResult:
        """Merge only while the head is `head`.

        How commits are brought in is the project's setting; only whether they are squashed is ours,
        where that leaves it open.
        """
        text = f"{title}\n\n{message}".rstrip()
        squash = method is MergeMethod.SQUASH or self._squashes
        body: JSONObject = {
            "sha": head,
            "squash": squash,
            "merge_commit_message": text,
            "should_remove_source_branch": False,
        } | ({"squash_commit_message": text} if squash else {})
        answer = await self._ask("merge", "PUT", f"{place(number)}/merge", body)
        if answer.ok and answer.data.get("state") == "merged":
            told = (answer.data.get(f"{kind}_commit_sha") for kind in ("merge", "squash"))
            return MergeResult(commit=next(filter(None, told), head))
        if answer.status in {401, 403}:
            return MergeResult(MergeObstacle.PERMISSION, answer.reason)
        if not answer.ok and answer.status not in _NOT_MERGED:
            raise failure("merge", answer)
        if "lock" in answer.reason.lower() and answer.status == 409:
            return MergeResult(MergeObstacle.UNDER_WAY, answer.reason)
        return await self._why(number, head, answer)

    async def _why(self, number: int, head: Sha, answer: GitLabAnswer) -> MergeResult:
        """Why it is not merged; what is merged after all, whose answer was lost, is merged."""
        data = await self._one(number)
        word = str(data.get("detailed_merge_status") or "")
        reason = f"{word}: {answer.reason}" if word else answer.reason
        if str(data.get("sha") or head) != head:
            return MergeResult(MergeObstacle.HEAD_MOVED, reason)
        if data["state"] == "merged":
            return MERGED
        if answer.ok or data["state"] == "locked" or data.get("rebase_in_progress"):
            return MergeResult(MergeObstacle.UNDER_WAY, reason)
        if answer.status == 409:
            return MergeResult(MergeObstacle.HEAD_MOVED, reason)
        if word == "mergeable" and data.get("merge_error"):
            return MergeResult(MergeObstacle.UNKNOWN, str(data["merge_error"]))
        found = _OBSTACLES.get(word, MergeObstacle.UNKNOWN)
        if found is MergeObstacle.BEHIND:
            return await self._rebase(number, reason)
        return MergeResult(found, reason)

    async def _rebase(self, number: int, reason: str) -> MergeResult:
        """Ask for the rebase that the project's way of merging wants; what comes is looked at anew.

        Source: https://docs.gitlab.com/api/merge_requests/#rebase-a-merge-request
        """
        answer = await self._ask("rebase", "PUT", f"{place(number)}/rebase")
        if answer.ok or answer.status == 409:
            return MergeResult(MergeObstacle.UNDER_WAY, reason)
        if answer.status in {401, 403}:
            return MergeResult(MergeObstacle.BEHIND, reason)
        raise failure("rebase", answer)

    async def enqueue(self, number: int, head: Sha) -> MergeResult:
        """Put it on the merge train; Premium.

        While GitLab works out whether it can be merged, it may answer 201 and do nothing: what it
        answers is the train, and only who is on it was put there.

        Source: https://docs.gitlab.com/api/merge_trains/#add-a-merge-request-to-a-merge-train
        """
        path, body = f"/merge_trains{place(number)}", JSONObject(sha=head)
        if self._squashes:
            body["squash"] = True
        answer = await self._ask("put on the merge train", "POST", path, body)
        there = answer.status == 202 or (answer.ok and _is_on(answer.data, number))
        if there or (answer.status == 409 and "already" in answer.reason.lower()):
            return MergeResult(queued=True)
        if answer.status in {401, 403}:
            return MergeResult(MergeObstacle.PERMISSION, answer.reason)
        if not answer.ok and answer.status not in {400, *_NOT_MERGED}:
            raise failure("put on the merge train", answer)
        found = await self._why(number, head, answer)
        return found if found.obstacle else MergeResult(queued=True)

    async def dequeue(self, number: int) -> None:
        """Take it off the merge train, by canceling that it merges by itself."""
        wanted = "take off the merge train"
        path = f"{place(number)}/cancel_merge_when_pipeline_succeeds"
        answer = await self._ask(wanted, "POST", path)
        if not answer.ok and answer.status not in {404, 405, 406}:
            raise failure(wanted, answer)

    async def merge_queue(self, base_ref: str) -> MergeQueue | None:
        """The merge train of a branch, first car first; what each is about to make is a pipeline's.

        Source: https://docs.gitlab.com/api/merge_trains/#list-all-merge-requests-in-a-merge-train
        """
        if not _has_trains(await self._project()):
            return None
        wanted, query = "read the merge train", {"scope": "active", "sort": "asc"}
        branch = await self._get(wanted, f"/repository/branches/{quoted(base_ref)}")
        listed = self._list(wanted, f"/merge_trains/{quoted(base_ref)}", query)
        cars = [car async for car in listed]
        pulls = await asyncio.gather(*(self.proposal(_number(car)) for car in cars))
        return MergeQueue(
            Sha(branch["commit"]["id"]),
            tuple(
                QueueEntry(
                    number=pull.number,
                    open=pull.open and not pull.draft,
                    base_ref=pull.base_ref,
                    head=pull.head,
                    merge=Sha(car["pipeline"]["sha"]) if car.get("pipeline") else None,
                )
                for car, pull in zip(cars, pulls, strict=True)
            ),
        )

    async def required_reviews(self, branch: str) -> int:
        """By approval rules, which Premium has; they are for all branches that they do not name."""
        try:
            listed = self._list("read the approval rules", "/approval_rules")
            found = [rule async for rule in listed]
        except ForgeMissingError:
            return 0
        except ForgeRefusedError:
            return 0  # who may not see the rules is not told their number either
        named = [{str(b["name"]) for b in rule.get("protected_branches") or ()} for rule in found]
        numbers = (
            int(rule.get("approvals_required") or 0)
            for rule, branches in zip(found, named, strict=True)
            if not branches or branch in branches
        )
        return max(numbers, default=0)


def _is_on(train: object, number: int) -> bool:
    return not isinstance(train, list) or any(_number(car) == number for car in train)


def _number(car: JSONObject) -> int:
    return int(car["merge_request"]["iid"])


def _has_trains(project: JSONObject) -> bool:
    return bool(project.get("merge_trains_enabled"))
