"""What of the network upstreams may be fetched from: addresses, hosts and credentials.

Rules:

1. A host is looked up once, and every address that it has is judged; the connection goes to one of
   those, whatever the name says a moment later.
2. Only addresses of the public network are reached. The operator may name others: networks
   (10.1.0.0/16) or hosts (git.corp). Plain http is spoken with these only.
3. ssh needs the operator's file of known hosts, which has to name the host.
4. Credentials are the operator's, for a host, and for the paths and repositories that they name:
   a repository is told by its host as well.
"""

import fnmatch
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from urllib.parse import unquote

from fnrunner import urls
from lifecycle.messages import upstreams as texts
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.locations import Location

Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Sequence[str]]
"""Gives the addresses of a host."""

_MORE: tuple[Network, ...] = tuple(
    ip_network(each)
    for each in (
        "192.0.0.0/24",  # of protocols; clouds answer there
        "168.63.129.16/32",  # Azure's own
        "192.88.99.0/24",
        "100.64.0.0/10",
        "240.0.0.0/4",
    )
)
"""What is public by its number, and none of the public network."""

_WRAPPED = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
"""Where the last four bytes are an address of IPv4 (RFC 6052, RFC 8215)."""

_FAULT = UpstreamFault.REFUSED
_SSH = 22


@dataclass(frozen=True, slots=True)
class Credential:
    """What opens repositories at a host.

    Attributes:
        host: With its port, where it is not that of https.
        path: Beginning of the paths that it is for; "" for all.
        user_password: With a colon between.
        readers: Locations of the repositories that get packages by it, such as
            "github.com/acme/net", or patterns of them; empty for all.
        secret: It is sent over encrypted connections only.
        ssh: It says for whom the key for ssh is, and opens nothing by itself.
    """

    host: str
    path: str
    user_password: str = field(repr=False)
    readers: tuple[str, ...] = ()
    secret: bool = True
    ssh: bool = False

    def fits(self, host: str, path: str, reader: str, *, encrypted: bool = True) -> bool:
        """Tell whether it is for a repository, for whom asks, and for the way there."""
        inside = not self.path or f"{path}/".startswith(f"{self.path}/")
        there = self.host == host and inside and (encrypted or not self.secret)
        return there and self._is_for(reader)

    def _is_for(self, reader: str) -> bool:
        name = reader.lower()
        return not self.readers or any(fnmatch.fnmatchcase(name, each) for each in self.readers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What the operator lets upstreams be fetched from.

    Attributes:
        networks: That are no part of the public network and may be reached.
        hosts: Of such networks, by name, in lower case.
        credentials: The first one that fits is used.
        known_hosts: Keys of hosts for ssh; None where ssh is not used.
        ssh_key: Private key for ssh; None for none. Where credentials say for whom it is, nobody
            else gets it, and elsewhere than at forges that are served everybody does.
        served: Hosts of forges that are served, in lower case. There a repository may have another
            name or address by now, so nothing tells by ssh whether it consents.
    """

    networks: tuple[Network, ...] = ()
    hosts: frozenset[str] = frozenset()
    credentials: tuple[Credential, ...] = ()
    known_hosts: Path | None = None
    ssh_key: Path | None = None
    served: frozenset[str] = frozenset()

    def addresses(self, host: str, port: int, resolve: Resolve | None = None) -> tuple[str, ...]:
        """Look a host up; returns its addresses, all of which may be reached.

        Args:
            host: Name or address.
            port: Which is asked for.
            resolve: Looks it up; None for the system.

        Raises:
            UpstreamError: It has none, or one that is not reached.
        """
        try:
            found = tuple((resolve or _looked_up)(host, port))
        except (OSError, UnicodeError) as error:
            raise UpstreamError(UpstreamFault.UNREACHABLE, *texts.no_host(host)) from error
        if not found:
            raise UpstreamError(UpstreamFault.UNREACHABLE, *texts.no_host(host))
        for each in found:
            if not self._reaches(host, each):
                # Which address it is would tell of the operator's network.
                raise UpstreamError(_FAULT, *texts.private(host))
        return found

    def is_named(self, host: str, addresses: Sequence[str]) -> bool:
        """Tell whether the operator named a host, or all networks that its addresses are in."""
        return host.lower() in self.hosts or all(map(self._in_networks, addresses))

    def credentials_for(self, at: Location, reader: str, *, encrypted: bool = True) -> str:
        """Return user and password for a repository, with a colon between; "" for none.

        Args:
            at: The repository.
            reader: Location of the one that it is for.
            encrypted: Nobody on the way there can read it.
        """
        fits = (
            each
            for each in self.credentials
            if not each.ssh and each.fits(at.host, at.path, reader, encrypted=encrypted)
        )
        return next((each.user_password for each in fits), "")

    def key_for(
        self,
        at: Location,
        reader: str,
        addresses: Sequence[str] = (),
        resolve: Resolve | None = None,
    ) -> Path | None:
        """Return the private key for a repository by ssh; None for none.

        Args:
            at: The repository.
            reader: Location of the one that it is for.
            addresses: Of its host, as far as they are known: another name of a forge that is served
                is that forge.
            resolve: As for `addresses`.
        """
        named = [each for each in self.credentials if each.ssh]
        if any(each.fits(at.host, at.path, reader) for each in named):
            return self.ssh_key
        if named or self._is_served(at.host) or self._is_forges(addresses, resolve):
            return None
        return self.ssh_key

    def _is_forges(self, addresses: Sequence[str], resolve: Resolve | None) -> bool:
        """Whether any of some addresses is one of a forge that is served, or may be."""
        for host in sorted(self.served) if self.ssh_key and addresses else ():
            try:
                if not set(addresses).isdisjoint((resolve or _looked_up)(host, _SSH)):
                    return True
            except (OSError, UnicodeError):
                return True  # nobody can tell
        return False

    def _is_served(self, host: str) -> bool:
        """Whether a host may be that of a forge that is served, or below: ssh.github.com is.

        Whose a bare number is nobody tells.
        """
        bare = host.partition(":")[0]
        if self.served and (host.startswith("[") or bare.replace(".", "").isdigit()):
            return True
        return any(each and f".{bare}".endswith(f".{each}") for each in self.served)

    def _reaches(self, host: str, address: str) -> bool:
        return is_public(address) or host.lower() in self.hosts or self._in_networks(address)

    def _in_networks(self, address: str) -> bool:
        at = _plain(address)
        return any(at.version == each.version and at in each for each in self.networks)


def is_public(address: str) -> bool:
    """Tell whether an address is one of the public network."""
    at = _plain(address)
    closed = at.is_multicast or at.is_reserved or at.is_unspecified or not at.is_global
    return not closed and not any(at.version == each.version and at in each for each in _MORE)


def _plain(address: str) -> IPv4Address | IPv6Address:
    """An address, without what wraps one of IPv4 into one of IPv6."""
    at = ip_address(address.partition("%")[0])
    if isinstance(at, IPv6Address):
        inner = at.ipv4_mapped or at.sixtofour
        if inner is None and any(at in each for each in _WRAPPED):
            inner = IPv4Address(at.packed[-4:])
        return inner or at
    return at


def _looked_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def read_private(text: str) -> tuple[tuple[Network, ...], frozenset[str]]:
    """Read networks and hosts that the operator names.

    Args:
        text: Separated by commas, such as "10.1.0.0/16,git.corp".

    Raises:
        ValueError: One of them is neither; it says which.
    """
    networks: list[Network] = []
    hosts: set[str] = set()
    for each in filter(None, (part.strip() for part in text.split(","))):
        if each[0].isdigit() or ":" in each:
            networks.append(ip_network(each))
        elif "/" in each or not each.isascii():
            raise ValueError(f"{each!r} is neither a network nor a host")
        else:
            hosts.add(each.lower().rstrip("."))
    return tuple(networks), frozenset(hosts)


def read_credentials(text: str, homes: Sequence[str] = ()) -> tuple[Credential, ...]:
    """Read credentials for hosts, a line each, as git's own credential store has them.

    Behind the address may stand repositories that alone get packages by it, or patterns of them,
    with the hosts that they are at: anybody may have a repository of the same name elsewhere. The
    host may be left out where there is one forge alone. A line with ssh has no password, and says
    for what the key for ssh is.

    Args:
        text: Such as "https://bot:secret@git.corp/platform github.com/acme/*".
        homes: What addresses of repositories begin with at each forge that is served.

    Raises:
        ValueError: A line is none; it says which, what to write, and nothing of what stands there.

    Source: https://git-scm.com/docs/git-credential-store
    """
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        parts = urls.parts(words[0])
        ssh = parts.scheme == "ssh"
        opens = bool(parts.hostname) and (parts.password is None if ssh else bool(parts.password))
        if parts.scheme not in ("https", "http", "ssh") or not opens:
            raise ValueError(
                f"line {number} is no address with a user and a password. Write"
                " https://user:token@host there, or ssh://host for the key"
            )
        usual = 443 if parts.scheme == "https" else 80
        port = f":{parts.port}" if not ssh and parts.port not in (None, usual) else ""
        path = parts.path.strip("/").removesuffix(".git").lower()
        readers = tuple(_reader(each.lower(), homes, number) for each in words[1:])
        text = "" if ssh else f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        host = (parts.hostname or "").rstrip(".")
        secret = parts.scheme != "http"
        found.append(Credential(f"{host}{port}", path, text, readers, secret, ssh))
    return tuple(found)


def _reader(word: str, homes: Sequence[str], line: int) -> str:
    """A pattern of repositories with the host that they are at."""
    if any(word.startswith(f"{home}/") for home in homes):
        return word
    if len(homes) == 1:
        return f"{homes[0]}/{word}"
    raise ValueError(
        f"line {line} names a repository without its host, and it may be at any of"
        f" {', '.join(homes) or 'no forge'}. Write the host in front of it, such as"
        f" {next(iter(homes), 'github.com')}/OWNER/NAME"
    )
