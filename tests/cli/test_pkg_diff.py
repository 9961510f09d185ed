"""`pkg diff`: a package beside its upstream, as resources and fields or in a tool."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.root import main

CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
data:
  a: "1"
  b: "1"
"""
NOTED = CONFIG.replace(
    "metadata:\n  name: c\n",
    "metadata: # kpt-merge: /c\n  name: c\n  annotations:\n"
    "    internal.kpt.dev/upstream-identifier: '|ConfigMap|default|c'\n",
)
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"


def _git(folder: Path, *args: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e", *args],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package fetched at `main`, which has moved on; changed here too, as kpt leaves it."""
    up = tmp_path / "up"
    (up / "app/sub").mkdir(parents=True)
    _git(up, "init", "-q", "-b", "main")
    (up / "app/Kptfile").write_text(KPTFILE)
    (up / "app/cm.yaml").write_text(CONFIG)
    (up / "app/sub/cm.yaml").write_text(CONFIG)
    _git(up, "add", "-A")
    _git(up, "commit", "-qm", "one")
    commit = _git(up, "rev-parse", "HEAD")
    local = tmp_path / "local"
    (local / "sub").mkdir(parents=True)
    (local / "own").mkdir(parents=True)
    (up / "app/cm.yaml").write_text(CONFIG.replace('a: "1"', 'a: "2"'))
    (up / "app/sub/cm.yaml").write_text(CONFIG.replace('b: "1"', 'b: "2"'))
    _git(up, "commit", "-qam", "two")
    git = f"  type: git\n  git:\n    repo: {up}\n    directory: /app\n    ref: main\n"
    upstream = f"upstream:\n{git}upstreamLock:\n{git}    commit: {commit}\n"
    (local / "Kptfile").write_text(KPTFILE + upstream)
    (local / "own/Kptfile").write_text(KPTFILE + upstream)
    (local / "cm.yaml").write_text(NOTED.replace('a: "1"', 'a: "9"'))
    (local / "sub/cm.yaml").write_text(NOTED)
    return local


def _run(*args: object, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["pkg", "diff", *map(str, args)], env=env)
    return result.exit_code, result.stdout, result.stderr


def test_what_was_changed_here_since_it_was_fetched(package: Path) -> None:
    """The short-cut: fetching the branch, which has moved on, and showing kpt's own notes."""
    assert _run(package) == (0, 'cm.yaml: ConfigMap c: data.a: "1" -> "9"\n', "")


def test_what_is_new_upstream(package: Path) -> None:
    lines = (
        'cm.yaml: ConfigMap c: data.a: "1" -> "2"\nsub/cm.yaml: ConfigMap c: data.b: "1" -> "2"\n'
    )
    assert _run(package, "--diff-type", "remote") == (0, lines, "")
    assert _run(f"{package}@main", "--diff-type=remote") == (0, lines, "")


def test_the_package_beside_what_is_new_upstream(package: Path) -> None:
    assert _run(f"{package}@main", "--diff-type=combined")[1] == (
        'cm.yaml: ConfigMap c: data.a: "2" -> "9"\nsub/cm.yaml: ConfigMap c: data.b: "2" -> "1"\n'
    )


def test_three_ways_name_what_both_sides_changed(package: Path) -> None:
    assert (
        _run(package, "--diff-type", "3way")[1]
        == """\
Changed here:
  cm.yaml: ConfigMap c: data.a: "1" -> "9"
Changed upstream:
  cm.yaml: ConfigMap c: data.a: "1" -> "2"
  sub/cm.yaml: ConfigMap c: data.b: "1" -> "2"
Changed on both sides:
  cm.yaml: v1/ConfigMap/c: data.a
"""
    )


def test_a_tool_is_given_the_folders_in_kpts_order(package: Path, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text(
        '#!/bin/sh\nfor each; do\necho "$each" >> "$0.args"\ncat "$each/cm.yaml" >> "$0.seen"\n'
        "done\nexit 1\n"
    )
    tool.chmod(0o755)
    env = {"KPT_EXTERNAL_DIFF": str(tool), "KPT_EXTERNAL_DIFF_OPTS": "-x 'y z'"}
    assert _run(package, "--diff-type=3way", env=env)[0] == 0
    seen = (tmp_path / "tool.args").read_text().splitlines()
    assert seen[:2] == ["-x", "y z"]
    assert [Path(each).name for each in seen[2:]] == ["local-main", "remote-main", "target-main"]
    assert not Path(seen[2]).exists()
    assert "kpt-merge" not in (tmp_path / "tool.seen").read_text()


def test_a_tool_that_fails_is_said(package: Path) -> None:
    status, out, err = _run(package, "--diff-tool", "false", "--diff-type", "local")
    assert (status, out, err) == (0, "", "")  # 1 means that there are differences
    status, out, err = _run(package, "--diff-tool", "sh", "--diff-tool-opts", "-c 'exit 3'")
    assert (status, err) == (1, "error: exit status 3\n")
    assert "may not support the chosen diff type (local)" in out


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("nope",), "lstat nope: no such file or directory"),
        (("a", "b"), "accepts at most 1 arg(s), received 2"),
        (
            (".", "--diff-type", "foo"),
            "invalid diff-type 'foo': supported diff-types are: local, remote, combined, 3way",
        ),
        ((".", "--diff-tool", "no-such-tool"), "diff-tool 'no-such-tool' not found in the PATH"),
    ],
)
def test_wrong_use_ends_as_in_kpt(args: tuple[str, ...], problem: str) -> None:
    assert _run(*args) == (1, "", f"error: {problem}\n")


def test_a_package_without_an_upstream_is_refused(tmp_path: Path) -> None:
    assert _run(tmp_path)[2].startswith(f"error: package missing Kptfile at '{tmp_path}'")
    (tmp_path / "Kptfile").write_text(KPTFILE)
    assert _run(tmp_path)[2] == f"error: package missing upstream in Kptfile at '{tmp_path}'\n"
