"""What of the network is reached, and what the operator says of it."""

from collections.abc import Sequence
from ipaddress import ip_network
from pathlib import Path

import pytest

from bot.reach import Credential, Reach, is_public, read_credentials, read_private
from bot.upstream.elsewhere import ExternalRepositories
from bot.upstream.routes import GitRoute, GitRoutes
from lifecycle.upstreams.errors import UpstreamError
from lifecycle.upstreams.locations import Location, locate
from lifecycle.upstreams.references import GitReference
from tests.bot.git.server import serve

READER = "github.com/acme/clusters"


def anything(_: Location) -> None:
    """Every repository may be used."""


@pytest.mark.parametrize("address", ["140.82.121.4", "2606:50c0:8000::153", "8.8.8.8"])
def test_which_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "2001:db8::1",
    ],
)
def test_which_addresses_are_not(address: str) -> None:
    """Short-cut refused: only 10.x and 192.168.x, or only as they are written first."""
    assert not is_public(address)


def test_a_name_with_one_private_address_is_refused() -> None:
    """Short-cut refused: the first address is judged, and the second one used."""
    with pytest.raises(UpstreamError, match=r"git\.corp is not in the public network"):
        Reach().addresses("git.corp", 443, lambda *_: ["140.82.121.4", "10.0.0.1"])


def test_what_the_operator_names_is_reached() -> None:
    networks, hosts = read_private("10.1.0.0/16, Git.Corp, fd00::/8")
    reach = Reach(networks=networks, hosts=hosts)

    assert reach.addresses("x", 443, lambda *_: ["10.1.2.3"]) == ("10.1.2.3",)
    assert reach.addresses("git.corp", 443, lambda *_: ["10.9.9.9"]) == ("10.9.9.9",)
    with pytest.raises(UpstreamError, match="x is not in the public network"):
        reach.addresses("x", 443, lambda *_: ["10.2.0.1"])


@pytest.mark.parametrize("text", ["10.1.0.1/16", "git/corp", "300.1.1.1"])
def test_what_is_no_network(text: str) -> None:
    with pytest.raises(ValueError, match=r"network|host|IPv4"):
        read_private(text)


HOMES = ("github.com", "git.corp/gitlab")


def test_credentials_are_read_as_git_stores_them() -> None:
    text = (
        "# for the platform\n\nhttps://bot:s%40crt@Git.Corp.:8443/Platform/x.git"
        " GitHub.com/acme/* git.corp/gitlab/other/x\nhttp://bot:plain@old.corp\n"
    )

    assert read_credentials(text, HOMES) == (
        Credential(
            "git.corp:8443",
            "platform/x",
            "bot:s@crt",
            ("github.com/acme/*", "git.corp/gitlab/other/x"),
        ),
        Credential("old.corp", "", "bot:plain", (), secret=False),
    )
    with pytest.raises(
        ValueError,
        match=r"^line 1 is no address with a user and a password\. Write https://user:token@host",
    ):
        read_credentials("https://git.corp/secret-path")
    for none in ("https://bot:SECRET@[git.corp", "https://bot:a@git.corp:SECRET"):
        with pytest.raises(
            ValueError, match="line 1 is no address with a user and a password"
        ) as no:
            read_credentials(none)
        assert "SECRET" not in str(no.value)


def test_a_repository_is_named_with_its_host_where_it_may_be_at_several() -> None:
    """Short-cut refused: `acme/net` is whichever forge's, and anybody can make one elsewhere."""
    line = "https://bot:secret@git.corp acme/*"

    (alone,) = read_credentials(line, ["github.com"])
    assert alone.readers == ("github.com/acme/*",)
    for given in ("acme/*", "*", "gitlab.com/acme/*", "*/acme/net"):
        with pytest.raises(ValueError, match=r"^line 1 names a repository") as caught:
            read_credentials(f"https://bot:secret@git.corp {given}", HOMES)
        assert str(caught.value) == (
            "line 1 names a repository without its host, and it may be at any of github.com,"
            " git.corp/gitlab. Write the host in front of it, such as github.com/OWNER/NAME"
        )


@pytest.mark.parametrize(
    ("at", "reader", "expected"),
    [
        ("https://git.corp/platform/x", READER, "bot:s"),
        ("https://git.corp/platform", READER, "bot:s"),
        ("https://git.corp/platform-2", READER, ""),
        ("https://git.corp.evil.example/platform", READER, ""),
        ("https://git.corp:8443/platform", READER, ""),
        ("https://git.corp/platform", "github.com/evil/acme/x", ""),
        ("https://git.corp/platform", "gitlab.com/acme/clusters", ""),
        ("https://git.corp/platform", "acme/clusters", ""),
        ("http://git.corp/platform", READER, ""),
    ],
)
def test_credentials_go_where_they_belong(at: str, reader: str, expected: str) -> None:
    """Short-cuts refused: a name at another host; what is for https is sent for all to read."""
    reach = Reach(
        credentials=(Credential("git.corp", "platform", "bot:s", ("github.com/acme/*",)),)
    )
    location = locate(at)
    assert location is not None

    found = reach.credentials_for(location, reader, encrypted=at.startswith("https:"))

    assert found == expected


@pytest.mark.parametrize(
    ("at", "reader", "opens"),
    [
        ("ssh://git@git.corp:2222/platform/x", READER, True),
        ("git@git.corp:platform/x", "github.com/evil/x", False),
        ("git@git.corp:platform/x", "gitlab.com/acme/clusters", False),
        ("git@git.corp:other/x", READER, False),
        ("git@git.example:platform/x", READER, False),
    ],
)
def test_the_key_for_ssh_goes_where_it_belongs(at: str, reader: str, opens: bool) -> None:
    """The short-cut has one key for whoever is served, at any host that is known."""
    key, location = Path("key"), locate(at)
    assert location is not None
    text = "ssh://git@git.corp:2222/platform github.com/acme/*\nhttps://a:b@git.corp\n"
    lines = read_credentials(text, HOMES)

    assert Reach(credentials=lines, ssh_key=key).key_for(location, reader) == (
        key if opens else None
    )
    alone = Reach(credentials=lines[1:], ssh_key=key)
    assert alone.key_for(location, reader) == key
    assert Reach(credentials=lines[:1]).credentials_for(location, READER) == ""
    with pytest.raises(ValueError, match="line 1"):
        read_credentials("ssh://git:secret@git.corp")


@pytest.mark.parametrize(
    ("at", "opens"),
    [
        ("git@git.example:acme/x", True),
        ("git@gitlab.corp:acme/renamed", False),
        ("ssh://git@gitlab.corp:2222/acme/x", False),
        ("ssh://git@ssh.github.com:443/acme/x", False),
        ("git@notgithub.com:acme/x", True),
        ("git@140.82.121.4:acme/x", False),
        ("ssh://git@[2606:50c0:8000::64]/acme/x", False),
    ],
)
def test_no_line_gives_the_key_for_ssh_at_a_forge_that_is_served(at: str, opens: bool) -> None:
    """The short-cut looks the name up: one that a private repository had once is not there, and
    the forge leads to it with the operator's key.
    """
    key, location = Path("key"), locate(at)
    assert location is not None

    reach = Reach(ssh_key=key, served=frozenset({"github.com", "gitlab.corp"}))

    assert reach.key_for(location, READER) == (key if opens else None)


@pytest.mark.parametrize(
    ("addresses", "opens"),
    [
        ({"git.corp": ["10.0.0.7"], "gitlab.corp": ["10.0.0.7", "10.0.0.8"]}, False),
        ({"git.corp": ["10.0.0.9"], "gitlab.corp": ["10.0.0.7", "10.0.0.8"]}, True),
        ({"git.corp": ["10.0.0.9"]}, False),
    ],
    ids=["another name of the forge", "another host", "nobody can tell"],
)
def test_another_name_of_a_forge_that_is_served_is_that_forge(
    tmp_path: Path, addresses: dict[str, list[str]], opens: bool
) -> None:
    """The short-cut compares names: a file of known hosts may have several of one forge."""

    def resolve(host: str, _port: int) -> list[str]:
        if host not in addresses:
            raise OSError("no such host")
        return addresses[host]

    known, key = tmp_path / "known_hosts", tmp_path / "key"
    reach = Reach(
        hosts=frozenset({"git.corp"}),
        known_hosts=known,
        ssh_key=key,
        served=frozenset({"gitlab.corp"}),
    )

    route = GitRoutes(reach, resolve=resolve).open("git@git.corp:acme/secret", READER, anything)

    assert (f"-oIdentityFile={key}" in route.ssh) is opens


def opened(repo: str, reach: Reach, addresses: Sequence[str]) -> GitRoute:
    return GitRoutes(reach, resolve=lambda *_: addresses).open(repo, READER, anything)


def test_http_only_to_what_was_named() -> None:
    """Short-cut refused: http is as good as https, for whoever sits between."""
    with pytest.raises(UpstreamError, match="would be contacted over http, without TLS"):
        opened("http://git.example/x", Reach(), ["140.82.121.4"])


def test_ssh_only_with_known_hosts(tmp_path: Path) -> None:
    """Short-cut refused: whichever key a host shows the first time."""
    with pytest.raises(UpstreamError, match="cannot be reached by ssh, because no host keys"):
        opened("git@git.example:acme/x", Reach(), ["140.82.121.4"])

    known = tmp_path / "known_hosts"
    route = opened("git@git.example:acme/x.git", Reach(known_hosts=known), ["140.82.121.4"])

    assert route.url == "ssh://git@git.example/acme/x.git"
    for option in (
        "StrictHostKeyChecking=yes",
        f"UserKnownHostsFile={known}",
        "GlobalKnownHostsFile=/dev/null",
        "HostKeyAlias=git.example",
        "HostName=140.82.121.4",
        "IdentityAgent=none",
        "ProxyCommand=none",
        "BatchMode=yes",
    ):
        assert f"-o{option}" in route.ssh
    assert route.environment(tmp_path)["GIT_SSH_COMMAND"] == route.ssh


def test_a_name_that_means_two_things(tmp_path: Path) -> None:
    """Short-cut refused: the name is looked up again by git, and means another host by then."""
    with serve(tmp_path / "remote") as remote:
        port = remote.url.split(":")[2].partition("/")[0]
        reach = Reach(
            networks=(ip_network("127.0.0.0/8"),),
            credentials=(
                Credential(f"rebinds.invalid:{port}", "", "anybody:ghs_the_token", secret=False),
            ),
        )
        commit = remote.commit({"net/Kptfile": b"x\n"}, ref="refs/heads/main")
        url = f"http://rebinds.invalid:{port}/remote"
        routes = GitRoutes(reach, resolve=lambda *_: ["127.0.0.1"])
        came = ExternalRepositories(tmp_path / "kept", routes).fetch(
            GitReference(url, "net", "main"), READER, anything
        )

    assert came.commit == commit
