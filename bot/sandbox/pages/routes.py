"""The forge's pages for people: repositories, pull requests with diff, checks and conversation.

Pages are rendered on the server and load nothing from outside; a form does what the API call of
the same name does, through the same rules, so it makes the same webhooks. Whoever opens a page acts
as the user chosen at the top: this is a playground on the own machine, without passwords. Forms
carry a token bound to a cookie, so that no other site can post them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from bot.sandbox import refnames
from bot.sandbox.errors import GitError, RefusedError, not_found
from bot.sandbox.pages import apps, issues, markup, templating, views
from bot.sandbox.pages.asked import COOKIE, PageRequest
from bot.sandbox.pages.words import GITHUB
from bot.sandbox.rules.state import ForgeState

MOST_FORM_BYTES = 400_000
"""A form above this is refused; a comment has at most 65,536 characters."""

_PULL = "/{owner}/{name}/pull/{number:int}"
_ISSUE = "/{owner}/{name}/issues/{number:int}"
_SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}

Page = Callable[[PageRequest], Response]
Form = Callable[[PageRequest, Mapping[str, str]], str]


class Pages:
    """The pages of one forge, as an ASGI application in `app`."""

    words = GITHUB

    def __init__(self, state: ForgeState) -> None:
        self._state = state
        self._key = secrets.token_bytes(32)
        self._templates = templating.environment(state, self.words)
        self.app = Starlette(routes=self.routes(), exception_handlers={404: self._missing})

    def routes(self) -> list[Route]:
        """Where each page is found, and each form."""
        pulls = f"{_PULL}/{{tab}}"
        return [
            Route("/", self._shows(self._home)),
            Route("/_/style.css", self._style),
            Route("/_/user", self._takes(self._switch), methods=["POST"]),
            *(
                Route(f"{whose}/settings/apps/new", self._asks(self._new_app), methods=["POST"])
                for whose in ("", "/organizations/{organization}")
            ),
            Route("/settings/apps", self._takes(apps.confirm), methods=["POST"]),
            Route("/apps/{slug}", self._shows(self._app)),
            Route("/apps/{slug}/installations/new", self._shows(self._app)),
            Route("/apps/{slug}/installations", self._takes(apps.install), methods=["POST"]),
            Route("/{owner}/{name}", self._shows(self._code)),
            Route("/{owner}/{name}/tree/{address:path}", self._shows(self._code)),
            Route("/{owner}/{name}/blob/{address:path}", self._shows(self._code)),
            Route("/{owner}/{name}/branches", self._shows(self._refs)),
            Route("/{owner}/{name}/tags", self._shows(self._refs)),
            Route("/{owner}/{name}/releases", self._shows(self._releases)),
            Route("/{owner}/{name}/releases/tag/{tag:path}", self._shows(self._tag)),
            Route("/{owner}/{name}/commit/{sha}", self._shows(self._commit)),
            Route("/{owner}/{name}/runs/{run:int}", self._shows(self._run)),
            Route("/{owner}/{name}/issues", self._shows(self._issues)),
            Route(_ISSUE, self._shows(self._issue)),
            Route(f"{_ISSUE}/{{act}}", self._takes(issues.act), methods=["POST"]),
            Route("/{owner}/{name}/pulls", self._shows(self._pulls)),
            Route(_PULL, self._shows(self._pull)),
            Route(f"{_PULL}/{{tab}}", self._shows(self._pull), methods=["GET"]),
            Route(pulls, self._takes(self._act), methods=["POST"]),
        ]

    # What is shown.

    def _home(self, asked: PageRequest) -> Response:
        return self._page(asked, "home.html", repositories=views.visible(asked.state, asked.user))

    def _code(self, asked: PageRequest) -> Response:
        repo, address = asked.repo, asked.request.path_params.get("address")
        if address is None and repo.branch(repo.default_branch) is None:
            return self._page(asked, "code.html", repo=repo, place=None, tip=None)
        place = views.place(asked.state, repo, address or repo.default_branch)
        tip = asked.state.git(repo).commit(place.sha)
        return self._page(asked, "code.html", repo=repo, place=place, tip=tip)

    def _refs(self, asked: PageRequest) -> Response:
        repo = asked.repo
        kind = "tags" if asked.request.url.path.endswith("/tags") else "heads"
        git = asked.state.git(repo)
        rows = []
        for name in views.names(repo, kind):
            sha = asked.state.peel(repo, repo.refs[f"refs/{kind}/{name}"])
            rows.append((name, git.commit(sha) if git.kind(sha) == "commit" else None))
        if kind == "tags":
            rows.reverse()
        return self._page(asked, "refs.html", repo=repo, kind=kind, rows=rows)

    def _tag(self, asked: PageRequest) -> Response:
        repo, tag = asked.repo, asked.request.path_params["tag"]
        if refnames.tag_ref(tag) not in repo.refs:
            raise not_found()
        sha, message = views.release(asked.state, repo, tag)
        return self._page(asked, "tag.html", repo=repo, tag=tag, sha=sha, message=message)

    def _releases(self, asked: PageRequest) -> Response:
        found = issues.releases(asked.repo)
        return self._page(asked, "releases.html", repo=asked.repo, found=found)

    def _issues(self, asked: PageRequest) -> Response:
        return self._page(asked, "issues.html", **issues.listed(asked))

    def _issue(self, asked: PageRequest) -> Response:
        """An issue; the address of a pull request among the issues leads to it."""
        number = asked.request.path_params["number"]
        if number in asked.repo.pulls:
            return RedirectResponse(f"/{asked.repo.full_name}/pull/{number}", status_code=302)
        return self._page(asked, "issue.html", **issues.one(asked))

    def _commit(self, asked: PageRequest) -> Response:
        repo = asked.repo
        sha = asked.state.resolve(repo, asked.request.path_params["sha"])
        if sha is None:
            raise not_found()
        git = asked.state.git(repo)
        commit = git.commit(sha)
        files = git.diff(commit.parents[0] if commit.parents else None, sha)
        shown = [
            markup.shown_diff(f.path, f.patch, status=f.status, old_path=f.old_path) for f in files
        ]
        return self._page(asked, "commit.html", repo=repo, commit=commit, files=shown)

    def _run(self, asked: PageRequest) -> Response:
        """A check run's address leads to the checks of the pull request that it speaks of."""
        repo = asked.repo
        run = asked.state.checks.find(repo, asked.request.path_params["run"])
        for pull in sorted(repo.pulls.values(), key=lambda pull: -pull.number):
            if pull.head_sha == run.head_sha:
                address = f"/{repo.full_name}/pull/{pull.number}/checks#check-{run.id}"
                return RedirectResponse(address, status_code=302)
        return RedirectResponse(f"/{repo.full_name}/commit/{run.head_sha}", status_code=302)

    def _pulls(self, asked: PageRequest) -> Response:
        repo = asked.repo
        state = "closed" if asked.request.query_params.get("state") == "closed" else "open"
        found = sorted(repo.pulls.values(), key=lambda pull: -pull.number)
        return self._page(
            asked,
            "pulls.html",
            repo=repo,
            shown=state,
            pulls=[pull for pull in found if pull.state == state],
            open_count=sum(pull.state == "open" for pull in found),
            closed_count=sum(pull.state == "closed" for pull in found),
        )

    def _pull(self, asked: PageRequest) -> Response:
        tab = asked.request.path_params.get("tab", "conversation")
        if tab not in ("conversation", "commits", "checks", "files"):
            raise not_found()
        pull, state = asked.pull, asked.state
        checks = views.checks(state, pull)
        return self._page(
            asked,
            "pull.html",
            repo=pull.repo,
            pull=pull,
            tab=tab,
            checks=checks,
            checks_light=views.light(checks),
            commits=state.pulls.commits(pull),
            files=views.diffs(state, pull, checks),
            box=views.merge_box(state, pull),
            may=views.may(state, pull, asked.user),
        )

    def _new_app(self, asked: PageRequest, form: Mapping[str, str]) -> Response:
        """A manifest was posted from elsewhere: it is shown, and nothing is done yet."""
        shown = apps.asked_for(asked.state, asked.user, asked.request, form)
        made = self._page(asked, "new-app.html", **shown.values)
        made.headers["Content-Security-Policy"] = _SECURITY["Content-Security-Policy"].replace(
            "form-action 'self'", f"form-action 'self' {shown.leads_to}"
        )
        return made

    def _app(self, asked: PageRequest) -> Response:
        app = apps.found(asked.state, asked.request)
        rows = apps.installable(asked.state, asked.user, app)
        return self._page(asked, "app.html", app=app, rows=rows)

    # What is done.

    def _switch(self, asked: PageRequest, form: Mapping[str, str]) -> str:
        asked.user = asked.state.user(form.get("login", ""))
        if asked.user.app is not None:
            raise not_found()
        back = form.get("back", "/")
        return back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/"

    def _act(self, asked: PageRequest, form: Mapping[str, str]) -> str:
        pull, user, state = asked.pull, asked.user, asked.state
        allowed = views.may(state, pull, user)
        action = asked.request.path_params["tab"]
        here = f"/{pull.repo.full_name}/pull/{pull.number}"
        needed = _NEEDED.get(action)
        if needed is None or user is None:
            raise not_found()
        if not getattr(allowed, needed):
            raise RefusedError(403, f"{user.login} may not do this here.")
        body = form.get("body", "").replace("\r\n", "\n").strip()
        match action:
            case "comment":
                made = state.talk.comment(pull, user, body)
                return f"{here}#issuecomment-{made.id}"
            case "review":
                state.reviews.submit(pull, user, form.get("event", ""), body)
            case "ready" | "draft":
                state.pulls.set_draft(pull, user, action == "draft")
            case "close" | "reopen":
                state.pulls.edit(pull, user, state="closed" if action == "close" else "open")
            case "merge":
                state.pulls.merge(pull, user, sha=form.get("head"))
            case "rerun":
                run = state.checks.find(pull.repo, _number(form.get("run", "")))
                state.checks.rerequest(run, user)
                return f"{here}/checks"
            case "press":
                run = state.checks.find(pull.repo, _number(form.get("run", "")))
                state.checks.press(run, user, form.get("button", ""))
                return f"{here}/checks"
        return here

    # How a page is made.

    def _shows(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        def make(request: Request) -> Response:
            with self._state.lock:
                asked = PageRequest(request, self._state)
                try:
                    return self._sealed(asked, page(asked))
                except RefusedError as refused:
                    return self._sealed(asked, self._refusal(asked, refused))
                except GitError as error:
                    broken = RefusedError(500, f"git could not read this: {error}")
                    return self._sealed(asked, self._refusal(asked, broken))

        async def endpoint(request: Request) -> Response:
            return await run_in_threadpool(make, request)

        return endpoint

    def _takes(self, form: Form) -> Callable[[Request], Awaitable[Response]]:
        def make(request: Request, fields: Mapping[str, str]) -> Response:
            with self._state.lock:
                asked = PageRequest(request, self._state)
                try:
                    self._check_token(asked, fields)
                    address = form(asked, fields)
                except RefusedError as refused:
                    return self._sealed(asked, self._refusal(asked, refused))
                return self._sealed(asked, RedirectResponse(address, status_code=303))

        async def endpoint(request: Request) -> Response:
            return await run_in_threadpool(make, request, await _fields(request))

        return endpoint

    def _asks(
        self, page: Callable[[PageRequest, Mapping[str, str]], Response]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A page that a form of another site leads to; its form carries no token of ours."""

        async def endpoint(request: Request) -> Response:
            fields = await _fields(request)
            return await self._shows(lambda asked: page(asked, fields))(request)

        return endpoint

    async def _style(self, _request: Request) -> Response:
        loader = self._templates.loader
        if loader is None:
            raise not_found()
        text, _, _ = loader.get_source(self._templates, "style.css")
        return Response(text, media_type="text/css", headers={"Cache-Control": "max-age=60"})

    async def _missing(self, request: Request, _error: Exception) -> Response:
        def make() -> Response:
            with self._state.lock:
                asked = PageRequest(request, self._state)
                return self._sealed(asked, self._refusal(asked, not_found()))

        return await run_in_threadpool(make)

    def _refusal(self, asked: PageRequest, refused: RefusedError) -> Response:
        page = self._page(asked, "error.html", status=refused.status, told=_told(refused))
        page.status_code = refused.status
        return page

    def _page(self, asked: PageRequest, template: str, **values: Any) -> Response:
        html = self._templates.get_template(template).render(
            values
            | {
                "viewer": asked.user,
                "people": asked.people,
                "token": self._token(asked.seed),
                "here": asked.request.url.path,
                "now": asked.state.now(),
            }
        )
        return HTMLResponse(html)

    def _sealed(self, asked: PageRequest, response: Response) -> Response:
        """Add what every answer has: the rules for browsers, and the cookie."""
        for name, value in _SECURITY.items():
            response.headers.setdefault(name, value)
        login = asked.user.login if asked.user else ""
        response.set_cookie(
            COOKIE, f"{login}.{asked.seed}", httponly=True, samesite="lax", path="/"
        )
        return response

    def _token(self, seed: str) -> str:
        return hmac.new(self._key, seed.encode(), hashlib.sha256).hexdigest()

    def _check_token(self, asked: PageRequest, fields: Mapping[str, str]) -> None:
        given = fields.get("token", "").encode()
        if not hmac.compare_digest(given, self._token(asked.seed).encode()):
            raise RefusedError(403, "This form is too old. Go back, reload the page, try again.")


_NEEDED = {
    "comment": "comment",
    "review": "review",
    "ready": "change",
    "draft": "change",
    "close": "change",
    "reopen": "change",
    "merge": "merge",
    "rerun": "rerun",
    "press": "rerun",
}
"""What a form does, and the field of `May` that it takes."""


def _told(refused: RefusedError) -> list[str]:
    """What a refusal says, as lines."""
    lines = [refused.message]
    for error in refused.errors or ():
        lines.append(error if isinstance(error, str) else str(error.get("message", dict(error))))
    return lines


def _number(text: str) -> int:
    if not text.isdecimal():
        raise not_found()
    return int(text)


async def _fields(request: Request) -> dict[str, str]:
    """Read a form; the first value of each field counts."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_FORM_BYTES:
            return {}
    found = parse_qs(body.decode("utf-8", errors="replace"), keep_blank_values=True)
    return {name: values[0] for name, values in found.items()}
