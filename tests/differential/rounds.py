"""One round of each command: the same package given to both tools, and what differs after.

What may differ is described in docs/deviations.md; each allowance names its entry and is no wider
than that. Everything else is a failure.
"""

import json
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from bot.cli import folder
from cadlib.package import KPTFILE, Entry, name
from cadlib.yaml import Value
from tests.cases import compare
from tests.differential import making
from tests.differential.tools import Done, Tool, both, commit, git

Files = Mapping[str, Entry]
Round = Callable[[Random, Path], str]

# A function as programs write them: it reads YAML, loses comments and order, and writes JSON.
FUNCTION = """\
#!{python}
import json, sys, yaml
given = yaml.safe_load(sys.stdin)
items = given["items"]
for do in sys.argv[1:]:
    if do == "label":
        for each in items:
            if each["kind"] != "Kptfile":
                each["metadata"].setdefault("labels", {{}})["tested"] = "yes"
    if do == "drop":
        given["items"] = items = [each for each in items if each["kind"] != "Service"]
    if do == "add":
        items.append(json.loads('{{"apiVersion": "v1", "kind": "Secret", "metadata":'
                                ' {{"name": "made", "labels": {{"a": "b"}}}}}}'))
    if do == "warn":
        given["results"] = [{{"message": "look at it", "severity": "warning"}}]
    if do == "fail":
        print("it does not work", file=sys.stderr)
        given["results"] = [{{"message": "broken", "severity": "error"}}]
json.dump(given, sys.stdout, sort_keys=True)
sys.exit("fail" in sys.argv[1:])
"""


def source(rng: Random, root: Path) -> str:
    """`fn source`: the same resources in the same order, as one list or unwrapped."""
    arguments = ["fn", "source", "pkg", *rng.choice(([], ["-o", "unwrap"], ["-o", "stdout"]))]
    return _on_packages(root, making.package(rng), arguments)


def sink(rng: Random, root: Path) -> str:
    """`fn sink`: the same files out of one stream."""
    files = making.package(rng)
    folder.write(root / "given/pkg", files)
    name, tool = both()[0]
    stream = tool(root / "given", "fn", "source", "pkg").out
    made = {name: root / name for name, _ in both()}
    done = []
    for name, tool in both():
        made[name].mkdir()
        done.append(tool(made[name], "fn", "sink", "out", stdin=stream))
    return _commands(*done) or _trees(made, "out")


def evaluate(rng: Random, root: Path) -> str:
    """`fn eval --exec`: commands that keep comments, and one that does not."""
    arguments = ["fn", "eval", "pkg", "--exec", _function(rng, root)]
    arguments += rng.choice(
        ([], [], ["--match-kind", "ConfigMap"], ["--exclude-kind", "Widget"], ["-o", "unwrap"])
    )
    return _on_packages(root, making.package(rng), arguments)


def render(rng: Random, root: Path) -> str:
    """`fn render --allow-exec`: pipelines of the package and at times of its subpackage."""
    files = making.package(rng)
    for path in [path for path in files if name(path) == KPTFILE]:
        functions = [_function(rng, root) for _ in range(rng.randint(0, 2))]
        steps = "".join(f"    - exec: {json.dumps(each)}\n" for each in functions)
        if steps:
            data = files[path].data + f"pipeline:\n  mutators:\n{steps}".encode()
            files[path] = Entry(data)
    arguments = ["fn", "render", "pkg", "--allow-exec"]
    return _on_packages(root, files, [*arguments, *rng.choice(([], [], ["-o", "unwrap"]))])


def update(rng: Random, root: Path) -> str:
    """`pkg get`, changes on both sides, and `pkg update`: the same package afterwards."""
    upstream = root / "upstream.git"
    seed = rng.getrandbits(32)
    was = making.package(rng)
    becomes = making.changed(
        Random(seed), was, making.some_changes(Random(seed), "upstream", removals=True)
    )
    _repository(upstream, was, becomes)
    strategy = rng.choice(("resource-merge", "resource-merge", "force-delete-replace"))
    untouched = rng.random() < 0.3
    found = {tool: root / tool for tool, _ in both()}
    done = [
        _updated(found[tool], run, upstream, strategy, None if untouched else seed + 1)
        for tool, run in both()
    ]
    return _commands(*done) or _trees(found, "pkg", merged=True)


def _updated(cwd: Path, tool: Tool, upstream: Path, strategy: str, seed: int | None) -> Done:
    cwd.mkdir()
    git(cwd, "init", "--quiet")
    got = tool(cwd, "pkg", "get", f"{upstream}/pkg@v1", "pkg")
    if got.code:
        return got
    if seed is not None:
        files = folder.read(cwd / "pkg")
        local = making.some_changes(Random(seed), "local", removals=True)
        folder.write(cwd / "pkg", making.changed(Random(seed), files, local))
    commit(cwd, "Change it here")
    return tool(cwd, "pkg", "update", "pkg@v2", "--strategy", strategy)


def _repository(place: Path, *versions: Files) -> None:
    place.mkdir()
    git(place, "init", "--quiet", "--initial-branch=main")
    for number, files in enumerate(versions, 1):
        if (place / "pkg").exists():
            git(place, "rm", "-r", "--quiet", "pkg")
        folder.write(place / "pkg", files)
        commit(place, f"Version {number}", tag=f"v{number}")


ROUNDS: Mapping[str, Round] = {
    "source": source,
    "sink": sink,
    "eval": evaluate,
    "render": render,
    "update": update,
}


def _function(rng: Random, root: Path) -> str:
    """Return a command line of a function, the same for both tools."""
    script = root / "function"
    if not script.exists():
        script.write_text(FUNCTION.format(python=sys.executable))
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    does = rng.choice(("label", "drop", "add", "warn", "label add", "label drop", "fail"))
    return rng.choice(("cat", "sed s#example.com/#example.org/#", f"{script} {does}"))


def _on_packages(root: Path, files: Files, arguments: Sequence[str]) -> str:
    """Run a command on a copy of the package with each tool."""
    places = {tool: root / tool for tool, _ in both()}
    done = []
    for tool, run in both():
        folder.write(places[tool] / "pkg", files)
        done.append(run(places[tool], *arguments))
    return _commands(*done) or _trees(places, "pkg")


def _commands(theirs: Done, ours: Done) -> str:
    """Compare exit codes, messages, and streams of resources by meaning."""
    if theirs.code != ours.code:
        return f"exit codes {theirs.code} and {ours.code}\n{theirs.err}\n{ours.err}"
    return compare.documents_difference(theirs.out, ours.out)


def _trees(places: Mapping[str, Path], below: str, *, merged: bool = False) -> str:
    """Compare what both tools left on disk, by documents, without kpt's merge comments (D40)."""
    theirs, ours = (folder.read(each / below) for each in places.values())
    rules = {"kptfile": "semantic", "other_files": "documents"}
    found = compare.differences(theirs, ours, rules, noise=False)
    if merged:
        found = {path: text for path, text in found.items() if not _listed(theirs, ours, path)}
    return compare.listed(found)


def _listed(theirs: Files, ours: Files, path: str) -> bool:
    """Say whether a merged file differs only by the order of ports (D23) and by nulls (D39)."""
    if path not in theirs or path not in ours:
        return False
    left, right = (
        [
            (_plain(each.value), sorted(each.comments.values()), each.standing)
            for each in compare.documents(files[path].data, noise=False)
        ]
        for files in (theirs, ours)
    )
    return left == right


def _plain(value: Value) -> Value:
    match value:
        case dict():
            return {
                key: _sorted(each) if key == "ports" else _plain(each)
                for key, each in value.items()
                if each is not None
            }
        case list():
            return [_plain(each) for each in value]
        case _:
            return value


def _sorted(value: Value) -> Value:
    if not isinstance(value, list):
        return value
    return [*sorted(json.dumps(_plain(each), sort_keys=True) for each in value)]
