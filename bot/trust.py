"""Certificates to trust a forge by that no public authority has signed."""

import os
from pathlib import Path
from typing import Final

VARIABLE: Final = "PORCHBOT_GITHUB_CA"

READ_BY: Final = ("REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO")
"""Variables of the libraries: of the API's client, and of git and what speaks with it."""


def use(file: str) -> None:
    """Have everything in this process, and what it starts, trust the certificates of a file.

    A variable that is set already stays as it is.

    Args:
        file: PEM; "" for the system's certificates.

    Raises:
        OSError: It cannot be read, or holds no certificate.
    """
    if not file:
        return
    path = Path(file).absolute()
    if "-----BEGIN CERTIFICATE-----" not in path.read_text(encoding="utf-8", errors="replace"):
        raise OSError(f"{file} contains no certificate. Give a PEM file of certificates")
    for name in READ_BY:
        os.environ.setdefault(name, str(path))
