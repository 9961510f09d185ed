"""What the settings say the bot is at each forge.

At GitHub it is an App, several of them, or a machine user; at a GitLab a machine user.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from bot.apps import KnownApp
from bot.forges.github.app import AppClients
from bot.forges.github.deliveries import GitHubWebhooks
from bot.forges.github.forges import GitHubForges
from bot.forges.github.several import SeveralForges
from bot.forges.github.user import UserClients
from bot.forges.github.users import UserForges
from bot.forges.gitlab.renewing import RenewedToken
from bot.forges.port import Forges
from bot.http.webhooks import WebhookSource
from bot.settings import Settings
from bot.store.port import Budgets
from lifecycle.identity import GITHUB


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One forge that is served.

    Attributes:
        forges: What it is asked through; its name is the forge's.
        hooks: Where its webhooks come in.
        record_keys: For hidden records there, newest first.
        webhook_url: Where its webhooks are to go; "" where nobody said.
        lacks: The bot is a machine user where it could be an App, and tells at the start what it
            lacks by that.
    """

    forges: Forges
    hooks: WebhookSource
    record_keys: list[bytes] = field(repr=False)
    webhook_url: str = ""
    lacks: bool = False


def everywhere(
    settings: Settings,
    at_end: Callable[[Callable[[], None]], object],
    budgets: Budgets | None = None,
) -> dict[str, Connection]:
    """Connect to every forge that the settings name; by its name, GitHub first.

    The arguments are those of `connected`.
    """
    found: dict[str, Connection] = {}
    if settings.github:
        forges = connected(settings, at_end, budgets)
        reader = GitHubWebhooks(settings.webhook_secrets, presses=not settings.github_token)
        found[GITHUB] = Connection(
            forges=forges,
            hooks=WebhookSource(reader, forges.identity),
            record_keys=settings.record_keys_at(GITHUB),
            webhook_url=settings.webhook_url,
            lacks=bool(settings.github_token),
        )
    return found


def tokens(settings: Settings) -> dict[str, RenewedToken]:
    """The bot's token at each GitLab, by the name of the instance."""
    return {each.name: RenewedToken(each, settings.vault) for each in settings.gitlabs}


def connected(
    settings: Settings,
    at_end: Callable[[Callable[[], None]], object],
    budgets: Budgets | None = None,
) -> Forges:
    """Connect to the GitHub that the settings name.

    Args:
        settings: The operator's.
        at_end: Is given what ends the connections.
        budgets: What all replicas may ask; None asks without limit.
    """
    if settings.github_token:
        user = UserClients(
            settings.github_api_url,
            settings.github_token,
            former=frozenset(_login(app) for app in settings.older_apps),
            budgets=budgets,
            instance=settings.own_name,
        )
        at_end(user.close)
        return UserForges(user, settings.github_repositories)
    served = [GitHubForges(each) for each in apps(settings, at_end, budgets)]
    return served[0] if len(served) == 1 else SeveralForges(served)


def apps(
    settings: Settings,
    at_end: Callable[[Callable[[], None]], object],
    budgets: Budgets | None = None,
    *,
    reads_only: bool = False,
) -> list[AppClients]:
    """Return clients of the bot's Apps, newest first; the arguments are those of `connected`."""
    older = settings.older_apps
    first = (settings.github_app_id, settings.private_key)
    clients = [
        AppClients(
            settings.github_api_url,
            number,
            key,
            budgets=budgets,
            instance=settings.own_name,
            reads_only=reads_only,
            former=frozenset(_login(app) for app in older),
        )
        for number, key in (first, *((str(app.id), app.private_key) for app in older))
    ]
    for each in clients:
        at_end(each.close)
    return clients


def _login(app: KnownApp) -> str:
    return f"{app.slug}[bot]"
