"""How a dry run reaches a GitLab: which instance, and with whose token.

Rules:

1. A person's token goes to gitlab.com, or to the instance that PORCHBOT_GITLAB_URL names: an
   address may come from anybody, and so may a clone's remote.
2. Where the bot is set up, its instances are the only ones, and an address elsewhere is refused.
3. A token of GitLab cannot be narrowed for a look: none of what a look asks writes anything, and
   a token with the scopes `read_api` and `read_repository` is enough.
"""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from bot import trust
from bot.cli import own_forges
from bot.cli.dropin import CommandFailure
from bot.cli.own_forges import GITLAB_SERVICE, GITLAB_URL
from bot.cli.references import ProposalReference
from bot.dryrun import DryRunScope
from bot.forges.gitlab.forge import GitLab
from bot.forges.gitlab.forges import GitLabForges
from bot.forges.gitlab.onlooker import GitLabOnlooker
from bot.forges.gitlab.user import GitLabUser
from bot.git.mirror import DiskMirrors
from bot.gitlabs import FIRST, GIVEN, NAMES, GitLabInstance
from bot.settings import Settings, SettingsError, state_folder
from bot.variables import INSTANCE
from bot.vault import secrets_file
from fnrunner import urls

GITHUB_TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
GITHUB_BOTS = ("PORCHBOT_GITHUB_APP_ID", "PORCHBOT_GITHUB_TOKEN", "PORCHBOT_GITHUB_TOKEN_FILE")
_GITHUB = (*GITHUB_TOKENS, *GITHUB_BOTS, own_forges.GITHUB_API_URL)
"""Variables by which somebody has to do with a GitHub."""

_TOKEN = "GITLAB_TOKEN"  # noqa: S105 (a variable's name)
_CA = "PORCHBOT_GITLAB_CA"
_PERSONS = (GITLAB_URL, _CA)
"""Variables that a person sets as well."""


def is_there(wanted: ProposalReference, environ: Mapping[str, str]) -> bool:
    """Whether a request is at a GitLab: by how it is named, or by where its clone came from.

    Where nothing tells, by whose token is at hand: `#12` is how GitHub spells one, and of GitLab
    alone nobody would have meant GitHub.
    """
    if wanted.merge or wanted.name.count("/") > 1:  # only groups nest
        return True
    urls = [GITLAB_SERVICE, environ.get(GITLAB_URL, "").strip()]
    if _is_bot(environ):
        settings = settings_of(environ)
        if settings.gitlabs and not settings.github:
            return True
        urls += [each.url for each in settings.gitlabs]
    elif not wanted.origin and not any(environ.get(name, "").strip() for name in _GITHUB):
        return bool(environ.get(_TOKEN, "").strip())
    return bool(wanted.origin) and any(_is_at(wanted.origin, url) for url in urls if url)


async def place_of(
    wanted: ProposalReference, stack: AsyncExitStack, folder: Path, environ: Mapping[str, str]
) -> DryRunScope:
    """The project, as the bot sees it where that is at hand, else as the person does.

    Args:
        wanted: Which merge request.
        stack: Ends what is opened.
        folder: For mirrors.
        environ: The environment.

    Raises:
        CommandFailure: The environment, or the address, cannot be used.
        ForgeBusyError, ForgeRefusedError: GitLab tells nothing.
        OSError: The file of certificates cannot be used.
    """
    settings = settings_of(environ) if _is_bot(environ) else None
    user: GitLabUser
    if settings is not None and settings.gitlabs:
        served = _served(wanted, settings.gitlabs)
        trust.use(served.ca)
        keys, instance = settings.record_keys_at(served.name), settings.instance
        user = GitLabUser(
            served.name,
            served.url,
            lambda: served.token,
            ca=served.ca,
            instance=settings.own_name,
            seals=keys,
        )
        observes = settings.observes
    else:
        user, keys = _person(wanted, environ), []
        trust.use(environ.get(_CA, "").strip())
        instance = environ.get("PORCHBOT_INSTANCE", "") or INSTANCE
        observes = environ.get("PORCHBOT_MODE", "").strip().lower() == "observe"
    stack.callback(user.close)
    forges = GitLabForges(user, project=GitLab)
    repository = await forges.repository_at(wanted.name)
    return DryRunScope(
        repository=repository,
        forge=forges.of(repository),
        mirror=DiskMirrors(folder / "mirrors").of(repository.id, repository.clone_url),
        keys=keys,
        login=(await user.identity()).login,
        instance=instance,
        observes=observes,
    )


def settings_of(environ: Mapping[str, str]) -> Settings:
    """The bot's settings.

    Raises:
        CommandFailure: They cannot be used.
    """
    try:
        return Settings.from_env(environ)
    except SettingsError as error:
        raise CommandFailure(str(error)) from error


def _is_bot(environ: Mapping[str, str]) -> bool:
    """Whether the bot's own variables or its secret store are at hand."""
    if secrets_file(environ, state_folder(environ)).exists() or environ.get(NAMES):
        return True
    names = (f"PORCHBOT_GITLAB_{kind}" for kind in GIVEN)
    return any(environ.get(name) for name in names if name not in _PERSONS)


def _served(wanted: ProposalReference, served: tuple[GitLabInstance, ...]) -> GitLabInstance:
    """The instance that a request is at; the only one, where the request does not say."""
    found = [each for each in served if not wanted.origin or _is_at(wanted.origin, each.url)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(each.url for each in served)
    if not found:
        raise CommandFailure(
            f"{wanted.short} is at {wanted.origin}, and this porchbot is set up for {known}. Give"
            " the address of a merge request there"
        )
    raise CommandFailure(
        f"{wanted.name}{wanted.short} may be at any of {known}. Give its address in a browser"
    )


def _person(wanted: ProposalReference, environ: Mapping[str, str]) -> GitLabUser:
    """A person with a token of their own.

    Raises:
        CommandFailure: There is none, or it is for somewhere else.
    """
    url = own_forges.gitlab(environ)
    if wanted.origin and not _is_at(wanted.origin, url):
        raise CommandFailure(
            f"your token is for {url}, and {wanted.short} is at {wanted.origin}. If that is your"
            f" GitLab, set {GITLAB_URL} to its address; otherwise write GROUP/PROJECT{wanted.short}"
        )
    token = environ.get(_TOKEN, "").strip()
    if not token:
        raise CommandFailure(
            f"no token to read the merge request with. Set {_TOKEN} to one of {url} with the scopes"
            " read_api and read_repository, or set the variables of the bot"
        )
    instance = environ.get("PORCHBOT_INSTANCE", "") or INSTANCE
    return GitLabOnlooker(
        FIRST,
        url,
        lambda: token,
        ca=environ.get(_CA, "").strip(),
        instance="" if instance == INSTANCE else instance,
        bot=environ.get("PORCHBOT_GITLAB_LOGIN", "").strip() or "porchbot",
    )


def _is_at(origin: str, url: str) -> bool:
    """Whether an address of a project is at an instance; a clone by SSH tells no port."""
    named, ours = urls.parts(origin), urls.parts(url)
    port = named.port or (None if named.scheme == "https" else 80)
    usual = 443 if ours.scheme == "https" else 80
    same = bool(named.hostname) and named.hostname == ours.hostname
    return same and (not port or port == (ours.port or usual))
