"""`porchbot check NUMBER`: what the bot would say of a pull request, without writing anything."""

import asyncio
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import click

from bot import trust
from bot.cli import progress
from bot.cli.dropin import CommandFailure
from bot.cli.fn.options import Wanted
from bot.clock import SYSTEM, in_thread
from bot.dryrun import Answer, DryRun, NotToldError, Place, dry_run, observes
from bot.forges.github.app import AppClients
from bot.forges.github.forge import GitHub
from bot.forges.github.forges import GitHubForges
from bot.forges.github.manifest import addresses
from bot.forges.github.onlooker import Onlooker, installed
from bot.forges.github.user import UserClients
from bot.forges.github.users import UserForges
from bot.forges.port import (
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    Forges,
    Repository,
)
from bot.git.mirror import DiskMirrors
from bot.git.process import execute, users_environment
from bot.own_runner import own_runner
from bot.render.renderer import CachingRenderer, Maker
from bot.render.workers.maker import WorkerMaker
from bot.render.workers.pool import Workers
from bot.render.workers.room import usual
from bot.settings import Settings, SettingsError, state_folder
from bot.variables import INSTANCE
from bot.vault import secrets_file
from fnrunner.builtin.lookup import PREFIXES
from fnrunner.contract.run import Runner
from fnrunner.wire.client import Client
from fnrunner.wire.tls import ClientTls
from lifecycle import spelling
from lifecycle.identity import GITHUB, RepositoryId
from lifecycle.judgement import Gate, Leaf
from lifecycle.messages.doing import phrase
from lifecycle.messages.markdown import plain, revisions

MOST_RULES = 1024**2
"""Bytes of a file of rules that are read."""

_TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")

_GIVEN = re.compile(
    r"#?(?P<alone>[1-9]\d{0,9})"
    r"|(?P<name>[\w.-]+/[\w.-]+)#(?P<short>[1-9]\d{0,9})"
    r"|(?P<origin>https?://[^/\s]+)/(?P<full>[\w.-]+/[\w.-]+)/pull/(?P<long>[1-9]\d{0,9})(?:[/?#].*)?",
    re.ASCII,
)
_ADDRESS = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/\s]+@)?(?P<host>[^/\s]+)/|(?:[^@/\s]+@)?(?P<scp>[^:/\s]+):)"
    r"(?P<name>[^/\s]+/[^/\s]+?)(?:\.git)?/?"
)

_WORDS = {
    Answer.READY: "ready",
    Answer.NOT_READY: "not ready",
    Answer.UNKNOWN: "unknown",
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A pull request as people name it.

    Attributes:
        number: Its number.
        name: OWNER/NAME of its repository; "" for that of the clone here.
        origin: Of the forge, such as "https://github.com"; "" where that is not told.
    """

    number: int
    name: str = ""
    origin: str = ""


def reference(text: str) -> Reference:
    """Read `12`, `#12`, `owner/name#12` or the address of a pull request."""
    found = _GIVEN.fullmatch(text)
    if found is None:
        raise CommandFailure(
            f"{text} is not a pull request. Write 12, OWNER/NAME#12 or its address in a browser"
        )
    number = int(found["alone"] or found["short"] or found["long"])
    return Reference(number, found["name"] or found["full"] or "", found["origin"] or "")


def run(
    named: str,
    runner: Wanted,
    tried: Path | None,
    *,
    as_json: bool,
    maker: Callable[[Runner], Maker] | None = None,
) -> int:
    """Look at a pull request and print what the bot would say; returns the exit status.

    Args:
        named: Which, as `reference` reads it.
        runner: What the command line says of the function runner.
        tried: A file that stands in for `.porchbot.yaml`.
        as_json: Print one object.
        maker: What renders packages; None for worker processes.

    Raises:
        CommandFailure: The command cannot be carried out as it was given.
    """
    wanted = reference(named)
    wanted = wanted if wanted.name else _here(wanted)
    rules = _rules(tried) if tried else None
    try:
        found = asyncio.run(_look(wanted, runner, rules, maker))
    except (ForgeBusyError, ForgeRefusedError, NotToldError, OSError) as error:
        said = _refused(error) if isinstance(error, ForgeRefusedError) else str(error)
        click.echo(f"error: unknown whether #{wanted.number} is ready: {_clean(said)}", err=True)
        return Answer.UNKNOWN.value
    if as_json:
        click.echo(json.dumps(_as_json(wanted, found, tried), indent=2))
    else:
        for line in _lines(wanted, found, tried):
            click.echo(line)
    return found.answer.value


def _refused(error: ForgeRefusedError) -> str:
    return (
        f"the forge refused: {error.reason}. Use the token of someone with write access to the"
        " repository, which can read other people's permissions, or the variables of the bot's App"
    )


def _here(wanted: Reference) -> Reference:
    """The repository that the current folder is a clone of."""
    try:
        said = execute(["remote", "get-url", "origin"], Path(), users_environment())
    except FileNotFoundError as error:
        raise CommandFailure("git is not installed. Install git") from error
    found = None if said.returncode else _ADDRESS.fullmatch(said.stdout.strip())
    if found is None:
        raise CommandFailure(
            f"cannot tell which repository #{wanted.number} belongs to. Write"
            f" OWNER/NAME#{wanted.number}, or give the address of the pull request"
        )
    scheme = "http" if said.stdout.startswith("http:") else "https"
    return replace(wanted, name=found["name"], origin=f"{scheme}://{found['host'] or found['scp']}")


def _rules(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_RULES + 1)
    except OSError as error:
        raise CommandFailure(f"cannot read {file}: {error.strerror}. Name another file") from error
    if len(data) > MOST_RULES:
        raise CommandFailure(
            f"{file} is larger than 1 MiB, too large for a configuration. Name another file"
        )
    return data


async def _look(
    wanted: Reference,
    runner: Wanted,
    rules: bytes | None,
    maker: Callable[[Runner], Maker] | None,
) -> DryRun:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="porchbot-check-")))
        place = await _place(wanted, stack, folder)
        progress.at("starting the function runner")
        client = await _runner(stack, runner, folder)
        renderer = CachingRenderer(maker(client) if maker else _workers(stack, client))
        stack.push_async_callback(renderer.close)
        progress.at(f"checking #{wanted.number}")
        return await dry_run(place, renderer, wanted.number, rules)


async def _place(wanted: Reference, stack: AsyncExitStack, folder: Path) -> Place:
    """The repository, as the App sees it where that is at hand, else as the person does."""
    environ = os.environ
    trust.use(environ.get("PORCHBOT_GITHUB_CA", "").strip())
    mirrors = DiskMirrors(folder / "mirrors")
    stored = secrets_file(environ, state_folder(environ)).exists()
    given = ("PORCHBOT_GITHUB_APP_ID", "PORCHBOT_GITHUB_TOKEN", "PORCHBOT_GITHUB_TOKEN_FILE")
    if stored or any(environ.get(name) for name in given):
        settings = _settings(environ)
        look = _of_user if settings.github_token else _of_app
        return await look(settings, wanted, stack, mirrors)
    token = next((environ[name] for name in _TOKENS if environ.get(name)), "")
    if not token:
        raise CommandFailure(
            "no token to read the pull request with. Set GITHUB_TOKEN to a token that can read the"
            " repository, or set the variables of the bot's App (PORCHBOT_GITHUB_APP_ID, …)"
        )
    api = environ.get("PORCHBOT_GITHUB_API_URL", "").strip().rstrip("/")
    api = api or addresses(wanted.origin or "https://github.com").api
    person = Onlooker(api, token, environ.get("PORCHBOT_APP_SLUG", "").strip() or "porchbot")
    stack.callback(person.close)
    repository = await person.repository(wanted.name)
    return Place(
        repository=repository,
        forge=GitHub(person, repository, person.clients),
        mirror=mirrors.of(repository.id, repository.clone_url),
        keys=(),
        login=(await person.identity()).login,
        instance=environ.get("PORCHBOT_INSTANCE", "") or INSTANCE,
    )


async def _of_app(
    settings: Settings, wanted: Reference, stack: AsyncExitStack, mirrors: DiskMirrors
) -> Place:
    app = AppClients(
        settings.github_api_url,
        settings.github_app_id,
        settings.private_key,
        instance=settings.own_name,
        reads_only=True,
    )
    stack.callback(app.close)
    forges = GitHubForges(app)
    try:
        number, installation = await installed(app, wanted.name)
    except ForgeMissingError as error:
        raise NotToldError(f"the App is not installed in {wanted.name}: {error.reason}") from error
    repository = await forges.repository_by_id(RepositoryId(GITHUB, number), installation)
    return await _seen(settings, forges, repository, mirrors)


async def _of_user(
    settings: Settings, wanted: Reference, stack: AsyncExitStack, mirrors: DiskMirrors
) -> Place:
    """The repository as the bot's machine user sees it; a look asks it to write nothing."""
    user = UserClients(settings.github_api_url, settings.github_token, instance=settings.own_name)
    stack.callback(user.close)
    forges = UserForges(user, (wanted.name,))
    (account,) = await forges.installations()
    found = await forges.repositories_of(account.number)
    if not found:
        raise NotToldError(f"the machine user has no write access to {wanted.name}")
    return await _seen(settings, forges, found[0], mirrors)


async def _seen(
    settings: Settings, forges: Forges, repository: Repository, mirrors: DiskMirrors
) -> Place:
    return Place(
        repository=repository,
        forge=forges.of(repository),
        mirror=mirrors.of(repository.id, repository.clone_url),
        keys=settings.record_keys,
        login=(await forges.identity()).login,
        instance=settings.instance,
    )


def _settings(environ: Mapping[str, str]) -> Settings:
    try:
        return Settings.from_env(environ)
    except SettingsError as error:
        raise CommandFailure(str(error)) from error


async def _runner(stack: AsyncExitStack, wanted: Wanted, folder: Path) -> Client:
    """A client of the function runner that is named, or of one of our own.

    That one runs the functions of the catalog only, as the bot's own does: whoever opens a pull
    request names images.
    """
    environ = os.environ
    address = wanted.address or environ.get("PORCHBOT_RUNNER_ADDRESS", "")
    if address:
        tls = ClientTls.of(wanted.ca, wanted.certificate, wanted.key)
        return await stack.enter_async_context(Client(address, tls=tls))
    catalog = [word for each in PREFIXES for word in ("--allow", f"{each}*")]
    how = ["--config", wanted.config] if wanted.config else catalog
    own = await stack.enter_async_context(own_runner(how, folder))
    return await stack.enter_async_context(Client(own.address))


def _workers(stack: AsyncExitStack, runner: Runner) -> WorkerMaker:
    most, memory_bytes = usual()
    workers = Workers(most, memory_bytes=memory_bytes, clock=SYSTEM)
    stack.push_async_callback(workers.close)
    return WorkerMaker(runner, workers, offload=in_thread)


def _lines(wanted: Reference, found: DryRun, tried: Path | None) -> Iterator[str]:
    """The verdict as a tree, the checks, and what the bot would do."""
    p = found.proposal
    what = f", {revisions(p)}" if p.content.touched else ""
    yield f"{wanted.name}#{wanted.number}: {_clean(p.place.title)}{_clean(what)}"
    if tried:
        yield f"Evaluated with {tried} instead of .porchbot.yaml."
    if observes(found):
        yield "The bot only observes here (mode: observe): it would show neutral checks."
    yield _WORDS[found.answer]
    for gate in found.judgement.gates if p.content.approvable else ():
        yield from _gate(gate)
    for check in found.shown:
        title = _clean(plain(check.title))
        yield f"check {check.name}: {check.conclusion or 'in progress'}: {title}"
    yield "The bot would:" if found.actions else "The bot would do nothing."
    for action in found.actions:
        yield f"  {_clean(phrase(action))}"


def _gate(gate: Gate) -> Iterator[str]:
    needed = f" Needed: {gate.wanted}." if gate.wanted else ""
    who = f" Who: {gate.who}." if gate.who else ""
    yield f"  {gate.state}: {_text(f'{gate.name}: {gate.actual}.{needed}{who}')}"
    yield from _below(gate.leaves, "    ")


def _below(leaves: Iterable[Leaf], indent: str) -> Iterator[str]:
    for leaf in leaves:
        yield f"{indent}{leaf.state}: {_text(leaf.text)}"
        yield from _below(leaf.leaves, f"{indent}  ")


def _as_json(wanted: Reference, found: DryRun, tried: Path | None) -> dict[str, object]:
    p = found.proposal
    return {
        "repository": wanted.name,
        "number": wanted.number,
        "head": p.place.head,
        "packages": [
            {"package": t.package, "revision": t.revision, "removed": t.removed}
            for t in p.content.touched
        ],
        "answer": _WORDS[found.answer],
        "rules": str(tried) if tried else None,
        "observe": observes(found),
        "gates": [
            {
                "name": gate.name,
                "state": str(gate.state),
                "actual": _text(gate.actual),
                "wanted": _text(gate.wanted),
                "who": _text(gate.who),
                "rules": _tree(gate.leaves),
            }
            for gate in (found.judgement.gates if p.content.approvable else ())
        ],
        "checks": [
            {
                "name": check.name,
                "conclusion": str(check.conclusion) if check.conclusion else None,
                "title": plain(check.title),
                "summary": check.summary,
            }
            for check in found.shown
        ],
        "next": [{"action": a.KIND.name, "text": phrase(a)} for a in found.actions],
    }


def _tree(leaves: Sequence[Leaf]) -> list[dict[str, object]]:
    return [
        {"state": str(leaf.state), "text": _text(leaf.text), "rules": _tree(leaf.leaves)}
        for leaf in leaves
    ]


def _text(markdown: str) -> str:
    return _clean(plain(markdown).replace("**", ""))


def _clean(text: str) -> str:
    """Text of others on one line, with nothing that a terminal obeys."""
    return "".join(c for c in spelling.shown(" ".join(text.split())) if c.isprintable())
