"""How a dry run reaches a forge: which one, and with whose token. GitLab: `reaching_gitlab`.

Rules:

1. A person's token goes to GitHub.com and to *.ghe.com, which GitHub runs, or to the API that
   PORCHBOT_GITHUB_API_URL names: an address may come from anybody, and so may a clone's remote.
2. An address of another forge than the one that is set up is refused, and not looked up there.
3. The bot is the one that its settings make: what `porchbot serve` would be.
"""

import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from urllib.parse import SplitResult

from bot import logs, places, trust
from bot.cli import own_forges, reaching_gitlab
from bot.cli.dropin import CommandFailure
from bot.cli.references import ProposalReference
from bot.connecting import apps, connected
from bot.dryrun import DryRunScope, NotToldError
from bot.forges.github.forge import GitHub
from bot.forges.github.forges import GitHubForges
from bot.forges.github.manifest import AppManifestError, addresses
from bot.forges.github.onlooker import Onlooker, installed
from bot.forges.port import (
    Forge,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    Repository,
)
from bot.git.mirror import DiskMirrors
from bot.places import GITHUB_WEB
from bot.settings import Settings, state_folder
from bot.variables import INSTANCE
from bot.vault import secrets_file
from fnrunner import urls
from lifecycle.identity import GITHUB, RepositoryId


def settled(wanted: ProposalReference) -> ProposalReference:
    """Return a reference that knows whether it is of a merge request."""
    return replace(wanted, merge=reaching_gitlab.is_there(wanted, os.environ))


async def place_of(wanted: ProposalReference, stack: AsyncExitStack, folder: Path) -> DryRunScope:
    """The repository, as the bot sees it where that is at hand, else as the person does.

    Raises:
        CommandFailure: The environment, or the address, cannot be used.
        NotToldError, ForgeBusyError, ForgeRefusedError: The forge tells nothing.
    """
    environ = os.environ
    logs.set_aside()
    if reaching_gitlab.is_there(wanted, environ):
        return await reaching_gitlab.place_of(wanted, stack, folder, environ)
    trust.use(environ.get("PORCHBOT_GITHUB_CA", "").strip())
    mirrors = DiskMirrors(folder / "mirrors")
    stored = secrets_file(environ, state_folder(environ)).exists()
    if stored or any(environ.get(name) for name in reaching_gitlab.GITHUB_BOTS):
        settings, name = github_of(wanted, reaching_gitlab.settings_of(environ))
        _same_forge(wanted, settings.github_api_url)
        look = _of_user if settings.github_token else _of_app
        return await look(settings, wanted, stack, mirrors, name)
    api = _api(wanted, environ)
    token = next((environ[name] for name in reaching_gitlab.GITHUB_TOKENS if environ.get(name)), "")
    if not token:
        raise CommandFailure(
            "no token to read the pull request with. Set GITHUB_TOKEN to a token that can read the"
            " repository, or set the variables of the bot's App (PORCHBOT_GITHUB_APP_ID, …). For a"
            " merge request of GitLab set GITLAB_TOKEN"
        )
    instance = environ.get("PORCHBOT_INSTANCE", "") or INSTANCE
    person = Onlooker(
        api,
        token,
        environ.get("PORCHBOT_APP_SLUG", "").strip() or "porchbot",
        instance="" if instance == INSTANCE else instance,
    )
    stack.callback(person.close)
    repository = await person.repository(wanted.name)
    return DryRunScope(
        repository=repository,
        forge=GitHub(person, repository, person.clients),
        mirror=mirrors.of(repository.id, repository.clone_url),
        keys=(),
        login=(await person.identity()).login,
        instance=instance,
        observes=environ.get("PORCHBOT_MODE", "").strip().lower() == "observe",
    )


def github_of(wanted: ProposalReference, settings: Settings) -> tuple[Settings, str]:
    """The settings and the name of the GitHub that a pull request is at; the first for none."""
    there = places.github_home(_api_of(wanted.origin).geturl()) if wanted.origin else ""
    for each in settings.further_githubs:
        if there == places.github_home(each.github_api_url):
            return settings.at(each), each.name
    if not settings.github and settings.further_githubs:
        first = settings.further_githubs[0]
        return settings.at(first), first.name
    return settings, GITHUB


def _api(wanted: ProposalReference, environ: Mapping[str, str]) -> str:
    """Where a person's token may go.

    Raises:
        CommandFailure: The pull request is somewhere else.
    """
    if api := own_forges.github_api(environ):
        _same_forge(wanted, api)
        return api
    found = _api_of(wanted.origin or GITHUB_WEB)
    host = found.hostname or ""
    if not places.is_service(found.geturl()):
        raise CommandFailure(
            f"your token is for GitHub.com, and #{wanted.number} is at {host}. If that is your"
            f" GitHub, set PORCHBOT_GITHUB_API_URL to its API, such as {found.geturl()};"
            f" otherwise write OWNER/NAME#{wanted.number}"
        )
    return found.geturl()


def _same_forge(wanted: ProposalReference, api: str) -> None:
    """Refuse an address of another forge than the one whose API is set."""
    if not wanted.origin:
        return
    named, ours = _api_of(wanted.origin), urls.parts(api)
    port = named.port or (None if named.scheme == "https" else 80)
    if named.hostname != ours.hostname or (port and port != (ours.port or _usual(ours))):
        raise CommandFailure(
            f"#{wanted.number} is at {wanted.origin}, and this porchbot is set up for {api}. Give"
            f" the address of a pull request there, or OWNER/NAME#{wanted.number}"
        )


def _usual(address: SplitResult) -> int:
    return 443 if address.scheme == "https" else 80


def _api_of(origin: str) -> SplitResult:
    try:
        return urls.parts(addresses(origin).api)
    except AppManifestError as error:
        raise CommandFailure(str(error).removesuffix(".")) from error


async def _of_app(
    settings: Settings,
    wanted: ProposalReference,
    stack: AsyncExitStack,
    mirrors: DiskMirrors,
    name: str,
) -> DryRunScope:
    """As the newest of the bot's Apps that is installed there sees it."""
    clients = apps(settings, stack.callback, reads_only=True, name=name)
    missing = ""
    for app in clients:
        try:
            number, installation = await installed(app, wanted.name)
        except ForgeMissingError as error:
            missing = missing or error.reason
            continue
        except (ForgeBusyError, ForgeRefusedError):
            if app is clients[0]:
                raise
            continue  # an older one was deleted, or may not be asked
        forges = GitHubForges(app)
        repository = await forges.repository_by_id(RepositoryId(name, number), installation)
        login = (await clients[0].identity()).login
        return _seen(settings, forges.of(repository), repository, mirrors, login)
    raise NotToldError(f"the App is not installed in {wanted.name}: {missing}")


async def _of_user(
    settings: Settings,
    wanted: ProposalReference,
    stack: AsyncExitStack,
    mirrors: DiskMirrors,
    name: str,
) -> DryRunScope:
    """As the bot's machine user sees it; a look asks it to write nothing."""
    mine = replace(settings, github_repositories=(wanted.name,))
    forges = connected(mine, stack.callback, name=name)
    (account,) = await forges.installations()
    found = await forges.repositories_of(account.number)
    if not found:
        raise NotToldError(f"the machine user has no write access to {wanted.name}")
    login = (await forges.identity()).login
    return _seen(settings, forges.of(found[0]), found[0], mirrors, login)


def _seen(
    settings: Settings, forge: Forge, repository: Repository, mirrors: DiskMirrors, login: str
) -> DryRunScope:
    return DryRunScope(
        repository=repository,
        forge=forge,
        mirror=mirrors.of(repository.id, repository.clone_url),
        keys=settings.record_keys,
        login=login,
        instance=settings.instance,
        observes=settings.observes,
    )
