"""GitLab's operations on approval rules of projects, and on external status checks.

Source: https://docs.gitlab.com/api/merge_request_approvals/#approval-rules-for-a-project,
https://docs.gitlab.com/api/status_checks/
"""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab import merge_request_json as more
from bot.sandbox.gitlab.errors import bad_parameter, conflict, forbidden, missing
from bot.sandbox.gitlab.json import Json
from bot.sandbox.gitlab.merge_requests import at
from bot.sandbox.gitlab.routing import CODE, ApiRequest, at_least, page, route
from bot.sandbox.gitlab.rules import approvals, status_checks
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import ULTIMATE, AccessLevel, ProtectedRef
from bot.sandbox.records.merge_requests import MergeRequest
from bot.sandbox.records.premium import ApprovalRule, StatusCheck

_RULES = "/projects/{id}/approval_rules"
_CHECKS = "/projects/{id}/external_status_checks"
_MR = "/projects/{id}/merge_requests/{iid}"
_MAINTAINER = at_least(AccessLevel.MAINTAINER)


# Approval rules.


@route("GET", _RULES, at_least(AccessLevel.DEVELOPER))
def list_rules(request: ApiRequest) -> ApiResponse:
    """The rules of a project; Premium."""
    return page(request, list(_rules(request).values()), lambda rule: _rule(request, rule))


@route("POST", _RULES, _MAINTAINER)
def add_rule(request: ApiRequest) -> ApiResponse:
    """Ask for approvals of some people, or of anybody where nobody is named."""
    known, given = _rules(request), request.input
    made = ApprovalRule(
        id=request.state.next_id(),
        name=given.filled("name"),
        required=given.needed_number("approvals_required"),
    )
    _fill(request, made)
    known[made.id] = made
    return ApiResponse(status=201, body=_rule(request, made))


@route("GET", f"{_RULES}/{{rule_id}}", at_least(AccessLevel.DEVELOPER))
def get_rule(request: ApiRequest) -> ApiResponse:
    """One rule."""
    return ApiResponse(body=_rule(request, _found(request)))


@route("PUT", f"{_RULES}/{{rule_id}}", _MAINTAINER)
def edit_rule(request: ApiRequest) -> ApiResponse:
    """Change a rule."""
    rule, given = _found(request), request.input
    rule.name = given.text("name") or rule.name
    wanted = given.number("approvals_required")
    rule.required = rule.required if wanted is None else wanted
    _fill(request, rule)
    return ApiResponse(body=_rule(request, rule))


@route("DELETE", f"{_RULES}/{{rule_id}}", _MAINTAINER)
def remove_rule(request: ApiRequest) -> ApiResponse:
    """Take a rule away."""
    del _rules(request)[_found(request).id]
    return ApiResponse(status=204)


@route("GET", f"{_MR}/approval_rules", CODE)
def rules_of_merge_request(request: ApiRequest) -> ApiResponse:
    """The rules that hold for a merge request."""
    mr = at(request)
    _rules(request)
    found = approvals.rules(request.state, mr)
    return page(request, found, lambda rule: _rule(request, rule) | {"source_rule": None})


def _rules(request: ApiRequest) -> dict[int, ApprovalRule]:
    if not levels.has_tier(request.state, request.project):
        raise missing()
    return request.project.gitlab.approval_rules


def _found(request: ApiRequest) -> ApprovalRule:
    rule = _rules(request).get(request.number("rule_id"))
    if rule is None:
        raise missing()
    return rule


def _fill(request: ApiRequest, rule: ApprovalRule) -> None:
    given = request.input
    numbers, names = given.numbers("user_ids"), given.texts("usernames")
    if numbers is not None or names is not None:
        named = [request.state.data.users.get(name.lower()) for name in names or ()]
        people: list[User] = [request.person(number) for number in numbers or ()]
        rule.users = [*people, *(user for user in named if user is not None)]
    branches = given.numbers("protected_branch_ids")
    if branches is not None:
        rule.branches = [each.name for each in _protected(request, branches)]


def _protected(request: ApiRequest, numbers: list[int]) -> list[ProtectedRef]:
    known = {each.id: each for each in request.project.gitlab.protected_branches.values()}
    if not known.keys() >= set(numbers):
        raise bad_parameter("protected_branch_ids does not have a valid value")
    return [known[number] for number in numbers]


def _rule(request: ApiRequest, rule: ApprovalRule) -> Json:
    shown = more.approval_rule(request.links, rule)
    return shown | {"protected_branches": _branches(request, rule.branches)}


def _branches(request: ApiRequest, names: list[str]) -> list[Json]:
    known = request.project.gitlab.protected_branches
    return [{"id": known[name].id, "name": name} for name in names if name in known]


# External status checks.


@route("GET", _CHECKS, at_least(AccessLevel.DEVELOPER))
def list_checks(request: ApiRequest) -> ApiResponse:
    """The services that are asked about merge requests; Ultimate."""
    return page(request, list(_checks(request).values()), lambda check: _check(request, check))


@route("POST", _CHECKS, _MAINTAINER)
def add_check(request: ApiRequest) -> ApiResponse:
    """Have a service asked about merge requests; 409 for a name that is taken."""
    known, given = _checks(request), request.input
    name = given.filled("name")
    if any(check.name == name for check in known.values()):
        raise conflict("Name has already been taken")
    made = StatusCheck(id=request.state.next_id(), name=name, url=given.filled("external_url"))
    branches = given.numbers("protected_branch_ids") or []
    made.branches = [each.name for each in _protected(request, branches)]
    known[made.id] = made
    return ApiResponse(status=201, body=_check(request, made))


@route("DELETE", f"{_CHECKS}/{{check_id}}", _MAINTAINER)
def remove_check(request: ApiRequest) -> ApiResponse:
    """Ask a service no more."""
    if _checks(request).pop(request.number("check_id"), None) is None:
        raise missing()
    return ApiResponse(status=204)


@route("GET", f"{_MR}/status_checks", CODE)
def answers(request: ApiRequest) -> ApiResponse:
    """What the services say of a merge request."""
    mr = at(request)
    _checks(request)
    return page(
        request,
        status_checks.of(request.state, mr),
        lambda check: _answer(check, mr),
    )


@route("POST", f"{_MR}/status_check_responses", at_least(AccessLevel.DEVELOPER))
def respond(request: ApiRequest) -> ApiResponse:
    """Answer for a service; 409 for another commit than the head."""
    mr, given = at(request), request.input
    check = _checks(request).get(given.needed_number("external_status_check_id"))
    if check is None:
        raise missing()
    said = given.choice("status", status_checks.ANSWERS) or "passed"
    if given.required("sha") != mr.head_sha:
        raise conflict("sha must be a head SHA")
    check.answers[mr.number] = (mr.head_sha, said)
    body = {
        "id": request.state.next_id(),
        "merge_request": {"id": mr.id, "iid": mr.number},
        "external_status_check": _check(request, check),
    }
    return ApiResponse(status=201, body=body)


def _checks(request: ApiRequest) -> dict[int, StatusCheck]:
    if not levels.has_tier(request.state, request.project, ULTIMATE):
        raise forbidden()
    return request.project.gitlab.status_checks


def _check(request: ApiRequest, check: StatusCheck) -> Json:
    return {
        "id": check.id,
        "name": check.name,
        "project_id": request.project.id,
        "external_url": check.url,
        "hmac": False,
        "protected_branches": _branches(request, check.branches),
    }


def _answer(check: StatusCheck, mr: MergeRequest) -> Json:
    said = status_checks.answer(check, mr)
    return {"id": check.id, "name": check.name, "external_url": check.url, "status": said}
