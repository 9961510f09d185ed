"""The playground with both forges: their own clients with the tokens of its file, and one bot."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import github
import gitlab
import pytest
from github.Auth import Token
from rich.console import Console

from bot.cli.demo.story import Story
from tests.screenshots import page
from tests.stories.people import wait_for

Info = dict[str, Any]

PATH = "net/gateway-new/Kptfile"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: gateway-new\n"
BRANCH = "drafts/net/gateway-new/first"
STATUSES = {f"porchbot/{each}" for each in ("render", "validate", "publish")}

TOLD = (
    "The bot opened a draft merge request !1: {mr}/1",
    "net/core/router.yaml:25: spec.template.spec.containers[0].ports[0].containerPort: got string,",
    "The bot resolved its thread at net/core/router.yaml:25.",
    "@porchbot propose: it is a proposal now",
    "`@porchbot approve` refused: only people with the Maintainer role can do this; you have the"
    " Reporter role.",
    "● approver comments @porchbot approve: merged, tagged v1",
    "reason: nobody is on call",
    "Draft merge request !2: {mr}/2",
    "Dashboard: {here}/-/issues/1",
    "Needed: `@porchbot thaw`, or wait until",
    "the exception from `window` is recorded",
    "Release: {here}/-/releases/net/core/v2",
    "Published by !2, approved by `approver`.",
    "### Changes since v1",
    "Tags of net/core: net/core/v1, net/core/v2",
)
"""What people read in the terminal, in GitLab's terms."""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Info]:
    """A playground of two forges and one bot: what its file says."""
    file = tmp_path / "info.json"
    command = [sys.executable, "-m", "bot.cli", "playground", "--forge", "both"]
    process = subprocess.Popen([*command, "--info", str(file)], stdout=subprocess.DEVNULL)
    try:
        wait_for("the playground", lambda: file.exists() or process.poll(), 120)
        assert process.poll() is None
        yield json.loads(file.read_text())
    finally:
        process.terminate()
        process.wait()


def token(forge: Info, login: str) -> str:
    return next(str(each["token"]) for each in forge["users"] if each["login"] == login)


def listed(forge: Info) -> str:
    """What git reads over HTTP with somebody's token."""
    (repository,) = forge["repositories"]
    address = repository["clone_url"].replace("//", f"//author:{token(forge, 'author')}@")
    command = ["git", "ls-remote", address, "refs/heads/main"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def at_github(forge: Info) -> None:
    """A draft at GitHub is opened as a pull request, with checks."""
    author = github.Github(auth=Token(token(forge, "author")), base_url=forge["api_url"])
    repository = author.get_repo(forge["repositories"][0]["full_name"])
    main = repository.get_branch(repository.default_branch).commit.sha
    repository.create_git_ref(f"refs/heads/{BRANCH}", main)
    repository.create_file(PATH, "Add it", KPTFILE, branch=BRANCH)

    def shown() -> bool:
        (pull,) = repository.get_pulls() or (None,)
        runs = repository.get_commit(pull.head.sha).get_check_runs() if pull else ()
        return {run.name for run in runs} >= STATUSES

    wait_for("the bot's pull request", lambda: repository.get_pulls().totalCount or None, 60)
    wait_for("the bot's checks", shown, 60)
    author.close()


def at_gitlab(forge: Info) -> None:
    """A draft at GitLab, whose address is the instance, becomes a merge request with statuses."""
    with gitlab.Gitlab(forge["web_url"], private_token=token(forge, "author")) as author:
        project = author.projects.get(forge["repositories"][0]["full_name"])
        change = {"action": "create", "file_path": PATH, "content": KPTFILE}
        commit = {"branch": BRANCH, "start_branch": "main", "commit_message": "Add it"}
        project.commits.create(commit | {"actions": [change]})

        def shown() -> set[str]:
            opened = project.mergerequests.list(source_branch=BRANCH, get_all=True)
            at = project.commits.get(opened[0].sha) if opened else None
            return {each.name for each in at.statuses.list(get_all=True)} if at else set()

        wait_for("the bot's statuses", lambda: shown() >= STATUSES, 60)
        (opened,) = project.mergerequests.list(source_branch=BRANCH, get_all=True)
    assert (opened.title, opened.draft) == ("Draft: Add it", True)
    assert opened.author["username"] == "porchbot"


@pytest.mark.long
def test_one_bot_serves_both_and_the_demo_is_told_in_gitlabs_words(started: Info) -> None:
    """Fails when one forge takes the other's place, or its story says pull request or `/approve`.

    The bot is killed in the middle of it: what was asked meanwhile is done by the next.
    """
    here = "{web_url}/acme/blueprints".format(**started["forges"]["gitlab"])
    threads: list[str] = []

    def watch(moment: str, number: int) -> None:
        if moment == "objection":
            threads.append(page(f"{here}/-/merge_requests/{number}"))
        if moment == "refusal":
            for each in started["bots"]:
                os.kill(each["pid"], signal.SIGKILL)

    output = io.StringIO()
    console = Console(file=output, highlight=False, soft_wrap=True, width=1000)
    Story(started, console, watch, dialect="gitlab").tell()
    said = output.getvalue()

    told = said.replace("**", "")
    mr = f"{here}/-/merge_requests"
    assert [each for each in TOLD if each.format(here=here, mr=mr) not in told] == []
    assert (
        re.findall(r"[Pp]ull request|GitHub|(?<![\w/])#\d|[^\w.]/(?:approve|propose)", said) == []
    )
    (shown,) = threads
    at = shown.index("net/core/router.yaml:25")
    assert "got string, want integer" in shown[at:]
    assert "Resolve thread" in shown[at:]

    for name, forge in started["forges"].items():
        assert listed(forge).endswith("\trefs/heads/main\n"), name
    at_gitlab(started["forges"]["gitlab"])
    at_github(started["forges"]["github"])
