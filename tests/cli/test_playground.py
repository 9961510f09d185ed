"""The playground: two forges, two bots, and people who use it while bots and database die.

One is started for all of it, since each takes as long as many other tests together.
"""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import github
import gitlab
import pytest
from github.Auth import Token
from rich.console import Console

from bot.cli.demo import playground as playground_module
from bot.cli.demo.balancer import Balancer
from bot.cli.demo.playground import Playground, PlaygroundError
from bot.cli.demo.story import Story
from tests.screenshots import PATIENCE, PICTURES, Picture, digest, looking, page, said
from tests.stories.people import wait_for

Info = dict[str, Any]

NEW = "make new pictures: python -m tests.screenshots"

PATH = "net/gateway-new/Kptfile"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: gateway-new\n"
BRANCH = "drafts/net/gateway-new/first"
STATUSES = {f"porchbot/{each}" for each in ("render", "validate", "publish")}

TOLD = (
    "The bot opened a draft merge request !1: {mr}/1",
    "net/core/router.yaml:25: `spec.template.spec.containers[0].ports[0].containerPort`: got",
    "The bot resolved its thread at net/core/router.yaml:25.",
    "@porchbot propose: it is a proposal now",
    "`@porchbot approve` refused: only people with the Maintainer role can do this; you have the"
    " Reporter role.",
    "● approver comments @porchbot approve: merged, tagged v1",
    "reason: nobody is on call",
    "Draft merge request !2: {mr}/2",
    "Dashboard: {here}/-/issues/1",
    "Needed: `@porchbot thaw`, or wait until",
    "The exception from `window` is recorded",
    "Release: {here}/-/releases/net/core/v2",
    "Published by !2, approved by `approver`.",
    "### Changes since v1",
    "Tags of net/core: net/core/v1, net/core/v2",
)
"""What people read in the terminal, in GitLab's terms."""


@pytest.fixture
def playground(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    """A playground of two forges and two bots, and its file."""
    file = tmp_path / "info.json"
    command = [sys.executable, "-m", "bot.cli", "playground", "--forge", "both"]
    process = subprocess.Popen(
        [*command, "--replicas", "2", "--info", str(file)], stdout=subprocess.DEVNULL
    )
    try:
        wait_for("the playground", lambda: file.exists() or process.poll(), 120)
        assert process.poll() is None
        yield process, file
    finally:
        process.kill()
        process.wait()


def read(file: Path) -> Info:
    """What the playground says of itself now."""
    found: Info = json.loads(file.read_text())
    return found


def offspring(pid: int) -> set[int]:
    """Numbers of all processes that a process has started, and those have."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            parents[int(entry.name)] = int(fields[1])
        except (OSError, ValueError, IndexError):
            continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


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


def audited(info: Info) -> str:
    """What `porchbot audit` shows of tags, by what the file says."""
    environment = {**os.environ, "DATABASE_URL": info["database_url"]}
    command = [sys.executable, "-m", "bot.cli", "audit", "--action", "Tag"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def told(info: Info, dialect: str, watch: Callable[[str, int], None]) -> str:
    """What the demo's story says at one of the forges."""
    output = io.StringIO()
    console = Console(file=output, highlight=False, soft_wrap=True, width=1000)
    Story(info, console, watch, dialect=dialect).tell()
    return output.getvalue()


def as_pictured(info: Info, kill: Callable[[str], None]) -> None:
    """The README's pictures show what the demo says, whatever dies in the middle of it.

    The short-cut takes a picture once: the demo then goes on, and the README stays behind. The
    page that it links to is the one of the picture.
    """
    pages: dict[str, str] = {}
    addresses: dict[str, str] = {}

    def look(picture: Picture, address: str) -> None:
        kept = said(picture).read_text(encoding="utf-8").partition("\n")[2]
        if not picture.settles:
            pages[picture.name] = kept
            return
        until = time.monotonic() + PATIENCE
        while (now := page(address)) != kept and time.monotonic() < until:
            time.sleep(0.2)  # what the bot does next may still be under way
        pages[picture.name], addresses[picture.name] = now, address

    looks = looking(info, look)

    def watch(moment: str, number: int) -> None:
        kill(moment)
        looks(moment, number)

    output = told(info, "github", watch)

    for picture in PICTURES:
        kept, _, text = said(picture).read_text(encoding="utf-8").partition("\n")
        assert kept == digest(picture), f"{picture.name}: {NEW}"
        assert text == pages[picture.name], f"{picture.name}: {NEW}"
    lines = [line.strip() for line in output.split("\n")]
    found = next(line for line in lines if re.match(r"net/core/router\.yaml:\d+: ", line))
    place = found.split(": ")[0]
    assert place in pages["checks"].split("\n")
    assert f"Checks: {addresses['checks']}" in lines
    assert (
        lines[lines.index(found) + 1] == '- containerPort: "http" # a name where a number belongs'
    )
    for words in (
        "Tags of net/core: net/core/v1, net/core/v2",
        "Label: porchbot: proposed",
        "reason: nobody is on call",  # the window
        "froze everything until",  # the dashboard
        "The exception from `window` is recorded",
        "### Changes since v1",  # the release
    ):
        assert words in output


def in_gitlabs_words(info: Info, kill: Callable[[str], None]) -> None:
    """The short-cut says pull request, or `/approve`, at GitLab too."""
    here = "{web_url}/acme/blueprints".format(**info["forges"]["gitlab"])
    threads: list[str] = []

    def watch(moment: str, number: int) -> None:
        if moment == "objection":
            threads.append(page(f"{here}/-/merge_requests/{number}"))
        kill(moment)

    output = told(info, "gitlab", watch)

    mr = f"{here}/-/merge_requests"
    plain = output.replace("**", "")
    assert [each for each in TOLD if each.format(here=here, mr=mr) not in plain] == []
    foreign = r"[Pp]ull request|GitHub|(?<![\w/])#\d|[^\w.]/(?:approve|propose)"
    assert re.findall(foreign, output) == []
    (shown,) = threads
    at = shown.index("net/core/router.yaml:25")
    assert "got string, want integer" in shown[at:]
    assert "Resolve thread" in shown[at:]


@pytest.mark.long
def test_both_forges_are_served_whatever_dies_and_at_the_end_nothing_is_left(
    playground: tuple["subprocess.Popen[bytes]", Path],
) -> None:
    """Fails when a kill needs somebody's hand, or one forge takes the other's place."""
    process, file = playground
    before = read(file)
    assert len({each["pid"] for each in before["bots"]}) == 2
    assert before["bot_pid"] == before["bots"][0]["pid"]

    def kill(moment: str) -> None:
        if moment == "refusal":
            os.kill(before["database_pid"], signal.SIGKILL)

    as_pictured(before, kill)

    def changed() -> Info | None:
        now = read(file)
        return None if now["database_pid"] == before["database_pid"] else now

    def bots_are_others() -> Info | None:
        now = read(file)
        pairs = zip(now["bots"], after["bots"], strict=True)
        return now if all(new["pid"] != old["pid"] for new, old in pairs) else None

    after = wait_for("the file", changed, 120)
    assert after["bots"] == before["bots"]

    def kill_all(moment: str) -> None:
        if moment == "refusal":
            for each in after["bots"]:
                os.kill(each["pid"], signal.SIGKILL)

    in_gitlabs_words(after, kill_all)
    now = wait_for("the file", bots_are_others, 120)
    assert [each["url"] for each in now["bots"]] == [each["url"] for each in before["bots"]]
    started = offspring(process.pid)
    assert {now["database_pid"], *(each["pid"] for each in now["bots"])} <= started

    shown = audited(now)
    assert re.search(r"acme/blueprints +!\d+ +Tag +done +approver", shown), shown
    assert re.search(r"acme/blueprints +#\d+ +Tag +done +approver", shown), shown
    for name, forge in now["forges"].items():
        assert listed(forge).endswith("\trefs/heads/main\n"), name
    at_gitlab(now["forges"]["gitlab"])
    at_github(now["forges"]["github"])

    started = offspring(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    assert not Path(after["log"]).parent.exists()


def test_a_connection_goes_to_the_next_that_takes_it() -> None:
    """Fails when a bot that is down takes every second webhook with it."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as there, socket.socket() as gone:
        gone.bind(("127.0.0.1", 0))
        with Balancer([gone.getsockname()[1], there.getsockname()[1]]) as balancer:
            for _ in range(3):
                with socket.create_connection(("127.0.0.1", balancer.port)) as sender:
                    sender.sendall(b"ping")
                    bot, _ = there.accept()
                    with bot:
                        assert bot.recv(4) == b"ping"
                        bot.sendall(b"pong")
                    assert sender.recv(4) == b"pong"
                    assert sender.recv(1) == b""


class _NoDatabase:
    """In place of a database."""

    url, pid = "postgresql://nowhere", 1

    def __enter__(self) -> "_NoDatabase":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _NoForge:
    """In place of a sandbox forge, where only the bot's start counts."""

    dialect, child = "github", None

    def start(self, *_: object) -> dict[str, str]:
        return {}

    def info(self) -> dict[str, str]:
        return {}


def test_a_bot_that_is_not_ready_in_time_is_told_with_the_end_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut refused: the path of the log, which is gone by the time somebody reads it."""
    folder = tmp_path / "playground"
    folder.mkdir()
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\necho the database is still starting\nexec cat >/dev/null\n")
    program.chmod(0o755)

    def never(_: str) -> bool:
        wait_for("its log", lambda: "still" in (folder / "log").read_text() or None)
        return False

    monkeypatch.setattr(playground_module, "sandboxes", lambda *_: [_NoForge()])
    monkeypatch.setattr(playground_module, "EmbeddedPostgres", _NoDatabase)
    monkeypatch.setattr(playground_module, "_answers", never)
    monkeypatch.setattr(playground_module, "START_LIMIT", 1)
    monkeypatch.setattr(sys, "executable", os.fspath(program))
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: os.fspath(folder))

    with pytest.raises(PlaygroundError) as told, Playground(None):
        pass

    assert str(told.value) == (
        "bot 1 was not ready within 1 s (the database is still starting). Try again when the"
        " machine has less to do"
    )
    assert not folder.exists()
