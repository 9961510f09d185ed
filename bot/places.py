"""Addresses of forges: one spelling of each, and where its repositories are.

Rules:

1. Neither the letters of a host, nor a dot at its end, nor the usual port of a scheme, nor slashes
   at the end tell two addresses apart.
2. GitHub.com and each ghe.com have one address, whichever of their hosts is written.
3. Two addresses are of one forge where their repositories are in one place: with and without
   encryption it is the same.
"""

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult

from bot.variables import GITHUB_API
from fnrunner import urls

GITHUB_WEB: Final = "https://github.com"
GHE_DOMAIN: Final = ".ghe.com"

_GITHUB_COM: Final = frozenset(("github.com", "www.github.com", "api.github.com"))
_USUAL: Final = {"https": 443, "http": 80}


def spelled(address: str) -> str:
    """Return an address in the one spelling; without its blanks, as it is, where it is none.

    Args:
        address: Such as "HTTPS://GitLab.Corp.:443/".
    """
    text = address.strip()
    parts = urls.parts(text)
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in _USUAL or not host:
        return text
    shown = f"[{host}]" if ":" in host else host
    at = "" if parts.port in (None, _USUAL[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{shown}{at}{parts.path.rstrip('/')}"


def given(address: str) -> SplitResult:
    """Return the parts of an address that somebody gave; all empty where it is none to use.

    One with a user in it is none: what stands there is a password or a token.
    """
    parts = urls.parts(address.strip())
    return urls.NONE if "@" in parts.netloc else parts


def is_web(address: str) -> bool:
    """Tell whether an address that somebody gave is one of HTTP, with or without encryption."""
    parts = given(address)
    return parts.scheme in _USUAL and bool(parts.hostname)


def shown(address: str) -> str:
    """Return an address as it may be printed: quoted, and without a user and a password."""
    return repr(re.sub(r"^(\w+:/*)?.*@", r"\1***@", address.strip(), flags=re.DOTALL))


def github_api(address: str) -> str:
    """Return where the API of a GitHub answers, in the one spelling.

    Args:
        address: Of its API; of GitHub.com and of a ghe.com any that people write.
    """
    found = spelled(address)
    host = _host(found)
    if host in _GITHUB_COM:
        return GITHUB_API
    if host.endswith(GHE_DOMAIN):
        return f"https://api.{_bare(host)}"
    return found


def is_service(api: str) -> bool:
    """Tell whether GitHub itself runs it: GitHub.com, or a ghe.com.

    Args:
        api: Where its API answers, in the one spelling.
    """
    return api == GITHUB_API or _host(api).endswith(GHE_DOMAIN)


def github_home(api: str) -> str:
    """Return what all addresses of repositories of a GitHub begin with, such as "github.com".

    Args:
        api: Where its API answers.
    """
    found = github_api(api)
    host = _host(found)
    if found == GITHUB_API:
        return _host(GITHUB_WEB)
    return _bare(host) if host.endswith(GHE_DOMAIN) else urls.parts(found).netloc


def gitlab_home(url: str) -> str:
    """Return what all addresses of projects of a GitLab begin with, such as "git.corp/gitlab".

    Args:
        url: Where it is.
    """
    parts = urls.parts(spelled(url))
    return f"{parts.netloc}{parts.path}".lower()


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, so that nobody listens on the way there."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(home: str) -> str:
    """Return the host of what addresses of repositories begin with, without its port.

    Args:
        home: As `github_home` and `gitlab_home` give it.
    """
    return _host(f"//{home}")


def _host(address: str) -> str:
    return urls.parts(address).hostname or ""


def _bare(host: str) -> str:
    """The host of a ghe.com that people open."""
    return host.removeprefix("www.").removeprefix("api.")
