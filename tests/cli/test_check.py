"""`porchbot check`: what the bot would say of a working tree, without a bot."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli.root import main
from lifecycle.messages.checks import BOT_RENDERS, CONFIGURATION_BROKEN

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: core\n"
LABELS = KPTFILE + (
    "  labels:\n    tier: backend\n"
    "pipeline:\n  mutators:\n  - image: set-labels:v0.2\n    configMap:\n      tier: backend\n"
)
GUARDED = (
    "version: 1\nguardrails:\n  validators:\n  - image: kubeconform:v0.1\n    fix: See the wiki.\n"
)
THING = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    tier: backend\n"
WRONG = f"{THING}data:\n  one: two\n  replicas: [1]\n"


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=n", "-c", "user.email=n@users.example")
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def write(top: Path, files: Mapping[str, str | None]) -> None:
    for path, text in files.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            (top / path).unlink()
        else:
            (top / path).write_text(text)


def check(*args: str | Path) -> Result:
    result = CliRunner().invoke(main, ["check", *map(str, args)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A working tree on a branch of its own, whose main has a guardrail and a package."""
    where = tmp_path / "work"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "work")
    write(where, {".porchbot.yaml": GUARDED, "net/core/Kptfile": LABELS, "net/core/a.yaml": THING})
    git(where, "add", "--all")
    git(where, "commit", "--quiet", "--message", "one")
    git(where, "switch", "--quiet", "--create", "topic")
    return where


def test_a_finding_stands_at_its_line_with_the_fix_of_the_base(top: Path) -> None:
    """The short-cut reads the index, or the rules of the working tree: here both say nothing."""
    write(top, {"net/core/a.yaml": WRONG, ".porchbot.yaml": "version: 1\n"})

    result = check(top)

    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "Compared with main: 1 package changed: net/core",
        "porchbot/render: passed: Rendered output is up to date",
        "net/core/a.yaml:9: error: data.replicas: got array, want null or string. See the wiki."
        " (ghcr.io/kptdev/krm-functions-catalog/kubeconform:v0.1)",
        "porchbot/validate: failed: 1 error",
    ]
    assert (top / "net/core/a.yaml").read_text().splitlines()[8] == "  replicas: [1]"


def test_an_upstream_that_nobody_can_read_stands_at_its_line(top: Path) -> None:
    """The short-cut renders the package, which works, and tells nothing until it is upgraded."""
    git_upstream = "upstream:\n  git:\n    repo: https://git.corp/x\n    directory: /../net\n"
    write(top, {"net/core/Kptfile": f"{LABELS}{git_upstream}    ref: v1\n"})

    result = check(top)

    assert result.exit_code == 1
    assert result.stdout.splitlines()[2:] == [
        "net/core/Kptfile:15: error: upstream.git.directory: the path '/../net' leads out of the"
        " repository. Write the path from the top of the repository, without parent folders.",
        "porchbot/validate: failed: 1 error",
    ]


def test_rules_are_those_of_the_base_now(top: Path) -> None:
    """The short-cut takes the rules of the merge base: the bot has newer ones."""
    git(top, "switch", "--quiet", "main")
    git(top, "rm", "--quiet", ".porchbot.yaml")
    git(top, "commit", "--quiet", "--message", "two")
    git(top, "switch", "--quiet", "topic")
    write(top, {"net/core/a.yaml": WRONG})

    assert check(top).exit_code == 0


def test_staged_or_not_new_or_ignored(top: Path) -> None:
    """The short-cut diffs the index, or what git tracks: new files would come as a surprise."""
    write(top, {".gitignore": "junk\n", "net/core/b.yaml": WRONG, "net/core/junk/c.yaml": WRONG})
    assert "net/core/b.yaml:9: error" in check(top).stdout
    git(top, "add", "--all")
    write(top, {"net/core/b.yaml": THING.replace("name: a", "name: b")})
    result = check(top)
    assert (result.exit_code, "c.yaml" in result.stdout) == (0, False)


def test_nothing_of_the_repository_changes(top: Path) -> None:
    """The short-cut stages everything: the next commit would hold more than was meant."""
    write(top, {"net/core/a.yaml": WRONG, "new/Kptfile": KPTFILE})
    before = git(top, "status", "--porcelain"), git(top, "count-objects"), state(top)
    check(top)
    assert (git(top, "status", "--porcelain"), git(top, "count-objects"), state(top)) == before


def state(top: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in top.rglob("*") if p.is_file() and p.name != "index"}


def test_what_rendering_changes_is_told_and_blocks(top: Path) -> None:
    write(top, {"net/core/a.yaml": THING.replace("backend", "frontend")})

    result = check(top)

    assert result.exit_code == 1
    assert result.stdout.splitlines()[1:6] == [
        "Rendering changes:",
        "  net/core/a.yaml: ConfigMap a: metadata.labels.tier: frontend -> backend",
        "Render and commit:",
        "  porchbot fn render net/core",
        "porchbot/render: failed: 1 file of net/core not rendered",
    ]
    assert (top / "net/core/a.yaml").read_text() == THING.replace("backend", "frontend")


@pytest.mark.parametrize(("render", "code"), [("commit", 0), ("check", 1)])
def test_a_draft_is_rendered_by_the_bot(top: Path, render: str, code: int) -> None:
    """The short-cut fails wherever files differ, also where nobody has to do anything."""
    git(top, "switch", "--quiet", "main")
    write(top, {".porchbot.yaml": f"version: 1\nrender: {render}\n"})
    git(top, "commit", "--quiet", "--all", "--message", "rules")
    git(top, "switch", "--quiet", "--create", "drafts/net/core/x")
    write(top, {"net/core/a.yaml": THING.replace("backend", "frontend")})

    result = check(top)

    assert result.exit_code == code
    assert (BOT_RENDERS in result.stdout) is (code == 0)


def test_other_packages_are_left_alone(top: Path) -> None:
    """The short-cut checks every package: whoever changes one would mend all others."""
    git(top, "switch", "--quiet", "main")
    write(top, {"bad/Kptfile": KPTFILE, "bad/a.yaml": WRONG})
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "two")
    result = check(top)
    assert (result.exit_code, result.stdout) == (
        0,
        "porchbot/publish: passed: No packages changed\n",
    )

    git(top, "switch", "--quiet", "topic")
    write(top, {"words.md": "x"})
    assert check(top).exit_code == 0, "what main got since is no change of ours"
    git(top, "merge", "--quiet", "--no-commit", "--no-ff", "main")
    assert check(top).exit_code == 0, "nor is it while it is being merged"


def test_rules_that_would_break_and_rules_that_are_broken(top: Path) -> None:
    write(top, {".porchbot.yaml": "version: 1\nbogus: 1\n"})
    result = check(top)
    assert result.exit_code == 1
    assert result.stdout.startswith(".porchbot.yaml:2: error: bogus: the key 'bogus' is unknown.")
    assert result.stdout.endswith(
        "porchbot/publish: failed: This change would break the configuration\n"
    )

    git(top, "commit", "--quiet", "--all", "--message", "broken")
    write(top, {".porchbot.yaml": GUARDED})
    result = check(top, "--base", "topic")
    assert result.exit_code == 1
    assert CONFIGURATION_BROKEN in result.stdout


def test_what_is_wrong_in_rules_for_variants_is_told_at_its_line(top: Path) -> None:
    """The short-cut says that no package changed: the bot then refuses the rules."""
    config = "version: 1\nvariants: [variants/*.yaml]\nrepositories: {here: {}}\n"
    rule = (
        "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: a}\n"
        "spec:\n  upstream: {repo: here, package: net/core, revision: 1}\n"
        "  downstream: {repo: here, package: net/core}\n"
    )
    write(top, {".porchbot.yaml": config, "variants/a.yaml": rule})
    result = check(top)
    assert "variants/a.yaml:6: error: spec.downstream: the downstream is the upstream itself" in (
        result.stdout
    )
    assert result.exit_code == 1

    write(top, {"variants/a.yaml": rule.replace("package: net/core}", "package: net/edge}")})
    result = check(top)
    assert "error" not in result.stdout
    assert result.exit_code == 0


def test_the_base(top: Path, tmp_path: Path) -> None:
    """The short-cut knows main alone: a clone's default branch may have another name."""
    git(top, "branch", "--quiet", "--move", "main", "trunk")
    git(top, "switch", "--quiet", "trunk")
    git(tmp_path, "clone", "--quiet", "work", "clone")
    clone = tmp_path / "clone"
    write(clone, {"net/core/a.yaml": WRONG})
    assert check(clone / "net").stdout.startswith("Compared with origin/trunk: ")
    assert check(clone, "--base", "HEAD").stdout.startswith("Compared with HEAD: ")
    assert check(clone, "--base", "origin").stdout.startswith("Compared with origin: ")
    git(clone, "remote", "remove", "origin")
    assert "no branch to compare with" in check(clone).stderr


TELLTALE = """version: 1
guardrails:
  validators:
  - image: starlark:v0.4
    configMap:
      source: |
        for r in ctx.resource_list["items"]:
          if r["kind"] == "Secret":
            fail("it is \\x1b[2J" + r["stringData"]["pass"])
"""


def test_no_secret_is_said_and_no_terminal_is_steered(top: Path) -> None:
    """The short-cut prints what functions say."""
    git(top, "switch", "--quiet", "main")
    write(top, {".porchbot.yaml": TELLTALE})
    git(top, "commit", "--quiet", "--all", "--message", "rules")
    secret = THING.replace("ConfigMap", "Secret") + "stringData:\n  pass: hunter2secret\n"
    write(top, {"net/core/s.yaml": secret})

    result = check(top)

    assert result.exit_code == 1
    assert "it is <U+001B>[2J[secret value]" in result.output
    assert "\x1b" not in result.output
    assert "hunter2secret" not in result.output


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nowhere",), "error: nowhere: no such folder\n"),
        ((".",), "error: . is in no git repository. Name a folder of a working tree"),
        (("bare.git",), "error: bare.git is in a bare repository. Name a folder"),
        (("work", "--base", "nope"), 'error: there is no branch, tag or commit "nope" here. Fetch'),
        (("work", "--base", "--all"), 'error: there is no branch, tag or commit "--all" here.'),
        (("work", "--base", "main:net"), 'error: there is no branch, tag or commit "main:net"'),
        (("work", "more"), "error: accepts at most 1 arg(s), received 2\n"),
    ],
)
def test_wrong_use(
    top: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], message: str
) -> None:
    git(top.parent, "init", "--quiet", "--bare", "bare.git")
    monkeypatch.chdir(top.parent)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", os.fspath(top.parent.parent))

    result = check(*args)

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(message)


@pytest.mark.parametrize("path", ["", "/issues/3", "/-/merge_requests", ".git"])
def test_an_address_of_no_pull_request_is_told_as_an_address(path: str) -> None:
    """The short-cut takes it for a folder: `https:/forge.example/…: no such folder`."""
    address = f"https://forge.example/acme/blueprints{path}"

    result = check(address)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"error: {address} is not the address of a pull request or merge request. One ends in"
        " /pull/NUMBER or /-/merge_requests/NUMBER. To check a repository, clone it and name the"
        " folder\n"
    )


def test_a_hook_s_own_index_is_not_taken(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut inherits git's variables: in a hook they name what is being committed."""
    write(top, {"net/core/a.yaml": WRONG})
    monkeypatch.setenv("GIT_INDEX_FILE", os.fspath(top / "empty"))
    monkeypatch.setenv("GIT_DIR", os.fspath(top.parent / "elsewhere"))
    assert check(top).exit_code == 1


def test_a_shallow_clone_is_told_so(top: Path, tmp_path: Path) -> None:
    """The short-cut takes everything for new: a shallow checkout is usual in workflows."""
    git(top, "commit", "--quiet", "--allow-empty", "--message", "two")
    url = f"file://{top}"
    git(tmp_path, "clone", "--quiet", "--depth=1", "--no-single-branch", url, "clone")
    result = check(tmp_path / "clone", "--base", "origin/main")
    assert "too shallow to tell what differs from origin/main" in result.stderr


def test_names_that_mislead_are_told_and_shown_in_full(top: Path) -> None:
    """The short-cut leaves out what it cannot print: nobody finds a package of that name."""
    write(top, {"Net/core/Kptfile": KPTFILE, "net/ed\u200bge/Kptfile": KPTFILE})

    result = check(top)

    assert result.exit_code == 1
    assert "Net/core/Kptfile: error: on file systems that ignore case" in result.stdout
    assert "net/ed<U+200B>ge/Kptfile: error: its path holds ZERO WIDTH SPACE" in result.stdout
    assert "\u200b" not in result.stdout
