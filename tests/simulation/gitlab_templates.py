"""What the adversary has a webhook at GitLab say by a custom template (ADR 79).

Whoever maintains a project writes the body of its webhook; the token, which GitLab puts beside it,
is of that project all the same. She has two: that of the project in which everything happens, where
she says that somebody else did something, and that of one of her own, where she says it of the
other project.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from random import Random
from typing import Any

from bot.forges.gitlab.hooks import PROJECT, HookSecrets, Speaker
from bot.sandbox.faults.hooks import OutgoingHook
from bot.sandbox.records.accounts import User

HERS = 10**9
"""Number of her own project, in which the bot is not: as a number of the forge's, it would move all
numbers that are given after it."""

OFTEN = 0.05
"""Share of webhooks that she says something like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Templated(OutgoingHook):
    """A delivery whose body somebody wrote.

    Attributes:
        project: Number of the project that the webhook is of.
    """

    project: int

    @property
    def is_of_another(self) -> bool:
        """Whether it names another project than its webhook's: it is to be refused."""
        return named(self) not in (None, self.project)


def named(hook: OutgoingHook) -> int | None:
    """Which project a body names, by its number; None for none."""
    body = json.loads(hook.body)
    number: int | None = (body.get("project") or {}).get("id") or body.get("project_id")
    return number


def templated(
    hook: OutgoingHook, secrets: HookSecrets, people: Sequence[User], drawn: Random
) -> Templated | None:
    """Draw what she says like a webhook that was just made; None for nothing.

    Args:
        hook: What the forge said.
        secrets: Of webhooks; she never sees them, and GitLab sends what is made of them.
        people: Whom she may name, the bot among them.
        drawn: A stream of her own.
    """
    project = named(hook)
    if project is None or drawn.random() >= OFTEN:
        return None
    of = drawn.choice((project, HERS))
    body: dict[str, Any] = json.loads(hook.body)
    who = drawn.choice(people)
    body |= {"user": {"id": who.id, "username": who.login}}
    body |= {"user_id": who.id, "user_username": who.login}
    if body.get("object_kind") == "note":
        body["object_attributes"]["note"] = "@porchbot approve"
    key = f"hers-{drawn.getrandbits(64):016x}"
    headers = {
        **hook.headers,
        "Idempotency-Key": key,
        "X-Gitlab-Event-UUID": key,
        "X-Gitlab-Token": secrets.token(Speaker(PROJECT, of)),
    }
    was = {each.name: getattr(hook, each.name) for each in fields(OutgoingHook)}
    said = json.dumps(body).encode()
    return Templated(**{**was, "guid": key, "headers": headers, "body": said}, project=of)
