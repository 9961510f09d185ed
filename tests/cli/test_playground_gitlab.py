"""The playground as a GitLab: python-gitlab and git with the tokens of its file, and the bot."""

import json
import subprocess
import sys
from pathlib import Path

import gitlab
import pytest

from tests.stories.people import wait_for

PATH = "net/gateway-new/Kptfile"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: gateway-new\n"


@pytest.mark.long
def test_a_draft_becomes_a_merge_request_with_statuses(tmp_path: Path) -> None:
    """The short-cut starts the other forge, or a bot that was never set up there."""
    file = tmp_path / "info.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "bot.cli", "playground", "--forge", "gitlab", "--info", str(file)],
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for("the playground", lambda: file.exists() or process.poll(), 120)
        info = json.loads(file.read_text())
        tokens = {each["login"]: each["token"] for each in info["users"]}
        (repository,) = info["repositories"]
        address = repository["clone_url"].replace("//", f"//author:{tokens['author']}@")
        listed = subprocess.run(
            ["git", "ls-remote", address, "refs/heads/main"],
            capture_output=True,
            text=True,
            check=True,
        )
        with gitlab.Gitlab(info["web_url"], private_token=tokens["author"]) as author:
            project = author.projects.get(repository["full_name"])
            change = {"action": "create", "file_path": PATH, "content": KPTFILE}
            commit = {"branch": "drafts/net/gateway-new/first", "start_branch": "main"}
            project.commits.create(commit | {"commit_message": "Add it", "actions": [change]})

            def shown() -> set[str]:
                opened = project.mergerequests.list(get_all=True)
                at = project.commits.get(opened[0].sha) if opened else None
                return {each.name for each in at.statuses.list(get_all=True)} if at else set()

            names = {f"porchbot/{each}" for each in ("render", "validate", "publish")}
            wait_for("the bot's statuses", lambda: shown() >= names, 60)
            (opened,) = project.mergerequests.list(get_all=True)

        assert listed.stdout.endswith("\trefs/heads/main\n")
        assert (opened.title, opened.draft) == ("Draft: Add it", True)
    finally:
        process.terminate()
        process.wait()
