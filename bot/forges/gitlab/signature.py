"""What GitLab's webhooks show of a secret: a token as it is, or a signature of the body.

A secret that begins with `whsec_` is a signing token, any other one the secret token. Who signs
is held to the signature; a delivery without one is held to the secret token, where there is one.
Nothing of what was sent is ever said again.

Source: https://docs.gitlab.com/user/project/integrations/webhooks/,
https://www.standardwebhooks.com/
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import timedelta

from bot.clock import SYSTEM, Clock
from bot.forges.webhooks import MOST_HEADER, Signature, WebhookError

SIGNING = b"whsec_"
"""What a signing token begins with."""

SKEW = timedelta(minutes=5)
"""By how much the time in a signature may differ from ours; later it may be a replay."""

_WHERE = "Set one secret in both the webhook and the settings of the bot"


def verifier(
    headers: Mapping[str, str], secrets: Sequence[bytes], clock: Clock = SYSTEM
) -> Signature:
    """Choose how a delivery is verified.

    Args:
        headers: Names in lower case.
        secrets: Those set on the webhooks, several while one is being replaced; at least one.
        clock: Tells whether a signature is too old.

    Raises:
        WebhookError: What has to be shown is missing, or is no such thing (401).
        ValueError: There is no secret, or a signing token that is none.
    """
    check_secrets(secrets)
    keys = [_key(each) for each in secrets if each.startswith(SIGNING)]
    tokens = [each for each in secrets if not each.startswith(SIGNING)]
    if keys and (headers.get("webhook-signature") or not tokens):
        return _Signed(headers, keys, clock)
    return _Token(headers.get("x-gitlab-token", ""), tokens)


def check_secrets(secrets: Sequence[bytes]) -> None:
    """Refuse secrets by which nothing can be verified.

    Raises:
        ValueError: There is none, one is empty, or a signing token is none.
    """
    if not secrets or not all(secrets):
        raise ValueError("a webhook needs a secret, and none may be empty")
    for secret in secrets:
        if secret.startswith(SIGNING) and not _key(secret):
            raise ValueError("a signing token has Base64 after `whsec_`")


def _key(secret: bytes) -> bytes:
    """The key in a signing token.

    Raises:
        ValueError: It is no Base64.
    """
    try:
        return base64.b64decode(secret.removeprefix(SIGNING), validate=True)
    except binascii.Error as error:
        raise ValueError("a signing token has Base64 after `whsec_`") from error


class _Token:
    """The secret token, which stands in a header as it is: nothing of the body is checked."""

    def __init__(self, given: str, tokens: Sequence[bytes]) -> None:
        # Each is compared, whichever fits, so that the time taken says nothing.
        sent = given.encode("utf-8", "surrogateescape")
        if sum(hmac.compare_digest(sent, token) for token in tokens) == 0:
            what = "does not match" if given else "is missing"
            raise WebhookError(401, f"X-Gitlab-Token {what}. {_WHERE}.")

    def update(self, part: bytes) -> None:
        """Take the next part of the body."""

    def verify(self) -> None:
        """Say nothing: the token was compared before."""


class _Signed:
    """A signature of a body that is still coming."""

    def __init__(self, headers: Mapping[str, str], keys: Sequence[bytes], clock: Clock) -> None:
        number, at, given = (
            headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature")
        )
        if not given:
            raise _unsigned("is missing")
        if not 0 < len(number) <= MOST_HEADER or not at.isascii() or not at.isdigit():
            raise _unsigned("has no webhook-id or webhook-timestamp beside it")
        if len(at) > len("253402300799") or abs(clock.now().timestamp() - int(at)) > (
            SKEW.total_seconds()
        ):
            raise _unsigned("was made at another time. Check both clocks")
        begun = f"{number}.{at}.".encode("utf-8", "surrogateescape")
        self._given = [each.removeprefix("v1,") for each in given.split() if each[:3] == "v1,"]
        self._digests = [hmac.new(key, begun, hashlib.sha256) for key in keys]

    def update(self, part: bytes) -> None:
        """Take the next part of the body."""
        for digest in self._digests:
            digest.update(part)

    def verify(self) -> None:
        """Check the body as a whole."""
        wanted = [base64.b64encode(digest.digest()) for digest in self._digests]
        sent = [each.encode("utf-8", "surrogateescape") for each in self._given]
        if sum(hmac.compare_digest(each, one) for each in sent for one in wanted) == 0:
            raise _unsigned("does not match")


def _unsigned(what: str) -> WebhookError:
    return WebhookError(401, f"webhook-signature {what}. {_WHERE}.")
