"""`/resolve` where more than a field conflicts: whole files, whole resources, and the Kptfile."""

import random
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from cadlib import yaml
from cadlib.errors import PackageError
from cadlib.merge.conflicts import Conflict
from cadlib.package.files import Entry, Files
from lifecycle.drafting.make import DraftInputs
from lifecycle.drafting.resolving import ConflictedPackage, resolve
from lifecycle.facts.drafts import DraftKind, DraftRequest
from lifecycle.facts.update import PackageMerge
from lifecycle.facts.upgrades import NumberedConflict, Upgrade
from lifecycle.messages import making as texts
from lifecycle.names import Sha
from tests.lifecycle.test_drafting import KPTFILE, LOCKED, NET, came_to

KPT = KPTFILE.decode() + LOCKED.replace("REF", "net/v1").replace("COMMIT", "")
ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {size: '1'}\n"
TWO = ONE.replace("one", "two")
MINE, NEW = ONE.replace("'1'", "'4'"), ONE.replace("'1'", "'9'")

Texts = Mapping[str, str]
SIDES: dict[str, tuple[Texts, Texts, Texts]] = {
    # What was there first, what is here, and what is upstream.
    "a file without resources": ({"f": "1\n"}, {"f": "2\n"}, {"f": "3\n"}),
    "a file that both added": ({}, {"f": "2\n"}, {"f": "3\n"}),
    "a file that is gone upstream": ({"f": "1\n"}, {"f": "2\n"}, {}),
    "a file that is gone here": ({"f": "1\n"}, {}, {"f": "3\n"}),
    "a resource that is gone upstream": ({"f.yaml": ONE}, {"f.yaml": MINE}, {}),
    "one of two resources that is gone upstream": (
        {"f.yaml": f"{ONE}---\n{TWO}"},
        {"f.yaml": f"{MINE}---\n{TWO}"},
        {"f.yaml": TWO},
    ),
    "a resource that is gone here": ({"f.yaml": ONE}, {}, {"f.yaml": NEW}),
    "one of two resources that is gone here": (
        {"f.yaml": f"{TWO}---\n{ONE}"},
        {"f.yaml": TWO},
        {"f.yaml": f"{TWO}---\n{NEW}"},
    ),
    "a file that copy-merge takes": ({"f.yaml": ONE}, {"f.yaml": MINE}, {"f.yaml": NEW}),
}


def entries(files: Texts, kptfile: str = KPT) -> Files:
    """A package of some texts."""
    return {"Kptfile": Entry(kptfile.encode())} | {p: Entry(t.encode()) for p, t in files.items()}


def after(files: Files, came: PackageMerge) -> Files:
    """A package with what was made."""
    assert not came.problem
    changed = {**files, **came.files}
    return {path: entry for path, entry in changed.items() if entry is not None}


def documents(entry: Entry | None) -> list[bytes]:
    """What a file holds; one that comes back stands behind the others."""
    return [] if entry is None else sorted(entry.data.split(b"---\n"))


class Upgraded:
    """A package that was upgraded, and what `/resolve` makes of it."""

    def __init__(self, base: Files, here: Files, theirs: Files, strategy: str = "") -> None:
        self.before, self._fetched = here, (theirs, base)
        self.request = DraftRequest(kind=DraftKind.UPGRADE, package="shop", strategy=strategy)
        self.came = came_to(self.request, DraftInputs(here=here), *self._fetched)
        self.files = after(here, self.came)

    def resolve(self, value: str, number: int = 1) -> PackageMerge:
        """Decide a conflict."""
        request = replace(self.request, kind=DraftKind.RESOLVE, revision=number, value=value)
        inputs = DraftInputs(here=self.files, revision=self.before)
        found = came_to(request, inputs, *self._fetched)
        if not found.problem:
            self.files = after(self.files, found)
        return found


@pytest.mark.parametrize("case", SIDES)
def test_whole_files_and_resources_are_taken_from_the_side_that_is_named(case: str) -> None:
    """The short-cut takes upstream's for what is there, though upgrades leave these local: the
    commit says "with upstream", and nothing changes."""
    base, here, theirs = map(entries, SIDES[case])
    upgraded = Upgraded(base, here, theirs, "copy-merge" if "copy-merge" in case else "")
    assert len(upgraded.came.conflicts) == 1
    name = next(path for path in {*base, *here, *theirs} if path != "Kptfile")

    for side, of in (("upstream", theirs), ("local", here), ("upstream", theirs)):
        upgraded.resolve(side)
        assert documents(upgraded.files.get(name)) == documents(of.get(name)), side


@pytest.mark.parametrize("case", SIDES)
def test_what_is_no_field_has_no_value(case: str) -> None:
    """The short-cut offers a value for each conflict, and refuses it for those."""
    base, here, theirs = map(entries, SIDES[case])
    upgraded = Upgraded(base, here, theirs, "copy-merge" if "copy-merge" in case else "")
    found = upgraded.resolve("7")
    kind = "resource" if "resource" in case.replace("without resources", "") else "file"
    assert f"a whole {kind} conflicts" in found.problem
    assert "`" not in found.problem
    upgrade = Upgrade(package="shop", commit=Sha("c" * 40), before="t" * 40, upstream=NET)
    (conflict,) = upgraded.came.conflicts
    one = NumberedConflict(number=1, upgrade=upgrade, conflict=conflict, resolved=False)
    told = texts.conflict_finding(one, 1)
    assert told.fix == "Decide it with `/resolve 1 local` or `upstream`"


def test_a_field_of_the_kptfile_is_resolved() -> None:
    """The short-cut looks for a resource of the name "", and tells that the field is gone."""
    base, here, theirs = (
        entries({}, f"{KPT}info: {{description: {each}}}\n") for each in ("first", "mine", "theirs")
    )
    upgraded = Upgraded(base, here, theirs)
    (conflict,) = upgraded.came.conflicts
    assert conflict.field == "info.description"

    for side, text in (("local", b"mine"), ("upstream", b"theirs"), ("other", b"other")):
        upgraded.resolve(side)
        assert b"description: " + text in upgraded.files["Kptfile"].data


def test_a_package_that_is_gone_upstream_is_not_taken_apart() -> None:
    """The short-cut removes the Kptfile alone: its files become parts of the package around it."""
    sub = {"sub/Kptfile": KPTFILE.decode(), "sub/f.yaml": ONE}
    upgraded = Upgraded(entries(sub), entries({**sub, "sub/f.yaml": MINE}), entries({}))
    assert [each.path for each in upgraded.came.conflicts] == ["shop/sub/Kptfile"]
    assert "Remove its folder, and push that" in upgraded.resolve("upstream").problem
    assert upgraded.resolve("local") == PackageMerge()


def deployment(*containers: str) -> str:
    """A Deployment with containers, each "n:version" of a name of one letter."""
    listed = "".join(f"  - name: {c[0]}\n    image: {c}\n" for c in containers)
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: shop}}\nspec:\n  containers:\n{listed}"


LISTS: dict[str, tuple[str, str, str, str, str]] = {
    # What was there first, what is here, what is upstream; with local, with upstream.
    "one before it is gone upstream": (
        "a:1 b:1 c:1",
        "a:1 b:2 c:1",
        "b:3 c:1",
        "b:2 c:1",
        "b:3 c:1",
    ),
    "one is gone here": ("a:1 b:1 c:1", "b:2 c:1", "a:1 b:3 c:1", "b:2 c:1", "b:3 c:1"),
    "others came before it": ("a:1 b:1", "x:1 a:1 b:2", "y:1 a:1 b:3", "", ""),
    "it is gone here": ("a:1 b:1 c:1", "a:1 c:1", "a:1 b:3 c:1", "a:1 c:1", "a:1 b:3 c:1"),
    "it is gone upstream": ("a:1 b:1 c:1", "a:1 b:2 c:1", "a:1 c:1", "a:1 b:2 c:1", "a:1 c:1"),
}


@pytest.mark.parametrize("case", LISTS)
def test_the_element_that_conflicts_is_changed_and_no_other(case: str) -> None:
    """The short-cut takes the position that the conflict names, which is of the list before the
    upgrade: another container gets the image, or goes."""
    *texts_of, local, upstream = LISTS[case]
    base, here, theirs = (entries({"d.yaml": deployment(*each.split())}) for each in texts_of)
    upgraded = Upgraded(base, here, theirs)
    assert len(upgraded.came.conflicts) == 1

    for side, containers in (("local", local), ("upstream", upstream), ("local", local)):
        assert not upgraded.resolve(side).problem
        found = upgraded.files["d.yaml"].data.decode()
        shown = re.findall("image: ([a-z]:[0-9])", found)
        if containers:
            assert sorted(shown) == containers.split(), side
        else:
            assert sorted(shown) == ["a:1", f"b:{2 if side == 'local' else 3}", "x:1", "y:1"]


def test_what_was_pushed_since_moves_no_decision_to_another_element() -> None:
    """The short-cut as above: whoever puts a container before it has that one changed; and where
    the element is gone, nothing is."""
    base, here, theirs = (
        entries({"d.yaml": deployment("a:1", each)}) for each in ("b:1", "b:2", "b:3")
    )
    upgraded = Upgraded(base, here, theirs)
    upgraded.files = {**upgraded.files, **entries({"d.yaml": deployment("z:1", "a:1", "b:3")})}
    upgraded.resolve("local")
    assert upgraded.files["d.yaml"].data.decode() == deployment("z:1", "a:1", "b:2")

    upgraded.files = {**upgraded.files, **entries({"d.yaml": deployment("a:1", "q:3")})}
    assert "not there any more" in upgraded.resolve("local").problem


def listed(kind: str, field: str, *items: str) -> Files:
    """A resource with a list of some elements, each as YAML in braces."""
    rows = "".join(f"    - {{{each}}}\n" for each in items)
    inner = "containers:\n  - name: one\n    " if kind == "Pod" else ""
    text = f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: r}}\nspec:\n  {inner}{field}:\n{rows}"
    return entries({"r.yaml": text})


def elements(files: Files) -> list[dict[str, str]]:
    """What stands in that list, numbers as texts."""
    value: Any = yaml.read(files["r.yaml"].data).documents[0].value
    spec = value["spec"]
    spec = spec["containers"][0] if "containers" in spec else spec
    rows = next(each for each in spec.values() if isinstance(each, list))
    return [{key: str(value) for key, value in row.items()} for row in rows]


ALIKE: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...], str]] = {
    # Kind and list; what was there first, what is here, what is upstream; what changes with local.
    "two mounts of one volume": (
        "Pod",
        "volumeMounts",
        ("name: v, mountPath: /a", "name: v, mountPath: /b"),
        ("name: v, mountPath: /a", "name: v, mountPath: /b, subPath: mine"),
        ("name: v, mountPath: /a",),
        "name: v, mountPath: /b, subPath: mine",
    ),
    "ports that changed names": (
        "Service",
        "ports",
        ("name: x, port: 1, targetPort: 1", "name: y, port: 2, targetPort: 1"),
        ("name: x, port: 1, targetPort: 2", "name: y, port: 2, targetPort: 1"),
        ("name: y, port: 1, targetPort: 3", "name: x, port: 2, targetPort: 1"),
        "name: y, port: 1, targetPort: 2",
    ),
    "a port that has its protocol by now": (
        "Service",
        "ports",
        ("port: 1, targetPort: 1", "port: 2, targetPort: 1"),
        ("port: 1, targetPort: 2", "port: 2, targetPort: 1"),
        ("protocol: TCP, port: 1, targetPort: 3", "port: 2, targetPort: 1"),
        "protocol: TCP, port: 1, targetPort: 2",
    ),
}


@pytest.mark.parametrize("case", ALIKE)
def test_an_element_is_known_as_the_merge_knew_it(case: str) -> None:
    """The short-cut guesses what elements are known by: another one is overwritten, and lost."""
    kind, field, *sides, changed = ALIKE[case]
    base, here, theirs = (listed(kind, field, *each) for each in sides)
    upgraded = Upgraded(base, here, theirs)
    before = elements(upgraded.files)
    assert not upgraded.resolve("local", len(upgraded.came.conflicts)).problem

    after = elements(upgraded.files)
    told = dict(each.split(": ") for each in changed.split(", "))
    assert [each for each in after if each not in before] == [told]
    lost = [each for each in before if each not in after]
    assert len(lost) == (case != "two mounts of one volume")


def test_an_element_that_two_could_be_is_none() -> None:
    """The short-cut takes the first: where a port changed its number, both may be there."""
    sides = [listed("Service", "ports", f"name: p, port: {n}, targetPort: {n}") for n in (1, 1, 2)]
    sides[1] = listed("Service", "ports", "name: p, port: 1, targetPort: 7")
    upgraded = Upgraded(sides[0], sides[1], sides[2])
    upgraded.files = {**upgraded.files, **listed("Service", "ports", "port: 1", "port: 2")}
    assert "not there any more" in upgraded.resolve("local", 2).problem


def test_a_function_without_a_name_is_known_by_its_image() -> None:
    """The short-cut looks for the name that the merge gave it."""
    text = "pipeline:\n  mutators:\n  - image: a:v1\n  - image: b:v1\n    configMap: {n: NEW}\n"
    base, here, theirs = (
        entries({}, KPT + text.replace("NEW", each).replace("- image: a:v1\n", more))
        for each, more in (
            ("x", "- image: a:v1\n"),
            ("w", "- image: a:v1\n"),
            ("z", "- image: c\n"),
        )
    )
    upgraded = Upgraded(base, here, theirs)
    assert [each.field for each in upgraded.came.conflicts] == ["pipeline.mutators[1].configMap.n"]
    assert not upgraded.resolve("local").problem
    assert b"  - image: b:v1\n    configMap: {n: w}\n" in upgraded.files["Kptfile"].data


@pytest.mark.parametrize("path", ["", "  - name: a\n  "])
def test_a_comment_is_resolved_as_a_comment(path: str) -> None:
    """The short-cut writes the comment in the place of the value that it stands behind."""
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: r}\nspec:\n"
    text = head + (f"  containers:\n{path}" if path else "") + "  tty: true # {}\n"
    base, here, theirs = (entries({"r.yaml": text.replace("{}", each)}) for each in "abc")
    upgraded = Upgraded(base, here, theirs)
    assert "comment" in upgraded.resolve("true").problem
    for side, comment in (("local", "b"), ("upstream", "c"), ("local", "b")):
        assert not upgraded.resolve(side).problem
        assert upgraded.files["r.yaml"].data.decode() == text.replace("{}", comment)
    upgrade = Upgrade(package="shop", commit=Sha("c" * 40), before="t" * 40, upstream=NET)
    one = NumberedConflict(
        number=1, upgrade=upgrade, conflict=upgraded.came.conflicts[0], resolved=False
    )
    assert texts.conflict_finding(one, 1).fix == "Decide it with `/resolve 1 local` or `upstream`"


@pytest.mark.parametrize("side", ["local", "upstream", "7"])
def test_what_could_not_be_written_is_not_resolved_by_one_field(side: str) -> None:
    """The short-cut takes that field out: neither side of such a conflict has a value."""
    base, here, theirs = (
        entries({"r.yaml": f"{ONE.replace('data', 'other')}data: {each}\n"})
        for each in (
            "{a: &x {v: 1}, b: *x}",
            "{a: &x {v: 1}, b: *x, c: 1}",
            "{a: {v: 1}, b: {v: 2}}",
        )
    )
    upgraded = Upgraded(base, here, theirs)
    (conflict,) = upgraded.came.conflicts
    assert conflict.reason.startswith("the merged value cannot be written here")
    assert "cannot be written" in upgraded.resolve(side).problem
    upgrade = Upgrade(package="shop", commit=Sha("c" * 40), before="t" * 40, upstream=NET)
    one = NumberedConflict(number=1, upgrade=upgrade, conflict=conflict, resolved=False)
    told = texts.conflict_finding(one, 1)
    assert told.fix == "Change the file, and push it"
    assert "absent" not in told.message


@pytest.mark.parametrize("value", ["local", "upstream", "7"])
def test_where_a_package_comes_from_is_not_decided_as_a_value(value: str) -> None:
    """The short-cut writes the address that the conflict shows in the place of `upstream`: then
    the Kptfile cannot be read any more."""
    conflict = Conflict(
        path="sub/Kptfile",
        field="upstream",
        base="https://x.test/a/d@v1",
        ours="https://x.test/mine/d@v1",
        theirs="https://x.test/a/d@v2",
        chosen="upstream",
        reason="the package was given another upstream here",
    )
    files = {"sub/Kptfile": Entry(KPT.encode())}
    with pytest.raises(PackageError, match="decided with its lock"):
        resolve(ConflictedPackage(files, files, files), [conflict], 0, value)


@pytest.mark.parametrize(("file", "there"), [("f", "f/x"), ("f/x", "f")])
def test_a_file_that_comes_back_takes_no_other_with_it(file: str, there: str) -> None:
    """The short-cut puts it there: a folder of that name goes, with all that is in it."""
    base, here, theirs = entries({file: "1\n"}), entries({there: "9\n"}), entries({file: "3\n"})
    upgraded = Upgraded(base, here, theirs)
    assert "one name" in upgraded.resolve("upstream").problem
    assert upgraded.files[there].data == b"9\n"


def rows(rng: random.Random, side: str) -> list[str]:
    """Elements of a list that nothing tells apart: words that repeat, some with a comment."""
    words = [rng.choice("aab") for _ in range(rng.randint(1, 4))]
    return [f"{word} # {side}{n}" if rng.random() < 0.5 else word for n, word in enumerate(words)]


@pytest.mark.parametrize("seed", range(40))
def test_a_whole_list_comes_with_the_comments_of_its_side(seed: int) -> None:
    """The short-cut writes the values of the side, and leaves the comments of the other one beside
    what is not there any more, or none."""
    rng = random.Random(seed)
    lists = [[*rows(rng, side), side] for side in ("base", "here", "upstream")]
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: r}\nspec:\n  args:\n"
    shown = [head + "".join(f"  - {row}\n" for row in each) for each in lists]
    base, here, theirs = (entries({"r.yaml": each}) for each in shown)
    upgraded = Upgraded(base, here, theirs)
    assert upgraded.came.conflicts[0].field == "spec.args"

    for side, text in (("local", shown[1]), ("upstream", shown[2]), ("local", shown[1])):
        assert not upgraded.resolve(side).problem
        assert upgraded.files["r.yaml"].data.decode() == text
