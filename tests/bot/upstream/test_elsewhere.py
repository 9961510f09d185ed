"""Packages from repositories that the bot does not serve, by git over HTTP on this machine.

Longer than 400 lines: what a server does to whoever fetches from it, one test each.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_network
from pathlib import Path

import pytest

from bot.reach import Credential, Reach
from bot.upstream.elsewhere import Came, ExternalRepositories
from bot.upstream.routes import PUBLIC, GitRoutes
from cadlib.limits import PackageLimits
from cadlib.package.files import Entry
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.locations import Location
from lifecycle.upstreams.references import GitReference
from tests.bot.git.server import TOKEN, Remote, serve

KPTFILE = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: core\n"
FILES: dict[str, bytes | str] = {
    "README.md": b"not of the package\n",
    "net/core/Kptfile": KPTFILE,
    "net/core/deep/a.yaml": b"a: 1\n",
}
LOOPBACK = (ip_network("127.0.0.0/8"),)
READER = "github.com/acme/clusters"


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    with serve(tmp_path / "remote") as served:
        first = served.commit(FILES, ref="refs/heads/main")
        served.git("tag", "-a", "-m", "first", "net/core/v1", first)
        yield served


def reach(remote: Remote, **more: object) -> Reach:
    host = remote.url.split("/")[2]
    opens = Credential(host, "", TOKEN, secret=False)
    return Reach(**{"networks": LOOPBACK, "credentials": (opens,), **more})  # type: ignore[arg-type]


def anything(_: Location) -> None:
    """Every repository may be used."""


def fetcher(folder: Path, rules: Reach, **bounds: object) -> ExternalRepositories:
    routes = GitRoutes(rules, seconds=5)
    return ExternalRepositories(folder / "kept", routes, **bounds)  # type: ignore[arg-type]


def get(remote: Remote, folder: Path, ref: str, path: str = "net/core") -> Came:
    wanted = GitReference(remote.url, path, ref)
    return fetcher(folder, reach(remote)).fetch(wanted, READER, anything)


def refused(work: Callable[[], object]) -> tuple[UpstreamFault, str]:
    with pytest.raises(UpstreamError) as raised:
        work()
    return raised.value.fault, str(raised.value)


@pytest.mark.parametrize(
    ("ref", "found"),
    [
        ("v1", "net/core/v1"),
        ("net/core/v1", "net/core/v1"),
        ("latest", "net/core/v1"),
        ("main", "main"),
        ("refs/heads/main", "main"),
    ],
)
def test_a_package_comes_with_what_its_ref_was(
    remote: Remote, tmp_path: Path, ref: str, found: str
) -> None:
    """Short-cut refused: the id of an annotated tag in place of its commit."""
    came = get(remote, tmp_path, ref)

    assert came == Came(
        {"Kptfile": Entry(KPTFILE), "deep/a.yaml": Entry(b"a: 1\n")},
        found,
        remote.refs()["refs/heads/main"],
        remote.git("rev-parse", "main:net/core"),
    )


def test_only_the_files_of_the_package_are_fetched(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: a clone of everything, however large the rest is."""
    remote.git("config", "uploadpack.allowFilter", "true")
    large = os.urandom(2 * 1024**2)
    remote.commit({**FILES, "other/large.bin": large}, ref="refs/heads/main")
    kept = fetcher(tmp_path, reach(remote), most_fetched=1024**2)

    came = kept.fetch(GitReference(remote.url, "net/core", "main"), READER, anything)

    assert sorted(came.files) == ["Kptfile", "deep/a.yaml"]


def test_a_commit_is_fetched_once(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: asking the network for what cannot have changed."""
    commit = remote.refs()["refs/heads/main"]
    kept = fetcher(tmp_path, reach(remote))
    wanted = GitReference(remote.url, "net/core", commit)
    first = kept.fetch(wanted, READER, anything)
    remote.requests.clear()

    assert kept.fetch(wanted, READER, anything) == first
    assert remote.requests == []


def test_what_is_kept_is_judged_all_the_same(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: the rules are asked only where something is fetched."""
    commit = remote.refs()["refs/heads/main"]
    kept = fetcher(tmp_path, reach(remote))
    wanted = GitReference(remote.url, "net/core", commit)
    kept.fetch(wanted, READER, anything)

    def nothing(location: Location) -> None:
        raise UpstreamError(UpstreamFault.NOT_ALLOWED, str(location), "no")

    assert refused(lambda: kept.fetch(wanted, READER, nothing))[0] is UpstreamFault.NOT_ALLOWED


def test_a_branch_that_was_rewritten_gives_what_it_is_now(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: what was fetched by the name before."""
    get(remote, tmp_path, "main")
    remote.commit({"net/core/Kptfile": KPTFILE + b"# 2\n"}, ref="refs/heads/main")

    assert get(remote, tmp_path, "main").files == {"Kptfile": Entry(KPTFILE + b"# 2\n")}


def test_a_commit_that_no_branch_has_any_more(remote: Remote, tmp_path: Path) -> None:
    gone = "1" * 40

    assert refused(lambda: get(remote, tmp_path, gone)) == (
        UpstreamFault.MISSING,
        f"{remote.url}//net/core has no commit {gone[:12]} any more: its branch was rewritten, or"
        " is gone. Name a tag or branch that is there now; if `upstreamLock.git` of a Kptfile"
        " names the commit, upgrade that package with `--strategy` copy-merge or"
        " force-delete-replace.",
    )


def test_a_commit_of_a_strangers_fork(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: forges give a commit of any fork under the name of what was forked."""
    base = remote.refs()["refs/heads/main"]
    evil = remote.commit({"net/core/Kptfile": b"evil\n"}, base, ref="refs/pull/9/head")
    remote.commit({**FILES, "x": b"1"}, base, ref="refs/heads/main")
    remote.git("config", "uploadpack.allowFilter", "true")

    assert get(remote, tmp_path, base).commit == base
    assert refused(lambda: get(remote, tmp_path, evil)) == (
        UpstreamFault.MISSING,
        f"{remote.url}//net/core has no commit {evil[:12]} any more: its branch was rewritten, or"
        " is gone. Name a tag or branch that is there now; if `upstreamLock.git` of a Kptfile"
        " names the commit, upgrade that package with `--strategy` copy-merge or"
        " force-delete-replace.",
    )


def test_a_ref_that_is_not_there(remote: Remote, tmp_path: Path) -> None:
    assert refused(lambda: get(remote, tmp_path, "v2")) == (
        UpstreamFault.MISSING,
        f"{remote.url}//net/core has no tag, branch or commit 'v2'."
        " Check the path and the version; it may have been deleted or renamed.",
    )


def test_a_folder_that_is_not_there(remote: Remote, tmp_path: Path) -> None:
    assert refused(lambda: get(remote, tmp_path, "main", "net/cor")) == (
        UpstreamFault.MISSING,
        f"{remote.url} has no folder 'net/cor' at main. Check the path of the package.",
    )


def test_a_repository_that_was_made_private(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: what the cache has is given to whoever may not see it any more."""
    get(remote, tmp_path, "main")
    kept = fetcher(tmp_path, reach(remote, credentials=()))

    said = refused(
        lambda: kept.fetch(GitReference(remote.url, "net/core", "main"), READER, anything)
    )

    assert said == (
        UpstreamFault.MISSING,
        f"{remote.url} does not exist, or may not be read. Check the address; for a private"
        " repository ask the operator to set credentials for it.",
    )


def test_credentials_are_for_those_whom_the_operator_names(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: whoever names the host in a package reads by the operator's token."""
    host = remote.url.split("/")[2]
    opens = Credential(host, "remote", TOKEN, ("github.com/platform/*",), secret=False)
    kept = fetcher(tmp_path, reach(remote, credentials=(opens,)))
    commit = remote.refs()["refs/heads/main"]
    wanted = GitReference(remote.url, "net/core", commit)

    assert kept.fetch(wanted, "github.com/platform/x", anything).commit == commit
    for reader in (READER, "gitlab.com/platform/x", "gitlab.com/github.com/platform/x"):
        said = refused(partial(kept.fetch, wanted, reader, anything))
        assert said[0] is UpstreamFault.MISSING


def test_in_nobodys_name_no_credentials_are_sent(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: what somebody may not read at the forge comes by the operator's token."""
    get(remote, tmp_path, "main")
    wanted = GitReference(remote.url, "net/core", remote.refs()["refs/heads/main"])
    kept = fetcher(tmp_path, reach(remote))

    assert kept.fetch(wanted, READER, anything).commit == wanted.ref
    assert refused(lambda: kept.fetch(wanted, PUBLIC, anything))[0] is UpstreamFault.MISSING


def test_a_private_address_is_not_asked(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: git is started and finds out, which is what an attacker wanted."""
    kept = fetcher(tmp_path, reach(remote, networks=()))
    remote.requests.clear()

    said = refused(
        lambda: kept.fetch(GitReference(remote.url, "net/core", "main"), READER, anything)
    )

    assert said == (
        UpstreamFault.REFUSED,
        "127.0.0.1 is not in the public network, and porchbot does not fetch from other networks."
        " Ask the operator of the bot to allow it with PORCHBOT_UPSTREAM_PRIVATE.",
    )
    assert remote.connections == 0


def _leads_to(place: str) -> Callable[[BaseHTTPRequestHandler, bytes], bool]:
    def answer(request: BaseHTTPRequestHandler, _: bytes) -> bool:
        request.send_response(302)
        request.send_header("Location", place)
        request.send_header("Content-Length", "0")
        request.end_headers()
        return True

    return answer


def test_a_redirect_to_a_private_address_is_not_followed(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: only the first address is judged."""
    remote.odd = _leads_to("http://169.254.169.254/x/info/refs?service=git-upload-pack")

    assert refused(lambda: get(remote, tmp_path, "main")) == (
        UpstreamFault.REFUSED,
        "127.0.0.1 redirects to 169.254.169.254: 169.254.169.254 is not in the public network, and"
        " porchbot does not fetch from other networks."
        " Ask the operator of the bot to allow it with PORCHBOT_UPSTREAM_PRIVATE.",
    )


def test_a_redirect_is_judged_by_the_configuration_too(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: what is allowed may lead to what is not."""
    judged: list[str] = []

    def only_first(location: Location) -> None:
        judged.append(str(location))
        if len(judged) > 1:
            raise UpstreamError(UpstreamFault.NOT_ALLOWED, f"{location} is not allowed", "Do so")

    remote.odd = _leads_to("/elsewhere/info/refs?service=git-upload-pack")
    kept = fetcher(tmp_path, reach(remote))

    said = refused(
        lambda: kept.fetch(GitReference(remote.url, "net/core", "main"), READER, only_first)
    )

    assert said[0] is UpstreamFault.NOT_ALLOWED
    assert [each.rpartition("/")[2] for each in judged] == ["remote", "elsewhere"]


def test_a_repository_that_moved_is_followed(remote: Remote, tmp_path: Path) -> None:
    inner = _leads_to("/remote/info/refs?service=git-upload-pack")
    remote.odd = lambda request, body: request.path.startswith("/old") and inner(request, body)
    kept = fetcher(tmp_path, reach(remote))
    old = remote.url.replace("/remote", "/old")

    came = kept.fetch(GitReference(old, "net/core", "v1"), READER, anything)

    assert came.ref == "net/core/v1"


@pytest.mark.parametrize("location", ["http://[", "//127.0.0.1:x/info/refs"])
def test_a_redirect_to_what_is_no_address_is_refused(
    remote: Remote, tmp_path: Path, location: str
) -> None:
    """The short-cut takes it apart with `urlsplit`, which raises: the look ends as by a bug."""
    remote.odd = _leads_to(location)

    fault, said = refused(lambda: get(remote, tmp_path, "main"))

    assert (fault, said.partition(",")[0]) == (
        UpstreamFault.REFUSED,
        "127.0.0.1 redirects to ''",
    )


def test_a_redirect_to_letters_that_no_request_has_is_refused(
    remote: Remote, tmp_path: Path
) -> None:
    """The short-cut judges the first address alone: the request raises, and looks end by that."""
    remote.odd = _leads_to("/\u00fcn\u00ef/info/refs?service=git-upload-pack")

    fault, said = refused(lambda: get(remote, tmp_path, "main"))

    assert fault is UpstreamFault.REFUSED
    assert "is not an address of a git repository" in said


def test_a_redirect_in_a_circle_ends(remote: Remote, tmp_path: Path) -> None:
    remote.odd = _leads_to("/remote/info/refs?service=git-upload-pack")

    fault, said = refused(lambda: get(remote, tmp_path, "main"))

    assert (fault, said.partition(" redirects")[0]) == (UpstreamFault.REFUSED, "127.0.0.1")
    assert len(remote.requests) <= 7


def test_an_address_that_looks_like_an_answer_is_none(remote: Remote, tmp_path: Path) -> None:
    """The short-cut looks for "404" or "denied" in all that git says, the address among it: with a
    port like 40312, whatever went wrong is told as a repository that is not there."""
    asked: list[str] = []

    def broken(request: BaseHTTPRequestHandler, _: bytes) -> bool:
        asked.append(request.path)
        if len(asked) == 1:  # whether it redirects; git comes after that
            request.path = request.path.replace("/denied-404", "/remote")
            return False
        request.send_response(500)
        request.send_header("Content-Length", "0")
        request.end_headers()
        return True

    remote.odd = broken
    place = GitReference(remote.url.replace("/remote", "/denied-404"), "net/core", "main")

    fault, _ = refused(lambda: fetcher(tmp_path, reach(remote)).fetch(place, READER, anything))

    assert fault is UpstreamFault.UNREACHABLE
    assert len(asked) > 1


def test_git_itself_follows_nothing(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: the first answer is judged, and git is led elsewhere by a later one."""
    seen: list[str] = []

    def later(request: BaseHTTPRequestHandler, body: bytes) -> bool:
        if request.command == "GET":
            seen.append(request.path)
        if len(seen) < 2 or request.command != "GET" or "/inner" in request.path:
            return False
        return _leads_to("/inner/info/refs?service=git-upload-pack")(request, body)

    remote.odd = later

    fault, _ = refused(lambda: get(remote, tmp_path, "main"))

    assert fault is UpstreamFault.UNREACHABLE
    assert not [each for each in seen if each.startswith("/inner")]


def test_a_repository_without_end_is_ended(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: what comes is measured once all of it has come."""
    sent = 0

    def endless(request: BaseHTTPRequestHandler, body: bytes) -> bool:
        nonlocal sent
        if b"command=fetch" not in body:
            return False
        request.send_response(200)
        request.send_header("Content-Type", "application/x-git-upload-pack-result")
        request.send_header("Connection", "close")
        request.end_headers()
        part = b"\x01" + os.urandom(60_000)
        packet = b"%04x" % (len(part) + 4) + part
        header = b"PACK\0\0\0\2\0\0\0\1\xb0\x80\x80\x80\x80\x08x\x01"  # one large file, stored
        first = b"\x01" + header
        request.wfile.write(b"000dpackfile\n" + b"%04x" % (len(first) + 4) + first)
        try:
            while sent < 2 * 1024**3:
                # Stored blocks of zlib: what comes is as large as what it stands for.
                data = os.urandom(50_000)
                size = len(data).to_bytes(2, "little")
                block = b"\0" + size + bytes(255 - each for each in size) + data
                part = b"\x01" + block
                request.wfile.write(b"%04x" % (len(part) + 4) + part)
                sent += len(packet)
        except OSError:
            pass
        request.close_connection = True
        return True

    remote.odd = endless
    kept = fetcher(tmp_path, reach(remote), most_fetched=8 * 1024**2)

    fault, said = refused(
        lambda: kept.fetch(GitReference(remote.url, "net/core", "main"), READER, anything)
    )

    assert (fault, said) == (
        UpstreamFault.TOO_LARGE,
        f"{remote.url}//net/core@main sent more than 8 MiB, or what takes too much memory to"
        " unpack. Take the package from a repository with fewer or smaller files.",
    )
    assert sent < 200 * 1024**2
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_repository_that_hangs_is_ended(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: each read has an end, and a byte a second comes for ever."""

    def drips(request: BaseHTTPRequestHandler, body: bytes) -> bool:
        if b"command=ls-refs" not in body:
            return False
        request.send_response(200)
        request.send_header("Content-Type", "application/x-git-upload-pack-result")
        request.send_header("Connection", "close")
        request.end_headers()
        try:
            request.wfile.write(b"fff0")
            while True:
                request.wfile.write(b"0")
                request.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass
        request.close_connection = True
        return True

    remote.odd = drips
    kept = fetcher(tmp_path, reach(remote), seconds=1.0)

    said = refused(
        lambda: kept.fetch(GitReference(remote.url, "net/core", "main"), READER, anything)
    )

    assert said == (
        UpstreamFault.TOO_SLOW,
        f"{remote.url}//net/core@main did not answer within 1 s. Try again, or check the host.",
    )
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.parametrize("headers", [True, False])
def test_a_first_answer_that_comes_byte_by_byte_is_slow(
    remote: Remote, tmp_path: Path, headers: bool
) -> None:
    """The short-cut cuts it off and says what that looks like: too many bytes, or a lost line."""

    def drips(request: BaseHTTPRequestHandler, _: bytes) -> bool:
        with suppress(OSError):
            request.wfile.write(b"HTTP/1.1 200 OK\r\n")
            request.wfile.write(b"Content-Length: 100000\r\n\r\n" if headers else b"X-Long: ")
            while True:
                request.wfile.write(b"0")
                time.sleep(0.05)
        request.close_connection = True
        return True

    remote.odd = drips
    kept = ExternalRepositories(tmp_path / "kept", GitRoutes(reach(remote), seconds=0.5))

    said = refused(
        lambda: kept.fetch(GitReference(remote.url, "net/core", "main"), READER, anything)
    )

    assert said == (
        UpstreamFault.TOO_SLOW,
        "127.0.0.1 did not answer within 0.5 s. Try again, or check the host.",
    )


def test_a_name_of_many_addresses_that_are_silent_takes_no_longer_than_one(tmp_path: Path) -> None:
    """The short-cut waits for each of them, for hours: whoever has a name gives it as many."""
    asked: list[socket.socket] = []
    silent = socket.create_server(("0.0.0.0", 0), backlog=64)
    port = silent.getsockname()[1]
    many = [f"127.0.0.{number}" for number in range(2, 42)]
    routes = GitRoutes(Reach(networks=LOOPBACK), seconds=0.4, resolve=lambda *_: many)
    kept = ExternalRepositories(tmp_path / "kept", routes, seconds=1)
    with silent:
        accepting = threading.Thread(target=lambda: asked.extend(_accepted(silent)))
        accepting.start()
        wanted = GitReference(f"http://many.example:{port}/acme/net", "net/core", "main")

        fault, said = refused(lambda: kept.fetch(wanted, READER, anything))

        silent.shutdown(socket.SHUT_RDWR)
        accepting.join()
    for each in asked:
        each.close()
    assert (fault, "did not answer within" in said) == (UpstreamFault.TOO_SLOW, True)
    assert 1 <= len(asked) <= 3


def test_a_fetch_whose_time_was_spent_at_other_addresses_asks_nobody(
    remote: Remote, tmp_path: Path
) -> None:
    """The short-cut gives each address that one leads to the whole time anew."""
    wanted = GitReference(remote.url, "net/core", "main")
    kept = fetcher(tmp_path, reach(remote), seconds=60)

    fault, said = refused(lambda: kept.fetch(wanted, READER, anything, 60))

    assert (fault, "did not answer within 60 s" in said) == (UpstreamFault.TOO_SLOW, True)
    assert kept.fetch(wanted, READER, anything, 1).ref == "main"


def _accepted(door: socket.socket) -> Iterator[socket.socket]:
    with suppress(OSError):  # it was closed
        while True:
            yield door.accept()[0]


def test_files_that_did_not_come_by_themselves_come_with_all(
    remote: Remote, tmp_path: Path
) -> None:
    """The short-cut asks again by the filter that left them out, and keeps a package without."""
    remote.git("config", "uploadpack.allowFilter", "true")
    fetched: list[bool] = []

    def breaks_off_once(request: BaseHTTPRequestHandler, body: bytes) -> bool:
        if b"command=fetch" not in body:
            return False
        fetched.append(len(fetched) == 1)
        if fetched[-1]:
            request.send_error(500)
        return fetched[-1]

    remote.odd = breaks_off_once

    assert get(remote, tmp_path, "main").files["Kptfile"] == Entry(KPTFILE)
    assert fetched == [False, True, False]


def test_what_is_kept_and_not_whole_is_fetched_anew(remote: Remote, tmp_path: Path) -> None:
    """The short-cut says for ever what is missing, once something is."""
    commit = remote.refs()["refs/heads/main"]
    get(remote, tmp_path, commit)
    for each in (tmp_path / "kept").glob("*.git/objects/pack/*"):
        each.unlink()

    assert refused(lambda: get(remote, tmp_path, commit))[0] is UpstreamFault.UNREACHABLE
    assert get(remote, tmp_path, commit).files["Kptfile"] == Entry(KPTFILE)


def test_a_package_of_too_many_files_is_not_fetched(remote: Remote, tmp_path: Path) -> None:
    remote.git("config", "uploadpack.allowFilter", "true")
    kept = fetcher(tmp_path, reach(remote), limits=PackageLimits(files=1))
    remote.requests.clear()

    fault, said = refused(
        lambda: kept.fetch(GitReference(remote.url, "net/core", "main"), READER, anything)
    )

    assert (fault, said) == (
        UpstreamFault.TOO_LARGE,
        f"{remote.url}//net/core is too large: the package holds more than 1 files."
        " Split the package, or name a smaller folder.",
    )


def test_what_is_kept_is_bounded(remote: Remote, tmp_path: Path) -> None:
    """Short-cut refused: a cache that only grows."""
    kept = fetcher(tmp_path, reach(remote), most_kept=1)
    kept.fetch(GitReference(remote.url, "net/core", "main"), READER, anything)

    assert len(kept.trim()) == 1
    assert list((tmp_path / "kept").iterdir()) == []


SSH = """#!/bin/sh
printf '%s\\n' "$@" > "$0.said"
for last; do :; done
exec sh -c "$last"
"""


def test_by_ssh_the_key_of_the_host_is_known_and_nothing_else_is_used(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: ssh asks whether to trust a host, reads the user's configuration, or
    offers the operator's key in nobody's name."""
    ssh = tmp_path / "bin/ssh"
    ssh.parent.mkdir()
    ssh.write_text(SSH)
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}{os.pathsep}{os.environ['PATH']}")
    known, key = tmp_path / "known", tmp_path / "key"
    kept = fetcher(tmp_path, reach(remote, known_hosts=known, ssh_key=key))
    wanted = GitReference(f"ssh://git@127.0.0.1:2222{remote.folder}", "net/core", "main")

    for reader, opens in ((READER, str(key)), (PUBLIC, os.devnull)):
        came = kept.fetch(wanted, reader, anything)

        assert came.commit == remote.refs()["refs/heads/main"]
        said = (ssh.parent / "ssh.said").read_text().splitlines()
        assert said[:2] == ["-F", os.devnull]
        for option in (
            "StrictHostKeyChecking=yes",
            f"UserKnownHostsFile={known}",
            f"GlobalKnownHostsFile={os.devnull}",
            "HostKeyAlias=[127.0.0.1]:2222",
            "HostName=127.0.0.1",
            f"IdentityFile={opens}",
            "IdentitiesOnly=yes",
            "BatchMode=yes",
        ):
            assert f"-o{option}" in said
        assert "git@127.0.0.1" in said
        assert said[said.index("-p") + 1] == "2222"
    assert remote.connections == 0
