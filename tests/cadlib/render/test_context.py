"""The ConfigMap that tells functions what their package is called."""

from cadlib.package.files import Entry
from cadlib.render.context import FILE, added, generated, resource
from cadlib.stream.resourcelist import Item
from cadlib.yaml import emit, read

KPTFILE = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\n"
OTHER = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n"
CONTEXT = emit({**resource("old")}).encode()


def test_the_context_is_made_beside_the_outermost_kptfile_alone() -> None:
    """The short-cut: one for each Kptfile, as the name of the function suggests."""
    files = {"Kptfile": Entry(KPTFILE), "sub/Kptfile": Entry(KPTFILE)}
    changes = added(files, "net/shop")
    assert list(changes) == [FILE]
    entry = changes[FILE]
    assert entry is not None
    assert read(entry.data).documents[0].value == resource("shop", "net/shop")


def test_what_is_there_keeps_its_comments_and_layout() -> None:
    """The short-cut: writing the file anew."""
    text = b"# ours\n" + CONTEXT.replace(b"name: old", b"name:   old # mine")
    changes = added({"Kptfile": Entry(KPTFILE), FILE: Entry(text)})
    assert changes == {FILE: Entry(text.replace(b"old #", b"shop #"))}


def test_contexts_elsewhere_go_and_so_does_a_file_of_nothing_else() -> None:
    files = {
        "Kptfile": Entry(KPTFILE),
        "sub/package-context.yaml": Entry(CONTEXT),
        "both.yaml": Entry(OTHER + b"---\n" + CONTEXT),
    }
    changes = added(files)
    assert changes["sub/package-context.yaml"] is None
    assert changes["both.yaml"] == Entry(OTHER)


def test_nothing_changes_twice() -> None:
    files = {"Kptfile": Entry(KPTFILE)}
    made = {path: entry for path, entry in added(files).items() if entry}
    assert added({**files, **made}) == {}
    assert added({"a.yaml": Entry(CONTEXT)}) == {}


def test_a_file_that_is_no_yaml_is_left_alone() -> None:
    broken = b"name: kptfile.kpt.dev\n\t- x: [\n"
    assert list(added({"Kptfile": Entry(KPTFILE), "x.yaml": Entry(broken)})) == [FILE]


def test_in_a_list_the_context_comes_last_and_is_reported() -> None:
    kptfile = Item(read(KPTFILE).documents[0].value, path="Kptfile")
    below = Item(kptfile.value, path="sub/Kptfile")
    old = Item(resource("x"), path="sub/a.yaml")
    items, results = generated([kptfile, old, below])
    assert items == [kptfile, below, Item(resource("shop"), path=FILE)]
    assert results == [
        {"message": "generated package context", "severity": "info", "file": {"path": FILE}}
    ]
    assert generated([below, old]) == ([below], [])
