"""What the bot may rely on in a renderer, asked of each that there is."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
import pytest_asyncio

from bot.render.port import Renderer
from bot.render.renderer import CachingRenderer
from bot.render.workers.maker import WorkerMaker
from bot.render.workers.pool import Workers
from cadlib.diff.values import Change, ChangeKind
from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, Severity
from cadlib.limits import PackageLimits
from cadlib.package.files import Entry, Files
from fnrunner.builtin import lookup
from fnrunner.builtin.memory import ItemCache
from fnrunner.builtin.work import evaluate
from fnrunner.contract.errors import RunnerBusyError
from fnrunner.contract.run import FunctionOutcome
from lifecycle.facts.verdicts import FunctionVersion, Verdict
from lifecycle.policy import GuardrailFunction, Mode, Policy
from tests.memory.pipeline import PipelineRenderer
from tests.memory.renderer import Answer, Function, MemoryRenderer

pytestmark = pytest.mark.asyncio(loop_scope="module")
"""The worker processes serve all of them."""

KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: core
  labels:
    owner: network
"""
APP = """\
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata:
  name: app
  labels:
    owner: people
spec:
  scaleTargetRef: {{kind: Deployment, name: app}}
  maxReplicas: {}
"""
CATALOG = "ghcr.io/kptdev/krm-functions-catalog"
LABELS = GuardrailFunction(image="set-labels:v0.2", config_map={"owner": "network"})
SCHEMA = GuardrailFunction(image="kubeconform:v0.1", config_map={"strict": "false"})
FAILING = GuardrailFunction(image="set-namespace:v0.4")  # it asks for a namespace
DIGEST = "builtin:it/1@0.1.0"
LABELLED = Policy(mutators=(LABELS,))
CHECKED = Policy(validators=(SCHEMA,))


@dataclass
class Packages:
    """Trees by id: that of their content."""

    known: dict[str, Files] = field(default_factory=dict)
    name: str = "acme"

    def add(self, replicas: str = "3", more: Mapping[str, str] | None = None) -> str:
        texts = {"Kptfile": KPTFILE, "app.yaml": APP.format(replicas), **(more or {})}
        return self.put({path: Entry(text.encode()) for path, text in texts.items()})

    def put(self, files: Files) -> str:
        tree = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()
        self.known[tree] = files
        return tree

    def files(self, tree: str, limits: PackageLimits) -> Files:
        if tree not in self.known:
            raise PackageError(Place("big.yaml"), "the file has 9 bytes", "Split it")
        return self.known[tree]


@dataclass
class Functions:
    """Runs builtin functions in this process, and remembers which.

    Attributes:
        ran: Images, in order.
        broken: Why none can be run; "" when they can.
    """

    ran: list[str] = field(default_factory=list)
    broken: str = ""

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.ran.append(image)
        await asyncio.sleep(0)
        if self.broken:
            raise RunnerBusyError(image, self.broken, 1.0)
        outcome = evaluate(image, lookup.find(image), resources, ItemCache())
        return replace(outcome, digest=DIGEST)

    def remembered(self, function: Callable[[Files], Answer]) -> Function:
        """The same for a renderer in memory."""

        def call(guardrail: GuardrailFunction, files: Files) -> Answer:
            self.ran.append(guardrail.image)
            return replace(function(files), digest=DIGEST)

        return call


def _label(files: Files) -> Answer:
    data = files["app.yaml"].data
    return Answer({"app.yaml": data.replace(b"owner: people", b"owner: network")})


def _validate(files: Files) -> Answer:
    if b"maxReplicas: many" not in files["app.yaml"].data:
        return Answer()
    place = Place("app.yaml", 9, "spec.maxReplicas")
    return Answer(findings=(Finding(message="a word", severity=Severity.ERROR, place=place),))


@dataclass
class Subject:
    """A renderer, the packages it renders, and the functions that it calls."""

    renderer: Renderer
    packages: Packages
    functions: Functions
    breaks: Callable[[str], None]

    async def verdict(self, tree: str, policy: Policy, origin: str = "") -> Verdict:
        return await self.renderer.verdict(self.packages, "net/core", tree, origin, policy)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workers() -> AsyncIterator[Workers]:
    made = Workers(2)
    yield made
    await made.close()


@pytest.fixture(params=["pipeline", "workers", "memory"])
def subject(request: pytest.FixtureRequest, workers: Workers) -> Subject:
    functions = Functions()
    if request.param != "memory":
        apart = CachingRenderer(WorkerMaker(functions, workers))
        real = PipelineRenderer(functions) if request.param == "pipeline" else apart
        return Subject(real, Packages(), functions, partial(setattr, functions, "broken"))
    asked = (LABELS, _label), (SCHEMA, _validate), (FAILING, lambda _: Answer(error="no"))
    memory = MemoryRenderer({g.image: functions.remembered(f) for g, f in asked})
    return Subject(memory, Packages(), functions, partial(setattr, memory, "broken"))


async def test_a_package_that_is_its_own_rendering_has_nothing_to_say(subject: Subject) -> None:
    tree = subject.packages.add()

    assert await subject.verdict(tree, Policy(), tree) == Verdict(package="net/core")


async def test_what_rendering_changes_is_told_by_path_and_made_it_settles(subject: Subject) -> None:
    tree = subject.packages.add()

    first = await subject.verdict(tree, LABELLED, tree)

    assert list(first.changes) == ["net/core/app.yaml"]
    assert [c.field for c in first.rendering] == ["metadata.labels.owner"]
    assert (first.complete, first.functions, first.diff) == (True, 1, ())
    files = dict(subject.packages.known[tree])
    for path, data in first.changes.items():
        assert data is not None
        files[path.removeprefix("net/core/")] = Entry(data)

    settled = await subject.verdict(subject.packages.put(files), LABELLED, tree)

    assert (settled.changes, settled.rendering, settled.complete) == ({}, (), True)


async def test_what_ran_is_told_by_image_and_digest(subject: Subject) -> None:
    verdict = await subject.verdict(subject.packages.add(), LABELLED)

    version = FunctionVersion("guardrail", DIGEST)
    assert verdict.versions == {f"{CATALOG}/{LABELS.image}": version}


@pytest.mark.parametrize(
    ("mode", "severity"), [(Mode.BLOCK, Severity.ERROR), (Mode.WARN, Severity.WARNING)]
)
async def test_a_finding_stands_at_its_file_and_blocks_unless_the_rules_only_warn(
    subject: Subject, mode: Mode, severity: Severity
) -> None:
    tree = subject.packages.add("many")
    policy = Policy(validators=(replace(SCHEMA, mode=mode, fix="ask"),))

    verdict = await subject.verdict(tree, policy)

    found = {(f.severity, f.place.path, f.fix) for f in verdict.findings}
    assert found == {(severity, "net/core/app.yaml", "ask")}
    assert verdict.complete
    assert bool(verdict.blocking) == (mode is Mode.BLOCK)


async def test_a_mutator_that_fails_leaves_the_rendering_incomplete(subject: Subject) -> None:
    """Fails when no changes then read as: this is its own rendering."""
    tree = subject.packages.add()

    verdict = await subject.verdict(tree, Policy(mutators=(LABELS, FAILING)))

    assert (verdict.complete, verdict.changes, verdict.broken) == (False, {}, "")
    assert verdict.blocking


async def test_a_package_that_cannot_be_read_says_where(subject: Subject) -> None:
    verdict = await subject.verdict("too large", LABELLED)

    (found,) = verdict.blocking
    assert (found.place.path, found.message) == ("net/core/big.yaml", "the file has 9 bytes")
    assert (verdict.complete, verdict.broken) == (False, "")


async def test_a_package_that_was_too_large_before_is_judged_as_it_is(subject: Subject) -> None:
    """The short-cut reads both trees in one step: nobody could make such a package smaller."""
    tree = subject.packages.add()

    verdict = await subject.verdict(tree, LABELLED, origin="too large")

    assert (verdict.complete, verdict.blocking, verdict.diff) == (True, (), ())
    assert verdict.changes.keys() == {"net/core/app.yaml"}
    assert verdict.functions == 1
    (found,) = (each for each in verdict.findings if each.severity is Severity.WARNING)
    assert str(found.place) == "net/core/Kptfile"
    assert found.message == (
        "the list of changes is missing: the package at the merge base is too large"
        " (big.yaml: the file has 9 bytes)"
    )


async def test_functions_that_cannot_be_run_break_no_package_and_are_asked_again(
    subject: Subject,
) -> None:
    """Fails when trouble of ours is kept, or told as a fault of the package."""
    tree = subject.packages.add()
    subject.breaks("out of order")

    broken = await subject.verdict(tree, LABELLED)

    assert "out of order" in broken.broken
    assert (broken.findings, broken.changes) == ((), {})
    assert not (await subject.verdict(tree, Policy())).broken  # there is nothing to run

    subject.breaks("")

    assert (await subject.verdict(tree, LABELLED)).changes


async def test_an_answer_is_kept_until_it_is_forgotten(subject: Subject) -> None:
    """Fails when a re-run shows what is kept, or when each look asks the functions again."""
    tree, other = subject.packages.add(), subject.packages.add("4")
    first = await subject.verdict(tree, LABELLED)
    subject.renderer.forget([other])

    assert await subject.verdict(tree, LABELLED) == first
    assert len(subject.functions.ran) == 1

    subject.renderer.forget([tree])
    together = await asyncio.gather(*(subject.verdict(tree, LABELLED) for _ in range(3)))

    assert together == [first] * 3
    assert len(subject.functions.ran) == 2


async def test_other_rules_are_another_question(subject: Subject) -> None:
    tree = subject.packages.add()
    await subject.verdict(tree, LABELLED)
    told = await subject.verdict(tree, Policy(mutators=(FAILING,)))
    advised = await subject.verdict(tree, Policy(mutators=(replace(FAILING, fix="ask them"),)))

    assert [f.fix for f in told.blocking] != [f.fix for f in advised.blocking] == ["ask them"]
    assert len(subject.functions.ran) == 3


async def test_differences_are_told_by_resource_and_field(subject: Subject) -> None:
    one, two = subject.packages.add(), subject.packages.add("4")
    of = subject.renderer.changes

    (change,) = await of(subject.packages, one, two)

    assert (change.field, change.old, change.new) == ("spec.maxReplicas", "3", "4")
    assert (await subject.verdict(two, Policy(), one)).diff == (change,)
    assert await of(subject.packages, one, one) == ()
    assert await of(subject.packages, one, "too large") == ()
    assert {c.kind for c in await of(subject.packages, "", one)} == {ChangeKind.ADDED}
    assert all(isinstance(c, Change) for c in await of(subject.packages, "", one))


async def test_a_package_is_merged_by_field_or_its_conflicts_are_told(subject: Subject) -> None:
    """The short-cut merges in the bot's own process; or loses a file on the way from a worker."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: '1' # x\n  y: '1'\n"
    sides = (text, text.replace("x: '1'", "x: '2'"), text.replace("y: '1'", "y: '3'"))
    one, ours, theirs = (subject.packages.put({"a.yaml": Entry(side.encode())}) for side in sides)
    other = subject.packages.put({"a.yaml": Entry(text.replace("x: '1'", "x: '9'").encode())})
    merged, ask = subject.renderer.merged, (subject.packages, "net/core", one, ours)

    found = await merged(*ask, theirs)
    assert found.conflicts == ()
    wanted = sides[1].replace("y: '1'", "y: '3'").encode()
    assert found.files["net/core/a.yaml"] == Entry(wanted)
    [told] = (await merged(*ask, other)).conflicts
    assert (told.path, told.field) == ("net/core/a.yaml", "data.x")
    assert (told.base, told.ours, told.theirs) == ("1", "2", "9")
    [gone] = (await merged(*ask, "")).conflicts
    assert (gone.path, gone.theirs) == ("net/core/Kptfile", "absent")
