"""Global ids as GraphQL takes them, made of a kind and a number, and read back."""

from __future__ import annotations

import base64


def node_id(prefix: str, number: int) -> str:
    """A global id as GraphQL takes it: `PR_kwDO…`, the same for the same thing for ever."""
    packed = base64.urlsafe_b64encode(number.to_bytes(8, "big")).decode().rstrip("=")
    return f"{prefix}_kwDO{packed}"


def numbered(node: str) -> tuple[str, int]:
    """Prefix and number of a global id; ("", 0) for a text that is none."""
    prefix, mark, packed = node.partition("_kwDO")
    try:
        number = int.from_bytes(base64.urlsafe_b64decode(packed + "="), "big")
    except ValueError:
        return "", 0
    return (prefix, number) if mark and node == node_id(prefix, number % 2**64) else ("", 0)
