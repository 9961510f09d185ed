"""Merging on GitHub: what its refusals come to.

GitHub answers a merge that it does not make with one status for nearly everything, 405, and a
sentence. The sentences are read here and nowhere else; one that is not known is told as such. Each
is matched from the beginning of a line: names of checks and teams, which people choose, stand
inside (docs/design.md, "Merge failures").
"""

import re

from bot.forges.github.http import (
    Clients,
    GitHubAnswer,
    JSONObject,
    UnprocessableError,
    ask,
    failure,
    graphql,
)
from bot.forges.port import ForgeBusyError, MergeQueue, MergeResult, QueueEntry, Repository
from lifecycle.facts.merging import MergeObstacle
from lifecycle.names import Sha, branch_ref

_SENTENCES: tuple[tuple[str, MergeObstacle], ...] = (
    # Passing.
    (r"base branch was modified", MergeObstacle.BASE_MOVED),
    (r"head branch was modified", MergeObstacle.HEAD_MOVED),
    (r"merge (already|request is) in progress", MergeObstacle.UNDER_WAY),
    (r"pull request (is being|merge is already) ", MergeObstacle.UNDER_WAY),
    # Waiting for somebody.
    (r"pull request is (still )?(a|in) draft", MergeObstacle.DRAFT),
    (r"draft pull requests cannot be merged", MergeObstacle.DRAFT),
    (r"(merge commits|squash merges|rebase merges) are not allowed", MergeObstacle.METHOD),
    (r"this branch (can.t be rebased|must not contain merge commits)", MergeObstacle.METHOD),
    (
        r"(this|the) (branch|repository) (requires|must have) (a )?linear history",
        MergeObstacle.METHOD,
    ),
    (r"(merge|squash|rebase) (method|merging) .*not allowed", MergeObstacle.METHOD),
    (r"at least \d+ approving reviews? (is|are) required", MergeObstacle.REVIEW),
    (r"(changes requested|review required|waiting on code owner review)", MergeObstacle.REVIEW),
    (r"(an approved|approving) review", MergeObstacle.REVIEW),
    (r"new changes require approval", MergeObstacle.REVIEW),
    (r"(\d+ of \d+ )?required (status )?checks? ", MergeObstacle.CHECK),
    (r"\d+ checks? (is|are) ", MergeObstacle.CHECK),
    (r"required (deployments?|workflows?) ", MergeObstacle.CHECK),
    (
        r"(a|all|every) (conversations?|comments?) (on code )?must be resolved",
        MergeObstacle.CONVERSATION,
    ),
    (r"(all|every) review (threads?|comments?) must be resolved", MergeObstacle.CONVERSATION),
    (r"commits must have (verified|valid) signatures", MergeObstacle.SIGNATURE),
    (r"required signatures", MergeObstacle.SIGNATURE),
    (r"expected head (oid|sha) does not match", MergeObstacle.HEAD_MOVED),
    (r"changes must be made through the merge queue", MergeObstacle.QUEUE),
    (r"(the|this) (base )?branch requires (a |the )?merge queue", MergeObstacle.QUEUE),
    (r"pull request is (already )?in the merge queue", MergeObstacle.QUEUE),
    (r"merge queue", MergeObstacle.QUEUE),
    (r"the head branch is not up to date", MergeObstacle.BEHIND),
    (r"(this|head) branch is out.of.date", MergeObstacle.BEHIND),
    (r"merge conflict", MergeObstacle.CONFLICT),
    (r"(this|the) branch has conflicts", MergeObstacle.CONFLICT),
    (r"you.re not (authorized|allowed) to ", MergeObstacle.PERMISSION),
    (r"you are not (authorized|allowed) to ", MergeObstacle.PERMISSION),
    (r"resource not accessible by ", MergeObstacle.PERMISSION),
    (r"must have (push|admin|write) ", MergeObstacle.PERMISSION),
    (r"repository was archived", MergeObstacle.PERMISSION),
    (r"changes must be made through a pull request", MergeObstacle.RULE),
    (r"cannot update this protected ref", MergeObstacle.RULE),
    (r"protected branch", MergeObstacle.RULE),
    (r"repository rule violations found", MergeObstacle.RULE),
)
"""Beginnings of lines, in the order in which they count: of several rules the one that says most
comes before the line that only says that there are rules.

Source: docs/design.md, "GitHub: pull requests and merging"."""

_QUEUED = re.compile(r"pull request is already in the (merge )?queue", re.IGNORECASE)
_NOT_QUEUED = re.compile(r"pull request is not in the (merge )?queue", re.IGNORECASE)

_READ = tuple((re.compile(begins, re.IGNORECASE), found) for begins, found in _SENTENCES)


def merge(pool: Clients, path: str, body: JSONObject) -> MergeResult:
    """Ask for a merge; for threads.

    Raises:
        ForgeBusyError: Trying again may help.
        ForgeRefusedError: An operator must act.
    """
    answer = ask(pool, "merge", "PUT", path, body=body)
    if not answer.ok:
        return merge_failure(answer)
    if isinstance(answer.data, dict) and answer.data.get("merged") is True:
        return MergeResult(commit=str(answer.data.get("sha") or ""))
    raise ForgeBusyError("merge", f"{answer.status} that does not say it was merged")


def merge_failure(answer: GitHubAnswer) -> MergeResult:
    """Sort a merge that was not made by its words; raises what `failure` makes of other answers."""
    if answer.status not in {405, 409, 422}:
        raise failure("merge", answer)
    obstacle = _obstacle(answer.reason)
    if obstacle is MergeObstacle.UNKNOWN and answer.status == 409:
        obstacle = MergeObstacle.HEAD_MOVED  # what its description says of this status
    return MergeResult(obstacle, answer.reason)


def enqueue(pool: Clients, node: str, head: str) -> MergeResult:
    """Put a pull request into the merge queue; for threads.

    Args:
        pool: Clients of the installation.
        node: The pull request's id in GraphQL.
        head: The head that it must have.

    Raises:
        ForgeBusyError: Trying again may help.
        ForgeRefusedError: An operator must act.
    """
    wanted = {"input": {"pullRequestId": node, "expectedHeadOid": head}}
    try:
        graphql(pool, "put into the merge queue", _ENQUEUE, wanted)
    except UnprocessableError as error:
        if not _QUEUED.search(error.reason):
            return MergeResult(_obstacle(error.reason), error.reason)
    return MergeResult(queued=True)


def dequeue(pool: Clients, node: str) -> None:
    """Take a pull request out of the merge queue, or leave it out; for threads.

    Raises:
        ForgeBusyError: Trying again may help.
        ForgeRefusedError: An operator must act.
    """
    try:
        graphql(pool, "take out of the merge queue", _DEQUEUE, {"input": {"id": node}})
    except UnprocessableError as error:
        if not _NOT_QUEUED.search(error.reason):
            raise


def read_queue(pool: Clients, repository: Repository, base_ref: str) -> MergeQueue | None:
    """Read the merge queue of a branch to its end; for threads.

    Raises:
        ForgeBusyError: Trying again may help.
        ForgeRefusedError: An operator must act.
    """
    owner, _, name = repository.full_name.partition("/")
    asked: JSONObject = {
        "owner": owner,
        "name": name,
        "ref": branch_ref(base_ref),
        "branch": base_ref,
        "after": None,
    }
    wanted, bases, found = "read the merge queue", set[str](), list[JSONObject]()
    while True:
        there = graphql(pool, wanted, QUEUE, asked)["repository"]
        if not there:
            return None
        repository.meant(wanted, int(there["databaseId"]))
        queue, base = there.get("mergeQueue"), there.get("ref")
        if not queue or not base:
            return None
        bases.add(str(base["target"]["oid"]))
        found += [each for each in queue["entries"]["nodes"] if each and each["pullRequest"]]
        info = queue["entries"]["pageInfo"]
        if not info["hasNextPage"]:
            break
        asked = asked | {"after": info["endCursor"]}
    if len(bases) > 1:
        raise ForgeBusyError(wanted, "it changed while it was read")
    found.sort(key=lambda each: int(each["position"]))
    return MergeQueue(Sha(bases.pop()), tuple(map(_entry, found)))


def _entry(data: JSONObject) -> QueueEntry:
    pull, merge = data["pullRequest"], data["headCommit"]
    return QueueEntry(
        number=int(pull["number"]),
        open=pull["state"] == "OPEN" and not pull["isDraft"],
        base_ref=str(pull["baseRefName"]),
        head=Sha(pull["headRefOid"]),
        merge=Sha(merge["oid"]) if merge else None,
    )


QUEUE = """
query Queue($owner: String!, $name: String!, $ref: String!, $branch: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    databaseId
    ref(qualifiedName: $ref) { target { oid } }
    mergeQueue(branch: $branch) {
      entries(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          position
          headCommit { oid }
          pullRequest { number state isDraft baseRefName headRefOid }
        }
      }
    }
  }
}
"""

_ENQUEUE = (
    "mutation Mutation($input: EnqueuePullRequestInput!) { enqueuePullRequest(input: $input)"
    " { clientMutationId mergeQueueEntry { id } } }"
)
_DEQUEUE = (
    "mutation Mutation($input: DequeuePullRequestInput!) { dequeuePullRequest(input: $input)"
    " { clientMutationId mergeQueueEntry { id } } }"
)


def _obstacle(reason: str) -> MergeObstacle:
    lines = [line.strip().lstrip("-* ") for line in re.split(r"\n|; ", reason)]
    for begins, found in _READ:
        if any(begins.match(line) for line in lines):
            return found
    return MergeObstacle.UNKNOWN
