"""`/resolve` where more than a field conflicts: whole files, whole resources, and the Kptfile."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from cadlib.package.files import Entry, Files
from lifecycle.drafting.make import DraftInputs
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
