"""`/resolve` where more than a field conflicts: whole files, whole resources, and the Kptfile."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from cadlib.errors import PackageError
from cadlib.merge.conflicts import Conflict
from cadlib.package.files import Entry, Files
from lifecycle.drafting.make import DraftInputs
from lifecycle.drafting.resolving import Sides, resolve
from lifecycle.facts.drafts import DraftKind, DraftRequest
from lifecycle.facts.update import MergedPackage
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


def after(files: Files, came: MergedPackage) -> Files:
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

    def resolve(self, value: str, number: int = 1) -> MergedPackage:
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
    assert upgraded.resolve("local") == MergedPackage()


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


def test_an_element_that_is_known_by_what_conflicts_is_found() -> None:
    """The short-cut refuses where the key of the element is what both sides changed."""
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec:\n  ports:\n  - port: {}\n"
    sides = [entries({"s.yaml": text.replace("{}", each)}) for each in "123"]
    conflict = Conflict(
        path="s.yaml",
        resource="v1/Service/s",
        field="spec.ports[0].port",
        base=1,
        ours=2,
        theirs=3,
        chosen="upstream",
        reason="changed on both sides",
    )
    found = resolve(Sides(sides[2], sides[1], sides[2]), [conflict], 0, "local")
    assert found == {"s.yaml": sides[1]["s.yaml"]}

    emptied = entries({"s.yaml": text.partition("  ports")[0] + "  ports: []\n"})
    with pytest.raises(PackageError, match="not there any more"):
        resolve(Sides(emptied, {}, sides[2]), [conflict], 0, "local")


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
        resolve(Sides(files, files, files), [conflict], 0, value)


@pytest.mark.parametrize(("file", "there"), [("f", "f/x"), ("f/x", "f")])
def test_a_file_that_comes_back_takes_no_other_with_it(file: str, there: str) -> None:
    """The short-cut puts it there: a folder of that name goes, with all that is in it."""
    base, here, theirs = entries({file: "1\n"}), entries({there: "9\n"}), entries({file: "3\n"})
    upgraded = Upgraded(base, here, theirs)
    assert "one name" in upgraded.resolve("upstream").problem
    assert upgraded.files[there].data == b"9\n"
