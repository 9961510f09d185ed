"""The guides name what a new user sees, in Chromium and in the terminal.

The whole way is `make walkthrough`; here go its first parts.
"""

from pathlib import Path

import pytest

from bot.sandbox.rules.context import FileChange
from tests.walkthrough import gitlab
from tests.walkthrough.browser import Browser, program
from tests.walkthrough.newcomer import LOOKS, OPERATOR, Newcomer
from tests.walkthrough.walker import GUIDE, organisation, quoted


def test_the_guides_name_what_is_looked_for() -> None:
    """The short-cut looks for other words than the guides name, or takes pictures for nobody."""
    for name, look in {**LOOKS, **gitlab.LOOKS}.items():
        text = " ".join(look.guide.read_text(encoding="utf-8").replace("*", "").split())
        assert (GUIDE / f"{name}.png").is_file(), name
        assert f"{name}.png)" in text, name
        assert [each for each in look.words if each not in text] == [], name


def test_an_app_is_registered_and_installed_in_a_browser(tmp_path: Path) -> None:
    """The short-cut posts forms by itself: a policy of a page then stops real browsers.

    What the terminal says is what the guide quotes.
    """
    path = program()
    if path is None:
        pytest.skip("no browser found: install Chromium")
    with organisation(tmp_path) as forge, Browser(path) as browser:
        said = Newcomer(tmp_path, forge, browser, None).registers()
        address = forge.web_url
        (app,) = forge.state.data.apps.values()
        installed = [each.app for each in forge.state.data.installations.values()]

    assert (app.slug, app.owner.login, installed) == ("porchbot", "acme", [app])
    invited, began, told = said.partition("porchbot is registered")
    assert quoted(invited, OPERATOR, address, tmp_path), invited
    assert quoted(began + told, OPERATOR, address, tmp_path), told


def test_what_setting_up_gitlab_says_is_what_the_guide_quotes(tmp_path: Path) -> None:
    """The short-cut quotes what the command said once."""
    with organisation(tmp_path, "gitlab") as forge:
        said = gitlab.sets_up(tmp_path, forge, "http://127.0.0.1:9")
        assert quoted(said, gitlab.PAGE, forge.web_url, tmp_path), said


def test_pages_fit_into_a_narrow_window(tmp_path: Path) -> None:
    """The short-cut looks for the words alone: at the foot of the merge box, whose box hides what
    is too wide, the last of them stand where nobody sees them."""
    path = program()
    if path is None:
        pytest.skip("no browser found: install Chromium")
    with organisation(tmp_path) as forge, Browser(path) as browser:
        state = forge.state
        with state.lock:
            (repo,) = state.data.repositories.values()
            state.protect(repo, "main", [], required_reviews=1)
            branch, author = "drafts/net/edge/first", state.user("author")
            change = FileChange(path="net/edge/router.yaml", content=b"kind: ConfigMap\n")
            state.commit_files(repo, branch, [change], "Take the size out", actor=author)
            state.pulls.open(repo, author, title="net/edge", head=branch, base="main")
        pulls = ("/pulls", "/pull/1", "/pull/1/commits", "/pull/1/checks", "/pull/1/files")
        beyond, files = list[str](), ("/tree/main/net/edge", "/blob/main/net/edge/router.yaml")
        for page in ("", *pulls, *files, "/branches"):
            browser.opens(f"{forge.web_url}/acme/blueprints{page}")
            if page == "/pull/1":
                browser.sees("What is missing stands above.")
            beyond += browser.beyond()

    assert beyond == []
