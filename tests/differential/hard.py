"""Updates that are hard to get right, done by both tools: one case each, by name.

Where the tools differ, the case names the entry of docs/deviations.md that says why.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bot.cli.disk import folder
from cadlib.package.files import EXECUTABLE, KPTFILE, REGULAR, SYMLINK, Entry
from tests.cases import compare
from tests.differential import allowed
from tests.differential.tools import Done, Tool, both, commit, git

Texts = Mapping[str, str]

STRATEGIES = ("resource-merge", "fast-forward", "force-delete-replace")

_HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: "
_ORIGIN = re.compile(r"^(?:upstream|upstreamLock):\n(?:[ ].*\n)*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class HardCase:
    """What upstream was, what it becomes, and what stands locally by then.

    Attributes:
        base: Files as they were fetched.
        upstream: Files of the new version.
        local: Files here.
        deviation: Why kpt leaves something else when it merges resources; "" where it does not.
    """

    base: Texts
    upstream: Texts
    local: Texts
    deviation: str = ""


def _map(name: str, more: str = "", **data: str) -> str:
    lines = "".join(f"  {key}: {value}\n" for key, value in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n{more}data:\n{lines}"


def _workload(args: str, more: str = "") -> str:
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\nspec:\n  template:\n"
        f"    spec:\n      containers:\n      - name: app\n        args: [{args}]\n{more}"
    )


def _package(more: str = "", name: str = "pkg", **files: str | None) -> dict[str, str]:
    """A package of a Kptfile and `a.yaml`; "b_yaml" is `b.yaml`, and None no file."""
    found = {KPTFILE: f"{_HEAD}{name}\n{more}", "a.yaml": _map("a", x="1", y="1")}
    for key, text in files.items():
        path = key.replace("_", ".")
        if text is None:
            del found[path]
        else:
            found[path] = text
    return found


def _inside(path: str, value: str) -> dict[str, str]:
    return {f"{path}/Kptfile": f"{_HEAD}sub\n", f"{path}/s.yaml": _map("s", v=value)}


def _runs(*functions: str) -> str:
    return "pipeline:\n  mutators:\n" + "".join(f"  - {each}\n" for each in functions)


def _container(name: str) -> str:
    return f"      - name: {name}\n        image: i\n"


ONE, TWO = _package(), _package(a_yaml=_map("a", x="2", y="1"))
HERE = _package(a_yaml=_map("a", x="1", y="9"))
SUB, SUB2 = {**ONE, **_inside("sub", "1")}, {**ONE, **_inside("sub", "2")}
MOVED = {**ONE, **_inside("moved", "1")}
F1, F2 = _package(_runs("image: f:v1")), _package(_runs("image: f:v2"))

CASES: Mapping[str, HardCase] = {
    "a subpackage is added": HardCase(ONE, SUB, ONE),
    "a subpackage is removed": HardCase(SUB, ONE, SUB),
    "a subpackage is removed that is changed here": HardCase(SUB, ONE, SUB2),
    "a subpackage moves": HardCase(SUB, MOVED, SUB),
    "a subpackage moves that is changed here": HardCase(SUB, MOVED, SUB2),
    "a subpackage is changed that is removed here": HardCase(SUB, SUB2, ONE, "D52"),
    "a subpackage is added on both sides": HardCase(ONE, SUB, SUB2),
    "a resource is renamed that is changed here": HardCase(
        ONE, _package(a_yaml=_map("b", x="1", y="1")), HERE
    ),
    "a resource is changed that is renamed here": HardCase(
        ONE, TWO, _package(a_yaml=_map("b", x="1", y="1")), "D28"
    ),
    "a resource is changed that has a namespace here": HardCase(
        ONE, TWO, _package(a_yaml=_map("a", "  namespace: n\n", x="1", y="1")), "D28"
    ),
    "a file is renamed": HardCase(ONE, _package(a_yaml=None, z_yaml=_map("a", x="1", y="1")), ONE),
    "a file is renamed that is changed here": HardCase(
        ONE, _package(a_yaml=None, z_yaml=_map("a", x="2", y="1")), HERE, "D28"
    ),
    "a file is changed that is renamed here": HardCase(
        ONE, TWO, _package(a_yaml=None, z_yaml=_map("a", x="1", y="1")), "D28"
    ),
    "comments of two fields": HardCase(
        ONE,
        _package(a_yaml=_map("a", x="1 # up", y="1")),
        _package(a_yaml=_map("a", x="1", y="1 # here")),
    ),
    "comments of one field": HardCase(
        _package(a_yaml=_map("a", x="1 # old", y="1")),
        _package(a_yaml=_map("a", x="1 # up", y="1")),
        _package(a_yaml=_map("a", x="1 # here", y="1")),
        "D24",
    ),
    "a list without keys grows upstream": HardCase(
        _package(d_yaml=_workload("a")),
        _package(d_yaml=_workload("a, b")),
        _package(d_yaml=_workload("a")),
    ),
    "a list without keys grows on both sides": HardCase(
        _package(d_yaml=_workload("a")),
        _package(d_yaml=_workload("a, b")),
        _package(d_yaml=_workload("a, z")),
    ),
    "a list with keys grows on both sides": HardCase(
        _package(d_yaml=_workload("a")),
        _package(d_yaml=_workload("a", _container("up"))),
        _package(d_yaml=_workload("a", _container("here"))),
    ),
    "a resource is deleted that is changed here": HardCase(
        _package(b_yaml=_map("b", v="1")), ONE, _package(b_yaml=_map("b", v="2"))
    ),
    "a resource is changed that is deleted here": HardCase(
        _package(b_yaml=_map("b", v="1")), _package(b_yaml=_map("b", v="2")), ONE
    ),
    "a field is deleted that is changed here": HardCase(
        ONE, _package(a_yaml=_map("a", y="1")), _package(a_yaml=_map("a", x="9", y="1"))
    ),
    "a field is changed that is deleted here": HardCase(
        ONE, TWO, _package(a_yaml=_map("a", y="1"))
    ),
    "the same change on both sides": HardCase(ONE, TWO, TWO),
    "lines of one text": HardCase(
        _package(a_yaml=_map("a", x="|\n    one\n    two")),
        _package(a_yaml=_map("a", x="|\n    ONE\n    two")),
        _package(a_yaml=_map("a", x="|\n    one\n    TWO")),
    ),
    "documents are added on both sides": HardCase(
        ONE,
        _package(a_yaml=ONE["a.yaml"] + "---\n" + _map("u", v="1")),
        _package(a_yaml=ONE["a.yaml"] + "---\n" + _map("h", v="1")),
    ),
    "a document is removed": HardCase(
        _package(a_yaml=_map("a", x="1") + "---\n" + _map("b", x="1")),
        _package(a_yaml=_map("a", x="1")),
        _package(a_yaml=_map("a", x="7") + "---\n" + _map("b", x="1")),
    ),
    "another file is changed": HardCase(
        _package(t_txt="a\n"), _package(t_txt="b\n"), ONE | {"t.txt": "a\n"}
    ),
    "another file is changed on both sides": HardCase(
        _package(t_txt="a\n"), _package(t_txt="b\n"), _package(t_txt="h\n")
    ),
    "another file is deleted that is changed here": HardCase(
        _package(t_txt="a\n"), ONE, _package(t_txt="h\n")
    ),
    "another file is changed that is deleted here": HardCase(
        _package(t_txt="a\n"), _package(t_txt="b\n"), ONE, "D42"
    ),
    "another file is added on both sides": HardCase(
        ONE, _package(t_txt="b\n"), _package(t_txt="h\n")
    ),
    "a kustomization on both sides": HardCase(
        _package(kustomization_yaml="resources:\n- a.yaml\n"),
        _package(kustomization_yaml="resources:\n- a.yaml\n- b.yaml\n"),
        _package(kustomization_yaml="resources:\n- a.yaml\n- h.yaml\n"),
    ),
    "a script is changed": HardCase(
        ONE | {"run.sh": "#!/bin/sh\n"},
        ONE | {"run.sh": "#!/bin/sh -e\n"},
        ONE | {"run.sh": "#!/bin/sh\n"},
    ),
    "a script is no program any more": HardCase(
        ONE | {"run.sh": "#!/bin/sh\n"},
        ONE | {"run.sh": " #!/bin/sh\n"},
        ONE | {"run.sh": "#!/bin/sh\n"},
        "D48",
    ),
    "a link is added": HardCase(ONE, ONE | {"l.yaml": "-> a.yaml"}, ONE),
    "what functions do not see": HardCase(
        ONE | {".krmignore": "i.yaml\n", "i.yaml": _map("i", v="1")},
        ONE | {".krmignore": "i.yaml\n", "i.yaml": _map("i", v="2")},
        ONE | {".krmignore": "i.yaml\n", "i.yaml": _map("i", v="1")},
    ),
    "a function gets another version": HardCase(F1, F2, F1),
    "a function gets another version and is configured here": HardCase(
        F1, F2, _package(_runs("image: f:v1\n    configMap: {k: h}"))
    ),
    "functions are added on both sides": HardCase(
        F1,
        _package(_runs("image: f:v1", "image: u:v1")),
        _package(_runs("image: f:v1", "image: h:v1")),
    ),
    "functions with names are added on both sides": HardCase(
        _package(_runs("{image: 'f:v1', name: f}")),
        _package(_runs("{image: 'f:v1', name: f}", "{image: 'u:v1', name: u}")),
        _package(_runs("{image: 'f:v1', name: f}", "{image: 'h:v1', name: h}")),
    ),
    "a function is removed": HardCase(F1, ONE, F1),
    "descriptions on both sides": HardCase(
        _package("info:\n  description: a\n"),
        _package("info:\n  description: up\n  site: s\n"),
        _package("info:\n  description: here\n"),
    ),
    "labels on both sides": HardCase(
        ONE, _package("  labels: {u: u}\n"), _package("  labels: {h: h}\n")
    ),
    "readiness gates": HardCase(
        ONE, _package("info:\n  readinessGates:\n  - conditionType: x\n"), ONE
    ),
    "another name": HardCase(ONE, _package(name="other"), ONE),
    "an inventory": HardCase(ONE, _package("inventory:\n  name: i\n  namespace: n\n"), ONE),
}


def updated(name: str, strategy: str, root: Path) -> str:
    """Update the package of a case with both tools; return what differs, "" for nothing.

    Args:
        name: Of the case.
        strategy: How to merge.
        root: An empty folder.
    """
    case = CASES[name]
    repository = root / "upstream.git"
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch=main")
    for number, texts in enumerate((case.base, case.upstream), 1):
        if number > 1:
            git(repository, "rm", "-r", "--quiet", "pkg")
        folder.write(repository / "pkg", _entries(texts))
        commit(repository, f"Version {number}", tag=f"v{number}")
    places = {tool: root / tool for tool, _ in both()}
    done = [_updated(places[tool], run, repository, case, strategy) for tool, run in both()]
    differs = done[0].code != done[1].code and f"exit codes {done[0].code} and {done[1].code}"
    if not differs and not done[0].code:
        theirs, ours = (folder.read(place / "pkg") for place in places.values())
        new = folder.read(repository / "pkg")
        found = allowed.differences(theirs, ours, new, strategy)
        modes = {
            p: "modes differ" for p in theirs.keys() & ours.keys() if theirs[p].mode != ours[p].mode
        }
        differs = compare.listed({**modes, **found})
    if strategy == "resource-merge" and case.deviation:
        return "" if differs else f"they do the same, and {case.deviation} says otherwise"
    return differs or ""


def _updated(cwd: Path, tool: Tool, repository: Path, case: HardCase, strategy: str) -> Done:
    cwd.mkdir()
    git(cwd, "init", "--quiet")
    got = tool(cwd, "pkg", "get", f"{repository}/pkg@v1", "pkg")
    if got.code:
        return got
    origin = "".join(_ORIGIN.findall((cwd / "pkg" / KPTFILE).read_text()))
    local = {path: text for path, text in case.local.items() if text != case.base.get(path)}
    if KPTFILE in local:
        local[KPTFILE] += origin
    folder.write(cwd / "pkg", _entries(local))
    for path in case.base.keys() - case.local.keys():
        (cwd / "pkg" / path).unlink()
    commit(cwd, "Change it here")
    return tool(cwd, "pkg", "update", "pkg@v2", "--strategy", strategy)


def _entries(texts: Texts) -> dict[str, Entry]:
    return {path: _entry(text) for path, text in texts.items()}


def _entry(text: str) -> Entry:
    """A file; "-> path" is a symlink, and what begins like a script is executable."""
    if text.startswith("-> "):
        return Entry(text.removeprefix("-> ").encode(), SYMLINK)
    return Entry(text.encode(), EXECUTABLE if text.startswith("#!") else REGULAR)


def hard(rng: Random, root: Path) -> str:
    """`pkg update` of one of the cases."""
    name = rng.choice(sorted(CASES))
    case = CASES[name]
    changed = case.local != case.base
    strategies = [each for each in STRATEGIES if not (changed and each == "fast-forward")]
    strategy = rng.choice(strategies)
    found = updated(name, strategy, root)
    return found and f"{name}, {strategy}\n{found}"


ROUNDS: Mapping[str, Callable[[Random, Path], str]] = {"hard": hard}
