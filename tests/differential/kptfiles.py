"""Rounds for Kptfiles: merged by an update, refused when they are wrong, begun by `pkg init`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from bot.cli.disk import folder
from cadlib.kptfile import edit as kptfile_edit
from cadlib.kptfile.reader import GitRef
from cadlib.package.files import Entry
from cadlib.yaml import Value, emit, read
from tests.cases.compare import differences
from tests.cases.merge_deviations import explained
from tests.differential.tools import both, commit, git

Body = dict[str, Value]

_MARKS = ("labels", "annotations")
_ADDRESS = ("upstream", "upstreamLock")
HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"
FUNCTION = HEAD + "pipeline:\n  mutators:\n  - image: a\n"
# Each is refused by kpt with a text that has not changed since. Not here: names of images and
# what is no YAML, which each version of kpt tells in its own way.
WRONG = (
    FUNCTION + "    exec: b\n",
    FUNCTION + "    configPath: x\n    configMap: {a: b}\n",
    FUNCTION + "    configPath: ../x\n",
    FUNCTION + "    configPath: a/.../x\n",
    FUNCTION + "    configPath: /x\n",
    FUNCTION + "    configPath: ' '\n",
    FUNCTION + "    configRef: {kind: A, name: b}\n",
    FUNCTION + "    configMap: {a: [b]}\n",
    FUNCTION + "    selectors: {kind: A}\n",
    FUNCTION + "    selectors:\n    - label: {a: b}\n",
    FUNCTION.replace("image: a", "name: a"),
    FUNCTION.replace("mutators", "mutator"),
    HEAD + "  creationTimestamp: null\n",
    HEAD + "pipeline: a long text\n",
    HEAD + "inventory: {x: y}\ninfo: [a]\nother: 1\n",
    HEAD + "info:\n  keywords: {a: b}\n",
    HEAD.replace("v1", "v1alpha1"),
    HEAD.replace("v1", "v3"),
    HEAD.replace("Kptfile", "Package"),
)


def update(rng: Random, root: Path) -> str:
    """`pkg update` of a Kptfile that changed on both sides: the same values, or explained."""
    named = rng.random() < 0.5
    origin = _body(rng, named)
    local, updated = (_changed(rng, origin, named) for _ in range(2))
    upstream = root / "upstream"
    upstream.mkdir()
    git(upstream, "init", "--quiet", "--initial-branch=main")
    for tag, body in (("v1", origin), ("v2", updated)):
        (upstream / "Kptfile").write_bytes(_text("blueprint", body))
        (upstream / "note.txt").write_text(tag)
        commit(upstream, tag, tag=tag)
    start = git(upstream, "rev-parse", "v1").strip()
    ref = GitRef(repo=str(upstream), directory="/", ref="v1", commit=start)
    mine = kptfile_edit.set_upstream(_text("mine", local), ref, "resource-merge")
    mine = kptfile_edit.set_lock(mine, ref)
    found: list[Value] = []
    for name, tool in both():
        package = root / name
        package.mkdir()
        git(package, "init", "--quiet")
        (package / "Kptfile").write_bytes(mine)
        (package / "note.txt").write_text("v1")
        commit(package, "local")
        done = tool(package, "pkg", "update", ".@v2")
        if done.code:
            return f"{name}: {done.err}"
        found.append(_without_address((package / "Kptfile").read_bytes()))
    states = (_text("mine", origin), mine, _text("mine", updated))
    if found[0] == found[1] or explained(*found, *map(_without_address, states)):
        return ""
    return "\n".join(emit(each) for each in found)


def refused(rng: Random, root: Path) -> str:
    """`fn render` of a wrong Kptfile: kpt's words first, then what to do."""
    text = rng.choice(WRONG)
    said = []
    for name, tool in both():
        folder.write(root / name / "pkg", {"Kptfile": Entry(text.encode())})
        done = tool(root / name, "fn", "render", "pkg")
        if done.code != 1 or done.out:
            return f"{name}: exit code {done.code}\n{done.out}{done.err}"
        said.append(done.err.replace(str(root / name), "").strip())
    return "" if said[1].startswith(said[0] + "\n") else "\n".join([text, *said])


def init(rng: Random, root: Path) -> str:
    """`pkg init`: the same files and the same words, whatever is there already."""
    options = {
        "--description": rng.choice(("A shop", "a: b", "yes", "two\nlines", "", "12")),
        "--keywords": rng.choice(("a,b", "yes", '"a,b",c', "1e3")),
        "--site": rng.choice(("https://example.com/#x", "")),
    }
    given = [part for pair in options.items() if rng.random() < 0.6 for part in pair]
    package = rng.choice((".", "app", "./app/", "123", "two words"))
    there = [name for name in ("Kptfile", "README.md") if rng.random() < 0.3]
    said, trees = [], []
    for name, tool in both():
        place = root / name / "here" / package
        place.mkdir(parents=True)
        folder.write(place, {each: Entry(b"mine\n") for each in there})
        done = tool(root / name / "here", "pkg", "init", package, *given)
        said.append((done.code, done.out, done.err))
        trees.append(folder.read(root / name))
    if said[0] != said[1]:
        return f"{said[0]}\n{said[1]}"
    found = differences(trees[0], trees[1], {"kptfile": "semantic", "other_files": "exact-text"})
    return "\n".join(f"{path}: {difference}" for path, difference in found.items())


ROUNDS: Mapping[str, Callable[[Random, Path], str]] = {
    "kptfile-update": update,
    "kptfile-refused": refused,
    "init": init,
}


def _text(name: str, body: Body) -> bytes:
    marks: Body = {key: body[key] for key in _MARKS if key in body}
    rest: Body = {key: value for key, value in body.items() if key not in _MARKS}
    metadata: dict[str, Value] = {"name": name, **marks}
    return emit(
        {"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": metadata, **rest}
    ).encode()


def _without_address(data: bytes) -> Value:
    value = read(data).documents[0].value
    assert isinstance(value, dict)
    return {key: each for key, each in value.items() if key not in _ADDRESS}


def _body(rng: Random, named: bool) -> Body:
    words: list[Value] = ["x", "z"]
    info: Body = {
        "site": rng.choice(("https://a.example", "https://b.example")),
        "description": rng.choice(("One", "Two")),
        "keywords": words[: rng.randint(1, 2)],
        "readinessGates": [{"conditionType": rng.choice("fg")}],
    }
    body: Body = {
        "labels": _marks(rng),
        "annotations": _marks(rng),
        "info": {key: value for key, value in info.items() if rng.random() < 0.6},
        "pipeline": {
            step: _functions(rng, named)
            for step in ("mutators", "validators")
            if rng.random() < 0.7
        },
    }
    return {key: value for key, value in body.items() if value and rng.random() < 0.7}


def _marks(rng: Random) -> Value:
    return {key: rng.choice("12") for key in rng.sample("abc", rng.randint(1, 3))}


def _functions(rng: Random, named: bool) -> list[Value]:
    found: dict[str, Value] = {}
    for _ in range(rng.randint(1, 3)):
        image, name = rng.choice(("a", "b", "c/d")), rng.choice("pqrs")
        function: dict[str, Value] = {"image": f"{image}:{rng.choice(('v1', 'v2'))}"}
        if named:
            function["name"] = name
        config = rng.random()
        if config < 0.4:
            function["configMap"] = {key: rng.choice("12") for key in rng.sample("klm", 2)}
        elif config < 0.6:
            function["configPath"] = rng.choice(("f.yaml", "g.yaml"))
        found[name if named else image] = function
    return list(found.values())


def _changed(rng: Random, body: Body, named: bool) -> Body:
    """Return a body with some of its fields replaced, added and removed."""
    other = _body(rng, named)
    changed: Body = {}
    for key in [*body, *(key for key in other if key not in body)]:
        before, after = body.get(key), other.get(key)
        old = before if isinstance(before, dict) else {}
        new = after if isinstance(after, dict) else {}
        whole = rng.random()
        if whole < 0.5:
            merged = old
        else:
            kept = {each: value for each, value in old.items() if rng.random() < 0.85}
            merged = kept | {each: value for each, value in new.items() if rng.random() < 0.6}
        if merged and whole > 0.1:
            changed[key] = merged
    return changed
