"""Certificates to trust a forge by that no public authority has signed."""

import os
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from requests.utils import DEFAULT_CA_BUNDLE_PATH

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
    _read(file)
    for name in READ_BY:
        os.environ.setdefault(name, str(path))


def use_all(files: Iterable[str], together: Path) -> None:
    """Have everything trust the certificates of several forges, and the system's.

    What is trusted for one of them is trusted for the others: the libraries know one file.

    Args:
        files: PEM; "" for a forge that the system's certificates are enough for.
        together: Where the file with all of them is written, if it takes one.

    Raises:
        OSError: One cannot be read, or holds no certificate; or `together` cannot be written.
    """
    wanted = list(dict.fromkeys(files))
    given = [file for file in wanted if file]
    if len(wanted) < 2:
        use(given[0] if given else "")
        return
    texts = [*(_read(file) for file in given), _systems()]
    together.parent.mkdir(parents=True, exist_ok=True)
    together.write_text("\n".join(texts), encoding="utf-8")
    use(str(together))


def _read(file: str) -> str:
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise OSError(f"{file} cannot be read: {why}. Give a PEM file of certificates.") from error
    if "-----BEGIN CERTIFICATE-----" not in text:
        raise OSError(f"{file} contains no certificate. Give a PEM file of certificates.")
    return text


def _systems() -> str:
    """The certificates that this system trusts; those of `requests` where it has none."""
    paths = ssl.get_default_verify_paths()
    folder = Path(paths.capath or paths.openssl_capath)
    for file in (Path(paths.cafile or paths.openssl_cafile), folder / "ca-certificates.crt"):
        if file.is_file():
            return file.read_text(encoding="utf-8", errors="replace")
    return Path(DEFAULT_CA_BUNDLE_PATH).read_text(encoding="utf-8")
