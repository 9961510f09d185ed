"""Addresses that a runner listens on: `HOST:PORT`, `[::1]:PORT` and `unix:/PATH`."""

from pathlib import Path

from fnrunner.contract.errors import RunnerAddressError

USUAL = "unix:/PATH or HOST:PORT"

_LAST_PORT = 65535


def socket_path(address: str) -> Path | None:
    """Return the path in `unix:/PATH`; None if the address is none of these."""
    return Path(address.removeprefix("unix:")) if address.startswith("unix:") else None


def host_port(address: str, wanted: str = USUAL) -> tuple[str, int]:
    """Return host and port of an address; the host of an IPv6 address without its brackets.

    Args:
        address: `HOST:PORT` or `[IPv6]:PORT`; port 0 means any that is free.
        wanted: What an operator may give, for the error.

    Raises:
        RunnerAddressError: It is none.
    """
    host, colon, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not (host and colon and port.isascii() and port.isdecimal()):
        raise RunnerAddressError(address, "this is not an address", wanted)
    if ":" in host and not bracketed:
        reason = f"an IPv6 address must be in brackets, as in [::1]:{port}"
        raise RunnerAddressError(address, reason, wanted)
    if int(port) > _LAST_PORT:
        raise RunnerAddressError(address, f"the highest port is {_LAST_PORT}", wanted)
    return (host[1:-1] if bracketed else host), int(port)
