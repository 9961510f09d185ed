"""Calls of the forges' APIs by what they are for: a story orders faults of them at either forge."""

from collections.abc import Mapping

MERGE = "merge"
COMMENT = "comment"
EDIT = "edit a comment"
CHECK = "put a check"
CHECK_EDIT = "write a check anew"
CHECKS = "read the checks"
TALK = "read what was said"
PROPOSALS = "list proposals"
PROPOSAL = "read a proposal"
OPEN = "open a proposal"
LABEL = "change labels"
RELEASE = "make a release"
ISSUE_TALK = "read what was said on an issue"
ISSUE_EDIT = "write an issue anew"

CALLS: Mapping[str, Mapping[str, str]] = {
    MERGE: {"github": "PUT */merge", "gitlab": "PUT */merge"},
    COMMENT: {"github": "POST *comments", "gitlab": "POST */notes"},
    EDIT: {"github": "PATCH *comments/*", "gitlab": "PUT */notes/*"},
    CHECK: {"github": "POST */check-runs", "gitlab": "POST */statuses/*"},
    CHECK_EDIT: {"github": "PATCH */check-runs/*", "gitlab": "POST */statuses/*"},
    CHECKS: {
        "github": "GET /repos/{owner}/{repo}/commits/{ref}/check-runs",
        "gitlab": "GET */commits/*/statuses",
    },
    TALK: {"github": "POST /graphql", "gitlab": "GET */merge_requests/*/notes"},
    PROPOSALS: {"github": "GET */pulls", "gitlab": "GET */merge_requests"},
    PROPOSAL: {"github": "GET */pulls/{}", "gitlab": "GET */merge_requests/{}"},
    OPEN: {
        "github": "POST /repos/{owner}/{repo}/pulls",
        "gitlab": "POST /projects/{id}/merge_requests",
    },
    LABEL: {
        "github": "POST /repos/{owner}/{repo}/issues/{issue_number}/labels",
        "gitlab": "PUT /projects/{id}/merge_requests/{iid}",
    },
    RELEASE: {
        "github": "POST /repos/{owner}/{repo}/releases",
        "gitlab": "POST /projects/{id}/releases",
    },
    ISSUE_TALK: {
        "github": "GET /repos/{owner}/{repo}/issues/{issue_number}/comments",
        "gitlab": "GET /projects/{id}/issues/{iid}/notes",
    },
    ISSUE_EDIT: {
        "github": "PATCH /repos/{owner}/{repo}/issues/{issue_number}",
        "gitlab": "PUT /projects/{id}/issues/{iid}",
    },
}
"""What for, then the forge, to how `bot.sandbox.faults` names the call there."""
