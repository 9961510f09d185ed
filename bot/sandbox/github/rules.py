"""GitHub's operations on rulesets, and on the rules that they come to for one branch."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from bot.sandbox import refnames
from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import RefusedError, not_found, plain
from bot.sandbox.fields import BodyFields
from bot.sandbox.github import json as basic
from bot.sandbox.github.routing import ApiRequest, page, route
from bot.sandbox.records.accounts import Role
from bot.sandbox.records.protection import Bypass, QueueRule, Ruleset
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.ids import node_id

_REPO = "/repos/{owner}/{repo}"
_SIMPLE = ("creation", "deletion", "non_fast_forward", "required_signatures")


@route("GET", f"{_REPO}/rules/branches/{{branch}}")
def get_rules(request: ApiRequest) -> ApiResponse:
    """The rules that rulesets have for a branch; classic protection is not told here."""
    repo = _planned(request)
    found = [
        rule | _origin(repo, ruleset)
        for ruleset in request.state.rules.rulesets(
            repo, refnames.branch_ref(request.params["branch"])
        )
        for rule in _rules(ruleset)
    ]
    return page(request, found)


@route("GET", f"{_REPO}/rulesets")
def list_rulesets(request: ApiRequest) -> ApiResponse:
    """Rulesets of a repository, without their rules."""
    targets = request.query.get("targets")
    wanted = targets.split(",") if targets else None
    found = [r for r in _planned(request).rulesets.values() if wanted is None or r.target in wanted]
    return page(request, [_ruleset(request, ruleset) for ruleset in found])


@route("GET", f"{_REPO}/rulesets/{{ruleset_id}}")
def get_ruleset(request: ApiRequest) -> ApiResponse:
    """One ruleset; who bypasses it is told to administrators only."""
    repo = request.repo
    found = repo.rulesets.get(request.number("ruleset_id"))
    if found is None:
        raise not_found()
    body = _ruleset(request, found) | {
        "conditions": {"ref_name": _condition(found)},
        "rules": _rules(found),
    }
    if request.caller.user is not None:
        body["current_user_can_bypass"] = request.state.rules.bypass_of(
            found, repo, request.caller.user
        )
    if request.state.role(repo, request.caller.user) is Role.ADMIN:
        body["bypass_actors"] = [
            {"actor_id": b.actor_id, "actor_type": b.actor_type, "bypass_mode": b.mode}
            for b in found.bypass
        ]
    return ApiResponse(body=body)


@route("POST", f"{_REPO}/rulesets")
def create_ruleset(request: ApiRequest) -> ApiResponse:
    """Make a ruleset of the rules that this forge knows; 422 for any other."""
    repo, fields = request.repo, request.fields
    condition = fields.inner("conditions")
    names = condition.inner("ref_name") if condition else None
    rules: dict[str, Any] = {}
    for rule in fields.objects("rules"):
        kind = rule.required("type")
        if kind == "required_status_checks":
            inner = rule.inner("parameters")
            checks = inner.objects("required_status_checks") if inner else []
            rules["required_checks"] = [
                (check.required("context"), check.number("integration_id")) for check in checks
            ]
        elif kind == "pull_request":
            inner = rule.inner("parameters")
            reviews = inner.number("required_approving_review_count") if inner else 0
            rules |= {"pull_request": True, "required_reviews": reviews or 0}
        elif kind == "merge_queue":
            rules[kind] = _queue(rule.inner("parameters"))
        elif kind in (*_SIMPLE, "update"):
            rules[kind] = True
        else:
            raise plain(f"Invalid request.\n\nInvalid rule '{kind}': is not known here.")
    bypass = tuple(
        Bypass(
            actor_type=each.required("actor_type"),
            actor_id=each.number("actor_id") or 0,
            mode=each.text("bypass_mode") or "always",
        )
        for each in fields.objects("bypass_actors")
    )
    made = request.state.rules.add(
        repo,
        (names.texts("include") if names else None) or (),
        name=fields.required("name"),
        target=fields.text("target") or "branch",
        enforcement=fields.required("enforcement"),
        **rules,
    )
    made = replace(made, bypass=bypass)
    repo.rulesets[made.id] = made
    body = _ruleset(request, made) | {
        "conditions": {"ref_name": _condition(made)},
        "rules": _rules(made),
    }
    return ApiResponse(status=201, body=body)


def _queue(given: BodyFields | None) -> QueueRule:
    """The rule of a merge queue; the description asks for each of its parameters."""
    if given is None:
        raise plain("Invalid request.\n\nMissing parameters of 'merge_queue'.")
    return QueueRule(
        merge_method=given.required("merge_method"),
        grouping_strategy=given.required("grouping_strategy"),
        max_entries_to_build=given.number("max_entries_to_build") or 0,
        max_entries_to_merge=given.number("max_entries_to_merge") or 0,
        min_entries_to_merge=given.number("min_entries_to_merge") or 0,
        min_entries_to_merge_wait_minutes=given.number("min_entries_to_merge_wait_minutes") or 0,
        check_response_timeout_minutes=given.number("check_response_timeout_minutes") or 0,
    )


def _planned(request: ApiRequest) -> Repository:
    """The repository, where its plan has rules; else 403."""
    if request.repo.limited:
        raise RefusedError(
            403, "Upgrade to GitHub Pro or make this repository public to enable this feature."
        )
    return request.repo


def _ruleset(request: ApiRequest, ruleset: Ruleset) -> basic.Json:
    repo = request.repo
    url = f"{basic.repo_url(request.links, repo)}/rulesets/{ruleset.id}"
    html = f"{basic.repo_html(request.links, repo)}/rules/{ruleset.id}"
    return {
        "id": ruleset.id,
        "name": ruleset.name,
        "target": ruleset.target,
        "source_type": "Repository",
        "source": repo.full_name,
        "enforcement": ruleset.enforcement,
        "node_id": node_id("RRS", ruleset.id),
        "_links": {"self": {"href": url}, "html": {"href": html}},
        "created_at": basic.stamp(ruleset.created_at),
        "updated_at": basic.stamp(ruleset.created_at),
    }


def _condition(ruleset: Ruleset) -> basic.Json:
    full = refnames.branch_ref if ruleset.target == "branch" else refnames.tag_ref

    def whole(names: tuple[str, ...]) -> list[str]:
        return [n if n.startswith(("~", "refs/")) else full(n) for n in names]

    return {"include": whole(ruleset.include), "exclude": whole(ruleset.exclude)}


def _origin(repo: Repository, ruleset: Ruleset) -> basic.Json:
    return {
        "ruleset_source_type": "Repository",
        "ruleset_source": repo.full_name,
        "ruleset_id": ruleset.id,
    }


def _rules(ruleset: Ruleset) -> list[basic.Json]:
    found: list[dict[str, Any]] = [{"type": t} for t in _SIMPLE if getattr(ruleset, t)]
    if ruleset.update:
        parameters: dict[str, Any] = {"update_allows_fetch_and_merge": False}
        found.append({"type": "update", "parameters": parameters})
    if ruleset.required_checks:
        checks = [
            {"context": c} | ({} if app is None else {"integration_id": app})
            for c, app in ruleset.required_checks
        ]
        parameters = {
            "strict_required_status_checks_policy": ruleset.strict,
            "do_not_enforce_on_create": False,
            "required_status_checks": checks,
        }
        found.append({"type": "required_status_checks", "parameters": parameters})
    if ruleset.pull_request:
        parameters = {
            "required_approving_review_count": ruleset.required_reviews,
            "dismiss_stale_reviews_on_push": ruleset.dismiss_stale,
            "require_code_owner_review": False,
            "require_last_push_approval": False,
            "required_review_thread_resolution": False,
            "allowed_merge_methods": ["merge", "squash", "rebase"],
        }
        found.append({"type": "pull_request", "parameters": parameters})
    if ruleset.merge_queue:
        found.append({"type": "merge_queue", "parameters": asdict(ruleset.merge_queue)})
    return found
