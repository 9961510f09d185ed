"""PEM files of certificates and keys, read and checked.

`tls` imports this where there is such a file: cryptography is a tenth of what a runner without
certificates would import at its start, and 5 MB of its memory.
"""

from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from fnrunner.contract.errors import CertificateError

_PUBLIC: Final = (
    serialization.Encoding.DER,
    serialization.PublicFormat.SubjectPublicKeyInfo,
)


def pair(certificate: Path, key: Path) -> tuple[bytes, bytes]:
    """Return a certificate, with those that signed it, and its key as PEM.

    Raises:
        CertificateError: A file cannot be used, or the key is another certificate's.
    """
    chain, private = _read(certificate), _read(key)
    public = _certificates(certificate, chain)[0].public_key()
    if _private(key, private).public_key().public_bytes(*_PUBLIC) != public.public_bytes(*_PUBLIC):
        raise CertificateError(
            key, f"it is not the private key of {certificate}", "Give a certificate and its key"
        )
    return chain, private


def authorities(path: Path) -> bytes:
    """Return the certificates of authorities as PEM.

    Raises:
        CertificateError: The file cannot be used.
    """
    data = _read(path)
    _certificates(path, data)
    return data


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CertificateError(
            path, f"it cannot be read: {error.strerror}", "Give a PEM file that the runner may read"
        ) from error


def _certificates(path: Path, data: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(data)
    except ValueError as error:
        raise CertificateError(path, "it has no certificate", "Give a PEM file with one") from error


def _private(path: Path, data: bytes) -> PrivateKeyTypes:
    try:
        return serialization.load_pem_private_key(data, None)
    except TypeError as error:
        raise CertificateError(path, "its key is encrypted", "Remove its password") from error
    except ValueError as error:
        raise CertificateError(path, "it has no private key", "Give a PEM file with one") from error
