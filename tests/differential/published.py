"""Packages that others published, upgraded between their own tags by both tools, and compared.

The packages are read from a git bundle beside the project, where there is one; nothing of them is
kept here. What may differ is described in docs/deviations.md; each allowance names its entry.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

from bot.cli.disk import folder
from cadlib.errors import PackageError
from cadlib.package.files import KPTFILE, Entry, name
from cadlib.yaml import Value, edit, read
from tests.cases import compare
from tests.differential import allowed
from tests.differential.tools import Done, Tool, both, commit, git

BUNDLE = Path(__file__).parents[3] / "shared/packages/nephio-catalog.bundle"

STRATEGIES = ("resource-merge", "fast-forward", "force-delete-replace")

_IDENTITY = ("apiVersion", "kind", "metadata")

_TAG = re.compile(r"(?P<package>.+)/(?P<version>v[0-9]+(?:\.[0-9]+){0,2})")


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """One package from one of its tags to the next.

    Attributes:
        package: Its path in the repository.
        old: The version it is at.
        new: The version it goes to.
    """

    package: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.package} {self.old} to {self.new}"


def clone(place: Path) -> Path:
    """Take the bundle apart into a repository, and return it."""
    git(place.parent, "clone", "--quiet", str(BUNDLE), place.name)
    return place


def steps(repository: Path) -> list[Step]:
    """Return each step from a tag of a package to its next tag."""
    versions: dict[str, list[str]] = {}
    for tag in git(repository, "tag").split():
        if found := _TAG.fullmatch(tag):
            versions.setdefault(found["package"], []).append(found["version"])
    return sorted(
        Step(package, old, new)
        for package, tags in versions.items()
        for old, new in pairwise(sorted(tags, key=_number))
    )


def _number(version: str) -> list[int]:
    return [int(part) for part in version[1:].split(".")]


def upgrade(step: Step, strategy: str, seed: int | None, repository: Path, root: Path) -> str:
    """Upgrade a package with both tools; return what differs, "" for nothing.

    Args:
        step: The package and its versions.
        strategy: How to merge.
        seed: Of the local changes; None for none.
        repository: Where the packages are.
        root: An empty folder.
    """
    found = {tool: root / tool for tool, _ in both()}
    done = [_upgraded(found[tool], run, repository, step, strategy, seed) for tool, run in both()]
    if _unchanged(done) and strategy == "fast-forward":
        return ""  # D50: kpt takes a Kptfile for changed that it has written itself
    if done[0].code != done[1].code:
        return f"exit codes {done[0].code} and {done[1].code}\n{done[0].err}\n{done[1].err}"
    if done[0].code:
        return ""
    theirs, ours = (folder.read(place / "pkg") for place in found.values())
    new = _files(repository, step.package, f"{step.package}/{step.new}", root / "new")
    return compare.listed(allowed.differences(theirs, ours, new, strategy))


def _unchanged(done: Sequence[Done]) -> bool:
    theirs, ours = done
    return "files have been modified: [Kptfile]" in theirs.err and not ours.code


def _files(repository: Path, package: str, tag: str, place: Path) -> dict[str, Entry]:
    git(repository, "worktree", "add", "--quiet", "--detach", str(place), tag)
    return folder.read(place / package)


def published(rng: Random, root: Path) -> str:
    """`pkg update` of a package that others published, from one of its tags to the next."""
    repository = clone(root / "published.git")
    step, strategy = rng.choice(steps(repository)), rng.choice(STRATEGIES)
    seed = rng.choice((None, rng.getrandbits(32)))
    return upgrade(step, strategy, seed, repository, root / "work")


ROUNDS: Mapping[str, Callable[[Random, Path], str]] = (
    {"published": published} if BUNDLE.exists() else {}
)


def _upgraded(
    cwd: Path, tool: Tool, repository: Path, step: Step, strategy: str, seed: int | None
) -> Done:
    cwd.mkdir(parents=True)
    git(cwd, "init", "--quiet")
    got = tool(cwd, "pkg", "get", f"{repository}/{step.package}@{step.old}", "pkg")
    if got.code:
        return got
    if seed is not None:
        files = folder.read(cwd / "pkg")
        folder.write(cwd / "pkg", changed(Random(seed), files))
        for path in files.keys() - changed(Random(seed), files).keys():
            (cwd / "pkg" / path).unlink()
    commit(cwd, "Change it here")
    return tool(cwd, "pkg", "update", f"pkg@{step.new}", "--strategy", strategy)


# --- local changes ---------------------------------------------------------------------------


def changed(rng: Random, files: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return a package as somebody has changed it: some values, a label, a file gone, one new."""
    after = dict(files)
    places = list(_resources(files))
    rng.shuffle(places)
    for path, position in sorted(places[: 1 + len(places) // 3]):
        stream = read(after[path].data, path=path)
        wanted = _locally(rng, stream.documents[position].value)
        after[path] = Entry(edit(stream, {position: wanted}), after[path].mode)
    if len(places) > 3 and rng.random() < 0.5:
        del after[rng.choice(sorted({path for path, _ in places}))]
    after["mine.yaml"] = Entry(
        b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: only-here\ndata:\n  a: b\n"
    )
    return after


def _resources(files: Mapping[str, Entry]) -> Iterator[tuple[str, int]]:
    for path in sorted(files):
        if path.endswith((".yaml", ".yml")) and name(path) != KPTFILE:
            try:
                documents = read(files[path].data, path=path).documents
            except PackageError:
                continue
            for position, document in enumerate(documents):
                value = document.value if not document.empty else None
                if isinstance(value, dict) and isinstance(value.get("metadata"), dict):
                    yield path, position


def _locally(rng: Random, value: Value) -> Value:
    assert isinstance(value, dict)
    metadata = value["metadata"]
    assert isinstance(metadata, dict)
    labels = metadata.get("labels")
    known = labels if isinstance(labels, dict) else {}
    labelled: Value = {**value, "metadata": {**metadata, "labels": {**known, "here": "yes"}}}
    # Not in the metadata, where kpt has put texts of its own (D40).
    body = {key: each for key, each in value.items() if key not in _IDENTITY}
    scalars = sorted(_scalars(body))
    if not scalars or rng.random() < 0.3:
        return labelled
    return _put(labelled, rng.choice(scalars), "changed-here")


def _scalars(value: Value, path: Sequence[str] = ()) -> Iterator[list[str]]:
    """The paths of texts below mappings."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _scalars(each, (*path, key))
    elif isinstance(value, str):
        yield [*path]


def _put(value: Value, path: Sequence[str], new: Value) -> Value:
    if not path:
        return new
    assert isinstance(value, dict)
    return {**value, path[0]: _put(value[path[0]], path[1:], new)}
