"""The signature of GitHub's webhooks, checked on the raw body part by part."""

import hashlib
import hmac
import re
from collections.abc import Sequence

from bot.forges.webhooks import WebhookError


class WebhookSignature:
    """The signature of a body that is still coming, so that none has to be kept to be checked.

    Args:
        given: The header X-Hub-Signature-256.
        secrets: Those set on the webhook, several while one is being replaced; at least one.

    Raises:
        WebhookError: There is none, or it is not written as GitHub writes it (401).
        ValueError: There is no secret.

    Source:
        https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
    """

    def __init__(self, given: str, secrets: Sequence[bytes]) -> None:
        if not secrets or not all(secrets):
            raise ValueError("a signature needs a secret, and none may be empty")
        if not _SIGNATURE.fullmatch(given):
            raise _unsigned("is no sha256= with 64 hex digits" if given else "is missing")
        self._given = given
        self._digests = [hmac.new(secret, digestmod=hashlib.sha256) for secret in secrets]

    def update(self, part: bytes) -> None:
        """Take the next part of the body."""
        for digest in self._digests:
            digest.update(part)

    def verify(self) -> None:
        """Check the body as a whole.

        Raises:
            WebhookError: It does not match (401).
        """
        wanted = [f"sha256={digest.hexdigest()}" for digest in self._digests]
        # Each is compared, whichever fits, so that the time taken says nothing.
        if sum(hmac.compare_digest(self._given, one) for one in wanted) == 0:
            raise _unsigned("does not match")


_SIGNATURE = re.compile("sha256=[0-9a-f]{64}")


def _unsigned(what: str) -> WebhookError:
    return WebhookError(
        401,
        f"X-Hub-Signature-256 {what}. Set one secret in both the App's webhook and"
        " PORCHBOT_WEBHOOK_SECRETS.",
    )
