"""`porchbot rpkg graph`, `diff` and `upgrade --discover`, on clones on disk."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.cli.root import main
from bot.cli.rpkg import asking, sources, speaking
from bot.cli.rpkg.sources import SourceRepository

HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: x\n"
BLUEPRINTS, CLUSTERS = "github.com/acme/blueprints", "github.com/acme/clusters"


class Clone:
    """A clone on disk, with a remote that nobody asks."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main", ".")
        self.git("remote", "add", "origin", f"https://{address}.git")

    def git(self, *arguments: str) -> str:
        who = {f"GIT_{w}_{k}": "x@y" for w in ("AUTHOR", "COMMITTER") for k in ("NAME", "EMAIL")}
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **who}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env=env,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def publish(
        self, package: str, number: int, upstream: str = "", size: int = 1, *, lock: str = ""
    ) -> None:
        """A revision, made from another repository's package as "place//path@ref"."""
        place, _, rest = upstream.partition("//")
        directory, _, ref = rest.partition("@")
        git = f"{{repo: 'https://{place}', directory: /{directory}, ref: {ref}}}"
        said = f"upstream:\n  type: git\n  git: {git}\n"
        if lock:
            locked = git.replace("}", f", commit: {lock}}}")
            said += f"upstreamLock:\n  type: git\n  git: {locked}\n"
        folder = self.folder / package
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "Kptfile").write_text(HEAD + (said if upstream else ""))
        (folder / "a.yaml").write_text(
            f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  size: '{size}'\n"
        )
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "-m", "x")
        self.git("tag", "-a", "-m", "x", f"{package}/v{number}")


@pytest.fixture
def two(tmp_path: Path) -> tuple[Clone, Clone]:
    blueprints = Clone(tmp_path / "blueprints", BLUEPRINTS)
    for number in (1, 2, 3):
        blueprints.publish("net/core", number, size=number)
    blueprints.publish("net/mine", 1, f"{BLUEPRINTS}//net/core@net/core/v3")
    clusters = Clone(tmp_path / "clusters", CLUSTERS)
    lock = blueprints.git("rev-parse", "net/core/v1^{commit}")
    clusters.publish("edge", 4, f"{BLUEPRINTS}//net/core@net/core/v1", size=9, lock=lock)
    return blueprints, clusters


def ran(*arguments: str, clones: tuple[Clone, ...]) -> Result:
    given = [word for each in clones for word in ("--repo", str(each.folder))]
    return CliRunner().invoke(main, ["rpkg", *arguments, *given], prog_name="porchbot")


def test_the_graph_of_two_repositories(two: tuple[Clone, Clone]) -> None:
    """Short-cut refused: only what one repository says of itself."""
    done = ran("graph", clones=two)

    assert (done.exit_code, done.output) == (
        0,
        f"net/core\n├── net/mine (from net/core/v3)\n└── {CLUSTERS}//edge (from net/core/v1)\n",
    )


def test_the_graph_around_one_package(two: tuple[Clone, Clone]) -> None:
    two[0].publish("other", 1)

    done = ran("graph", "net/mine", clones=two)

    assert done.output == "net/core\n└── net/mine (from net/core/v3)\n"
    missing = ran("graph", "net/cor", clones=two)
    assert missing.exit_code == 1
    assert f"there is no package net/cor in {BLUEPRINTS}. Check the path" in missing.output


def test_packages_are_got_by_their_paths(two: tuple[Clone, Clone]) -> None:
    """Short-cut refused: paths of the first repository alone, or one that is not there left out."""
    got = json.loads(ran("get", "net/core/", "./edge", "-o", "json", clones=two).output)

    assert [(each["path"], each["revision"]) for each in got] == [("net/core", 3), ("edge", 4)]
    missing = ran("get", "net/core", "net/cor", clones=two)
    assert missing.exit_code == 1
    assert "there is no package net/cor among those that" in missing.output
    assert "net/core " not in missing.output


def test_a_cycle_is_named_and_not_followed(tmp_path: Path) -> None:
    clone = Clone(tmp_path / "x", BLUEPRINTS)
    clone.publish("a", 1, f"{BLUEPRINTS}//b@b/v1")
    clone.publish("b", 1, "GitHub.com/Acme/Blueprints.git//a@a/v1")

    done = ran("graph", clones=(clone,))

    assert done.output == (
        "a\n└── b (from a/v1)\n    └── a (from b/v1) … a cycle\nCycle: a ← b ← a\n"
    )


def test_other_formats(two: tuple[Clone, Clone]) -> None:
    dot = ran("graph", "-o", "dot", clones=two).output
    assert f'  "net/core" -> "{CLUSTERS}//edge" [label="net/core/v1"];\n' in dot
    found = json.loads(ran("graph", "-o", "json", clones=two).output)
    assert [each["package"] for each in found["packages"]] == ["net/core", "net/mine", "edge"]
    assert found["cycles"] == []


def test_packages_that_are_behind(two: tuple[Clone, Clone]) -> None:
    """Short-cut refused: the newest only, or what the ledger is against as well."""
    done = ran("upgrade", "--discover=upstream", clones=(two[1], two[0]))
    assert done.output == (
        "PACKAGE REVISION               UPSTREAM REPOSITORY   UPSTREAM UPDATES      CONFLICTS\n"
        "acme/blueprints//net/mine@v1   acme/blueprints       No update available   -\n"
        "edge@v4                        acme/blueprints       v2, v3                1 conflict\n"
    )

    ledger = two[0].folder / ".porchbot/ledger/net"
    ledger.mkdir(parents=True)
    (ledger / "core.yaml").write_text("revisions: {v3: {state: withdrawn, reason: x}}\n")
    two[0].git("add", ".")
    two[0].git("commit", "--quiet", "-m", "x")
    listed = ran("upgrade", "--discover=upstream", clones=(two[1], two[0])).output
    assert "acme/blueprints       v2                    1 conflict\n" in listed


def test_thousands_of_revisions_are_counted(two: tuple[Clone, Clone]) -> None:
    """The short-cut lists each of them in each line."""
    for number in range(4, 16):
        two[0].git("tag", "-a", "-m", "x", f"net/core/v{number}")
    listed = ran("upgrade", "--discover=upstream", clones=(two[1], two[0])).output
    assert "   v2, v3, v4, ..., v15 (14 revisions)   1 conflict\n" in listed


class Tags(dict[str, str]):
    """Tags that count how often they are gone through."""

    times = 0

    def __iter__(self) -> Iterator[str]:
        self.times += 1
        return super().__iter__()


def test_tags_are_gone_through_once_for_all_packages() -> None:
    """The short-cut reads every tag for every package: 5,000 of 100,000 tags take hours."""
    tags = Tags({f"refs/tags/p{n}/v{m}": "c" for n in range(9) for m in (1, 10, 2)})
    trees: Any = None
    source = SourceRepository("", "", "main", "", tags, trees)
    assert {source.numbers(f"p{n}") for n in range(9)} == {(1, 2, 10)}
    assert source.numbers("p") == ()
    assert tags.times == 1


def test_a_package_that_is_held_shows_so_where_it_is_behind(two: tuple[Clone, Clone]) -> None:
    """The short-cut lists it like one that may be upgraded: the bot refuses that."""
    ledger = two[1].folder / ".porchbot/ledger"
    ledger.mkdir(parents=True)
    (ledger / "edge.yaml").write_text("revisions: {v4: {state: held, reason: x}}\n")
    two[1].git("add", ".")
    two[1].git("commit", "--quiet", "-m", "x")
    for way in ("upstream", "downstream"):
        listed = ran("upgrade", f"--discover={way}", clones=(two[1], two[0])).output
        assert "edge@v4 (held at v4)  " in listed


def test_what_an_upgrade_would_come_to(two: tuple[Clone, Clone]) -> None:
    """Short-cuts refused: what is behind conflicts; what nobody can tell is told as harmless."""
    lock = two[0].git("rev-parse", "net/core/v1^{commit}")
    for name, size, at in (("same", 1, lock), ("there", 3, lock), ("gone", 1, "1" * 40)):
        two[1].publish(name, 1, f"{BLUEPRINTS}//net/core@net/core/v1", size=size, lock=at)

    lines = ran("upgrade", "--discover=downstream", clones=two).output.splitlines()

    assert [line.split("   ")[-1].strip() for line in lines[1:]] == [
        "1 conflict",
        "not known",
        "none",
        "none",
    ]
    alone = ran("upgrade", "--discover=upstream", clones=two[1:]).output
    assert "1 conflict" not in alone


def test_an_upstream_that_was_not_read_is_not_told_as_up_to_date(two: tuple[Clone, Clone]) -> None:
    """The short-cut takes what it does not know for what is not there."""
    unread = (
        f"Not read, so that no updates of it are known: {BLUEPRINTS}. Add it with --repository, or"
        " a clone of it with --repo"
    )
    behind = ran("upgrade", "--discover=upstream", clones=two[1:]).output.splitlines()
    assert behind[1].split() == ["edge@v4", BLUEPRINTS, "not", "read", "-"]
    assert behind[2:] == [f"{unread}."]
    assert ran("upgrade", "--discover=downstream", clones=two[1:]).output == f"{unread}.\n"


def test_packages_made_from_others_that_are_behind(two: tuple[Clone, Clone]) -> None:
    done = ran("upgrade", "--discover=downstream", clones=two)
    assert done.output == (
        "PACKAGE REVISION   DOWNSTREAM PACKAGE       DOWNSTREAM UPDATE   CONFLICTS\n"
        "net/core@v3        acme/clusters//edge@v4   v1->v3              1 conflict\n"
    )

    two[1].publish("edge", 5, f"{BLUEPRINTS}//net/core@net/core/v3")
    done = ran("upgrade", "--discover=downstream", clones=two)
    assert done.output == "All downstream packages are up to date.\n"


def test_two_revisions_of_any_two_packages(two: tuple[Clone, Clone]) -> None:
    """Short-cut refused: two revisions of one package only."""
    one = ran("diff", "net/core@v1", "net/core@v3", clones=two[:1])
    assert (one.exit_code, one.output) == (0, 'a.yaml: ConfigMap a: data.size: "1" -> "3"\n')

    both = ran("diff", "net/core@latest", "acme/clusters//edge@v4", clones=two)

    assert both.exit_code == 0
    assert 'a.yaml: ConfigMap a: data.size: "3" -> "9"\n' in both.output
    assert "Kptfile: Kptfile x: upstream: added " in both.output
    assert ran("diff", "net/core@v1", clones=two[:1]).output == one.output
    assert ran("diff", "net/core", clones=two[:1]).output == ""
    missing = ran("diff", "net/core@v1", "net/core@v9", clones=two)
    assert "acme/blueprints has no tag net/core/v9. Name a revision such as v3" in missing.output


def test_no_folder_is_read_where_another_repository_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The short-cut reads the current folder for each package without a repository in front."""
    read = list[tuple[list[Path], list[str]]]()
    monkeypatch.setattr(sources, "read", lambda local, there, _: read.append((local, there)))
    for given in (["--repository", "acme/x"], ["--repository", "acme/x", "--repo", "a"], []):
        CliRunner().invoke(main, ["rpkg", "diff", "net/core@v1", *given], prog_name="porchbot")

    assert read == [([], ["acme/x"]), ([Path("a")], ["acme/x"]), ([Path()], [])]


@pytest.mark.parametrize(
    ("command", "option"),
    [
        *(("upgrade net/core", o) for o in ("--dry-run", "--yes", "--go-on", "--wait=1")),
        ("upgrade --discover=upstream", "--dry-run"),
        ("rollback net/core@v1", "--dry-run"),
        ("rollback net/core@v1", "--to=v2"),
    ],
)
def test_what_says_how_to_do_many_is_not_ignored_for_one(
    command: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut ignores it: with --dry-run the draft is opened all the same."""
    asked = list[object]()
    monkeypatch.setattr(asking, "ask", lambda *given: asked.append(given))
    given = ["rpkg", *command.split(), "--repository", "acme/x", option]

    done = CliRunner().invoke(main, given, prog_name="porchbot")

    name = option.partition("=")[0]
    assert f"{name} goes with --selector alone, such as path=net/core. Nothing" in done.output
    assert (done.exit_code, asked) == (1, [])


def test_one_field_is_set_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut joins the words of the shell: the first field becomes "1 data.b=2"."""
    monkeypatch.setattr(speaking, "place_of", lambda _: pytest.fail("it asked the bot"))
    given = ["rpkg", "set", "--repository", "acme/x", "--package", "a"]
    for words in (["data.a=1", "data.b=2"], ["ConfigMap/a", "data.a=1", "data.b=2"]):
        done = CliRunner().invoke(main, [*given, *words], prog_name="porchbot")
        assert (done.exit_code, "set takes one field" in done.output) == (1, True)

    assert asking.written("set", ("--package=a", "ConfigMap/a", "data.a=b c")).endswith("=b c")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("clone https://ann:secret@git.example/up//net@v1 net/core", "contains a user or a passw"),
        ("rebase net/core onto https://ann:secret@git.example/up//net@v1", "contains a user or a"),
        ("clone https://git.example/up//net/../../etc@v1 net/core", "leads out of the repository"),
        ("clone ftp://git.example/up//net@v1 net/core", "begin with ftp:// are not used"),
    ],
)
def test_an_address_that_is_refused_is_not_written_into_a_comment(
    words: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut leaves it to the bot: by then everybody can read the password."""
    monkeypatch.setattr(speaking, "place_of", lambda _: pytest.fail("it asked the bot"))
    given = ["rpkg", *words.split(), "--repository", "acme/x"]
    done = CliRunner().invoke(main, given, prog_name="porchbot")
    assert (done.exit_code, said in done.output) == (1, True)
    assert "secret" not in done.output


def test_strategies_are_named_before_anything_is_asked() -> None:
    """The short-cut asks the bot, which takes any name where the draft is there already."""
    given = ["rpkg", "upgrade", "--repository", "acme/x", "net/core", "--strategy", "nonsense"]
    done = CliRunner().invoke(main, given, prog_name="porchbot")

    assert done.exit_code == 1
    assert "'resource-merge', 'fast-forward', 'force-delete-replace'" in done.output


def test_a_clone_without_packages_is_told_how_to_begin(tmp_path: Path) -> None:
    """Short-cut refused: "No package is chosen." to somebody who chose nothing."""
    empty = Clone(tmp_path / "empty", BLUEPRINTS)
    empty.git("commit", "--quiet", "--allow-empty", "-m", "x")

    told = ran("get", clones=(empty,))

    assert (told.exit_code, told.output) == (
        0,
        "There is no package: no folder has a committed Kptfile. `porchbot pkg init` makes one.\n",
    )


def test_what_cannot_be_read(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = CliRunner().invoke(main, ["rpkg", "graph", "--repo", str(empty)], prog_name="porchbot")
    assert done.exit_code == 1
    assert f"{empty} is in no git repository. Name a clone with a working tree" in done.output
    bad = CliRunner().invoke(
        main, ["rpkg", "diff", "../x@v1", "y@v1", "--repo", str(empty)], prog_name="porchbot"
    )
    assert "the path '../x' leads out of the repository" in bad.output


def test_why_a_folder_is_no_clone_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut says of each that there is no repository, and names it "."."""
    for name, options in {"bare": ["--bare"], "new": []}.items():
        folder = tmp_path / name
        subprocess.run(["git", "init", "--quiet", *options, str(folder)], check=True)
        monkeypatch.chdir(folder)
        done = CliRunner().invoke(main, ["rpkg", "get"], prog_name="porchbot")

        what = "a bare repository" if options else "a repository without a commit"
        assert done.exit_code == 1
        assert f"{folder} is in {what}. Name a clone with a working tree" in done.output


def test_packages_that_a_selector_chooses(two: tuple[Clone, Clone]) -> None:
    """Short-cuts refused: labels of the repository unread; the label that a clone inherited."""
    clusters = two[1]
    (clusters.folder / ".porchbot.yaml").write_text(
        "version: 1\ndeployment: true\nmetadata: {team: net, region: eu}\n"
    )
    kptfile = clusters.folder / "edge/Kptfile"
    said = "  labels: {team: edge, porchbot.dev/purpose: base}\n"
    kptfile.write_text(kptfile.read_text().replace("  name: x\n", f"  name: x\n{said}"))
    (clusters.folder / "edge/package-context.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kptfile.kpt.dev}\ndata: {site: one}\n"
    )
    clusters.git("add", ".")
    clusters.git("commit", "--quiet", "-m", "x")
    chosen = "upstream=net/core@v1,team=edge,region=eu,purpose=deployment,context:site=one"

    done = ran("get", "--selector", chosen, clones=(two[1], two[0]))

    assert done.output == (
        "PACKAGE   REVISION   PURPOSE      UPSTREAM                                 LABELS\n"
        "edge      v4         deployment   github.com/acme/blueprints/net/core@v1"
        "   porchbot.dev/purpose=base,region=eu,team=edge\n"
    )
    none = ran("list", "-l", "team=edge,held", clones=(two[1], two[0]))
    assert none.output == "No package matches the selector. `porchbot rpkg get` lists all.\n"
    found = json.loads(ran("get", "-l", "path=net/*", "-o", "json", clones=two).output)
    assert [(each["path"], each["purpose"]) for each in found] == [
        ("net/core", "blueprint"),
        ("net/mine", "blueprint"),
    ]
    wrong = ran("get", "-l", "team=", "-l", "a b", clones=two)
    assert (wrong.exit_code, wrong.output) == (
        1,
        "error: Invalid value for '-l' / '--selector': 'a b' in the selector cannot be read. Write"
        " requirements such as team=net, tier in (gold, silver), !held or upstream=net/base@v3,"
        " with commas between them\n",
    )
