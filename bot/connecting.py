"""What the settings say the bot is at each forge.

At GitHub it is an App, several of them, or a machine user; at a GitLab a machine user.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from bot import places
from bot.apps import KnownApp
from bot.clock import Offload, OwnThreads, in_thread
from bot.forges.budget import AT_ONCE
from bot.forges.github.app import AppClients
from bot.forges.github.deliveries import GitHubWebhooks
from bot.forges.github.forges import GitHubForges
from bot.forges.github.former import FormerApp
from bot.forges.github.registration import hook, path
from bot.forges.github.several import SeveralForges
from bot.forges.github.user import UserClients
from bot.forges.github.users import UserForges
from bot.forges.gitlab import hooks
from bot.forges.gitlab.deliveries import GitLabWebhooks
from bot.forges.gitlab.forge import GitLab
from bot.forges.gitlab.forges import GitLabForges
from bot.forges.gitlab.renewing import RenewedToken
from bot.forges.gitlab.user import GitLabUser
from bot.forges.port import ForgeBusyError, ForgeRefusedError, Forges
from bot.forges.unreadable import understood
from bot.gitlabs import GitLabInstance
from bot.http.webhooks import WebhookSource
from bot.settings import Settings
from bot.store.port import Budgets
from lifecycle.identity import GITHUB

log = structlog.get_logger()

THREADS = AT_ONCE + 16
"""Of one forge: for requests under way, and for git. A forge that answers slowly, or never to the
end, keeps its own busy and nobody else's."""

KIND = "gitlab"
"""Where below `/webhooks/` all GitLabs are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeConnection:
    """One forge that is served.

    Attributes:
        forges: What it is asked through; its name is the forge's.
        hooks: Where its webhooks come in.
        record_keys: For hidden records there, newest first.
        webhook_url: Where its webhooks are to go; "" where nobody said.
        api_url: Where the API of a GitHub answers; "" for another forge.
        home: Host of its repositories, without a port.
        lacks: The bot is a machine user where it could be an App, and tells at the start what it
            lacks by that.
        offload: Where what concerns this forge is waited for.
    """

    forges: Forges
    hooks: WebhookSource
    record_keys: list[bytes] = field(repr=False)
    webhook_url: str = ""
    api_url: str = ""
    home: str = ""
    lacks: bool = False
    offload: Offload = in_thread


def everywhere(
    settings: Settings,
    tokens: Mapping[str, RenewedToken],
    at_end: Callable[[Callable[[], None]], object],
    budgets: Budgets | None = None,
) -> dict[str, ForgeConnection]:
    """Connect to every forge that the settings name; by its name, GitHub first.

    Args:
        settings: The operator's.
        tokens: Of the GitLabs, by their names; see `gitlab_tokens`.
        at_end: As for `connected`.
        budgets: Likewise.
    """
    found: dict[str, ForgeConnection] = {}
    if settings.github:
        found[GITHUB] = _github(settings, GITHUB, at_end, budgets)
    for further in settings.further_githubs:
        found[further.name] = _github(settings.at(further), further.name, at_end, budgets)
    for each in settings.gitlabs:
        found[each.name] = _gitlab(settings, each, tokens[each.name], at_end, budgets)
    return found


def _github(
    settings: Settings,
    name: str,
    at_end: Callable[[Callable[[], None]], object],
    budgets: Budgets | None,
) -> ForgeConnection:
    """Connect to one GitHub.

    Args:
        settings: As `Settings.at` has them for it.
        name: Of the GitHub.
        at_end: As for `connected`.
        budgets: Likewise.
    """
    threads = OwnThreads(name, THREADS)
    at_end(threads.close)
    forges = connected(settings, at_end, budgets, name, threads)
    reader = GitHubWebhooks(settings.webhook_secrets, presses=not settings.github_token, forge=name)
    return ForgeConnection(
        forges=forges,
        hooks=WebhookSource(reader, forges.identity, () if name == GITHUB else (hook(name),)),
        record_keys=settings.record_keys,
        webhook_url=settings.webhook_url,
        api_url=settings.github_api_url,
        home=places.host_of(places.github_home(settings.github_api_url)),
        lacks=bool(settings.github_token),
        offload=threads,
    )


def _gitlab(
    settings: Settings,
    instance: GitLabInstance,
    token: RenewedToken,
    at_end: Callable[[Callable[[], None]], object],
    budgets: Budgets | None,
) -> ForgeConnection:
    """Connect to a GitLab: the first has the short address of webhooks, too."""
    keys = settings.record_keys_at(instance.name)
    threads = OwnThreads(instance.name, THREADS)
    at_end(threads.close)
    user = GitLabUser(
        instance.name,
        instance.url,
        token,
        instance=settings.own_name,
        seals=keys,
        offload=threads,
        budgets=budgets,
    )
    at_end(user.close)
    ours = hooks.of_instance(instance)
    forges = GitLabForges(user, ours, instance.projects, project=GitLab)
    reader = GitLabWebhooks(
        instance.name,
        [each.encode() for each in instance.webhook_secrets],
        [each.encode() for each in instance.signing_tokens],
    )
    doors = (f"{KIND}/{instance.name}", *((KIND,) if len(settings.gitlabs) == 1 else ()))
    return ForgeConnection(
        forges=forges,
        hooks=WebhookSource(reader, forges.identity, doors, forges.covers),
        record_keys=keys,
        webhook_url=instance.webhook_url,
        home=places.host_of(places.gitlab_home(instance.url)),
        offload=threads,
    )


def gitlab_tokens(settings: Settings) -> dict[str, RenewedToken]:
    """The bot's token at each GitLab, by the name of the instance."""
    return {each.name: RenewedToken(each, settings.vault) for each in settings.gitlabs}


def connected(
    settings: Settings,
    at_end: Callable[[Callable[[], None]], object],
    budgets: Budgets | None = None,
    name: str = GITHUB,
    offload: Offload = in_thread,
) -> Forges:
    """Connect to the GitHub that the settings name.

    Args:
        settings: The operator's; of a further GitHub, as `Settings.at` has them for it.
        at_end: Is given what ends the connections.
        budgets: What all replicas may ask; None asks without limit.
        name: Of the GitHub.
        offload: Where requests are waited for.
    """
    if settings.github_token:
        user = UserClients(
            settings.github_api_url,
            settings.github_token,
            former=_former(settings.older_apps, _proving(settings, at_end, budgets, name, offload)),
            accounts=settings.former_accounts,
            forge=name,
            budgets=budgets,
            instance=settings.own_name,
            offload=offload,
        )
        at_end(user.close)
        return UserForges(user, settings.github_repositories)
    clients = apps(settings, at_end, budgets, name=name, offload=offload)
    served = [GitHubForges(each, path(name)) for each in clients]
    return served[0] if len(served) == 1 else SeveralForges(served)


def apps(
    settings: Settings,
    at_end: Callable[[Callable[[], None]], object],
    budgets: Budgets | None = None,
    *,
    reads_only: bool = False,
    name: str = GITHUB,
    offload: Offload = in_thread,
) -> list[AppClients]:
    """Return clients of the bot's Apps, newest first; the arguments are those of `connected`."""
    older = _proving(settings, at_end, budgets, name, offload, reads_only=reads_only)
    first = AppClients(
        settings.github_api_url,
        settings.github_app_id,
        settings.private_key,
        budgets=budgets,
        instance=settings.own_name,
        reads_only=reads_only,
        former=_former(settings.older_apps, older),
        accounts=settings.former_accounts,
        forge=name,
        offload=offload,
    )
    at_end(first.close)
    return [first, *older]


def _proving(
    settings: Settings,
    at_end: Callable[[Callable[[], None]], object],
    budgets: Budgets | None,
    name: str,
    offload: Offload = in_thread,
    *,
    reads_only: bool = False,
) -> list[AppClients]:
    """Clients of the Apps that were replaced, in the order of the settings."""
    former = _former(settings.older_apps)
    clients = [
        AppClients(
            settings.github_api_url,
            str(app.id),
            app.private_key,
            budgets=budgets,
            instance=settings.own_name,
            reads_only=reads_only,
            former=former,
            accounts=settings.former_accounts,
            forge=name,
            offload=offload,
        )
        for app in settings.older_apps
    ]
    for each in clients:
        at_end(each.close)
    for app, client in zip(former, clients, strict=True):
        app.asked = client.login
    return clients


def _former(older: Sequence[KnownApp], clients: Sequence[AppClients] = ()) -> list[FormerApp]:
    """Apps that were replaced, proved by their own keys where their accounts are not known."""
    found = [FormerApp(f"{app.slug}[bot]", app.account) for app in older]
    for app, client in zip(found, clients, strict=False):
        app.asked = client.login
    return found


async def tell_what_is_missing(forges: Forges) -> None:
    """What a machine user has not that an App would have, once, for whoever reads the log.

    Args:
        forges: Of the machine user.
    """
    try:
        with understood("compare what the token may do with what is needed"):
            found = await forges.drift()
    except (ForgeBusyError, ForgeRefusedError) as error:
        log.warning("the token cannot be checked", reason=str(error))
        return
    for each in found:
        log.warning("running as a machine user, not an App", told=str(each))
