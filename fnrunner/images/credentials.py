"""Registry credentials: from docker's configuration, or the operator's credential file.

Rules
- A file that an operator names is the only source; otherwise docker's own configuration is.
- An entry is found by the host, with or without a scheme, a path or "*" in it; the most exact
  counts. A helper program that is named for a host goes before what the file holds.
- Files are read each time: they are replaced while we run, and registries are asked rarely.
- Secrets never reach an error or a log.

Source: docker's `config.json`; Kubernetes' `.dockerconfigjson`; the protocol of docker's
credential helpers.
"""

import base64
import binascii
import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

_HELPER_SECONDS: Final = 30.0  # a helper may ask a cloud for a fresh password
_LONGEST: Final = 1024 * 1024  # bytes of a credential file; real ones have a few kilobytes
_DOCKER_HUB: Final = "https://index.docker.io/v1/"  # how docker calls its own registry


class CredentialsError(Exception):
    """Credentials cannot be read; an operator must mend them."""

    def __init__(self, place: str, problem: str, fix: str) -> None:
        super().__init__(f"{place}: {problem}. {fix}.")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Username and password, or a token; all "" for anonymous access.

    Attributes:
        user: Name of the account.
        password: Its password.
        identity: A token that is exchanged for others, in place of user and password.
        bearer: A token that is sent as it is.
    """

    user: str = ""
    password: str = field(default="", repr=False)
    identity: str = field(default="", repr=False)
    bearer: str = field(default="", repr=False)

    @property
    def basic(self) -> str:
        """Value of the header `Authorization`, or ""."""
        if not self.user:
            return ""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


ANONYMOUS: Final = Credentials()


def find(host: str, repository: str, file: Path | None = None) -> Credentials:
    """Return the credentials for a registry.

    Args:
        host: As in the name of the image, such as "registry.corp:5000" or "docker.io".
        repository: Such as "team/set-labels"; entries may be for a part of a registry.
        file: A file of docker's format; None for docker's own configuration, which may be missing.

    Raises:
        CredentialsError: The file, or a helper that it names, cannot be used.
    """
    if file is None:
        folder = os.environ.get("DOCKER_CONFIG") or str(Path.home() / ".docker")
        path = Path(folder, "config.json")
        if not path.exists():
            return ANONYMOUS
    else:
        path = file
    config = _read(path)
    helper = _mapping(path, config, "credHelpers").get(host)
    if helper:
        return _helped(path, helper, host)
    entry = _entry(_mapping(path, config, "auths"), host, repository)
    if entry is not None:
        found = _given(path, *entry)
        if found != ANONYMOUS:
            return found
    store = config.get("credsStore")
    return _helped(path, store, host) if store else ANONYMOUS


def _read(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST + 1)
        config = json.loads(data) if len(data) <= _LONGEST else None
    except (OSError, ValueError, RecursionError) as error:
        raise CredentialsError(
            str(path), f"it cannot be read ({type(error).__name__})", "Write it in docker's format"
        ) from None  # the error of a parser may quote a secret
    if not isinstance(config, dict):
        raise CredentialsError(str(path), "it is not a JSON object", "Write it in docker's format")
    return config


def _mapping(path: Path, config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = config.get(key) or {}
    if not isinstance(found, dict):
        raise CredentialsError(
            str(path), f"{key} is not a JSON object", "Write it in docker's format"
        )
    return found


def _entry(
    entries: Mapping[str, Any], host: str, repository: str
) -> tuple[str, Mapping[str, Any]] | None:
    wanted = f"{'index.docker.io' if host == 'docker.io' else host}/{repository}"
    fitting = [key for key in entries if _fits(_plain(key), wanted)]
    fitting.sort(key=lambda key: ("*" not in key, len(_plain(key))))
    if not fitting or not isinstance(entries[fitting[-1]], dict):
        return None
    return fitting[-1], entries[fitting[-1]]


def _plain(key: str) -> str:
    """Return the key of an entry as a host, and a path if it has one."""
    bare = key.partition("://")[2] if "://" in key else key
    bare = re.sub(r"/v[12]/?$", "", bare).rstrip("/")
    host, slash, path = bare.partition("/")
    return f"{'index.docker.io' if host == 'docker.io' else host}{slash}{path}"


def _fits(pattern: str, wanted: str) -> bool:
    parts, given = pattern.split("/"), wanted.split("/")
    if not parts[0] or len(parts) > len(given):
        return False
    # A "*" stands for one label of a host, as in Kubernetes.
    labels, host = parts[0].split("."), given[0].split(".")
    return (
        len(labels) == len(host)
        and all(map(fnmatchcase, host, labels))
        and parts[1:] == given[1 : len(parts)]
    )


def _given(path: Path, key: str, entry: Mapping[str, Any]) -> Credentials:
    values = {each: entry.get(each) or "" for each in ("auth", "username", "password")}
    tokens = {each: entry.get(each) or "" for each in ("identitytoken", "registrytoken")}
    if not all(isinstance(value, str) for value in (*values.values(), *tokens.values())):
        raise CredentialsError(str(path), f"the entry of {key} is not text", "Log in again")
    user, password = values["username"], values["password"]
    if values["auth"]:
        user, password = _decoded(path, key, values["auth"])
    return Credentials(user, password, tokens["identitytoken"], tokens["registrytoken"])


def _decoded(path: Path, key: str, auth: str) -> tuple[str, str]:
    try:
        text = base64.b64decode(auth, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        text = ""
    user, colon, password = text.partition(":")
    if not colon:
        raise CredentialsError(
            str(path),
            f"auth of {key} is not name:password in base64",
            "Log in again, or write the entry again",
        ) from None
    return user, password.rstrip("\0")  # as docker pads it


def _helped(path: Path, helper: object, host: str) -> Credentials:
    if not isinstance(helper, str) or not re.fullmatch(r"[A-Za-z0-9_.-]+", helper):
        raise CredentialsError(
            str(path),
            f"the helper of {host} has an invalid name",
            "Give the suffix of a credential helper",
        )
    program = f"docker-credential-{helper}"
    server = _DOCKER_HUB if host == "docker.io" else host
    try:
        ended = subprocess.run(  # noqa: S603 - a program that the operator's file names
            [program, "get"],
            input=server.encode(),
            capture_output=True,
            timeout=_HELPER_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise CredentialsError(str(path), f"{program} is not installed", "Install it") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CredentialsError(
            program, f"it did not answer ({type(error).__name__})", "Run it by hand to see why"
        ) from None
    if ended.returncode:
        if b"credentials not found" in ended.stdout + ended.stderr:
            return ANONYMOUS
        raise CredentialsError(
            program, f"it ended with status {ended.returncode}", f"Try it by hand for {server}"
        )
    return _answered(program, ended.stdout)


def _answered(program: str, output: bytes) -> Credentials:
    try:
        answer = json.loads(output)
        user, secret = answer["Username"], answer["Secret"]
    except (ValueError, KeyError, TypeError, RecursionError):
        user = secret = None
    if not isinstance(user, str) or not isinstance(secret, str):
        raise CredentialsError(
            program,
            "its response does not follow the protocol of credential helpers",
            "Run it by hand to see why",
        )
    if user == "<token>":
        return Credentials(identity=secret)
    return Credentials(user, secret)
