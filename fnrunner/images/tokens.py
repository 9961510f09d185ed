"""Token authentication of registries: challenges, and the answers of token services.

Source: Docker's token authentication for registries.
"""

import json
import re
from typing import Final

from fnrunner import urls
from fnrunner.images.fetch import FetchError

TOKEN_SECONDS: Final = 60.0
"""How long a token lasts where its service does not say."""


def parameters(text: str) -> dict[str, str]:
    """Return the parameters of a challenge: `realm="…",service="…"`."""
    found = re.findall(r'([a-zA-Z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))', text)
    return {name.lower(): re.sub(r"\\(.)", r"\1", quoted) or bare for name, quoted, bare in found}


def read_token(data: bytes, realm: str) -> tuple[str, float]:
    """Return the header `Authorization` that a token service's answer gives, and for how long.

    Args:
        data: The answer's body.
        realm: Address of the token service.

    Raises:
        FetchError: There is no usable token in it.
    """
    try:
        answer = json.loads(data)
        token = answer.get("token") or answer.get("access_token")
        seconds = float(answer.get("expires_in") or TOKEN_SECONDS)
    except (ValueError, TypeError, AttributeError, RecursionError):
        token, seconds = None, 0.0
    if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
        raise FetchError(f"{urls.parts(realm).netloc} sent no usable token", "Contact its operator")
    return f"Bearer {token}", min(max(seconds - 5.0, 0.0), 3600.0)  # not until the last second
