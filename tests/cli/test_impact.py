"""`porchbot impact FILE`: what other rules would do to every package, without a bot."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli.root import main
from tests.cli.test_check import GUARDED, LABELS, THING, WRONG, git, write

STRICT = GUARDED.replace("    fix: See the wiki.\n", "")


def impact(*args: str | Path) -> Result:
    result = CliRunner().invoke(main, ["impact", *map(str, args)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A working tree whose main has two packages and no guardrail."""
    where = tmp_path / "work"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "work")
    good = {"net/core/Kptfile": LABELS, "net/core/a.yaml": THING}
    bad = {"net/edge/Kptfile": LABELS, "net/edge/a.yaml": WRONG}
    write(where, {".porchbot.yaml": "version: 1\n", **good, **bad})
    git(where, "add", "--all")
    git(where, "commit", "--quiet", "--message", "one")
    return where


def test_an_address_of_no_pull_request_is_told_as_an_address() -> None:
    """The short-cut takes it for a file: `https:/forge.example/…: no such file`."""
    result = impact("https://forge.example/acme/blueprints")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "error: https://forge.example/acme/blueprints is not the address of a pull request or merge"
        " request. One ends in /pull/NUMBER or /-/merge_requests/NUMBER. To try the files of a"
        " repository, clone it and name one of them\n"
    )


def test_a_file_is_tried_on_every_package_and_changes_nothing(top: Path, tmp_path: Path) -> None:
    """Short-cuts refused: only what differs is tried; the file has to be committed first."""
    other = tmp_path / "stricter.yaml"
    other.write_text(STRICT + "access: {approve: {require: 3}}\n")
    write(top, {"net/new/Kptfile": LABELS})
    before = git(top, "status", "--porcelain")
    (top / "rules").mkdir()
    inside = top / "rules/stricter.yaml"
    inside.write_text(other.read_text())

    result = impact(inside)

    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "2 of 2 packages would change; 1 would fail"
    assert "- 1 package would fail to render or to pass validation" in lines
    assert "- 2 packages would be merged under other rules" in lines
    edge = lines[lines.index("net/edge") :]
    assert edge[2] == "Would fail, 1 new finding, other approvals:"
    assert "net/edge/a.yaml:9, data.replicas: got array, want null or string" in edge[4]
    assert "- net/core: other approvals" in lines
    inside.unlink()
    (top / "rules").rmdir()
    assert git(top, "status", "--porcelain") == before


def test_the_rules_of_the_working_tree_are_tried_with_their_files(top: Path) -> None:
    """The short-cut reads the file alone, and knows nothing of what it names beside it."""
    write(
        top,
        {
            ".porchbot.yaml": "version: 1\nguardrails:\n  validators:\n"
            "  - {image: 'starlark:v0.5', configPath: .porchbot/size.yaml}\n",
            ".porchbot/size.yaml": "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\n"
            "metadata: {name: no}\nsource: |\n  fail('nothing is good')\n",
        },
    )
    for file in (".porchbot.yaml", ".porchbot/size.yaml"):
        result = impact(top / file, "--json")
        assert result.exit_code == 1
        found = json.loads(result.stdout)
        assert found["title"] == "2 of 2 packages would change; 2 would fail"
        assert [each["package"] for each in found["changed"]] == ["net/core", "net/edge"]
        assert "nothing is good" in found["changed"][0]["findings"][0]["text"]


LOCK = """upstream:
  type: git
  git: {repo: https://forge.example/acme/x, directory: /net/core, ref: main}
upstreamLock:
  type: git
  git: {repo: https://forge.example/acme/x, directory: /net/core, ref: main, commit: COMMIT}
"""


def test_what_was_made_from_a_package_is_upgraded_on_trial(top: Path) -> None:
    """Short-cuts refused: users are named and not tried; what is not committed is not seen."""
    missing = impact(top / "net/core/Kptfile")
    assert "no remote origin" in missing.stderr
    git(top, "remote", "add", "origin", "git@forge.example:acme/x.git")
    kptfile = LABELS + LOCK.replace("COMMIT", git(top, "rev-parse", "HEAD"))
    same = {"apps/same/Kptfile": kptfile, "apps/same/a.yaml": THING}
    ours = {"apps/ours/Kptfile": kptfile, "apps/ours/a.yaml": f"{THING}data: {{size: '4'}}\n"}
    write(top, {**same, **ours})
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "made from it")
    assert "Nothing to test" in impact(top / "net/core/Kptfile").stdout
    write(top, {"net/core/a.yaml": f"{THING}data: {{size: '9'}}\n"})

    result = impact(top / "net/core/Kptfile")

    assert result.exit_code == 1
    assert impact(top / "net/core").stdout == result.stdout
    lines = result.stdout.splitlines()
    assert lines[0] == "2 of 2 packages would change; 1 would conflict"
    assert lines[1].startswith("An upgrade to net/core as changed here was tried on 2 packages")
    assert "apps/ours (made from main)" in lines
    assert "apps/same (made from main)" in lines
    assert "size: '4'" in (top / "apps/ours/a.yaml").read_text()


@pytest.mark.parametrize(
    ("text", "args", "said", "status"),
    [
        ("version: 1\n", (), "Nothing to test: this changes", 0),
        ("nonsense: 1\n", (), "the key 'nonsense' is unknown", 2),
        ("version: 1\n", ("--base", "gone"), 'no branch, tag or commit "gone"', 2),
        (None, (), "no such file. Name a package, a file with rules, or a pull request", 2),
        ("extends: acme/.porchbot@0:x.yaml\n", (), "Fix that first", 2),
    ],
)
def test_what_cannot_be_tried_has_its_reason(
    top: Path, text: str | None, args: tuple[str, ...], said: str, status: int
) -> None:
    """The short-cut says that nothing would change."""
    file = top / "other.yaml"
    if text is not None:
        file.write_text(text)
    result = impact(file, *args)
    assert said in result.stdout + result.stderr
    assert result.exit_code == status


def test_a_folder_without_a_kptfile_is_no_package(top: Path) -> None:
    """The short-cut names a file that nobody asked about."""
    (top / "variants").mkdir()
    result = impact(top / "variants")
    assert "variants is no package: it has no Kptfile. Name a package" in result.stderr
    assert result.exit_code == 2


def test_a_pull_request_has_its_own_base() -> None:
    """The short-cut ignores the option."""
    result = impact("acme/blueprints#12", "--base", "main")
    assert "a pull request has its own base branch: leave --base out" in result.stderr
    assert result.exit_code == 2


def test_a_rule_for_variants_is_compared_with_what_is_there(top: Path) -> None:
    """Short-cuts refused: a file with a rule is tried in the place of `.porchbot.yaml`; packages
    alone are told."""
    config = "version: 1\nvariants: [variants/*.yaml]\nrepositories: {here: {}}\n"
    text = (
        "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: shop}\n"
        "spec:\n  upstream: {repo: here, package: net/core, revision: REVISION}\n"
        "  downstream: {repo: here, package: PACKAGE}\n"
    )
    first = text.replace("REVISION", "1").replace("PACKAGE", "apps/shop")
    write(top, {".porchbot.yaml": config, "variants/shop.yaml": first})
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "rules")
    file = top / "variants/shop.yaml"

    file.write_text(first.replace("revision: 1", "revision: 2"))
    result = impact(file)
    assert result.exit_code == 0
    assert (
        result.stdout.splitlines()[0] == "1 variant would be made from another upstream or revision"
    )
    assert "- apps/shop, from here/net/core@v1 to here/net/core@v2 (variants/shop.yaml:" in (
        result.stdout
    )

    file.write_text(first.replace("apps/shop", "net/edge"))
    found = json.loads(impact(file, "--json").stdout)["variants"]
    assert found["counts"] == {"not adopted": 1, "no longer followed": 1}
    assert {each["package"] for each in found["changes"]} == {"net/edge", "apps/shop"}
    file.write_text(first)
    assert "Nothing to test" in impact(file).stdout

    file.write_text(first.replace("apps/shop", "net/core"))
    result = impact(file)
    itself = "the downstream is the upstream itself: net/core in here"
    assert f"variants/shop.yaml:6: error: spec.downstream: {itself}" in result.stdout
    assert result.exit_code == 1
    (told,) = json.loads(impact(file, "--json").stdout)["variants"]["findings"]
    assert itself in told["text"]
    assert told["place"].startswith("variants/shop.yaml:6")
