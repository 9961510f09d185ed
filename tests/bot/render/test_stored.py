"""Verdicts in the database: any replica may use them, and nobody finds a Secret in them."""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import psycopg
import pytest

from bot.render.renderer import CachingRenderer
from bot.render.stored import StoredVerdicts
from bot.store.port import Renderings
from bot.store.postgres import PostgresStore
from cadlib.limits import PackageLimits
from cadlib.package.files import Entry, Files
from fnrunner.contract.errors import RunnerBusyError
from fnrunner.contract.run import FunctionOutcome
from lifecycle.facts.verdicts import Verdict
from lifecycle.policy import GuardrailFunction, Policy
from tests.memory.pipeline import PipelineMaker
from tests.memory.renderings import MemoryRenderings
from tests.memory.store import MemoryStore

KPTFILE = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: core}\n"
WORD = "hunter2-and-more"
SECRET = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\nstringData: {{password: {WORD}}}\n"
MAP = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: b}}\ndata: {{password: {WORD}}}\n"
OTHER = MAP.replace(WORD, "another")
PLAIN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '1'}\n"
JUDGE = GuardrailFunction(image="registry.example/judge:v1")
CHECKED = Policy(validators=(JUDGE,))
CHANGING = Policy(mutators=(JUDGE,))


@dataclass
class Trees:
    """Packages by tree."""

    known: dict[str, dict[str, str]]
    name: str = "acme"

    def files(self, tree: str, limits: PackageLimits) -> Files:
        found = {path: Entry(text.encode()) for path, text in self.known[tree].items()}
        return {"Kptfile": Entry(KPTFILE), **found}


@dataclass
class Functions:
    """One function, which may be another later.

    Attributes:
        makes: What becomes of the list it is sent.
        digest: What it is.
        means: What its name means now, as the runner says; an exception when that is busy.
        ran: How often.
    """

    makes: Callable[[bytes], bytes] = lambda resources: resources
    digest: str = "sha256:one"
    means: str | Exception = "sha256:one"
    ran: int = 0

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.ran += 1
        return FunctionOutcome(self.makes(resources), digest=self.digest)

    async def identity(self, image: str) -> str:
        if isinstance(self.means, Exception):
            raise self.means
        return self.means


@dataclass
class Replicas:
    """Bots on one database; each renders in a process of its own."""

    renderings: Renderings
    functions: Functions = field(default_factory=Functions)
    trees: Trees = field(default_factory=lambda: Trees({"one": {"a.yaml": PLAIN}}))

    async def verdict(
        self, policy: Policy = CHECKED, tree: str = "one", origin: str = "", package: str = "net"
    ) -> Verdict:
        """What a replica says that was started just now."""
        verdict = await (renderer := self.replica()).verdict(
            self.trees, package, tree, origin, policy
        )
        await renderer.close()
        return verdict

    def replica(self) -> CachingRenderer:
        stored = StoredVerdicts(self.renderings, self.functions.identity)
        return CachingRenderer(PipelineMaker(self.functions), stored=stored)


@pytest.fixture
def replicas() -> Replicas:
    return Replicas(MemoryStore().renderings)


async def test_another_replica_need_not_render(replicas: Replicas) -> None:
    replicas.functions.makes = lambda resources: resources.replace(b'"1"', b'"2"')

    first = await replicas.verdict(CHANGING)
    again = await replicas.verdict(CHANGING)

    assert first == again
    assert first.changes
    assert first.diff
    assert replicas.functions.ran == 1


@pytest.mark.parametrize(
    "means", ["sha256:two", "", RunnerBusyError("the runner", "it is away", 1.0)]
)
async def test_a_function_that_may_be_another_is_asked_again(
    replicas: Replicas, means: str | Exception
) -> None:
    """The short-cut keeps by tree and rules: a tag that was moved judges as it used to."""
    await replicas.verdict()
    replicas.functions.means = means

    await replicas.verdict()

    assert replicas.functions.ran == 2


async def test_what_nobody_can_name_is_not_kept(replicas: Replicas) -> None:
    replicas.functions.digest = replicas.functions.means = ""
    await replicas.verdict()
    await replicas.verdict()

    assert replicas.functions.ran == 2


async def test_other_rules_origins_and_packages_are_other_questions(replicas: Replicas) -> None:
    """The short-cut leaves a part of the question out of the key."""
    replicas.trees.known["two"] = {"a.yaml": PLAIN, "b.yaml": PLAIN.replace("name: a", "name: b")}
    first = await replicas.verdict()
    other = await replicas.verdict(origin="two")
    await replicas.verdict(tree="two")
    await replicas.verdict(package="web")
    await replicas.verdict(Policy(validators=(replace(JUDGE, fix="ask"),)))
    await replicas.verdict(Policy(validators=(replace(JUDGE, config_map={"a": "b"}),)))

    assert first.diff != other.diff
    assert replicas.functions.ran == 6


async def test_a_re_run_asks_the_functions_again(replicas: Replicas) -> None:
    """The short-cut forgets what is in memory: a re-run shows the row of another replica."""
    await replicas.verdict()
    renderer = replicas.replica()
    renderer.forget(["one"])
    await renderer.verdict(replicas.trees, "net", "one", "", CHECKED)
    await renderer.close()

    assert replicas.functions.ran == 2


@pytest.mark.parametrize(
    "harm", [lambda row: row[:-1], lambda row: row[:40] + b"x" + row[41:], lambda _: b""]
)
async def test_a_broken_row_is_ignored_and_replaced(
    replicas: Replicas, harm: Callable[[bytes], bytes]
) -> None:
    """The short-cut believes it: the bot would push what it says."""
    first = await replicas.verdict()
    assert isinstance(replicas.renderings, MemoryRenderings)
    (key,) = replicas.renderings.kept
    replicas.renderings.kept[key] = harm(replicas.renderings.kept[key])

    assert await replicas.verdict() == first
    assert await replicas.verdict() == first
    assert replicas.functions.ran == 2


async def test_a_database_that_is_away_costs_a_rendering_only() -> None:
    store = MemoryStore()
    store.statements.reachable = False
    replicas = Replicas(store.renderings)

    assert (await replicas.verdict()).complete
    assert (await replicas.verdict()).complete


def _said(resources: bytes) -> bytes:
    """A function that says what it found in its own words."""
    what = f"{WORD} and {base64.b64encode(WORD.encode()).decode()}"
    return resources + f"results:\n- {{message: 'bad: {what}', severity: error}}\n".encode()


def _copied(resources: bytes) -> bytes:
    """One that puts a new Secret, and a copy of its value, where anybody reads it."""
    encoded = base64.b64encode(WORD.encode()).decode()
    return (
        resources
        + (
            "- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: made\n"
            f"  data:\n    password: {encoded}\n"
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: copy\n"
            f"  data: {{a: {WORD}}}\n"
        ).encode()
    )


async def test_no_value_of_a_secret_is_in_the_table(database_url: str) -> None:
    """The short-cut keeps the files that rendering changes, or differences of another kind."""
    cases: list[tuple[str, Callable[[bytes], bytes], dict[str, str], dict[str, str]]] = [
        ("said", _said, {"s.yaml": SECRET}, {}),
        ("made", _copied, {"a.yaml": PLAIN}, {}),
        ("edited", lambda r: r.replace(b"name: a", b"name: z"), {"s.yaml": SECRET}, {}),
        ("copied", lambda r: r, {"s.yaml": SECRET, "m.yaml": MAP}, {"s.yaml": SECRET}),
        ("gone", lambda r: r, {"m.yaml": MAP}, {"s.yaml": SECRET, "m.yaml": OTHER}),
        ("named", lambda r: r, {"s.yaml": SECRET, f"{WORD}.yaml": PLAIN}, {}),
    ]
    async with PostgresStore(database_url, patience=60) as store:
        for name, makes, files, before in cases:
            replicas = Replicas(store.renderings, Functions(makes))
            replicas.trees.known = {name: files, "before": before}
            verdict = await replicas.verdict(CHANGING, name, "before")
            assert verdict.complete, name
            assert bool(verdict.changes) == (name in ("made", "edited")), name
        await Replicas(store.renderings).verdict()
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        rows = await (await connection.execute("SELECT key, data FROM rendering")).fetchall()

    assert rows
    for key, data in rows:
        everything = key.encode() + bytes(data)
        assert WORD.encode() not in everything
        assert base64.b64encode(WORD.encode()) not in everything
        assert WORD.encode() not in b"".join(_decoded(everything))


def _decoded(data: bytes) -> list[bytes]:
    """What any run of letters may stand for in base64."""
    found = []
    for run in re.findall(rb"[A-Za-z0-9+/]{8,}", data):
        for begin in range(4):
            part = run[begin:]
            found.append(base64.b64decode(part[: len(part) // 4 * 4]))
    return found
