"""The files of drafts, and what of Secrets may be told about them."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from cadlib.diff.fields import HIDDEN
from cadlib.errors import PackageError
from cadlib.kptfile.values import GitRef
from cadlib.merge.conflicts import Conflict
from cadlib.merge.policy import ConflictPolicy
from cadlib.package.files import Entry, Files
from cadlib.render.calls import CallOutcome, FunctionCall
from cadlib.update.upstream import Fetch, Fetched
from cadlib.yaml import Value
from lifecycle.drafting.make import DraftInputs, make
from lifecycle.drafting.resolving import ConflictedPackage, resolve
from lifecycle.facts.drafts import DraftKind, DraftRequest, DraftState
from lifecycle.facts.update import PackageMerge, UpdateConflict
from lifecycle.ledger import ProposedState
from lifecycle.messages import drafts as texts
from lifecycle.messages import variants
from tests.lifecycle.samples import BASE

SECRET = b"""\
apiVersion: v1
kind: Secret
metadata: {name: db, annotations: {a: b}}
stringData: {password: hunter2-of-old}
"""
KPTFILE = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: shop}\n"
HERE = {"Kptfile": Entry(KPTFILE), "secret.yaml": Entry(SECRET)}


def made(request: DraftRequest, answer: Mapping[str, object]) -> PackageMerge:
    """What a request comes to where each function answers the same."""
    steps = make(request, DraftInputs(here=HERE, allow=(("**",),)))
    try:
        step = next(steps)
        while True:
            assert isinstance(step, FunctionCall)
            step = steps.send(CallOutcome(**answer))  # type: ignore[arg-type]
    except StopIteration as done:
        result: PackageMerge = done.value
        return result


def state(request: DraftRequest, files: PackageMerge) -> DraftState:
    """A draft that was made."""
    there = ProposedState(branch="drafts/shop/set")
    return DraftState(request=request, base_ref="main", there=there, start=BASE, made=files)


@pytest.mark.parametrize("before", [0, 288])
def test_what_a_function_says_of_a_secret_is_not_answered(before: int) -> None:
    """The short-cut posts the words of the function, whole or cut: a password in a comment."""
    request = DraftRequest(kind=DraftKind.EVAL, package="shop", function="ghcr.io/a/check:v1")
    said = f"{'-' * before} hunter2-of-old is too short"
    results = [{"message": said, "severity": "error"}]
    found = made(request, {"results": results, "exit_code": 1, "error": "failed"})
    assert "hunt" not in found.problem
    assert "[secre" in found.problem


@pytest.mark.parametrize(
    ("field", "value", "private"),
    [
        ("stringData.password", "hunter2-of-new", True),
        ("stringData.password", "hunter2-of-old", True),
        ("metadata.annotations.a", "gold", False),
    ],
)
def test_a_new_value_of_a_secret_stands_in_its_file_alone(
    field: str, value: str, private: bool
) -> None:
    """The short-cut tells what was asked for in title, answer and commit, which stay."""
    request = DraftRequest(kind=DraftKind.SET, package="shop", field=field, value=value)
    found = made(request, {})
    assert not found.problem
    assert found.private is private
    draft = state(request, found)
    told = texts.title(draft) + texts.opened(draft) + texts.commit_message(draft, 1, "kpt:{}")
    assert (value not in told) is private


def test_a_side_with_a_hidden_value_is_not_written() -> None:
    """The short-cut looks at the whole value only: "(hidden)" is committed in its place."""
    hidden: Value = {"kubectl.kubernetes.io/last-applied-configuration": HIDDEN, "a": "b"}
    conflict = Conflict(
        path="secret.yaml",
        resource="v1/Secret/db",
        field="metadata.annotations",
        theirs=hidden,
        ours=[hidden],
        chosen="local",
        reason="changed on both sides",
    )
    for side in ("upstream", "local"):
        with pytest.raises(PackageError, match="value of a Secret"):
            resolve(ConflictedPackage(HERE, HERE, HERE), [conflict], 0, side)


def test_a_text_that_is_written_once_lists_no_conflict_as_open() -> None:
    """The short-cut lists them in the description, where each stays "taken at first" for ever."""
    one = UpdateConflict(
        path="shop/a.yaml",
        resource="ConfigMap a",
        field="data.size",
        base="1",
        ours="4",
        theirs="9",
        chosen="upstream",
    )
    request = DraftRequest(kind=DraftKind.UPGRADE, package="shop")
    upgraded = replace(state(request, PackageMerge(conflicts=(one,), more=2)), version="v2")

    described = texts.body(upgraded, "ann", 7)

    assert described.partition("for all commands.\n\n")[2] == (
        "**3 conflicts when this draft was made.** Both sides changed the same field, and the value"
        " of one of them was taken. The summary in the conversation lists what nobody has decided"
        " yet, with the number of each.\nComment `/resolve 1 local`, `upstream` or a value for each"
        " number, or edit the files."
    )
    assert "the summary there lists what is undecided" in texts.opened(upgraded)
    told = variants.body("edge", "acme/control:edge.yaml", ["data.size"])
    assert "**1 conflict when this pull request was opened.**" in told
    assert "data.size" not in told


def came_to(request: DraftRequest, inputs: DraftInputs, *fetched: Files) -> PackageMerge:
    """What a request comes to where each fetch gives the next of some files."""
    steps, left = make(request, inputs), iter(fetched)
    try:
        step = next(steps)
        while True:
            assert isinstance(step, Fetch)
            files = next(left)
            step = steps.send(Fetched(files=files, commit="c" * 40, ref=step.ref))
    except StopIteration as done:
        result: PackageMerge = done.value
        return result


NET = GitRef(repo="https://x.test/a", directory="/net", ref="net/v1")
CLONE = DraftRequest(kind=DraftKind.CLONE, package="shop", upstream="a/net@v1")
UP = {"Kptfile": Entry(KPTFILE), "app.yaml": Entry(b"a: 1\n")}


@pytest.mark.parametrize("kind", [DraftKind.INIT, DraftKind.CLONE])
def test_what_stands_in_the_folder_of_a_new_package_stays(kind: DraftKind) -> None:
    """The short-cut makes the folder what the new package is: files of people are deleted."""
    here = {"README.md": Entry(b"# ours\n"), "notes/a.txt": Entry(b"x")}
    inputs = DraftInputs(here=here, upstream=NET)
    found = came_to(replace(CLONE, kind=kind), inputs, UP)

    assert not found.problem
    assert "Kptfile" in found.files
    assert not found.files.keys() & here.keys()


@pytest.mark.parametrize("kind", [DraftKind.INIT, DraftKind.CLONE, DraftKind.EDIT])
@pytest.mark.parametrize("package", ["shop", ""])
def test_a_package_is_not_put_around_others(kind: DraftKind, package: str) -> None:
    """The short-cut looks for a Kptfile in the folder itself: packages below it are deleted."""
    here = {"eu/Kptfile": Entry(KPTFILE), "us/north/Kptfile": Entry(KPTFILE)}
    inputs = DraftInputs(here=here, upstream=NET, revision=UP if kind is DraftKind.EDIT else {})
    found = came_to(replace(CLONE, kind=kind, package=package), inputs, UP)

    below = "shop/" if package else ""
    assert found == PackageMerge(
        problem=f"{package or 'the top folder'} holds packages already: {below}eu,"
        f" {below}us/north. They would become parts of the new package. Name a folder beside them"
    )


def test_a_clone_overwrites_no_file() -> None:
    """The short-cut takes the upstream's file: that of people is gone."""
    inputs = DraftInputs(here={"app.yaml": Entry(b"a: 2\n")}, upstream=NET)
    assert came_to(CLONE, inputs, UP) == PackageMerge(
        problem="shop holds other files of the same names: app.yaml. Name another folder, or move"
        " these files first"
    )


def test_the_rules_of_a_repository_are_no_part_of_a_package_at_its_root() -> None:
    """The short-cut takes the root for a folder like others: going back to a revision brings old
    rules back, and forgets in the ledger what was withdrawn since."""
    rules = {".porchbot.yaml": Entry(b"version: 1\n"), ".porchbot/ledger.yaml": Entry(b"a: 1\n")}
    other = {path: Entry(b"version: 2\n") for path in rules}
    back = DraftRequest(kind=DraftKind.ROLLBACK, package="", revision=1)
    inputs = DraftInputs(here={**UP, **other}, revision={"Kptfile": Entry(KPTFILE), **rules})
    assert came_to(back, inputs) == PackageMerge(files={"app.yaml": None})

    for there in ({}, other):
        inputs = DraftInputs(here=there, upstream=NET)
        cloned = came_to(replace(CLONE, package=""), inputs, {**UP, **rules})
        assert cloned.files.keys() == UP.keys()


def test_why_a_function_failed_is_told() -> None:
    """The short-cut tells what every failure says: nobody learns what the function lacks."""
    request = DraftRequest(kind=DraftKind.EVAL, package="shop", function="ghcr.io/a/check:v1")
    results = [{"message": "namespace is missing", "severity": "error"}]
    found = made(request, {"results": results, "exit_code": 1, "error": "function failure"})
    assert found.problem == (
        "ghcr.io/a/check:v1 failed: namespace is missing. Check the function and its configuration"
    )


def test_a_conflict_that_refuses_an_upgrade_takes_no_side() -> None:
    """The short-cut says of each whose value "is taken", and takes none."""
    kptfile = Entry(KPTFILE + LOCKED.replace("REF", "net/v1").replace("COMMIT", "").encode())
    sides = [{**UP, "app.yaml": Entry(MAP.replace(b"1", size))} for size in (b"4", b"1", b"9")]
    here, base, theirs = sides
    inputs = DraftInputs(here={**here, "Kptfile": kptfile}, conflicts=ConflictPolicy.FAIL)
    request = DraftRequest(kind=DraftKind.UPGRADE, package="shop")
    found = came_to(request, inputs, theirs, base)
    assert "data.size: changed on both sides (base 1, local 4, upstream 9)" in found.problem
    assert "is taken" not in found.problem


MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {size: '1'}\n"
LOCKED = """upstream:
  type: git
  git: {repo: 'https://x.test/a', directory: /net, ref: main}
upstreamLock:
  type: git
  git: {repo: 'https://x.test/a', directory: /net, ref: 'REF', commit: 'COMMIT'}
"""


@pytest.mark.parametrize(
    ("ref", "commit", "wanted"),
    [
        ("main", "", "the lock names main and no commit"),
        ("", "", "the lock names no ref and no commit"),
        ("net/v3", "", ""),
        ("main", "c" * 40, ""),
    ],
)
def test_a_lock_that_names_no_state_is_no_base(ref: str, commit: str, wanted: str) -> None:
    """The short-cut merges with the branch as it is by now: nothing of the upgrade comes, and the
    lock says that it did."""
    lock = LOCKED.replace("REF", ref).replace("COMMIT", commit)
    here = {"Kptfile": Entry(KPTFILE + lock.encode())}
    steps = make(DraftRequest(kind=DraftKind.UPGRADE, package="shop"), DraftInputs(here=here))
    try:
        fetched = next(steps)
    except StopIteration as done:
        problem = done.value.problem
    else:
        assert isinstance(fetched, Fetch)
        problem = ""
    assert wanted in problem
    assert bool(wanted) is bool(problem)
