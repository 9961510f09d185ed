"""What the adversary has a webhook at GitLab say by a custom template (ADR 79).

Whoever maintains a project writes the body of its webhook; the token, which GitLab puts beside it,
is of that project all the same. She has three: that of the project in which everything happens,
where she says that somebody else did something, and those of a project and of a group of her own,
where she says it of the other project. The webhooks of the project's group and of the instance are
not hers; they tell once more what happened, as it is.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any

from bot.forges.gitlab.hooks import GROUP, INSTANCE, PROJECT, HookOwner, HookSecrets
from bot.sandbox.faults.hooks import OutgoingHook
from bot.sandbox.records.accounts import User

HERS = 10**9
"""Number of her own project, in which the bot is not, and of her group: as a number of the forge's,
it would move all numbers that are given after it."""

OFTEN = 0.05
"""Share of webhooks that she says something like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Templated(OutgoingHook):
    """A delivery whose body somebody wrote.

    Attributes:
        speaker: What the webhook is of.
    """

    speaker: HookOwner

    @property
    def is_of_another(self) -> bool:
        """Whether it names a project that its webhook is not for: it is to be refused."""
        return self.speaker.number == HERS and named(self) is not None

    @property
    def is_hers(self) -> bool:
        """Whether she wrote it."""
        return self.speaker.kind == PROJECT or self.is_of_another


def named(hook: OutgoingHook) -> int | None:
    """Which project a body names, by its number; None for none."""
    body = json.loads(hook.body)
    number: int | None = (body.get("project") or {}).get("id") or body.get("project_id")
    return number


def templated(
    hook: OutgoingHook, secrets: HookSecrets, people: Sequence[User], group: int, drawn: Random
) -> Templated | None:
    """Draw what another webhook says like one that was just made; None for nothing.

    Args:
        hook: What the forge said.
        secrets: Of webhooks; she never sees them, and GitLab sends what is made of them.
        people: Whom she may name, the bot among them.
        group: Number of the project's group.
        drawn: A stream of her own.
    """
    project = named(hook)
    if project is None or drawn.random() >= OFTEN:
        return None
    hers = HookOwner(PROJECT, project), HookOwner(PROJECT, HERS), HookOwner(GROUP, HERS)
    speaker = drawn.choice((*hers, HookOwner(GROUP, group), INSTANCE))
    key = f"hers-{drawn.getrandbits(64):016x}"
    headers = {
        **hook.headers,
        "Idempotency-Key": key,
        "X-Gitlab-Event-UUID": key,
        "X-Gitlab-Token": secrets.token(speaker),
    }
    was = {each.name: getattr(hook, each.name) for each in fields(OutgoingHook)}
    other = Templated(**{**was, "guid": key, "headers": headers}, speaker=speaker)
    if not other.is_hers:
        return other
    body: dict[str, Any] = json.loads(hook.body)
    who = drawn.choice(people)
    body |= {"user": {"id": who.id, "username": who.login}}
    body |= {"user_id": who.id, "user_username": who.login}
    if body.get("object_kind") == "note":
        body["object_attributes"]["note"] = "@porchbot approve"
    return replace(other, body=json.dumps(body).encode())
