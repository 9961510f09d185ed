"""Images in the store are whole or not there, made once, bounded, and kept while they run.

Longer than 400 lines: one store, and all that may happen to it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fnrunner.images.folders import ImageMetadata, ImageStoreError, ResolvedName
from fnrunner.images.store import ImageStore
from tests.fnrunner.sandboxes import open_folder

A, B, C = (f"sha256:{letter * 64}" for letter in "abc")
HERE = "registry.corp/team/f"
ABOUT = ImageMetadata(
    image=A, argv=("/f", "-x"), environment=("K=v",), folder="/w", size_bytes=1000
)


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as path:
        yield path / "images"


def make(root: Path) -> ImageMetadata:
    (root / "bin").mkdir()
    (root / "bin" / "f").write_text("program")
    (root / "link").symlink_to("bin/f")
    return ABOUT


def never(root: Path) -> ImageMetadata:
    raise AssertionError("it is made again")


def add(store: ImageStore, digest: str, fill: Callable[[Path], ImageMetadata] = make) -> None:
    store.add(digest, HERE, fill, lambda: False).release()


def has(store: ImageStore, digest: str) -> bool:
    lease = store.lease(digest, HERE)
    if lease is not None:
        lease.release()
    return lease is not None


def leavings(folder: Path) -> list[str]:
    return sorted(os.listdir(folder / "aside"))


def test_what_was_made_is_found_by_the_next_process(folder: Path) -> None:
    """Short-cut: keep what is there in memory."""
    assert ImageStore(folder).lease(A, HERE) is None

    add(ImageStore(folder), A)

    with ImageStore(folder).add(A, HERE, never, lambda: False) as lease:
        assert (lease.about, (lease.root / "bin" / "f").read_text()) == (ABOUT, "program")
    assert leavings(folder) == []


def other_link(root: Path) -> Path:
    (root.parent / "other").symlink_to("/etc/passwd")
    return root.parent / "other"


def other_folder(root: Path) -> Path:
    (root / "bin" / "f").unlink()
    (root.parent / "other").mkdir()
    return root.parent / "other"


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file that is cut short": lambda root: os.truncate(root / "bin" / "f", 0),
    "a file of the same length": lambda root: (root / "bin" / "f").write_text("another"),
    "a file that is gone": lambda root: (root / "bin" / "f").unlink(),
    "a file more": lambda root: (root / "bin" / "g").write_text("x"),
    "a file with another mode": lambda root: (root / "bin" / "f").chmod(0o600),
    "a link that leads elsewhere": lambda root: os.replace(other_link(root), root / "link"),
    "a folder in place of a file": lambda root: os.renames(other_folder(root), root / "bin" / "f"),
    "no root": shutil.rmtree,
    "nothing about it": lambda root: (root.parent / "about.json").unlink(),
    "half of what is about it": lambda root: os.truncate(root.parent / "about.json", 40),
    "what is about another": lambda root: (root.parent / "about.json").write_text(
        (root.parent / "about.json").read_text().replace(A, B)
    ),
    "what is about it in another form": lambda root: (root.parent / "about.json").write_text(
        (root.parent / "about.json").read_text().replace('"form": 1', '"form": 0')
    ),
    "what is about it without its program": lambda root: (root.parent / "about.json").write_text(
        (root.parent / "about.json").read_text().replace('"argv"', '"other"')
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_not_as_it_was_is_made_again(
    folder: Path, change: Callable[[Path], object]
) -> None:
    """Short-cut: what has the name of a digest is what has the digest."""
    add(ImageStore(folder), A)
    with ImageStore(folder).add(A, HERE, never, lambda: False) as lease:
        root = lease.root
    time.sleep(0.01)
    change(root)

    store = ImageStore(folder)
    assert not has(store, A)
    add(store, A)

    assert (root / "bin" / "f").read_text() == "program"
    assert has(ImageStore(folder), A)
    assert leavings(folder) == []


def test_the_same_digest_from_elsewhere_is_asked_for(folder: Path) -> None:
    """Short-cut: a digest is enough. A grant for a name would then be had by any other image."""
    store = ImageStore(folder)
    add(store, A)

    assert store.lease(A, "registry.corp/trusted/f") is None
    store.add(A, "registry.corp/trusted/f", never, lambda: False).release()
    assert store.lease(A, "registry.corp/trusted/f") is not None
    assert has(store, A)


def test_another_repository_is_added_while_the_image_runs(folder: Path) -> None:
    store = ImageStore(folder)
    with store.add(A, HERE, make, lambda: False):
        ImageStore(folder).add(A, "other.corp/f", never, lambda: False).release()
    assert store.lease(A, "other.corp/f") is not None


def test_one_makes_it_and_the_others_wait(folder: Path) -> None:
    """Short-cut: look, and make it if it is not there."""
    made = []

    def slow(root: Path) -> ImageMetadata:
        made.append(root)
        time.sleep(0.2)
        return make(root)

    threads = [threading.Thread(target=add, args=(ImageStore(folder), A, slow)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert len(made) == 1
    assert has(ImageStore(folder), A)


def test_who_waits_for_another_may_give_up(folder: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(root: Path) -> ImageMetadata:
        begun.set()
        go_on.wait(60)
        return make(root)

    thread = threading.Thread(target=add, args=(ImageStore(folder), A, slow))
    thread.start()
    begun.wait(60)
    looks = iter([False, False, True])
    with pytest.raises(InterruptedError):
        ImageStore(folder).add(A, HERE, never, lambda: next(looks))
    assert ImageStore(folder).lease(A, HERE) is None  # and who only looks does not wait
    go_on.set()
    thread.join()

    assert has(ImageStore(folder), A)


def test_what_fails_leaves_nothing(folder: Path) -> None:
    def fails(root: Path) -> ImageMetadata:
        make(root)
        raise ValueError("the registry broke off")

    store = ImageStore(folder)
    with pytest.raises(ValueError, match="the registry broke off"):
        add(store, A, fails)

    assert leavings(folder) == []
    assert list((folder / "sha256").iterdir()) == []
    add(store, A)  # and no lock is held


def test_a_full_disk_is_told(folder: Path) -> None:
    def fails(root: Path) -> ImageMetadata:
        raise OSError(28, "No space left on device")

    with pytest.raises(ImageStoreError) as caught:
        add(ImageStore(folder), A, fails)

    assert str(caught.value) == (
        f"{folder}: cannot be written: No space left on device. Free disk space."
    )


def test_who_empties_the_folder_of_a_running_store_does_no_harm(folder: Path) -> None:
    """Short-cut: make the folders at the start. Every image was "a bug" until the next one."""
    store = ImageStore(folder)
    for each in (folder, folder / "locks", folder / "aside"):
        shutil.rmtree(each)
        store.remember("r.io/a:v1", A)
        add(store, A)

        assert store.known("r.io/a:v1") is not None
        assert has(store, A)


def test_an_image_whose_files_went_while_it_was_known_is_made_again(folder: Path) -> None:
    """Short-cut: look at the files once, and fail every run after that."""
    store = ImageStore(folder)
    add(store, A)
    shutil.rmtree(next((folder / "sha256").iterdir()) / "root")

    assert not has(store, A)
    with store.add(A, HERE, make, lambda: False) as lease:
        assert (lease.root / "bin" / "f").read_text() == "program"


def test_a_name_is_of_use_where_it_cannot_be_kept(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Short-cut: fail where the disk is full, though the image is here."""
    store = ImageStore(folder)
    add(store, A)
    shutil.rmtree(folder / "tags")
    (folder / "tags").touch()
    store.remember("r.io/a:v1", A)

    assert has(store, A)
    assert "the digest of r.io/a:v1 cannot be stored" in caplog.text


def test_a_folder_that_cannot_be_made_again_is_told(folder: Path) -> None:
    store = ImageStore(folder)
    add(store, A)
    shutil.rmtree(folder / "locks")
    (folder / "locks").touch()

    assert not has(store, A)
    with pytest.raises(ImageStoreError, match=r"cannot be written: .*\. Free disk space\."):
        add(store, A)


KILLED = """
import os, sys, time
from pathlib import Path
from fnrunner.images.folders import ImageMetadata
from fnrunner.images.store import ImageStore

def make(root):
    (root / "half").write_text("half")
    print("begun", flush=True)
    time.sleep(600)

ImageStore(Path(sys.argv[1])).add(sys.argv[2], "registry.corp/team/f", make, lambda: False)
"""


def test_killed_in_the_middle_nothing_is_taken_for_whole(folder: Path) -> None:
    """Short-cut: unpack in place, and remove it on an error."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, folder, A], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        store = ImageStore(folder)
        assert not has(store, A)
        store.trim()
        assert len(leavings(folder)) == 2  # it is alive: its folder and its lock stay
        process.send_signal(signal.SIGKILL)
    assert len(leavings(folder)) == 2

    assert not has(store, A)
    add(store, A)  # which is not kept waiting by the dead

    assert leavings(folder) == []
    assert has(store, A)
    assert not (folder / "sha256" / ("a" * 64) / "root" / "half").exists()


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        self.now += 100.0
        return self.now


def test_images_used_longest_ago_go_first(folder: Path) -> None:
    """Short-cut: remove those that were brought first."""
    store = ImageStore(folder, 2500, Clock())
    add(store, A)
    add(store, B)
    assert has(store, A)  # used after B
    add(store, C)

    assert [has(store, each) for each in (A, B, C)] == [True, False, True]
    assert leavings(folder) == []


def test_what_runs_is_not_removed_even_by_another(folder: Path) -> None:
    """Short-cut: know only what runs in this process."""
    clock = Clock()
    with ImageStore(folder, 2500, clock).add(A, HERE, make, lambda: False) as lease:
        other = ImageStore(folder, 2500, clock)
        for digest in (B, C):
            add(other, digest)
        assert (lease.root / "bin" / "f").read_text() == "program"
        assert [has(other, each) for each in (A, B, C)] == [True, False, True]
        assert not other.remove(A)
    assert other.remove(A)
    assert not has(other, A)


def test_an_image_larger_than_all_is_there_while_it_is_used(folder: Path) -> None:
    store = ImageStore(folder, 500)
    with store.add(A, HERE, make, lambda: False) as lease:
        store.trim()
        assert (lease.root / "bin" / "f").read_text() == "program"
    store.trim()
    assert not has(store, A)


def test_names_of_images_that_are_gone_are_forgotten_after_a_while(folder: Path) -> None:
    """Short-cut: keep a file for each name that a package ever had; or forget names of images."""
    now = [time.time()]
    store = ImageStore(folder, clock=lambda: now[0])
    store.remember("r.io/here:v1", A)
    store.remember("r.io/gone:v1", B)
    now[0] += 8 * 86_400
    store.remember("r.io/new:v1", B)
    os.utime(
        next(each for each in (folder / "tags").iterdir() if "new" in each.read_text()),
        (now[0],) * 2,
    )

    add(store, A)

    assert [bool(store.known(f"r.io/{name}:v1")) for name in ("here", "gone", "new")] == [
        True,
        False,
        True,
    ]


def test_what_a_name_means_is_known_to_the_next_process(folder: Path) -> None:
    now = [1_800_000_000.0]
    store = ImageStore(folder, clock=lambda: now[0])
    assert store.known("registry.corp/f:v1") is None
    store.remember("registry.corp/f:v1", A)
    now[0] += 90.0

    other = ImageStore(folder, clock=lambda: now[0])
    assert other.known("registry.corp/f:v1") == ResolvedName(A, 90.0)
    assert other.known("registry.corp/f:v2") is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"image": "f"}', '{"image": "f", "digest": 1}'])
def test_a_broken_note_is_no_note(folder: Path, text: str) -> None:
    store = ImageStore(folder)
    store.remember("f", A)
    (path,) = (folder / "tags").iterdir()
    path.write_text(text)

    assert store.known("f") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's sandbox is another user")
def test_a_folder_that_the_sandbox_cannot_enter_is_refused(folder: Path) -> None:
    """Short-cut: root can read everything, so all is well."""
    closed = folder.parent / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(ImageStoreError) as caught:
        ImageStore(closed / "images")

    assert str(caught.value) == (
        f"{closed}/images: lies in {closed}, which other users cannot enter: root's sandbox"
        " runs as another user. Choose a folder that everyone can enter, such as"
        " /var/cache/porchbot/images."
    )


def test_a_place_that_cannot_be_written_is_told(folder: Path) -> None:
    folder.parent.joinpath("file").write_text("")
    with pytest.raises(ImageStoreError, match="cannot be written: Not a directory"):
        ImageStore(folder.parent / "file" / "images")


def test_folders_are_open_to_the_sandbox_whatever_the_umask(folder: Path) -> None:
    before = os.umask(0o077)
    try:
        add(ImageStore(folder / "deep" / "er"), A)
    finally:
        os.umask(before)

    for each in ("", "deep", "deep/er", "deep/er/sha256", f"deep/er/sha256/{'a' * 64}/root"):
        assert oct((folder / each).stat().st_mode & 0o777) == "0o755", each


def test_what_is_kept_is_as_described(folder: Path) -> None:
    add(ImageStore(folder), A)
    entry = folder / "sha256" / ("a" * 64)

    about = json.loads((entry / "about.json").read_text())
    assert sorted(os.listdir(entry)) == ["about.json", "from", "root", "used"]
    assert {key: about[key] for key in ("form", "digest", "argv")} == {
        "form": 1,
        "digest": A,
        "argv": ["/f", "-x"],
    }
    assert [each.read_text() for each in (entry / "from").iterdir()] == [HERE]


def test_names_that_are_written_meanwhile_do_not_stop_the_tidying(folder: Path) -> None:
    """Short-cut: look at each file that was listed, though its writer has moved it by then."""
    store = ImageStore(folder)
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            store.remember("r.io/f:v1", A)

    writers = [threading.Thread(target=write) for _ in range(4)]
    for each in writers:
        each.start()
    try:
        for _ in range(200):
            store.trim()
    finally:
        ended.set()
        for each in writers:
            each.join()


def test_what_is_asked_for_and_not_there_leaves_nothing(folder: Path) -> None:
    """Short-cut: make a lock for whatever digest a package names."""
    assert ImageStore(folder).lease(B, HERE) is None
    assert os.listdir(folder / "locks") == []
