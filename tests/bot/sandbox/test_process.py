"""The forge as a process: what it prints, what it begins with, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.bot.sandbox.world import Git, wait_until

SHARED = Path(__file__).resolve().parents[3] / "../shared"


@contextmanager
def process(folder: Path, state: Mapping[str, Any], *options: str) -> Iterator[Any]:
    """The process and the line it printed; ended at the end if it still runs."""
    file = folder / "state.json"
    file.write_text(json.dumps(state))
    command = [sys.executable, "-m", "bot.sandbox", "--folder", str(folder / "forge")]
    child = subprocess.Popen(
        [*command, "--state", str(file), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        yield child, json.loads(child.stdout.readline())
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()


def running() -> set[tuple[int, int]]:
    """Number and parent of every process that is no zombie."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in listed.stdout.splitlines()]
    return {(int(pid), int(parent)) for pid, parent, state in rows if state[0] != "Z"}


def below(pid: int) -> set[int]:
    """Processes that a process started, and those that they did."""
    found = {child for child, parent in running() if parent == pid}
    return found | {deeper for child in found for deeper in below(child)}


@pytest.mark.parametrize("way", ["stdin", "SIGTERM", "SIGINT"])
def test_it_ends_and_leaves_no_process(tmp_path: Path, way: str) -> None:
    """Fails on a process that ends while the git processes it started live on."""
    state = {
        "users": [{"login": "ann"}],
        "repositories": [{"owner": "acme", "name": "a", "members": {"ann": "write"}}],
    }
    with process(tmp_path, state, "--until-stdin-closes") as (child, ready):
        token = ready["users"][0]["token"]
        url = f"{ready['api_url']}/repos/acme/a/contents/x"
        made = httpx.put(
            url,
            json={"message": "m", "content": "eA=="},
            headers={"Authorization": f"token {token}"},
            timeout=60,
        )
        assert made.status_code == 201
        children = below(child.pid)
        assert children, "git's long-lived processes"
        if way == "stdin":
            child.stdin.close()
        else:
            child.send_signal(getattr(signal, way))
        assert child.wait(60) == 0
        wait_until(lambda: not children & {pid for pid, _ in running()})


def test_it_begins_with_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "packages"
    (folder / "net").mkdir(parents=True)
    (folder / "net" / "Kptfile").write_text("kind: Kptfile\n")
    (folder / ".gitignore").write_text("*\n")
    script = folder / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    state = {
        "users": [{"login": "ann", "name": "Ann"}],
        "repositories": [
            {
                "owner": "acme",
                "name": "packages",
                "source": str(folder),
                "members": {"ann": "read"},
                "protect": {"main": {"required_checks": [{"context": "ci"}]}},
                "rulesets": [{"required_checks": [{"context": "security"}]}],
            }
        ],
        "app": {"id": 77, "slug": "porchbot", "public_key": "none", "webhook_url": None},
    }
    with process(tmp_path, state) as (_, ready):
        repository = ready["repositories"][0]
        assert repository["default_branch"] == "main"
        assert (ready["app"]["id"], len(ready["app"]["installations"])) == (77, 1)
        git = Git(tmp_path / "clone", "ann")
        git.run("clone", "--quiet", repository["clone_url"], str(git.folder), cwd=tmp_path)
        assert (git.folder / "net" / "Kptfile").read_text() == "kind: Kptfile\n"
        assert os.access(git.folder / "run.sh", os.X_OK)
        classic = httpx.get(
            f"{ready['api_url']}/repos/acme/packages/branches/main", timeout=60
        ).json()
        checks = classic["protection"]["required_status_checks"]
        assert checks["contexts"] == ["ci"]
        rules = httpx.get(
            f"{ready['api_url']}/repos/acme/packages/rules/branches/main", timeout=60
        ).json()
        assert "required_status_checks" in [rule["type"] for rule in rules]


def test_it_begins_with_a_bundle(tmp_path: Path) -> None:
    bundle = SHARED / "packages" / "nephio-catalog.bundle"
    if not bundle.exists():
        pytest.skip("the shared packages do not stand beside this checkout")
    state = {"repositories": [{"owner": "acme", "name": "catalog", "source": str(bundle)}]}
    with process(tmp_path, state) as (_, ready):
        repository = ready["repositories"][0]
        tags = httpx.get(f"{ready['api_url']}/repos/acme/catalog/tags?per_page=100", timeout=60)
        assert len(tags.json()) == 100
        assert 'rel="next"' in tags.headers["link"]
        heads = httpx.get(f"{ready['api_url']}/repos/acme/catalog/branches", timeout=60).json()
        assert repository["default_branch"] in [b["name"] for b in heads]
