"""The pages of the sandbox's GitLab: what people see and press there."""

from __future__ import annotations

import re

import pytest

from bot.sandbox.pages.gitlab import GitLabPages
from tests.bot.sandbox.gitlab.conftest import Hub
from tests.bot.sandbox.test_pages import Browser, cut_off

MR = "/olga/pkg/-/merge_requests/1"


@pytest.fixture
def browser(hub: Hub) -> Browser:
    return Browser(hub.forge.state, GitLabPages)


def _text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_a_merge_request_reads_as_gitlabs(hub: Hub, browser: Browser) -> None:
    """Fails for GitHub's words."""
    mr = hub.merge_request(description="Please <b>look</b>.", labels="infra")
    hub.project("ann").commits.get(mr.sha, lazy=True).statuses.create(
        {"state": "failed", "name": "porchbot/render", "ref": "change", "description": "2 errors"}
    )
    mr = hub.settled(1)
    where = {"position_type": "text", "new_path": "a.txt", "old_path": "a.txt", "new_line": 4}
    mr.discussions.create({"body": "Why four?", "position": {**where, **mr.diff_refs}})
    hub.set(only_allow_merge_if_pipeline_succeeds=True)

    html = browser.be("ben").see(MR)
    assert cut_off(html) == [("porchbot/render 2 errors",) * 2]
    page = _text(html)
    for words in (
        "A change !1",
        "ann requested to merge change into main",
        "Merge blocked: pipeline must succeed.",
        "porchbot/render 2 errors failed",
        "Approval is optional",
        "a.txt:4",
        "Why four?",
        "Resolve thread",
    ):
        assert words in page
    assert "ull request" not in page
    listed = _text(browser.see("/olga/pkg/-/merge_requests"))
    assert "Open 1 Merged 0 Closed 0" in listed
    assert "porchbot/render" in _text(browser.see(f"{MR}/pipelines"))
    changes = _text(browser.see(f"{MR}/diffs"))
    assert "+ four" in changes
    assert "four" in page[page.index("a.txt:4") : page.index("Why four?")]  # the line itself
    assert "Why four?" in changes[changes.index("+ four") :]  # the thread, below its line
    assert "Resolve thread" in changes
    assert "Developer" in page  # ben
    assert "Change a.txt" in _text(browser.see(f"{MR}/commits"))


def test_every_link_leads_to_a_page(hub: Hub, browser: Browser) -> None:
    """Fails for an address of the other dialect, or a page that only some states break.

    A thread is resolved, a note has an award whose name GitHub does not know, a branch has slashes.
    """
    project = hub.project("ann")
    project.branches.create({"branch": "drafts/net/core/w1", "ref": "main"})
    mr = hub.merge_request(description="See !1.")
    project.commits.get(mr.sha, lazy=True).statuses.create(
        {"state": "success", "name": "porchbot/render", "ref": "change"}
    )
    mr = hub.settled(1)
    where = {"position_type": "text", "new_path": "a.txt", "old_path": "a.txt", "new_line": 4}
    thread = mr.discussions.create({"body": "Why four?", "position": {**where, **mr.diff_refs}})
    mr.discussions.update(thread.id, {"resolved": True})
    for name in ("thumbsdown", "rocket", "parrot"):
        mr.notes.create({"body": f"For {name}."}).awardemojis.create({"name": name})
    issue = project.issues.create({"title": "An issue"})
    issue.description = "Changed."
    issue.save()
    project.releases.create({"tag_name": "net/core/v1", "ref": "main", "description": "Notes."})

    todo, seen = ["/", "/olga/pkg"], set[str]()
    while todo:
        address = todo.pop()
        if address not in seen:
            seen.add(address)
            found = re.findall(r'href="(/[^"#]*)', browser.be("ann").see(address))
            todo += [each for each in found if not each.startswith("/_/")]
    assert {MR, f"{MR}/diffs", "/olga/pkg/-/pipelines", "/olga/pkg/-/issues/1"} <= seen
    assert {each for each in seen if each.startswith("/olga/pkg/") and "/-/" not in each} == set()
    page = _text(browser.see(MR))
    assert "Resolved by ann" in page
    assert [each for each in ("👎 1", "🚀 1", ":parrot: 1") if each not in page] == []
    assert "porchbot/render" in browser.see("/olga/pkg/-/pipelines")
    noted = browser.see("/olga/pkg/-/issues/1").partition("changed the description")[0]
    assert 'class="event"' in noted  # what the forge noted is nobody's comment


def test_forms_do_what_the_api_does(hub: Hub, browser: Browser) -> None:
    """Fails for pages with rules of their own: the same webhooks are sent."""
    mr = hub.merge_request()
    browser.be("ben")
    browser.send(f"{MR}/note", body="Looks right.\n/approve")
    assert "Approved by ben" in _text(browser.see(MR))
    browser.send(f"{MR}/unapprove")
    browser.send(f"{MR}/draft")
    assert "merge request must not be in draft mode" in _text(browser.see(MR))
    browser.send(f"{MR}/ready")
    browser.send(f"{MR}/merge", head=mr.sha)

    assert "Merged by ben" in _text(browser.see(MR))
    assert hub.actions("Merge Request Hook") == [
        *("open", "approved", "unapproved", "update", "update", "merge"),
    ]
    assert [body["object_attributes"]["note"] for body in hub.heard("Note Hook")] == [
        "Looks right."
    ]


def test_who_may_not_is_told(hub: Hub, browser: Browser) -> None:
    hub.merge_request()
    browser.be("zoe")

    assert "401 Unauthorized" in browser.send(f"{MR}/approve", status=401)
    assert "403 Forbidden" in browser.send(f"{MR}/close", status=403)
    assert hub.repo.pulls[1].state == "open"


def test_threads_are_resolved_and_issues_closed(hub: Hub, browser: Browser) -> None:
    mr = hub.merge_request()
    thread = mr.discussions.create({"body": "Sure?"})
    hub.project("ann").issues.create({"title": "An issue"})
    browser.be("ann")
    browser.send(f"{MR}/resolve", discussion=thread.id)
    assert "Resolved by ann" in _text(browser.see(MR))
    browser.send("/olga/pkg/-/issues/1/comment", body="Done.\n/close")

    assert hub.project("ann").issues.get(1).state == "closed"
    assert "Done." in browser.see("/olga/pkg/-/issues/1")
    assert "An issue" in browser.see("/olga/pkg/-/issues?state=closed")


def test_addresses_that_answers_name_are_pages(hub: Hub, browser: Browser) -> None:
    mr = hub.merge_request()
    status = (
        hub.project("ann")
        .commits.get(mr.sha, lazy=True)
        .statuses.create({"state": "success", "name": "x", "ref": "change"})
    )
    release = hub.project("ann").releases.create({"tag_name": "v1", "ref": "main"})
    base = hub.forge.web_url
    for address in (
        mr.web_url,
        f"{base}/olga/pkg/-/pipelines/{status.pipeline_id}",
        f"{base}/olga/pkg/-/commit/{mr.sha}",
        f"{base}/olga/pkg/-/tree/main",
        f"{base}/olga/pkg/-/tags/v1",
        release._links["self"],
        f"{base}/olga/pkg/-/branches",
        f"{base}/olga/pkg",
    ):
        browser.see(address.removeprefix(base))
    browser.see("/olga/pkg/pulls", status=404)
