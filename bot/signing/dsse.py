"""Envelopes of signed statements (DSSE), with ed25519.

Source: https://github.com/secure-systems-lab/dsse/blob/master/protocol.md,
https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md.
"""

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any

from bot.signing.ssh import PublicKey, SignatureError, SigningKey

PAYLOAD = "application/vnd.in-toto+json"
"""The type of what our envelopes hold."""

_MOST_SIGNATURES = 10


def seal(statement: object, key: SigningKey) -> str:
    """Put a statement into a signed envelope: JSON on one line, the same for the same statement."""
    payload = json.dumps(statement, sort_keys=True, separators=(",", ":")).encode()
    signature = key.sign_raw(_encoded(PAYLOAD, payload))
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD,
        "signatures": [
            {"keyid": key.public.fingerprint, "sig": base64.b64encode(signature).decode()}
        ],
    }
    return json.dumps(envelope, separators=(",", ":"))


def unseal(text: str, keys: Iterable[PublicKey]) -> dict[str, Any]:
    """Check an envelope, and return the statement in it.

    Args:
        text: The envelope.
        keys: One of these must have signed it; which one it says of itself plays no part.

    Raises:
        SignatureError: It is no envelope of a statement, or none of the keys signed it.
    """
    try:
        envelope = json.loads(text)
        kind, payload = envelope["payloadType"], _bytes(envelope["payload"])
        signatures = [_bytes(each["sig"]) for each in envelope["signatures"][:_MOST_SIGNATURES]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SignatureError("it is not written as a DSSE envelope") from error
    if kind != PAYLOAD:
        raise SignatureError(f"it holds {str(kind)[:60]!r}, and has to hold {PAYLOAD!r}")
    encoded = _encoded(kind, payload)
    if not any(key.verifies(each, encoded) for key in keys for each in signatures):
        raise SignatureError("none of the keys that are allowed signed it as it stands there")
    try:
        statement = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise SignatureError("what it holds is no JSON") from error
    if not isinstance(statement, dict):
        raise SignatureError("what it holds is no statement")
    return statement


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return base64.urlsafe_b64decode(text)


def _encoded(kind: str, payload: bytes) -> bytes:
    """What is signed: the type and the payload, each with its length before it."""
    return b"DSSEv1 %d %s %d %s" % (len(kind.encode()), kind.encode(), len(payload), payload)
