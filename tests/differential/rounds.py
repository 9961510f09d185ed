"""One round of each command: the same package given to both tools, and what differs after.

What may differ is described in docs/deviations.md; each allowance names its entry and is no wider
than that. Everything else is a failure.
"""

import json
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from bot.cli.disk import folder
from cadlib.package.files import KPTFILE, Entry, name
from cadlib.yaml import FieldPath, Value
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
    if do == "reverse":
        items.reverse()
    if do == "rename":
        for each in items:
            if each["kind"] == "ConfigMap":
                each["metadata"]["name"] += "-renamed"
    if do == "move":
        for each in items:
            if each["kind"] == "Widget":
                notes = each["metadata"]["annotations"]
                for prefix in ("internal.config.kubernetes.io", "config.kubernetes.io"):
                    notes[prefix + "/path"] = "moved/" + each["metadata"]["name"] + ".yaml"
                    notes[prefix + "/index"] = "0"
    if do == "lists":
        for each in items:
            for container in (each.get("spec", {{}}).get("template", {{}}).get("spec", {{}})
                              .get("containers", [])):
                container["args"] = ["--first", *container["args"][1:], "--last"]
                container["env"] = container["env"][::-1]
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
    return _on_packages(root, making.package(rng), arguments, ordered=False)


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
    arguments += rng.choice(([], [], ["-o", "unwrap"]))
    return _on_packages(root, files, arguments, ordered=False)


def update(rng: Random, root: Path) -> str:
    """`pkg get`, changes on both sides, and `pkg update`: the same package afterwards."""
    upstream = root / "upstream.git"
    seed = rng.getrandbits(32)
    was = making.package(rng)
    becomes = making.changed(
        Random(seed), was, making.some_changes(Random(seed), "upstream", removals=True)
    )
    _repository(upstream, was, becomes)
    strategy = rng.choice(
        ("resource-merge", "resource-merge", "force-delete-replace", "fast-forward")
    )
    untouched = rng.random() < 0.3
    found = {tool: root / tool for tool, _ in both()}
    done = [
        _updated(found[tool], run, upstream, strategy, None if untouched else seed + 1)
        for tool, run in both()
    ]
    if all(each.code for each in done):  # D47: kpt has changed the Kptfile by then
        left = git(found["porchbot"], "status", "--porcelain")
        return left and f"an update that failed has changed the package:\n{left}"
    return _commands(*done) or _trees(found, "pkg", gone=_gone(was, becomes))


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
    does = rng.choice(
        ("label", "drop", "add", "warn", "label add", "label drop", "fail", "reverse", "rename")
        if rng.random() < 0.6
        else ("move", "lists", "lists label", "move rename")
    )
    return rng.choice(("cat", "sed s/TCP/UDP/g", f"{script} {does}"))


def _on_packages(
    root: Path, files: Files, arguments: Sequence[str], *, ordered: bool = True
) -> str:
    """Run a command on a copy of the package with each tool."""
    places = {tool: root / tool for tool, _ in both()}
    done = []
    for tool, run in both():
        folder.write(places[tool] / "pkg", files)
        done.append(run(places[tool], *arguments))
    return _commands(*done, ordered=ordered) or _trees(places, "pkg")


def _commands(theirs: Done, ours: Done, *, ordered: bool = True) -> str:
    """Compare exit codes, and streams of resources by meaning; without their order for D62."""
    if theirs.code != ours.code:
        return f"exit codes {theirs.code} and {ours.code}\n{theirs.err}\n{ours.err}"
    difference = compare.documents_difference(theirs.out, ours.out)
    if not difference or ordered:
        return difference
    left, right = (sorted(compare.documents(done.out), key=_key) for done in (theirs, ours))
    return "" if _followed(left, right) else difference


def _followed(theirs: Sequence[compare.Parsed], ours: Sequence[compare.Parsed]) -> bool:
    """Say whether documents differ at most in comments that kpt has also put elsewhere (D10).

    In a list whose elements moved kpt leaves comments at their place and puts them at the new one
    as well. Here each text of a comment is there once in a document.
    """
    left, right = (
        [(each.value, sorted({*each.comments.values(), *each.standing})) for each in found]
        for found in (theirs, ours)
    )
    once = all(
        len({*each.comments.values()}) == len(each.comments)
        and len({*each.standing}) == len(each.standing)
        for each in ours
    )
    return left == right and once


def _key(document: compare.Parsed) -> str:
    return json.dumps(document.value, sort_keys=True)


def _gone(was: Files, becomes: Files) -> list[Value]:
    """Return the resources that upstream removed."""
    before, after = (
        [
            each.value
            for path in files
            if path.endswith((".yaml", ".yml"))
            for each in compare.documents(files[path].data)
        ]
        for files in (was, becomes)
    )
    names = [_name(value) for value in after]
    return [value for value in before if _name(value) not in names]


def _name(value: Value) -> tuple[Value, Value, Value]:
    assert isinstance(value, dict)
    metadata = value["metadata"]
    assert isinstance(metadata, dict)
    return value["kind"], metadata["name"], metadata.get("namespace")


def _trees(places: Mapping[str, Path], below: str, *, gone: Sequence[Value] | None = None) -> str:
    """Compare what both tools left on disk, by documents, without kpt's merge comments (D40).

    Args:
        places: The tools' folders, kpt's first.
        below: The folder to compare, in each of them.
        gone: After an update, the resources that upstream removed.
    """
    theirs, ours = (folder.read(each / below) for each in places.values())
    if gone is None:
        theirs = _below_the_root(theirs, ours)
    rules = {"kptfile": "semantic", "other_files": "documents"}
    found = compare.differences(theirs, ours, rules, noise=False)
    return compare.listed(
        {
            path: text
            for path, text in found.items()
            if not (
                _followed(*_documents(theirs, ours, path))
                if gone is None
                else _listed(theirs, ours, path, gone)
            )
        }
    )


def _below_the_root(theirs: Files, ours: Files) -> dict[str, Entry]:
    """D61: a path that a function gives is below its pipeline's package, not the resource's own."""
    return {
        path.removeprefix("sub/") if path not in ours and "/moved/" in path else path: entry
        for path, entry in theirs.items()
    }


def _documents(theirs: Files, ours: Files, path: str) -> Iterator[list[compare.Parsed]]:
    for files in (theirs, ours):
        yield compare.documents(files[path].data if path in files else "", noise=False)


def _listed(theirs: Files, ours: Files, path: str, gone: Sequence[Value]) -> bool:
    """Say whether a merged file differs only as docs/deviations.md describes.

    By the order of ports (D23), by nulls (D30), and by resources that upstream removed, that were
    not changed here, and that kpt keeps (D27).
    """
    left, right = (
        [(_plain(each.value), _remarks(each), each.standing) for each in found]
        for found in _documents(theirs, ours, path)
    )
    kept = [each for each in left if each in right or each[0] not in map(_plain, gone)]
    return kept == right


def _remarks(document: compare.Parsed) -> list[str]:
    """Return the line comments, without those of nulls, whatever their place."""
    return sorted(
        text for path, text in document.comments.items() if _at(document.value, path) is not None
    )


def _at(value: Value, path: FieldPath) -> Value:
    for step in path:
        match value, step:
            case dict(), str():
                value = value[step]
            case list(), int():
                value = value[step]
    return value


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
