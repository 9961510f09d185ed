"""Verdicts are kept by what they follow from: the tree, the rules, and what the functions were."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.git.history import DiskHistory
from bot.git.mirror import DiskMirror
from bot.render import renderer
from bot.render.kept import CachingReader
from bot.render.renderer import MOVED_AFTER
from cadlib.errors import PackageError
from cadlib.limits import PackageLimits
from cadlib.yaml import Stream
from fnrunner.contract.run import FunctionOutcome
from lifecycle.facts.verdicts import FunctionVersion
from lifecycle.policy import GuardrailFunction, Policy
from tests.memory.clock import ManualClock
from tests.memory.pipeline import PipelineRenderer

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: core}\n"
IMAGE = "registry.example/judge:v1"
POLICY = Policy(validators=(GuardrailFunction(image=IMAGE),))


@dataclass
class Functions:
    """Answers with what it was given, as the digest it is told to be."""

    digest: str = "sha256:one"
    asked: list[str] = field(default_factory=list)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.asked.append(image)
        return FunctionOutcome(resources, digest=self.digest)


@dataclass
class Bench:
    git: DiskHistory
    tree: str
    functions: Functions
    renderer: PipelineRenderer
    clock: ManualClock

    async def versions(self) -> dict[str, FunctionVersion]:
        verdict = await self.renderer.verdict(self.git, "", self.tree, "", POLICY)
        assert not verdict.broken
        return dict(verdict.versions)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    def git(*arguments: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@users.example"]
        run = subprocess.run(
            ["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return run.stdout.strip()

    git("init", "--quiet")
    (tmp_path / "Kptfile").write_text(KPTFILE)
    git("add", "--all")
    git("commit", "--quiet", "--message", "one")
    functions, clock = Functions(), ManualClock()
    renderer = PipelineRenderer(functions, clock=clock)
    with DiskMirror(tmp_path / ".git", "").open() as opened:
        yield Bench(opened, git("rev-parse", "HEAD^{tree}"), functions, renderer, clock)


async def test_what_ran_is_told_by_digest(bench: Bench) -> None:
    """Fails when a verdict names images only: tomorrow their tags mean something else."""
    assert await bench.versions() == {IMAGE: FunctionVersion("guardrail", "sha256:one")}


async def test_what_is_tried_pushes_out_nothing_that_a_look_asked_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: one change of a guardrail has each open proposal rendered again; what
    was tried is forgotten at once, or never."""
    for name in ("MOST_KEPT", "MOST_TRIED"):
        monkeypatch.setattr(renderer, name, 3)
    bench.renderer = PipelineRenderer(bench.functions, clock=bench.clock)
    asked = bench.functions.asked

    async def renders(package: str, *, tried: bool) -> bool:
        before = len(asked)
        await bench.renderer.verdict(bench.git, package, bench.tree, "", POLICY, tried=tried)
        return len(asked) > before

    assert await renders("mine", tried=False)
    assert [await renders(f"other-{n}", tried=True) for n in range(5)] == [True] * 5
    assert not await renders("mine", tried=True)
    assert not await renders("mine", tried=False)
    assert not await renders("other-4", tried=True)
    assert await renders("other-0", tried=True)
    assert not await renders("other-4", tried=False)  # a look comes to it, and it stays
    assert [await renders(f"new-{n}", tried=True) for n in range(5)] == [True] * 5
    assert not await renders("other-4", tried=False)
    bench.renderer.forget([bench.tree])
    assert await renders("new-4", tried=True)


async def test_a_tag_that_moved_is_noticed(bench: Bench) -> None:
    """Fails when a verdict counts for as long as the process lives."""
    await bench.versions()
    bench.functions.digest = "sha256:two"
    bench.clock.seconds = MOVED_AFTER - 1
    assert (await bench.versions())[IMAGE].digest == "sha256:one"

    bench.clock.seconds = MOVED_AFTER

    assert (await bench.versions())[IMAGE].digest == "sha256:two"
    assert len(bench.functions.asked) == 2


async def test_a_builtin_function_stays_what_it_is(bench: Bench) -> None:
    bench.functions.digest = "builtin:judge/1@0.1.0+abc"
    await bench.versions()
    bench.clock.seconds = 1e9
    await bench.versions()

    assert len(bench.functions.asked) == 1


async def test_files_of_a_tree_that_was_seen_are_not_read_again(bench: Bench) -> None:
    """Fails when each rendering, or each list of what changed, reads the whole package: 2 s, and
    0.6 s, for 2,500 files of which one changed."""
    read: list[Stream | PackageError] = []

    class Watched(CachingReader):
        def read(
            self, files: Mapping[str, bytes], limits: PackageLimits
        ) -> Sequence[Stream | PackageError]:
            found = super().read(files, limits)
            read.extend(found)
            return found

    renderer = PipelineRenderer(bench.functions, bulk=Watched())
    await renderer.verdict(bench.git, "", bench.tree, "", POLICY)
    renderer.forget([bench.tree])
    await renderer.verdict(bench.git, "", bench.tree, "", POLICY)

    assert len(read) == 4  # to render it, and to tell what is new, twice
    assert all(each is read[0] for each in read)


async def test_what_is_forgotten_is_run_again(bench: Bench) -> None:
    """Fails when Re-run shows the same verdict once more, without running anything."""
    await bench.versions()
    bench.renderer.forget([bench.tree])
    await bench.versions()

    assert len(bench.functions.asked) == 2


def test_an_upgrade_of_the_bot_is_no_other_behaviour() -> None:
    """Fails when an approval binds to the version of the program: each release would drop all."""
    old = FunctionVersion("pipeline", "builtin:set-labels/1@0.1.0+abc")
    new = FunctionVersion("pipeline", "builtin:set-labels/1@0.2.0+def")
    other = FunctionVersion("pipeline", "builtin:set-labels/2@0.2.0+def")

    assert old.behaviour == new.behaviour != other.behaviour
    assert FunctionVersion("pipeline", "sha256:one").behaviour == "sha256:one"


async def test_no_function_says_a_secret(tmp_path: Path) -> None:
    """Fails when only differences hide values: functions say them in their own words."""
    word = "hunter2-and-more"

    class Talker:
        async def run(
            self, image: str, resources: bytes, *, seconds: float | None = None
        ) -> FunctionOutcome:
            said = f"results:\n- {{message: 'bad password {word}', severity: error}}\n"
            return FunctionOutcome(resources + said.encode(), digest="sha256:one")

    (tmp_path / "Kptfile").write_text(KPTFILE)
    (tmp_path / "secret.yaml").write_text(
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\nstringData: {{p: {word}}}\n"
    )
    who = ["-c", "user.name=a", "-c", "user.email=a@users.example"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True)
    tree = subprocess.run(
        ["git", "rev-parse", "HEAD^{tree}"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    with DiskMirror(tmp_path / ".git", "").open() as opened:
        verdict = await PipelineRenderer(Talker()).verdict(opened, "", tree, "", POLICY)

    assert [f.message for f in verdict.findings] == ["bad password [secret value]"]
