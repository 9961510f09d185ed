"""Input as the world has it, through the whole bot: broken, hostile, huge, and real."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cadlib.limits import DEFAULT
from tests.contract.watch import watched
from tests.stories.people import Link, wait_for
from tests.stories.real import RealWorld, world
from tests.stories.seen import Check
from tests.stories.world import CONFIGMAP, KPTFILE, World, package

BRANCH = "drafts/net/core/first"
ME = "porchbot[bot]"
GOOD = KPTFILE.replace("NAME", "core")
BUNDLE = Path(__file__).resolve().parents[2] / "../shared/packages/nephio-catalog.bundle"

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefg", "bcdefgh", strict=True)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bad:
    """Something bad in a package.

    Attributes:
        files: Path in the package to text or bytes.
        where: File and line that the finding names.
        what: What it says is wrong.
        mend: What it says to do.
    """

    files: dict[str, str | bytes]
    where: tuple[str, int]
    what: str
    mend: str


PIPELINE = "pipeline:\n  mutators:\n    - image: set-labels:v0.2\n"
BAD = {
    "a Kptfile that is not YAML": Bad(
        files={"Kptfile": GOOD + "pipeline: [\n"},
        where=("net/core/Kptfile", 7),
        what="not YAML",
        mend=". Correct the syntax there.",
    ),
    "unknown fields": Bad(
        files={"Kptfile": GOOD + "pipelines: {}\n"},
        where=("net/core/Kptfile", 7),
        what="field pipelines not found in type v1.KptFile",
        mend=". Write 'pipeline'.",
    ),
    "configPath leads out": Bad(
        files={"Kptfile": f"{GOOD}{PIPELINE}      configPath: ../edge/settings.yaml\n"},
        where=("net/core/Kptfile", 10),
        what="path must not be outside the package",
        mend=". Give the path of a file in this package, relative to the Kptfile.",
    ),
    "a file that is not YAML": Bad(
        files={"broken.yaml": "kind: ConfigMap\ndata: {size: [1\n"},
        where=("net/core/broken.yaml", 2),
        what="the file is not YAML",
        mend=". Correct the syntax there.",
    ),
    "an alias bomb": Bad(
        files={"bomb.yaml": BOMB},
        where=("net/core/bomb.yaml", 5),
        what="the aliases of this file expand to more than 10000 nodes",
        mend=". Write the values out, or use fewer aliases.",
    ),
    "not UTF-8": Bad(
        files={"latin.yaml": "kind: caf\xe9\n".encode("latin-1")},
        where=("net/core/latin.yaml", 1),
        what="byte 9 (0xe9) is not UTF-8",
        mend=". Save the file as UTF-8.",
    ),
    "too deep": Bad(
        files={"deep.yaml": "a: " + "[" * 5000 + "]" * 5000 + "\n"},
        where=("net/core/deep.yaml", 1),
        what="mappings and lists are nested more than 64 deep",
        mend=". Make the document flatter.",
    ),
    "twice the same key": Bad(
        files={"twice.yaml": "apiVersion: v1\nkind: ConfigMap\nkind: Secret\n"},
        where=("net/core/twice.yaml", 3),
        what="the key 'kind' occurs twice in this mapping, first on line 2",
        mend=". Remove one of the two.",
    ),
}


def checks_say(world: World, number: int, bad: Bad) -> Check:
    """The validation fails at the place, on the check and in the summary."""
    run = world.author.waits_for_check(number, "porchbot/validate", "failure")
    notes = {(n.path, n.line): n.text for n in world.author.remarks(number, run.name)}
    if world.author.every_line_takes_remarks:
        assert bad.where in notes
    message = notes.get(bad.where) or world.author.waits_for_summary(number, bad.what)
    assert bad.what in message
    assert bad.mend in message
    summary = world.author.waits_for_summary(number, bad.where[0])
    assert bad.where[0] in summary
    assert world.author.tags() == {}
    return run


def nothing_broke(world: World) -> None:
    """All is at rest and no look failed."""
    world.rests()
    assert world.failing() == []


def recovers(world: World, number: int, gone: list[str]) -> None:
    """The next good push is judged as if nothing had been."""
    files: dict[str, str | bytes | None] = {f"net/core/{path}": None for path in gone}
    world.author.pushes(BRANCH, {**files, **package("net/core")})
    world.author.waits_for_check(number, "porchbot/validate", "success")
    world.author.says(number, "/propose")
    wait_for("the proposal", lambda: not world.author.pull(number).draft or None)
    world.rests()
    world.approver.says(number, "/approve")
    assert world.author.waits_for_tag("net/core/v1")


@pytest.mark.long
def test_bad_files_are_refused_at_their_place(play: World) -> None:
    """Fails when what cannot be read breaks the look, or passes because it was left out.

    The next good push is judged as if nothing had been.
    """
    play.author.pushes(BRANCH, package("net/core"))
    number = play.author.pull_of(BRANCH).number
    for bad in BAD.values():
        files: dict[str, str | bytes | None] = {f"net/core/{p}": t for p, t in bad.files.items()}
        play.author.pushes(BRANCH, files)

        checks_say(play, number, bad)

        nothing_broke(play)
        play.author.pushes(BRANCH, {**dict.fromkeys(files), **package("net/core")})
        play.author.waits_for_check(number, "porchbot/validate", "success")
    recovers(play, number, [])


def test_a_symlink_out_of_the_package_is_refused(play: World) -> None:
    """Fails when links are followed: `../../.git/config` would end in a rendering."""
    link = {"net/core/all.yaml": Link("../../.porchbot.yaml")}
    play.author.pushes(BRANCH, {**package("net/core"), **link})
    number = play.author.pull_of(BRANCH).number

    checks_say(
        play,
        number,
        Bad(
            files={},
            where=("net/core/all.yaml", 1),
            what="the symlink points outside the package, at '../../.porchbot.yaml'",
            mend="Replace the symlink with the file it should point to",
        ),
    )

    nothing_broke(play)
    recovers(play, number, ["all.yaml"])


@pytest.mark.real_parts
def test_a_package_of_too_many_files_is_refused_unread(stage: RealWorld) -> None:
    """Fails when limits are asked after reading: then it says how many files there are.

    That 20,000 are the limit is shown where packages are read.
    """
    play, most = stage, 200
    play.limits = replace(DEFAULT, files=most)
    play.start_bot()
    files = {f"net/core/{number}.yaml": CONFIGMAP for number in range(most)}
    play.author.pushes(BRANCH, {**files, "net/core/Kptfile": GOOD})
    number = play.author.pull_of(BRANCH).number

    checks_say(
        play,
        number,
        Bad(
            files={},
            where=("net/core/Kptfile", 1),
            what=f"more than {most} files",
            mend="Split it into smaller packages",
        ),
    )

    nothing_broke(play)
    recovers(play, number, [path.removeprefix("net/core/") for path in files])


def test_binary_files_and_templates_pass_byte_for_byte(play: World) -> None:
    """Fails when every file is text, or a template is "mended" into YAML."""
    binary = bytes(range(256)) * 40 + b"\r\n"
    template = b'kind: {{ .Values.kind }}\r\nmetadata:\n  {{ include "labels" . }}\n'
    mixed = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n"
    bare = CONFIGMAP.replace("NAME", "core").replace("  labels:\n    owner: network\n", "")
    kept = {"logo.png": binary, "templates/a.yaml": template, "templates/b.yaml": mixed}
    files = {f"net/core/{path}": data for path, data in kept.items()}

    number = play.proposes(
        BRANCH,
        {**package("net/core"), "net/core/settings.yaml": bare, **files},  # type: ignore[dict-item]  # bytes are pushed as they are
    )
    run = play.author.waits_for_check(number, "porchbot/validate", "success")
    notes = {n.path: (n.level, n.text) for n in play.author.remarks(number, run.name)}
    for path in ("net/core/templates/a.yaml", "net/core/templates/b.yaml"):
        if not play.checks_hold_text:  # a thread has to be resolved: a warning gets none
            assert path in play.author.summary(number)
            continue
        assert notes[path][0] == "warning"
        assert "template" in notes[path][1]
    play.approver.says(number, "/approve")

    target = play.author.waits_for_tag("net/core/v1")
    assert len(play.author.commits_of(number)) == 2  # it was rendered
    for path, data in files.items():
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        assert play.author.blob(path, target) == blob, path
    nothing_broke(play)


# --- real packages --------------------------------------------------------------------------------


@pytest.fixture
def catalog(tmp_path: Path, database_url: str, runner: str) -> Iterator[World]:
    """A world whose repository is Nephio's catalog: 85 packages, 131 tags, most not ours."""
    if not BUNDLE.exists():
        pytest.skip(f"{BUNDLE} is missing: it stands beside the checkout")
    with world(tmp_path, database_url, runner, source=BUNDLE) as made, watched(made.forge):
        yield made


@pytest.mark.real_parts
def test_a_repository_with_a_past_is_left_as_it_is_and_counted_on(catalog: RealWorld) -> None:
    """Fails when adoption tags, comments or opens anything, or numbers start again at 1."""
    before = dict(catalog.repository.refs)
    catalog.start_bot()
    catalog.rests()
    catalog.sweep()
    catalog.rests()

    calls = catalog.forge.faults.calls(ME)
    assert calls
    written = [
        c for c in calls if c.template.endswith("git-receive-pack")
        or (c.kind == "api" and c.method != "GET")
    ]  # fmt: skip
    assert written == []
    assert dict(catalog.repository.refs) == before

    path = "workloads/oai/oai-ran-operator"
    note = CONFIGMAP.replace("NAME", "note")
    number = catalog.proposes(f"drafts/{path}/next", {f"{path}/note.yaml": note})
    assert f"- `{path}`: v2" in catalog.author.summary(number)
    catalog.approver.says(number, "/approve")

    target = catalog.author.waits_for_tag(f"{path}/v2")
    catalog.rests()
    assert target == catalog.author.pull(number).merge_commit
    after = dict(catalog.repository.refs)
    new = {ref for ref in after if ref not in before and ref.startswith("refs/tags/")}
    assert new == {f"refs/tags/{path}/v2"}
    assert all(after[ref] == sha for ref, sha in before.items() if ref.startswith("refs/tags/"))
