"""GitHub's operations on releases: a title and a text on a tag; a draft has no tag yet."""

from __future__ import annotations

from urllib.parse import quote

from bot.sandbox import refnames
from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import invalid, not_found
from bot.sandbox.github import json as basic
from bot.sandbox.github.json import Json
from bot.sandbox.github.routing import ApiRequest, page, route
from bot.sandbox.records.accounts import Role
from bot.sandbox.records.repository import Release
from bot.sandbox.rules import limits, refs
from bot.sandbox.rules.ids import node_id

_RELEASES = "/repos/{owner}/{repo}/releases"
_RELEASE = "/repos/{owner}/{repo}/releases/{release_id}"


@route("GET", _RELEASES)
def list_releases(request: ApiRequest) -> ApiResponse:
    """Releases, newest first; drafts for who may write."""
    found = sorted(request.repo.releases.values(), key=lambda made: -made.id)
    shown = [made for made in found if not made.draft or _writes(request)]
    return page(request, [_release(request, made) for made in shown])


@route("POST", _RELEASES)
def create_release(request: ApiRequest) -> ApiResponse:
    """Make a release; its tag is made where it is missing."""
    tag, fields = request.required("tag_name"), request.fields
    if not tag or any(r.tag == tag and not r.draft for r in request.repo.releases.values()):
        raise invalid("Release", "tag_name", "already_exists" if tag else "missing_field")
    limits.check_body("Release", request.text("body"))
    latest = _latest(request)
    made = Release(
        id=request.state.next_id(),
        tag=tag,
        target=request.text("target_commitish") or request.repo.default_branch,
        name=request.text("name"),
        body=request.text("body"),
        draft=fields.flag("draft"),
        prerelease=fields.flag("prerelease"),
        author=request.user,
        created_at=request.state.now(),
    )
    if not made.draft:
        _publish(request, made)
    request.repo.releases[made.id] = made
    _choose_latest(request, made, latest or "true")
    body = _release(request, made)
    return ApiResponse(status=201, body=body, headers={"Location": body["url"]})


@route("GET", f"{_RELEASES}/latest")
def get_latest(request: ApiRequest) -> ApiResponse:
    """What was made the latest; else the newest that is neither a draft nor a prerelease."""
    releases = request.repo.releases
    full = {number: made for number, made in releases.items() if not made.draft | made.prerelease}
    if not full:
        raise not_found()
    chosen = request.repo.latest_release
    return ApiResponse(body=_release(request, full.get(chosen or 0) or full[max(full)]))


@route("GET", f"{_RELEASES}/tags/{{tag}}")
def get_by_tag(request: ApiRequest) -> ApiResponse:
    """The release of a tag."""
    for made in request.repo.releases.values():
        if made.tag == request.params["tag"] and not made.draft:
            return ApiResponse(body=_release(request, made))
    raise not_found()


@route("GET", _RELEASE)
def get_release(request: ApiRequest) -> ApiResponse:
    """One release."""
    return ApiResponse(body=_release(request, _found(request)))


@route("PATCH", _RELEASE)
def update_release(request: ApiRequest) -> ApiResponse:
    """Change a release; a draft can be published."""
    made, fields = _found(request), request.fields
    limits.check_body("Release", request.text("body"))
    latest = _latest(request)
    made.tag = request.text("tag_name") or made.tag
    made.target = request.text("target_commitish") or made.target
    made.name = request.text("name") if "name" in fields else made.name
    made.body = request.text("body") if "body" in fields else made.body
    made.prerelease = fields.flag("prerelease", default=made.prerelease)
    made.draft = fields.flag("draft", default=made.draft)
    if not made.draft and made.published_at is None:
        _publish(request, made)
        latest = latest or "true"
    _choose_latest(request, made, latest)
    return ApiResponse(body=_release(request, made))


@route("DELETE", _RELEASE)
def delete_release(request: ApiRequest) -> ApiResponse:
    """Take a release away; its tag stays."""
    del request.repo.releases[_found(request).id]
    return ApiResponse(status=204)


def _found(request: ApiRequest) -> Release:
    found = request.repo.releases.get(request.number("release_id"))
    if found is None or (found.draft and not _writes(request)):
        raise not_found()
    return found


def _writes(request: ApiRequest) -> bool:
    role = request.state.role(request.repo, request.caller.user)
    return request.caller.token is not None or role >= Role.WRITE


def _latest(request: ApiRequest) -> str | None:
    """Which release shall be the latest, as text: a boolean is refused, as GitHub does."""
    wanted = request.text("make_latest")
    if wanted not in (None, "true", "false", "legacy"):
        raise invalid("Release", "make_latest")
    return wanted


def _choose_latest(request: ApiRequest, made: Release, wanted: str | None) -> None:
    """Remember what was made the latest; drafts and prereleases are never that.

    Source: https://docs.github.com/rest/releases/releases, `make_latest`: "true" for what is newly
    published; "legacy" goes by date and version.
    """
    repo = request.repo
    if wanted == "legacy":
        repo.latest_release = None
    elif wanted == "true" and not made.draft and not made.prerelease:
        repo.latest_release = made.id
    elif wanted == "false" and repo.latest_release == made.id:
        repo.latest_release = None


def _publish(request: ApiRequest, made: Release) -> None:
    ref = refnames.tag_ref(made.tag)
    if ref not in request.repo.refs:
        target = request.state.resolve(request.repo, made.target)
        if target is None:
            raise invalid("Release", "target_commitish")
        refs.create(request.state, request.repo, ref, target, request.caller)
    made.published_at = request.state.now()


def _release(request: ApiRequest, made: Release) -> Json:
    repo = request.repo
    url = f"{basic.repo_url(request.links, repo)}/releases/{made.id}"
    html, tag = basic.repo_html(request.links, repo), quote(made.tag)
    archive = f"{basic.repo_url(request.links, repo)}/{{kind}}/{tag}"
    return {
        "url": url,
        "html_url": f"{html}/releases/tag/{tag}",
        "assets_url": f"{url}/assets",
        "upload_url": url + "/assets{?name,label}",
        "tarball_url": None if made.draft else archive.format(kind="tarball"),
        "zipball_url": None if made.draft else archive.format(kind="zipball"),
        "id": made.id,
        "node_id": node_id("RE", made.id),
        "tag_name": made.tag,
        "target_commitish": made.target,
        "name": made.name,
        "body": made.body,
        "draft": made.draft,
        "prerelease": made.prerelease,
        "immutable": False,
        "created_at": basic.stamp(made.created_at),
        "updated_at": basic.stamp(made.created_at),
        "published_at": basic.stamp_or_none(made.published_at),
        "author": basic.user(request.links, made.author),
        "assets": [],
    }
