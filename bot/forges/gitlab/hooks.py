"""Our webhooks: how each is to be set, and which project, group or instance its secret speaks for.

Whoever maintains a project may change the body of what its webhook sends (custom templates), and so
say in it whatever they like. So no two webhooks have the same secret: each is made of the secrets
of the settings and of what the webhook is of, and tells that. A delivery counts for that alone.

The address of a webhook tells what its secret was made for, and of which of our secrets: GitLab
shows no secret, and takes it away when somebody changes the address (ADR 79).

Source: https://docs.gitlab.com/user/project/integrations/webhooks/#custom-webhook-template,
https://docs.gitlab.com/api/project_webhooks/
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from bot.gitlabs import GitLabInstance

PROJECT: Final = "project"
GROUP: Final = "group"
SYSTEM: Final = "system"

EVENTS: Final = (
    "push_events",
    "tag_push_events",
    "merge_requests_events",
    "note_events",
    "issues_events",
    "pipeline_events",
    "emoji_events",
)
"""What webhooks of projects and groups tell; the rest is found by sweeps."""

GROUP_EVENTS: Final = (*EVENTS, "project_events")
"""What webhooks of groups tell: of projects that are made later, too, before anybody pushes."""

SYSTEM_EVENTS: Final = (
    "push_events",
    "tag_push_events",
    "merge_requests_events",
    "repository_update_events",
)
"""What system hooks tell; GitLab has them tell no notes."""

_EVENTS: Final = {PROJECT: EVENTS, GROUP: GROUP_EVENTS, SYSTEM: SYSTEM_EVENTS}

_UNCHANGED: Final = {"custom_webhook_template": "", "push_events_branch_filter": ""}
"""What would have a webhook send something else, or leave something out."""

_HIDDEN: Final = {"token_present": True, "signing_token_set": True}
"""What GitLab tells of secrets."""

_TOKEN = re.compile(r"((?:project|group|system)-(?:0|[1-9][0-9]{0,17}))-([0-9a-f]{64})", re.ASCII)
_SPEAKER = re.compile(r"(project|group|system)-(0|[1-9][0-9]{0,17})", re.ASCII)


@dataclass(frozen=True, slots=True)
class HookOwner:
    """What a webhook is of: a project, a group, or the instance.

    Attributes:
        kind: `PROJECT`, `GROUP` or `SYSTEM`.
        number: Of the project or group; 0 for the instance.
    """

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.number}"

    @classmethod
    def of(cls, text: str) -> "HookOwner | None":
        """Read it back; None for another text."""
        found = _SPEAKER.fullmatch(text)
        return cls(found[1], int(found[2])) if found else None


INSTANCE: Final = HookOwner(SYSTEM, 0)


@dataclass(frozen=True, slots=True)
class HookSecrets:
    """Makes the secrets of webhooks at one instance.

    Attributes:
        forge: The instance's name.
        roots: What they are made of, newest first: the secrets of the settings, which no webhook
            has itself.
    """

    forge: str
    roots: tuple[bytes, ...] = field(repr=False)

    def token(self, speaker: HookOwner) -> str:
        """What `X-Gitlab-Token` is to say."""
        return f"{speaker}-{self._made(self.roots[0], 'token', speaker).hex()}"

    def signing_token(self, speaker: HookOwner) -> str:
        """What is to sign, where GitLab signs: `whsec_` and Base64."""
        made = self._made(self.roots[0], "signature", speaker)
        return f"whsec_{base64.b64encode(made).decode()}"

    def signing_keys(self, speaker: HookOwner) -> list[bytes]:
        """The keys of what may have signed."""
        return [self._made(root, "signature", speaker) for root in self.roots]

    def speaker(self, token: str) -> HookOwner | None:
        """Who speaks by a token; None where we made no such token."""
        found = _TOKEN.fullmatch(token)
        speaker = HookOwner.of(found[1]) if found else None
        if found is None or speaker is None:
            return None
        wanted = (self._made(root, "token", speaker).hex() for root in self.roots)
        fits = sum(hmac.compare_digest(found[2], each) for each in wanted)
        return speaker if fits else None

    def address(self, url: str, speaker: HookOwner) -> str:
        """Where its deliveries go: what its secret is made for, and of which of ours.

        Args:
            url: Where webhooks go.
            speaker: What it is of.
        """
        shown = _shown(self._made(self.roots[0], "name", INSTANCE))
        return f"{url}?for={speaker}&secret={shown}"

    def _made(self, root: bytes, what: str, speaker: HookOwner) -> bytes:
        said = f"porchbot webhook\n{self.forge}\n{what}\n{speaker}"
        return hmac.digest(root, said.encode(), hashlib.sha256)


@cache
def _shown(made: bytes) -> str:
    """Return a slow digest of a secret, for an address that maintainers of projects see.

    A person may have chosen the secret: of guesses a dozen a second are tried against it, where it
    would be sixty thousand with a plain digest.
    """
    return hashlib.scrypt(made, salt=b"porchbot webhook", n=2**14, r=8, p=2, dklen=4).hex()


@dataclass(frozen=True, slots=True)
class OurHooks:
    """The webhooks that go to us.

    Attributes:
        url: Where they go, without what tells them apart.
        secrets: Theirs.
        groups: Full paths of the groups that have one; None where nobody noted it.
    """

    url: str
    secrets: HookSecrets
    groups: tuple[str, ...] | None = None

    def misses(self, full_name: str) -> bool:
        """Whether a project without a webhook is told of by nobody, and is to have one."""
        known = self.groups is not None and bool(self.url)
        return known and not any(full_name.startswith(f"{each}/") for each in self.groups or ())

    def is_ours(self, hook: Mapping[str, Any]) -> bool:
        """Whether a webhook goes to us, as old as it may be."""
        return str(hook.get("url") or "").partition("?")[0] == self.url

    def shown(self, speaker: HookOwner) -> dict[str, object]:
        """How a webhook is to be set, as far as GitLab shows it."""
        events = _EVENTS[speaker.kind]
        more = {} if speaker.kind == SYSTEM else _UNCHANGED
        return {
            "url": self.secrets.address(self.url, speaker),
            **dict.fromkeys(events, True),
            "enable_ssl_verification": self.url.startswith("https:"),
            **more,
        }

    def settings(self, speaker: HookOwner) -> dict[str, object]:
        """All that a webhook is to be set to."""
        hidden = {
            "token": self.secrets.token(speaker),
            "signing_token": self.secrets.signing_token(speaker),
        }
        return {**self.shown(speaker), **hidden}

    def otherwise(self, hook: Mapping[str, Any], speaker: HookOwner) -> list[str]:
        """What of a webhook is set otherwise, by GitLab's names; a version shows what it knows."""
        wanted = {**self.shown(speaker), **_HIDDEN}
        told = {name: "" if hook[name] is None else hook[name] for name in wanted if name in hook}
        return [name for name, value in told.items() if value != wanted[name]]


def of_instance(instance: GitLabInstance) -> OurHooks:
    """Return the webhooks of an instance of the settings."""
    roots = instance.webhook_secrets or instance.signing_tokens
    made = HookSecrets(instance.name, tuple(each.encode() for each in roots))
    return OurHooks(instance.webhook_url, made, instance.group_hooks)
