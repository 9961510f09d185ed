"""Who may ask what: tokens, scopes, levels, pages, limits; driven with python-gitlab."""

from __future__ import annotations

from datetime import timedelta

import gitlab

from bot.sandbox.rules.rate_limits import Throttle
from tests.bot.sandbox.gitlab.conftest import refusal
from tests.bot.sandbox.gitlab.inprocess import client
from tests.bot.sandbox.gitlab.lab import Lab


def test_a_private_project_is_not_there_for_whoever_may_not_see_it(lab: Lab) -> None:
    """The short-cut is a 403 that tells strangers that the project exists."""
    lab.repo.private = True
    stranger, nobody = lab.as_("outsider"), client(lab.forge, None)

    hidden = (404, "404 Project Not Found")
    assert refusal(lambda: stranger.projects.get("owner/catalog")) == hidden
    assert refusal(lambda: stranger.projects.get("owner/none")) == hidden
    assert refusal(lambda: nobody.projects.get(lab.repo.id)) == hidden
    assert lab.as_("guest").projects.get("owner/catalog").id == lab.repo.id
    assert refusal(lambda: lab.project("guest").branches.list())[0] == 403
    assert [b.name for b in lab.project("reporter").branches.list()] == ["main"]


def test_a_token_does_what_its_scopes_and_its_day_let_it(lab: Lab) -> None:
    """The short-cut takes every token that is known for a good one."""
    tokens, today = lab.forge.tokens, lab.clock().date()
    reading = tokens.make("maintainer", scopes=["read_api"])
    weekly = tokens.make("maintainer", expires_at=today + timedelta(days=7))
    reader, writer = client(lab.forge, reading.value), client(lab.forge, weekly.value)

    project = reader.projects.get("owner/catalog")
    status, said = refusal(lambda: project.branches.create({"branch": "x", "ref": "main"}))
    assert (status, said) == (403, "insufficient_scope")
    assert writer.projects.get("owner/catalog").branches.create({"branch": "x", "ref": "main"})

    lab.clock.move(days=7)
    assert refusal(writer.auth) == (401, "invalid_token")
    assert refusal(lambda: client(lab.forge, "glpat-none").auth())[0] == 401


def test_pages_carry_the_headers_that_clients_follow(lab: Lab) -> None:
    """The short-cut answers the whole list, or leaves `Link` out on a single page."""
    for number in range(45):
        lab.forge.state.update_ref(
            lab.repo,
            f"refs/heads/b{number:02}",
            str(lab.repo.branch("main")),
            lab.forge.state.user("owner"),
        )
    project = lab.project("author")

    first = project.branches.list(per_page=20, iterator=True)
    assert (first.total, first.total_pages, first.next_page) == (46, 3, 2)
    assert len(project.branches.list(get_all=True, per_page=20)) == 46
    keyset = project.branches.list(pagination="keyset", per_page=20, get_all=True)
    assert [b.name for b in keyset] == [*(f"b{n:02}" for n in range(45)), "main"]
    single = project.branches.list(search="^main", iterator=True)
    assert (single.total, single.next_page, single.prev_page) == (1, None, None)
    assert refusal(lambda: project.branches.list(page=0, get_all=False)) == (
        400,
        "page does not have a valid value",
    )


def test_too_many_calls_are_told_to_wait_in_plain_text(lab: Lab) -> None:
    """The short-cut answers JSON, or no `Retry-After`; nothing else asks again by itself."""
    lab.forge.faults.throttle = Throttle(requests=2)
    api = client(lab.forge, lab.forge.token("author"))
    api.version()
    api.projects.get("owner/catalog")

    assert refusal(lambda: api.projects.get("owner/catalog", obey_rate_limit=False))[0] == 429
    headers = {"PRIVATE-TOKEN": lab.forge.token("author")}
    status, told, body = lab.forge.answer("GET", "/api/v4/user", headers, b"")
    assert (status, body) == (429, b"Retry later\n")
    assert 1 <= int(dict(told)["Retry-After"]) <= 60


def test_what_has_not_changed_is_not_sent_again(lab: Lab) -> None:
    """The short-cut never compares `If-None-Match`."""
    headers = {"Authorization": f"Bearer {lab.forge.token('author')}"}
    path = f"/api/v4/projects/{lab.repo.id}"
    _, told, _ = lab.forge.answer("GET", path, headers, b"")
    headers["If-None-Match"] = dict(told)["ETag"]

    assert lab.forge.answer("GET", path, headers, b"")[0] == 304
    lab.repo.description = "Other"
    assert lab.forge.answer("GET", path, headers, b"")[0] == 200


def test_the_client_knows_who_it_is_and_where(lab: Lab) -> None:
    """The short-cut hard-codes an edition; features are found out by it."""
    api = lab.as_("author")
    api.auth()

    assert isinstance(api.user, gitlab.v4.objects.CurrentUser)
    assert api.user.username == "author"
    assert api.version()[0] == "18.10.0"
    path = "/api/v4/metadata"
    headers = {"PRIVATE-TOKEN": str(api.private_token)}
    assert b'"enterprise":false' in lab.forge.answer("GET", path, headers, b"")[2]
    lab.forge.state.data.gitlab.tier = "premium"
    assert b'"enterprise":true' in lab.forge.answer("GET", path, headers, b"")[2]
    assert [u.username for u in api.users.list(username="OWNER")] == ["owner"]
