"""Certificates of a runner and its callers: read, checked, and read again when they change.

Rules
- A file that cannot be used is an error at the start, with its path; later, the certificates that
  were good go on to be used, and the log says why.
- Who renews certificates replaces the files; new connections then use what is there.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import grpc

from fnrunner.contract.errors import CertificateError

_log = logging.getLogger(__name__)

Stamps = tuple[tuple[int, int, int], ...]
"""Of each file: when it was written, its number, its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTls:
    """What a runner shows to its callers, and what it wants of them.

    Attributes:
        certificate: PEM file with its certificate, then those that signed it.
        key: PEM file with the private key, not encrypted.
        client_ca: PEM file with the authorities whose certificates callers must show; None
            lets everybody call.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def credentials(self) -> grpc.ServerCredentials:
        """Return credentials that follow the files.

        Raises:
            CertificateError: A file cannot be used.
        """
        files = _Followed(self)
        newer: Any = files.newer  # its type does not know that None means no change
        return grpc.dynamic_ssl_server_credentials(
            files.now, newer, require_client_authentication=self.client_ca is not None
        )

    def read(self) -> grpc.ServerCertificateConfiguration:
        """Return what the files have now, or raise CertificateError."""
        from fnrunner.wire import pem  # see there

        certificate, key = pem.pair(self.certificate, self.key)
        authorities = None if self.client_ca is None else pem.authorities(self.client_ca)
        return grpc.ssl_server_certificate_configuration([(key, certificate)], authorities)

    @property
    def stamps(self) -> Stamps:
        """Changes when a file does."""
        return _stamps(self.certificate, self.key, self.client_ca)


class _Followed:
    """What a server's files had when they were last good."""

    def __init__(self, tls: ServerTls) -> None:
        self._tls = tls
        self._stamps = tls.stamps
        self.now = tls.read()

    def newer(self) -> grpc.ServerCertificateConfiguration | None:
        """Return what the files have if they changed; gRPC asks before each handshake."""
        stamps = self._tls.stamps
        if stamps == self._stamps:
            return None
        self._stamps = stamps
        try:
            self.now = self._tls.read()
        except CertificateError as error:
            _log.warning("the certificates from before stay in use: %s", error)
            return None
        _log.info("certificate read again from %s", self._tls.certificate)
        return self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTls:
    """What a caller wants of a runner, and what it shows.

    Attributes:
        ca: PEM file with the authorities that sign runners' certificates; None means those
            that gRPC brings.
        certificate: PEM file with the caller's certificate; None shows none.
        key: PEM file with its private key; there if `certificate` is.
        name: Name in the runner's certificate, where it is not the host of its address.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    name: str = ""

    @classmethod
    def of(cls, ca: str, certificate: str, key: str) -> Self | None:
        """Return what the names of files say, "" for none; None, which is no TLS, without any."""
        if not ca and not certificate:
            return None
        ca_file, certificate_file, key_file = (
            Path(each) if each else None for each in (ca, certificate, key)
        )
        return cls(ca=ca_file, certificate=certificate_file, key=key_file)

    def credentials(self) -> grpc.ChannelCredentials:
        """Return credentials out of what the files have now.

        Raises:
            CertificateError: A file cannot be used.
        """
        from fnrunner.wire import pem  # see there

        authorities = None if self.ca is None else pem.authorities(self.ca)
        certificate = key = None
        if self.certificate is not None and self.key is not None:
            certificate, key = pem.pair(self.certificate, self.key)
        return grpc.ssl_channel_credentials(authorities, key, certificate)

    @property
    def options(self) -> Sequence[tuple[str, str]]:
        """Options of the channel."""
        return (("grpc.ssl_target_name_override", self.name),) if self.name else ()

    @property
    def stamps(self) -> Stamps:
        """Changes when a file does."""
        return _stamps(self.ca, self.certificate, self.key)


def _stamps(*paths: Path | None) -> Stamps:
    return tuple(_stamp(path) for path in paths if path is not None)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:  # gone, maybe between two renewals; reading it says so
        return 0, 0, 0
    return found.st_mtime_ns, found.st_ino, found.st_size
