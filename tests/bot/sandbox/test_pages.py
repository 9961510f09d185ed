"""The forge's pages: what they show, that they show it as text, and what their forms do.

Longer than 400 lines: each page, with its forms, over one forge.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from bot.sandbox.errors import GitError
from bot.sandbox.git.bare import BareStore
from bot.sandbox.pages.routes import Pages
from bot.sandbox.pages.templating import ago
from bot.sandbox.records.memory import Happening
from bot.sandbox.records.repository import Pull, Release
from bot.sandbox.rules.context import FileChange
from bot.sandbox.rules.state import ForgeState
from tests.bot.sandbox.sample import sample

REPO = "/owner/packages"


class Browser:
    """A visitor with cookies, who fills in the forms of the page last seen."""

    def __init__(self, state: ForgeState, pages: type[Pages] = Pages) -> None:
        self.app = pages(state).app
        self.cookies = httpx.Cookies()

    def ask(
        self,
        method: str,
        address: str,
        fields: dict[str, str] | None = None,
        *,
        follow: bool = True,
    ) -> httpx.Response:
        """Send one request inside the process."""

        async def send() -> httpx.Response:
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(app=self.app),
                base_url="http://forge",
                cookies=self.cookies,
                follow_redirects=follow,
            ) as client:
                answer = await client.request(method, address, data=fields)
                self.cookies = client.cookies
                return answer

        return asyncio.run(send())

    def see(self, address: str, status: int = 200) -> str:
        answer = self.ask("GET", address)
        assert answer.status_code == status, answer.text
        return answer.text

    def token(self, address: str = "/") -> str:
        found = re.search(r'name="token" value="(\w+)"', self.see(address))
        assert found
        return found[1]

    def send(self, address: str, status: int = 200, **fields: str) -> str:
        answer = self.ask("POST", address, {"token": self.token()} | fields)
        assert answer.status_code == status, answer.text
        return answer.text

    def be(self, login: str) -> Browser:
        self.send("/_/user", login=login)
        return self


def seen(html: str) -> str:
    """What a page says, with single blanks."""
    return " ".join(re.sub(r"<[^>]*>", "", html).split())


def cut_off(html: str) -> list[tuple[str, str]]:
    """What pointing at each row that may be cut off says, and the whole row."""
    rows = re.findall(r'<div class="row-main clip" title="([^"]*)">(.*?)</div>', html)
    assert len(rows) == html.count("row-main clip")
    return [(title.strip(), seen(row)) for title, row in rows]


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[tuple[ForgeState, Pull]]:
    store = BareStore(tmp_path)
    yield sample(store)
    store.close()


@pytest.fixture
def state(forge: tuple[ForgeState, Pull]) -> ForgeState:
    return forge[0]


@pytest.fixture
def pull(forge: tuple[ForgeState, Pull]) -> Pull:
    return forge[1]


@pytest.fixture
def browser(state: ForgeState) -> Browser:
    return Browser(state)


def heard(state: ForgeState) -> list[tuple[str, str | None, str]]:
    """Collect what webhooks will tell from now on: kind, action, sender."""
    found: list[tuple[str, str | None, str]] = []

    def listen(happening: Happening) -> None:
        found.append((happening.kind, happening.action, happening.sender.login))

    state.listeners.append(listen)
    return found


class TestShows:
    @pytest.mark.parametrize("tab", ["", "/files", "/checks", "/commits"])
    def test_text_of_people_and_packages_stays_text(self, browser: Browser, tab: str) -> None:
        """Short-cut: templates without escaping, or with `| safe` on a message."""
        html = browser.see(f"{REPO}/pull/1{tab}")
        assert not re.search(r"<(script|three|b)\b", html)
        assert "run &lt;three&gt; replicas" in html

    def test_a_file_is_text_and_a_binary_one_says_so(self, browser: Browser) -> None:
        branch = "drafts/net/core/replicas"
        html = browser.see(f"{REPO}/blob/{branch}/net/core/deployment.yaml")
        assert "strategy: &lt;b&gt;fast&lt;/b&gt;" in html
        assert "A binary or very large file" in browser.see(f"{REPO}/blob/main/logo.png")

    @pytest.mark.parametrize("merged", [False, True])
    def test_whose_commits_are_merged_is_one_phrase(
        self, browser: Browser, state: ForgeState, pull: Pull, merged: bool
    ) -> None:
        """Short-cut: a genitive after the name, from which a bot's badge parts it."""
        pull.merged_at = pull.created_at if merged else None
        for login, who in {"author": "author", "porchbot[bot]": "porchbot[bot] bot"}.items():
            pull.user = state.user(login)
            does = "had 1 commit merged into" if merged else "wants to merge 1 commit into"
            assert f" {who} {does} main from drafts/net" in seen(browser.see(f"{REPO}/pull/1"))

    def test_annotations_stand_at_their_line(self, browser: Browser) -> None:
        html = browser.see(f"{REPO}/pull/1/files")
        line = html.index("replicas: &#34;three&#34;")
        note = html.index("spec.replicas: wants an integer")
        assert line < note < html.index("strategy: &lt;b&gt;")
        assert html.index("At lines that this change does not touch") < html.index("far away")

    def test_conversation_hides_records_and_shows_reactions(self, browser: Browser) -> None:
        html = browser.see(f"{REPO}/pull/1")
        assert "porchbot:record" not in html
        assert "👎 1" in html
        assert "<details><summary>2 changes</summary>" in html
        assert "marked this as ready for review" in html

    def test_the_merge_box_says_what_blocks(self, browser: Browser) -> None:
        html = browser.see(f"{REPO}/pull/1")
        assert "Merging is blocked" in html
        assert "At least 1 approving review is required" in html

    def test_a_check_whose_title_is_cut_off_says_it_in_full(self, browser: Browser) -> None:
        """Short-cut: dots at the end of the row, and the whole on another page alone."""
        rows = cut_off(browser.see(f"{REPO}/pull/1"))
        assert ("porchbot/publish net/core v1 waits: not valid",) * 2 in rows
        assert all(title == text for title, text in rows)

    def test_lists(self, browser: Browser) -> None:
        assert "owner/packages" in browser.see("/")
        assert "net/core: run" in browser.see(f"{REPO}/pulls")
        assert "No closed pull request" in browser.see(f"{REPO}/pulls?state=closed")
        assert "drafts/net/core/replicas" in browser.see(f"{REPO}/branches")
        assert "net/core/v1" in browser.see(f"{REPO}/tags")
        assert "<h1>Network packages</h1>" in browser.see(REPO)
        assert "lightweight tag" in browser.see(f"{REPO}/releases/tag/net/core/v1")

    def test_a_commit_shows_what_it_changed(self, browser: Browser, pull: Pull) -> None:
        html = browser.see(f"{REPO}/commit/{pull.head_sha}")
        assert "Run &lt;three&gt; replicas" in html
        assert "net/core/deployment.yaml" in html

    def test_a_check_runs_address_leads_to_its_pull_request(
        self, browser: Browser, state: ForgeState, pull: Pull
    ) -> None:
        run = state.checks.runs_on(pull.repo, pull.head_sha)[0]
        answer = browser.ask("GET", f"{REPO}/runs/{run.id}", follow=False)
        assert answer.headers["location"] == f"{REPO}/pull/1/checks#check-{run.id}"

    @pytest.mark.parametrize(
        "address",
        [
            "/nobody/nothing",
            "/nope",
            f"{REPO}/pull/99",
            f"{REPO}/pull/1/gizmos",
            f"{REPO}/pull/x",
            f"{REPO}/tree/no-such-branch",
            f"{REPO}/blob/main/no-such-file",
            f"{REPO}/blob/main/../../etc/passwd",
            f"{REPO}/commit/0123",
            f"{REPO}/releases/tag/v9",
            f"{REPO}/runs/1",
        ],
    )
    def test_what_is_not_there_is_a_page_too(self, browser: Browser, address: str) -> None:
        assert "All repositories" in browser.see(address, 404)

    def test_a_private_repository_is_not_there_for_others(self, browser: Browser) -> None:
        """Short-cut: answer 403, which tells that it exists."""
        browser.be("outsider").see("/owner/secret", 404)
        assert "owner/secret" not in browser.see("/")
        browser.be("owner").see("/owner/secret")

    def test_an_empty_repository_and_a_forge_without_users(
        self, browser: Browser, state: ForgeState
    ) -> None:
        state.add_repository("owner", "empty")
        assert "This repository is empty" in browser.see("/owner/empty")
        for login in ("author", "approver", "outsider", "owner"):
            del state.data.users[login]
        assert "acting as" not in browser.see("/")

    def test_every_answer_tells_browsers_to_load_nothing(self, browser: Browser) -> None:
        for address in ("/", f"{REPO}/pull/1", "/nope"):
            headers = browser.ask("GET", address).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "samesite=lax" in headers["set-cookie"].lower()
        html = browser.see(f"{REPO}/pull/1")
        assert not re.search(r"""(src|href)=["']https?:""", html)
        assert "style=" not in html
        assert browser.ask("GET", "/_/style.css").headers["content-type"].startswith("text/css")


class TestIssuesAndReleases:
    def test_an_issue_is_listed_read_and_talked_in(
        self, browser: Browser, state: ForgeState
    ) -> None:
        """Short-cut: pages for pull requests only, so that nobody sees the dashboard."""
        repo = state.repository("owner", "packages")
        bot = state.user("porchbot[bot]")
        issue = state.issues.open(repo, bot, "Packages", "### Frozen\n\n- <b>all</b>")
        here = f"{REPO}/issues/{issue.number}"
        assert f'href="{here}"' in browser.see(f"{REPO}/issues")
        html = browser.see(here)
        assert "<h3>Frozen</h3>" in html
        assert "&lt;b&gt;all" in html

        told = heard(state)
        browser.be("approver").send(f"{here}/comment", body="Thank you")
        browser.send(f"{here}/close")
        assert "Reopen issue" in browser.see(here)
        assert f'href="{here}"' in browser.see(f"{REPO}/issues?state=closed")
        browser.send(f"{here}/reopen")
        assert told == [
            ("issue_comment", "created", "approver"),
            ("issues", "closed", "approver"),
            ("issues", "reopened", "approver"),
        ]
        browser.be("outsider").send(f"{here}/close", status=403)
        browser.send(f"{here}/delete", status=404)
        assert issue.state == "open"

    def test_a_pull_requests_number_among_the_issues_leads_to_it(self, browser: Browser) -> None:
        answer = browser.ask("GET", f"{REPO}/issues/1", follow=False)
        assert answer.headers["location"] == f"{REPO}/pull/1"
        assert "1 open" in browser.see(f"{REPO}/pulls")

    def test_where_issues_are_off_there_is_no_page_of_them(
        self, browser: Browser, state: ForgeState
    ) -> None:
        state.repository("owner", "packages").has_issues = False
        assert "/issues" not in browser.see(REPO)
        browser.see(f"{REPO}/issues", status=410)

    def test_a_release_shows_its_notes_at_its_tag_and_in_the_list(
        self, browser: Browser, state: ForgeState
    ) -> None:
        """Short-cut: the tag's message alone, so that nobody sees the notes. Drafts stay hidden."""
        repo, now = state.repository("owner", "packages"), state.now()
        for tag, draft in (("net/core/v1", False), ("net/core/v2", True)):
            made = Release(
                id=state.next_id(),
                tag=tag,
                target="main",
                name=f"notes of {tag}",
                body="### Changes\n\n<script>",
                draft=draft,
                prerelease=False,
                author=state.user("owner"),
                created_at=now,
            )
            repo.releases[made.id] = made
        for address in (f"{REPO}/releases", f"{REPO}/releases/tag/net/core/v1"):
            html = browser.see(address)
            assert "notes of net/core/v1" in html
            assert "<h3>Changes</h3>" in html
            assert "<script>" not in html
            assert "notes of net/core/v2" not in html


class TestForms:
    def test_a_comment_is_written_as_the_chosen_user_with_its_webhook(
        self, browser: Browser, state: ForgeState, pull: Pull
    ) -> None:
        """Short-cut: put the comment into the list, past the rules that make the webhook."""
        told = heard(state)
        html = browser.be("approver").send(f"{REPO}/pull/1/comment", body="/why\r\n\r\nplease")
        assert pull.comments[-1].user.login == "approver"
        assert pull.comments[-1].body == "/why\n\nplease"
        assert told == [("issue_comment", "created", "approver")]
        assert "/why" in html

    def test_without_the_token_nothing_happens(
        self, browser: Browser, state: ForgeState, pull: Pull
    ) -> None:
        told, count = heard(state), len(pull.comments)
        browser.see("/")
        for fields in ({}, {"token": ""}, {"token": "0" * 64}, {"token": "é"}):
            answer = browser.ask("POST", f"{REPO}/pull/1/comment", {"body": "x"} | fields)
            assert answer.status_code == 403
        stolen = browser.token()
        other = Browser(state)
        answer = other.ask("POST", f"{REPO}/pull/1/comment", {"body": "x", "token": stolen})
        assert answer.status_code == 403
        assert (told, len(pull.comments)) == ([], count)

    def test_switching_goes_back_to_the_page_and_nowhere_else(self, browser: Browser) -> None:
        token = browser.token()
        for back, expected in (
            (f"{REPO}/pull/1", f"{REPO}/pull/1"),
            ("https://elsewhere.example", "/"),
            ("//elsewhere.example", "/"),
        ):
            fields = {"token": token, "login": "owner", "back": back}
            answer = browser.ask("POST", "/_/user", fields, follow=False)
            assert answer.headers["location"] == expected
        assert "<strong>owner</strong>" in browser.see("/")
        browser.send("/_/user", 404, login="porchbot[bot]")
        browser.send("/_/user", 404, login="nobody")

    def test_draft_ready_close_reopen(self, browser: Browser, state: ForgeState) -> None:
        told = heard(state)
        browser.be("author")
        for action in ("draft", "ready", "close", "reopen"):
            browser.send(f"{REPO}/pull/1/{action}")
        assert [action for _, action, _ in told] == [
            "converted_to_draft",
            "ready_for_review",
            "closed",
            "reopened",
        ]

    def test_a_review_and_a_merge(self, browser: Browser, state: ForgeState, pull: Pull) -> None:
        browser.be("approver").send(f"{REPO}/pull/1/review", event="APPROVE", body="")
        assert [review.state for review in pull.reviews] == ["APPROVED"]
        html = browser.send(f"{REPO}/pull/1/merge", 405, head=pull.head_sha)
        assert "Required status check" in html
        state.protect(pull.repo, "main")
        browser.send(f"{REPO}/pull/1/merge", 409, head="0" * 40)
        html = browser.send(f"{REPO}/pull/1/merge", head=pull.head_sha)
        assert pull.merged
        assert "Merged" in html
        assert "merged by approver" in browser.see(f"{REPO}/pulls?state=closed")

    def test_a_check_is_asked_to_run_again(
        self, browser: Browser, state: ForgeState, pull: Pull
    ) -> None:
        told = heard(state)
        runs = state.checks.runs_on(pull.repo, pull.head_sha)
        run = next(run for run in runs if run.conclusion == "failure")
        browser.be("author").send(f"{REPO}/pull/1/rerun", run=str(run.id))
        assert told == [("check_run", "rerequested", "author")]

    def test_a_button_of_a_check_is_pressed(
        self, browser: Browser, state: ForgeState, pull: Pull
    ) -> None:
        """Short-cut: a button that the App does not have is told to it all the same."""
        told = heard(state)
        runs = state.checks.runs_on(pull.repo, pull.head_sha)
        run = next(run for run in runs if run.conclusion == "failure")
        run.actions = [{"label": "Why?", "description": "Tell", "identifier": "why"}]
        assert "Why?</button>" in browser.be("author").see(f"{REPO}/pull/1/checks")
        browser.send(f"{REPO}/pull/1/press", run=str(run.id), button="why")
        assert told == [("check_run", "requested_action", "author")]
        browser.send(f"{REPO}/pull/1/press", 404, run=str(run.id), button="approve")

    @pytest.mark.parametrize(
        ("login", "action"),
        [
            ("outsider", "merge"),
            ("outsider", "close"),
            ("outsider", "draft"),
            ("outsider", "rerun"),
            ("outsider", "press"),
            ("author", "review"),
        ],
    )
    def test_buttons_that_are_not_shown_do_not_work_either(
        self, browser: Browser, state: ForgeState, pull: Pull, login: str, action: str
    ) -> None:
        """Short-cut: hide the button and trust that nobody posts the form."""
        told = heard(state)
        assert f"/pull/1/{action}" not in browser.be(login).see(f"{REPO}/pull/1")
        html = browser.send(
            f"{REPO}/pull/1/{action}", 403, event="APPROVE", head=pull.head_sha, run="1"
        )
        assert "may not do this" in html
        assert told == []

    def test_refusals_of_the_forge_are_shown(self, browser: Browser) -> None:
        assert "body cannot be blank" in browser.send(f"{REPO}/pull/1/comment", 422, body=" ")
        browser.send(f"{REPO}/pull/1/explode", 404)
        browser.send(f"{REPO}/pull/1/comment", 403, body="x" * 500_000)
        browser.send(f"{REPO}/pull/1/rerun", 404, run="²")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7_300, "2 hours ago"),
        (86_400 * 31, "1 month ago"),
        (86_400 * 900, "2 years ago"),
    ],
)
def test_how_long_ago(seconds: int, told: str) -> None:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    assert ago(now - timedelta(seconds=seconds), now) == told


def test_what_git_cannot_read_is_a_page_too(
    browser: Browser, state: ForgeState, pull: Pull, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(old: str | None, new: str) -> None:
        raise GitError(f"{old}..{new} is gone")

    monkeypatch.setattr(state.git(pull.repo), "diff", broken)
    assert "is gone" in browser.see(f"{REPO}/commit/{pull.head_sha}", 500)


def test_conflict_and_fork(browser: Browser, state: ForgeState, pull: Pull) -> None:
    change = FileChange(path="net/core/deployment.yaml", content=b"other\n")
    state.commit_files(pull.repo, "main", [change], "Other", actor=state.user("owner"))
    html = browser.see(f"{REPO}/pull/1")
    assert "This branch has conflicts" in html
    fork = state.fork(pull.repo, "outsider")
    change = FileChange(path="new.yaml", content=b"a: 1\n")
    state.commit_files(fork, "topic", [change], "New", actor=state.user("outsider"))
    state.pulls.open(
        pull.repo, state.user("outsider"), title="From a fork", head="outsider:topic", base="main"
    )
    assert "outsider:topic" in browser.see(f"{REPO}/pull/2").replace("\n", "")
    assert "forked from" in browser.see("/outsider/packages")
