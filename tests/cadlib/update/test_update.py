"""Updates as whole stories in memory: what comes out, what is fetched, what is refused.

Longer than 400 lines: a story for each strategy and each state of a package.
"""

from collections.abc import Mapping

import pytest

from cadlib.errors import PackageError
from cadlib.kptfile.reader import read as read_kptfile
from cadlib.merge.policy import ConflictPolicy
from cadlib.package.files import EXECUTABLE, Entry
from cadlib.update.packages import Updated, update
from tests.cadlib.upstreams import (
    Served,
    Versions,
    commit,
    config_map,
    files,
    kptfile,
    texts,
)

ROOT = kptfile("app", upstream="up@v1", lock="up@v1")


def _update(
    local: Mapping[str, str],
    versions: Versions,
    *,
    ref: str = "v2",
    strategy: str = "",
    policy: ConflictPolicy = ConflictPolicy.UPSTREAM,
) -> tuple[dict[str, str], Updated]:
    """Update a package; return its files afterwards, and what the update says of itself."""
    before = files(local)
    steps = update(before, name="app", ref=ref, strategy=strategy, policy=policy)
    updated = Served(versions).run(steps)
    after = {**before, **updated.changes}
    return texts({path: entry for path, entry in after.items() if entry}), updated


def _lock(text: str) -> str:
    lock = read_kptfile(text.encode()).upstream_lock
    assert lock is not None
    return f"{lock.ref} {lock.commit}"


def test_local_changes_survive_and_comments_with_them() -> None:
    """The short-cut: take upstream's files, and write the new lock."""
    local = {"Kptfile": ROOT, "a.yaml": config_map("a", x="1", y="mine # because")}
    up = {
        ("up", "v1"): {"a.yaml": config_map("a", x="1", y="1")},
        ("up", "v2"): {"a.yaml": config_map("a", x="2", y="1"), "b.yaml": config_map("b", z="1")},
    }
    after, updated = _update(local, up)
    assert after["a.yaml"] == config_map("a", x="2", y="mine # because")
    assert after["b.yaml"] == config_map("b", z="1")
    assert _lock(after["Kptfile"]) == f"v2 {commit('v2')}"
    assert updated.conflicts == ()
    assert updated.packages == 1


def test_nothing_new_changes_nothing() -> None:
    """The short-cut: write the Kptfile, or any file, anew."""
    local = {"Kptfile": ROOT + "# mine\n", "a.yaml": config_map("a", x="1")}
    after, updated = _update(local, {("up", "v1"): {"a.yaml": config_map("a", x="0")}}, ref="")
    assert updated.changes == {}
    assert after == local


def test_a_conflict_is_told_and_goes_where_the_policy_says() -> None:
    """The short-cut: let upstream win in silence."""
    local = {"Kptfile": ROOT, "a.yaml": config_map("a", x="mine")}
    up = {
        ("up", "v1"): {"a.yaml": config_map("a", x="old")},
        ("up", "v2"): {"a.yaml": config_map("a", x="new")},
    }
    for policy, kept in ((ConflictPolicy.UPSTREAM, "new"), (ConflictPolicy.LOCAL, "mine")):
        after, updated = _update(local, up, policy=policy)
        assert after["a.yaml"] == config_map("a", x=kept)
        (conflict,) = updated.conflicts
        assert (conflict.path, conflict.line, conflict.field) == ("a.yaml", 6, "data.x")
        assert (conflict.base, conflict.ours, conflict.theirs) == ("old", "mine", "new")
        assert conflict.chosen == policy.value


def test_a_resource_that_moved_to_another_file_here_still_receives_changes() -> None:
    """The short-cut: identify resources by their file."""
    local = {"Kptfile": ROOT, "moved.yaml": config_map("a", x="1", y="mine")}
    up = {
        ("up", "v1"): {"a.yaml": config_map("a", x="1")},
        ("up", "v2"): {"a.yaml": config_map("a", x="2")},
    }
    after, _ = _update(local, up)
    assert after["moved.yaml"] == config_map("a", x="2", y="mine")
    assert "a.yaml" not in after


@pytest.mark.parametrize("ref", ["v1", ""])
def test_an_update_without_an_upstream_is_refused(ref: str) -> None:
    """The short-cut: report that nothing changed."""
    with pytest.raises(PackageError, match="package must have an upstream reference"):
        _update({"Kptfile": kptfile("app")}, {}, ref=ref)


def test_a_strategy_that_is_not_given_stays() -> None:
    """The short-cut: store resource-merge, as kpt's command does."""
    stored = ROOT.replace("resource-merge", "fast-forward")
    up = {
        ("up", "v1"): {"a.yaml": config_map("a", x="1")},
        ("up", "v2"): {"a.yaml": config_map("a", x="2")},
    }
    after, _ = _update({"Kptfile": stored, "a.yaml": config_map("a", x="1")}, up)
    assert read_kptfile(after["Kptfile"].encode()).update_strategy == "fast-forward"
    after, _ = _update(
        {"Kptfile": stored, "a.yaml": config_map("a", x="1")}, up, strategy="copy-merge"
    )
    assert read_kptfile(after["Kptfile"].encode()).update_strategy == "copy-merge"


def test_fast_forward_refuses_local_changes_but_not_what_kpt_wrote() -> None:
    """The short-cut: compare bytes."""
    noisy = config_map("a", x="1").replace("metadata:\n", "metadata: # kpt-merge: /a\n")
    noisy = noisy.replace(
        "  name: a\n",
        "  name: a\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|ConfigMap||a'\n",
    )
    up = {
        ("up", "v1"): {"a.yaml": config_map("a", x="1")},
        ("up", "v2"): {"a.yaml": config_map("a", x="2")},
    }
    after, _ = _update({"Kptfile": ROOT, "a.yaml": noisy}, up, strategy="fast-forward")
    assert after["a.yaml"] == config_map("a", x="2")
    commented = config_map("a", x="1 # mine")
    with pytest.raises(PackageError, match=r"modified: \[a.yaml\]"):
        _update({"Kptfile": ROOT, "a.yaml": commented}, up, strategy="fast-forward")


def test_a_render_does_not_block_a_fast_forward_and_is_forgotten_by_it() -> None:
    """The short-cut: compare whole Kptfiles, or keep the status of the files before."""
    status = "status:\n  conditions:\n    - type: Rendered\n      status: 'True'\n"
    tree = {"Kptfile": kptfile("blueprint"), "a.yaml": config_map("a", x="1")}
    local = {**tree, "Kptfile": ROOT + status}
    up = {("up", "v1"): tree, ("up", "v2"): {**tree, "a.yaml": config_map("a", x="2")}}
    after, _ = _update(local, up, strategy="fast-forward")
    assert "status" not in after["Kptfile"]
    assert "name: app" in after["Kptfile"]


@pytest.mark.parametrize(
    "strategy", ["resource-merge", "fast-forward", "force-delete-replace", "copy-merge"]
)
def test_a_blueprints_own_upstream_stays_in_the_blueprint(strategy: str) -> None:
    """The short-cut: take over upstream's Kptfile as a whole."""
    theirs = kptfile("blueprint", upstream="elsewhere@main", lock="elsewhere@main")
    up = {("up", ref): {"Kptfile": theirs} for ref in ("v1", "v2")}
    after, _ = _update({"Kptfile": ROOT}, up, strategy=strategy)
    upstream = read_kptfile(after["Kptfile"].encode()).upstream
    assert upstream is not None
    assert (upstream.repo, upstream.ref) == ("up", "v2")


def test_force_delete_replace_keeps_the_address_and_nothing_else() -> None:
    """The short-cut: merge after all, or lose the package's own Kptfile."""
    local = {"Kptfile": ROOT, "a.yaml": config_map("a", x="mine"), "notes.txt": "mine"}
    up = {("up", ref): {"a.yaml": config_map("a", x=ref)} for ref in ("v1", "v2")}
    after, _ = _update(local, up, strategy="force-delete-replace")
    assert after.keys() == {"Kptfile", "a.yaml"}
    assert after["a.yaml"] == config_map("a", x="v2")
    assert "name: app" in after["Kptfile"]


def test_copy_merge_tells_which_local_changes_it_overwrites() -> None:
    """The short-cut: copy in silence, or say of a resource that the file has none to merge."""
    local = {"Kptfile": ROOT, "a.txt": "mine", "b.txt": "mine", "own.txt": "mine"}
    local["c.yaml"] = config_map("c", x="mine")
    up = {
        ("up", "v1"): {"a.txt": "1", "b.txt": "1", "gone.txt": "1", "c.yaml": config_map("c")},
        ("up", "v2"): {"a.txt": "2", "b.txt": "1", "c.yaml": config_map("c", x="2")},
    }
    after, updated = _update(local | {"gone.txt": "1"}, up, strategy="copy-merge")
    assert {path: text for path, text in after.items() if path != "Kptfile"} == {
        "a.txt": "2",
        "b.txt": "1",
        "c.yaml": config_map("c", x="2"),
        "own.txt": "mine",
    }
    assert [(each.path, each.chosen, each.reason) for each in updated.conflicts] == [
        (path, "upstream", "both sides changed the file, which copy-merge takes as a whole")
        for path in ("a.txt", "c.yaml")
    ]


# --- subpackages -------------------------------------------------------------------------


def test_subpackages_without_an_upstream_are_merged_with_the_package() -> None:
    """The short-cut: merge the files below the root as if they were one package."""
    sub = {"sub/Kptfile": kptfile("sub"), "sub/a.yaml": config_map("a", x="1", y="1")}
    local = {"Kptfile": ROOT, **sub, "sub/a.yaml": config_map("a", x="mine", y="1")}
    new = {**sub, "sub/a.yaml": config_map("a", x="1", y="2"), "new/Kptfile": kptfile("new")}
    after, updated = _update(local, {("up", "v1"): sub, ("up", "v2"): new})
    assert after["sub/a.yaml"] == config_map("a", x="mine", y="2")
    assert after["new/Kptfile"] == kptfile("new")
    assert updated.packages == 1


def test_a_folder_that_becomes_a_package_upstream_keeps_local_changes() -> None:
    """The short-cut: decide what belongs to a package in each tree by itself."""
    old = {"sub/a.yaml": config_map("a", x="1", y="1")}
    new = {"sub/a.yaml": config_map("a", x="1", y="2"), "sub/Kptfile": kptfile("sub")}
    local = {"Kptfile": ROOT, "sub/a.yaml": config_map("a", x="mine", y="1")}
    after, _ = _update(local, {("up", "v1"): old, ("up", "v2"): new})
    assert after["sub/a.yaml"] == config_map("a", x="mine", y="2")
    assert after["sub/Kptfile"] == kptfile("sub")


def test_a_subpackage_added_on_both_sides_is_refused() -> None:
    """The short-cut: let one of them disappear."""
    local = {"Kptfile": ROOT, "sub/Kptfile": kptfile("mine")}
    up: Versions = {("up", "v1"): {}, ("up", "v2"): {"sub/Kptfile": kptfile("theirs")}}
    with pytest.raises(
        PackageError, match='subpackage "sub" added in both upstream and local'
    ) as caught:
        _update(local, up)
    assert caught.value.place.path == "sub/Kptfile"


@pytest.mark.parametrize("upstream", ["", "other@v1"])
@pytest.mark.parametrize("changed", [False, True])
def test_a_subpackage_deleted_upstream_goes_unless_it_was_changed(
    upstream: str, changed: bool
) -> None:
    """The short-cut: delete it, or keep it for ever."""
    sub = {
        "sub/Kptfile": kptfile("sub", upstream=upstream, lock=upstream),
        "sub/a.yaml": config_map("a", x="1"),
    }
    local = {"Kptfile": ROOT, **sub}
    if changed:
        local["sub/a.yaml"] = config_map("a", x="mine")
    up: Versions = {
        ("up", "v1"): sub,
        ("up", "v2"): {},
        ("other", "v1"): {"a.yaml": config_map("a", x="1")},
    }
    after, updated = _update(local, up)
    assert ("sub/a.yaml" in after) is changed
    assert [each.path for each in updated.conflicts] == (["sub/Kptfile"] if changed else [])


@pytest.mark.parametrize("upstream", ["", "other@v1"])
def test_a_subpackage_deleted_here_stays_away_with_all_that_is_new_in_it(upstream: str) -> None:
    """The short-cut: look at each package by itself, and bring back those in it."""
    old = {"sub/Kptfile": kptfile("sub", upstream=upstream, lock=upstream)}
    new = {**old, "sub/in/Kptfile": kptfile("in", upstream=upstream, lock=upstream)}
    after, _ = _update({"Kptfile": ROOT}, {("up", "v1"): old, ("up", "v2"): new})
    assert after.keys() == {"Kptfile"}


def test_a_package_made_around_a_subpackage_is_merged_with_nothing() -> None:
    """The short-cut: an error, or a conflict with an upstream that never had it."""
    inner = {"sub/in/Kptfile": kptfile("in")}
    local = {"Kptfile": ROOT, **inner, "sub/Kptfile": kptfile("mine"), "sub/a.txt": "mine"}
    after, updated = _update(local, {("up", "v1"): inner, ("up", "v2"): inner})
    assert {path: after[path] for path in local if path != "Kptfile"} == {
        path: text for path, text in local.items() if path != "Kptfile"
    }
    assert updated.conflicts == ()
    after, updated = _update(
        local, {("up", "v1"): inner, ("up", "v2"): {**inner, "sub/b.txt": "1"}}
    )
    assert (after["sub/a.txt"], after["sub/b.txt"]) == ("mine", "1")


def test_remote_subpackages_follow_the_root_only_in_its_own_repository() -> None:
    """The short-cut: move all of them to the new ref, or none."""
    same = kptfile("same", upstream="up@v1", lock="up@v1")
    other = kptfile("other", upstream="other@v1", lock="other@v1")
    pinned = kptfile("pinned", upstream="up@v0", lock="up@v0")
    sub = {"same/Kptfile": same, "other/Kptfile": other, "pinned/Kptfile": pinned}
    # What comes from "up" holds itself no subpackages, or there would be no end.
    local = {"Kptfile": ROOT, **sub}
    up: Versions = {(repo, ref): {} for repo in ("up", "other") for ref in ("v0", "v1", "v2")}
    after, updated = _update(local, up)
    refs = {path: _lock(text).split()[0] for path, text in after.items()}
    assert refs == {
        "Kptfile": "v2",
        "same/Kptfile": "v2",
        "other/Kptfile": "v1",
        "pinned/Kptfile": "v0",
    }
    assert updated.packages == 4


def test_a_subpackage_that_was_given_another_upstream_is_left_alone() -> None:
    """The short-cut: merge it with what it no longer comes from."""
    old = {"sub/Kptfile": kptfile("sub", upstream="a@v1", lock="a@v1"), "sub/x.txt": "1"}
    new = {"sub/Kptfile": kptfile("sub", upstream="a@v2", lock="a@v2"), "sub/x.txt": "2"}
    mine = {"sub/Kptfile": kptfile("sub", upstream="b@v1", lock="b@v1"), "sub/x.txt": "b"}
    up: Versions = {("up", "v1"): old, ("up", "v2"): new, ("b", "v1"): {"x.txt": "b"}}
    after, _ = _update({"Kptfile": ROOT, **mine}, up)
    assert {path: after[path] for path in mine} == mine


@pytest.mark.parametrize(
    ("policy", "repo"), [(ConflictPolicy.UPSTREAM, "a"), (ConflictPolicy.LOCAL, "b")]
)
def test_another_upstream_that_is_not_fetched_yet_is_told(
    policy: ConflictPolicy, repo: str
) -> None:
    """The short-cut takes upstream's address in silence."""
    old, mine, new = (kptfile("sub", upstream=each) for each in ("a@v1", "b@v1", "a@v2"))
    up: Versions = {
        ("up", "v1"): {"sub/Kptfile": old},
        ("up", "v2"): {"sub/Kptfile": new},
        ("a", "v2"): {"x.txt": "a"},
        ("b", "v1"): {"x.txt": "b"},
    }
    after, updated = _update({"Kptfile": ROOT, "sub/Kptfile": mine}, up, policy=policy)

    assert after["sub/x.txt"] == repo
    (conflict,) = updated.conflicts
    assert (conflict.path, conflict.field) == ("sub/Kptfile", "upstream")
    assert (conflict.ours, conflict.theirs) == ("b/@v1", "a/@v2")


def test_an_upstream_that_nobody_changed_here_follows_whatever_the_policy() -> None:
    """The short-cut keeps every address with the policy `local`."""
    old, new = (kptfile("sub", upstream=each) for each in ("a@v1", "a@v2"))
    up: Versions = {
        ("up", "v1"): {"sub/Kptfile": old},
        ("up", "v2"): {"sub/Kptfile": new},
        ("a", "v1"): {"x.txt": "1"},
        ("a", "v2"): {"x.txt": "2"},
    }
    after, updated = _update({"Kptfile": ROOT, "sub/Kptfile": old}, up, policy=ConflictPolicy.LOCAL)

    assert after["sub/x.txt"] == "2"
    assert updated.conflicts == ()


def test_remote_subpackages_inside_of_local_ones_are_updated() -> None:
    """The short-cut: look for remote packages directly below the root."""
    local = {
        "Kptfile": ROOT,
        "sub/Kptfile": kptfile("sub"),
        "sub/in/Kptfile": kptfile("in", upstream="other@main", lock="other@v1"),
        "sub/in/x.txt": "1",
    }
    up: Versions = {
        ("up", "v1"): {},
        ("up", "v2"): {},
        ("other", "v1"): {"x.txt": "1"},
        ("other", "main"): {"x.txt": "2"},
    }
    after, updated = _update(local, up)
    assert after["sub/in/x.txt"] == "2"
    assert updated.packages == 2


CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: teams.example.com
spec:
  group: example.com
  names:
    kind: Team
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                people:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [name]
                  items:
                    type: object
"""


def test_definitions_in_one_subpackage_count_in_the_others() -> None:
    """The short-cut: look for definitions beside the resource."""

    def team(*people: str) -> str:
        head = "apiVersion: example.com/v1\nkind: Team\nmetadata:\n  name: t\nspec:\n  people:\n"
        return head + "".join(f"    - name: {each}\n" for each in people)

    both = {"crds/Kptfile": kptfile("crds"), "crds/crd.yaml": CRD, "use/Kptfile": kptfile("use")}
    up: Versions = {
        ("up", "v1"): {**both, "use/t.yaml": team("ann")},
        ("up", "v2"): {**both, "use/t.yaml": team("ann", "bob")},
    }
    local = {"Kptfile": ROOT, **both, "use/t.yaml": team("ann", "me")}
    after, updated = _update(local, up)
    assert after["use/t.yaml"] == team("ann", "me", "bob")
    assert updated.conflicts == ()


# --- errors ------------------------------------------------------------------------------


def test_a_generic_lock_is_refused_with_words() -> None:
    """The short-cut: take it as a git lock with nothing in it."""
    lock = "upstreamLock:\n  type: generic\n  generic:\n    storeID: s\n    resourceID: r\n"
    local = {"Kptfile": kptfile("app", upstream="up@v1", more=lock)}
    with pytest.raises(PackageError, match="no origin available"):
        _update(local, {("up", "v2"): {}})


def test_a_broken_kptfile_upstream_is_told_with_its_place_there() -> None:
    """The short-cut: name the local path, where nothing is wrong."""
    up: Versions = {("up", "v1"): {}, ("up", "v2"): {"sub/Kptfile": "apiVersion: v1\n"}}
    with pytest.raises(PackageError) as caught:
        _update({"Kptfile": ROOT}, up)
    assert caught.value.place.path == "up@v2/sub/Kptfile"


def test_a_file_here_and_a_folder_upstream_is_refused() -> None:
    """The short-cut: write both, and let the disk fail halfway."""
    local = {"Kptfile": ROOT, "conf": "mine"}
    with pytest.raises(PackageError, match="'conf' is a file on one side and a folder"):
        _update(local, {("up", "v1"): {}, ("up", "v2"): {"conf/a.txt": "1"}})


def test_modes_are_merged_beside_contents() -> None:
    """The short-cut: take one side's mode with its content."""
    local = {"Kptfile": Entry(ROOT.encode()), "run.sh": Entry(b"1", EXECUTABLE)}
    steps = update(local, name="app", ref="v2")
    updated = Served({("up", "v1"): {"run.sh": "1"}, ("up", "v2"): {"run.sh": "2"}}).run(steps)
    assert updated.changes["run.sh"] == Entry(b"2", EXECUTABLE)


GONE = kptfile("app", upstream="up@v1", lock="up@v0")
"""Upstream has no v0 any more."""


@pytest.mark.parametrize("strategy", ["resource-merge", "fast-forward"])
def test_without_its_origin_a_merge_is_refused_with_what_needs_none(strategy: str) -> None:
    """The short-cut: take what is here as the origin, so that nothing of it is kept."""
    local = {"Kptfile": GONE, "a.yaml": config_map("a", x="mine")}
    up = {("up", "v2"): {"a.yaml": config_map("a", x="2")}}

    with pytest.raises(
        PackageError,
        match=r"no c0ffee7630.* in up.*--strategy force-delete-replace.*--strategy copy-merge",
    ):
        _update(local, up, strategy=strategy)


@pytest.mark.parametrize("strategy", ["force-delete-replace", "copy-merge"])
def test_what_takes_upstream_as_it_is_needs_no_origin(strategy: str) -> None:
    """The short-cuts: kpt's, which fetches the origin all the same; to forget the pipeline of the
    new version; a copy that takes away what is only here."""
    pipeline = "pipeline:\n  mutators:\n  - image: set-labels:v0.2\n    configMap: {tier: TIER}\n"
    local = {
        "Kptfile": GONE + pipeline.replace("TIER", "old"),
        "a.yaml": config_map("a", x="mine"),
        "own.yaml": config_map("own", y="1"),
    }
    up = {
        ("up", "v2"): {
            "Kptfile": kptfile("up", more=pipeline.replace("TIER", "new")),
            "a.yaml": config_map("a", x="2"),
        }
    }

    after, updated = _update(local, up, strategy=strategy)

    assert after["a.yaml"] == config_map("a", x="2")
    assert ("own.yaml" in after) == (strategy == "copy-merge")
    assert _lock(after["Kptfile"]) == f"v2 {commit('v2')}"
    assert "tier: new" in after["Kptfile"]
    assert "tier: old" not in after["Kptfile"]
    assert read_kptfile(after["Kptfile"].encode()).name == "app"
    told = ["a.yaml"] if strategy == "copy-merge" else []
    assert [each.path for each in updated.conflicts if each.path != "Kptfile"] == told


@pytest.mark.parametrize("strategy", ["force-delete-replace", "copy-merge"])
def test_subpackages_of_their_own_go_on_without_the_origin_around_them(strategy: str) -> None:
    """The short-cuts: one that both sides have counts as added by both, which is refused; one
    that only this side has is taken away with the local changes."""
    sub = {"sub/Kptfile": kptfile("sub", upstream="other@v1", lock="other@v1")}
    mine = {"mine/Kptfile": kptfile("mine", upstream="other@v1", lock="other@v1")}
    data = {"sub/b.yaml": config_map("b", x="1"), "mine/b.yaml": config_map("b", x="1")}
    up = {
        ("up", "v2"): {"sub/Kptfile": kptfile("sub", upstream="other@v2")},
        ("other", "v1"): {"b.yaml": config_map("b", x="1")},
        ("other", "v2"): {"b.yaml": config_map("b", x="2")},
    }

    after, _ = _update({"Kptfile": GONE, **sub, **mine, **data}, up, strategy=strategy)

    assert after["sub/b.yaml"] == config_map("b", x="2")
    assert after["mine/b.yaml"] == config_map("b", x="1")


@pytest.mark.parametrize("origin", ["gone", "there"])
@pytest.mark.parametrize("strategy", ["force-delete-replace", "copy-merge"])
def test_what_a_kptfile_has_of_its_own_stays(strategy: str, origin: str) -> None:
    """Short-cut refused: without its origin the Kptfile counts as unchanged, so that upstream's
    takes away its inventory, by which kpt knows what is in the cluster, and its own functions."""
    own = (
        "pipeline:\n  mutators:\n  - image: set-labels:v0.2\n  - image: mine:v1\n"
        "  validators:\n  - image: mine-too:v1\n"
        "inventory:\n  namespace: here\n  name: inventory\n  inventoryID: abc\n"
    )
    shared = "pipeline:\n  mutators:\n  - image: set-labels:v0.2\n"
    up = {("up", "v2"): {"Kptfile": kptfile("up", more=shared)}}
    if origin == "there":
        up["up", "v0"] = {"Kptfile": kptfile("up", more=shared)}

    after, updated = _update({"Kptfile": GONE + own}, up, strategy=strategy)

    assert after["Kptfile"].endswith(own)
    assert updated.conflicts == ()


@pytest.mark.parametrize("origin", ["gone", "there"])
def test_copy_merge_leaves_subpackages_of_their_own_to_their_upstreams(origin: str) -> None:
    """The short-cut: kpt's, which copies all that upstream has: one that is new there counts as
    added on both sides, which is refused, and of one that both have local changes are lost."""
    new, old = (
        kptfile("sub", upstream=f"other@{ref}", lock=f"other@{ref}") for ref in ("v2", "v1")
    )
    a, b = config_map("a", x="1"), config_map("b", x="1", y="1")
    changed = b.replace("x: 1", "x: mine")
    first = {"old/Kptfile": old, "old/b.yaml": b, "old/in/Kptfile": kptfile("in")}
    second = {"old/Kptfile": new, "old/b.yaml": b.replace("y: 1", "y: 2")}
    inside = {"old/in/Kptfile": kptfile("in")}
    up = {
        ("up", "v2"): {**second, **inside, "new/Kptfile": new, "new/a.yaml": a},
        ("other", "v1"): {"b.yaml": b, "in/Kptfile": kptfile("in")},
        ("other", "v2"): {"b.yaml": second["old/b.yaml"], "in/Kptfile": kptfile("in")},
    }
    if origin == "there":
        up["up", "v0"] = first

    local = {"Kptfile": GONE, **first, "old/b.yaml": changed}
    after, updated = _update(local, up, strategy="copy-merge")

    assert after["new/a.yaml"] == a
    assert "old/in/Kptfile" in after
    assert "y: 2" in after["old/b.yaml"]
    assert ("x: mine" in after["old/b.yaml"]) == (origin == "there")
    told = ["data.x", "data.y"] if origin == "gone" else []
    assert [each.field for each in updated.conflicts] == told
