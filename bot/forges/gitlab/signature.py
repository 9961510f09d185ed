"""What GitLab's webhooks show of a secret: a token as it is, or a signature of the body.

Who signs is held to the signature; a delivery without one is held to the secret token, where there
is one. Whose webhook it is says the token (`bot.forges.gitlab.hooks`). A signature does not say it,
and says nothing of who wrote the body: GitLab signs what a project's template made of it, too.
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
from bot.forges.gitlab.hooks import HookOwner, HookSecrets
from bot.forges.webhooks import MOST_HEADER, DeliverySignature, WebhookError

SKEW = timedelta(minutes=5)
"""By how much the time in a signature may differ from ours; later it may be a replay."""

_WHERE = "Run `porchbot setup gitlab` again, or `porchbot doctor --fix`: both set the webhook anew"


class Secrets:
    """What the webhooks of an instance show, several of each while one is being replaced.

    Args:
        forge: The instance's name.
        tokens: Secrets that the webhooks' own are made of. A webhook from before there were secrets
            of its own has one of these itself.
        signing: Signing tokens of such webhooks, as GitLab shows them: `whsec_` and Base64.

    Raises:
        ValueError: There is none, one is empty, or a signing token is no such thing.
    """

    def __init__(self, forge: str, tokens: Sequence[bytes], signing: Sequence[bytes] = ()) -> None:
        if not (tokens or signing) or not all(tokens):
            raise ValueError("a webhook needs a secret, and none may be empty")
        self._tokens = tuple(tokens)
        self._keys = [_key(each) for each in signing]
        self._own = HookSecrets(forge, tuple(tokens or signing))

    def verifier(self, headers: Mapping[str, str], clock: Clock = SYSTEM) -> DeliverySignature:
        """Choose how a delivery is verified.

        Args:
            headers: Names in lower case.
            clock: Tells whether a signature is too old.

        Raises:
            WebhookError: What has to be shown is missing, or is no such thing (401).
        """
        speaker = self.speaker(headers)
        keys = self._own.signing_keys(speaker) if speaker else self._keys
        if keys and (headers.get("webhook-signature") or not (speaker or self._tokens)):
            return _Signed(headers, keys, clock)
        if speaker is None:
            _check_token(headers.get("x-gitlab-token", ""), self._tokens)
        return _Shown()

    def speaker(self, headers: Mapping[str, str]) -> HookOwner | None:
        """Whose webhook has the token; None for one that has none of its own.

        Args:
            headers: Names in lower case.
        """
        return self._own.speaker(headers.get("x-gitlab-token", ""))


def _key(signing: bytes) -> bytes:
    """The key in a signing token."""
    try:
        key = base64.b64decode(signing.removeprefix(b"whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("a signing token is `whsec_` and Base64, as GitLab shows it")
    return key


def _check_token(given: str, tokens: Sequence[bytes]) -> None:
    # Each is compared, whichever fits, so that the time taken says nothing.
    sent = given.encode("utf-8", "surrogateescape")
    if sum(hmac.compare_digest(sent, token) for token in tokens) == 0:
        what = "does not match" if given else "is missing"
        raise WebhookError(401, f"X-Gitlab-Token {what}. {_WHERE}.")


class _Shown:
    """The secret token stands in a header as it is: nothing of the body is checked."""

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
