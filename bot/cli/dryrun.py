"""`porchbot check NUMBER`: what the bot would say of a pull request, without writing anything."""

import asyncio
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import click

from bot.cli import progress, terminal
from bot.cli.dropin import CommandFailure
from bot.cli.fn.options import RunnerOptions
from bot.cli.reaching import place_of, settled
from bot.cli.references import ProposalReference, reference
from bot.clock import SYSTEM, in_thread
from bot.dryrun import (
    DryRun,
    DryRunScope,
    DryRunStatus,
    NotToldError,
    dry_impact,
    dry_run,
    observes,
)
from bot.forges.port import ForgeBusyError, ForgeRefusedError, once
from bot.git.port import GitBusyError, ObjectTooLargeError
from bot.own_runner import own_runner
from bot.render.renderer import CachingRenderer, Maker
from bot.render.workers.capacity import usual
from bot.render.workers.maker import WorkerMaker
from bot.render.workers.pool import Workers
from fnrunner.builtin.lookup import PREFIXES
from fnrunner.contract.run import Runner
from fnrunner.wire.client import Client
from fnrunner.wire.tls import ClientTls
from lifecycle.facts.impact import Impact
from lifecycle.judgement import Gate, Leaf
from lifecycle.messages.doing import phrase
from lifecycle.messages.markdown import plain
from lifecycle.messages.proposed import revisions
from lifecycle.terms import Terms

MOST_RULES = 1024**2
"""Bytes of a file of rules that are read."""

_UNTOLD = (
    ForgeBusyError,
    ForgeRefusedError,
    GitBusyError,
    ObjectTooLargeError,
    NotToldError,
    OSError,
)
"""What ends a look without an answer."""

DATABASE = "DATABASE_URL"
"""The variable that names the bot's database, as `bot.variables` has it."""

_NOT_ASKED = (
    f"The bot's database ({DATABASE}) was not asked: if the whole bot observed for a time"
    " (PORCHBOT_MODE=observe), what was said by then does not count, and counts in what follows."
)

_WORDS = {
    DryRunStatus.READY: "ready",
    DryRunStatus.NOT_READY: "not ready",
    DryRunStatus.UNKNOWN: "unknown",
}


_IF_WANTED = (
    "A rule for variants may approve this, and only the bot can tell whether one wants it now: what"
    " follows holds if it does, otherwise an approval is missing. Approve it, or see the check"
    " porchbot/publish."
)


def run(
    named: str,
    runner: RunnerOptions,
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
    wanted = settled(reference(named))
    rules = _rules(tried) if tried else None
    try:
        found = asyncio.run(_look(wanted, runner, rules, maker))
    except _UNTOLD as error:
        said = _refused(error, wanted) if isinstance(error, ForgeRefusedError) else once(error)
        click.echo(
            f"error: unknown whether {wanted.short} is ready: {terminal.line(said)}", err=True
        )
        return DryRunStatus.UNKNOWN.value
    if as_json:
        click.echo(json.dumps(_as_json(wanted, found, tried), indent=2))
    else:
        for line in _lines(wanted, found, tried):
            click.echo(line)
    return found.answer.value


def _refused(error: ForgeRefusedError, wanted: ProposalReference) -> str:
    if wanted.merge:
        return (
            f"GitLab refused: {error.reason}. Check the path, the number and the token: it needs"
            " the scopes read_api and read_repository and the Developer role, or set the variables"
            " of the bot"
        )
    return (
        f"the forge refused: {error.reason}. Check the number, and use the token of someone with"
        " write access to the repository, which can read other people's permissions, or the"
        " variables of the bot's App"
    )


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
    wanted: ProposalReference,
    runner: RunnerOptions,
    rules: bytes | None,
    maker: Callable[[Runner], Maker] | None,
) -> DryRun:
    async with AsyncExitStack() as stack:
        place, renderer = await _ready(wanted, runner, maker, stack)
        progress.at(f"checking {wanted.short}")
        return await dry_run(place, renderer, wanted.number, rules)


async def _ready(
    wanted: ProposalReference,
    runner: RunnerOptions,
    maker: Callable[[Runner], Maker] | None,
    stack: AsyncExitStack,
) -> tuple[DryRunScope, CachingRenderer]:
    """The repository, and what renders its packages."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="porchbot-check-")))
    place = await place_of(wanted, stack, folder)
    progress.at("starting the function runner")
    client = await _runner(stack, runner, folder)
    renderer = CachingRenderer(maker(client) if maker else _workers(stack, client))
    stack.push_async_callback(renderer.close)
    return place, renderer


def impact(
    named: str, runner: RunnerOptions, *, maker: Callable[[Runner], Maker] | None = None
) -> tuple[Impact | None, Terms]:
    """Try a pull request on the packages of its repository that it does not touch.

    Args:
        named: Which, as `reference` reads it.
        runner: What the command line says of the function runner.
        maker: What renders packages; None for worker processes.

    Returns:
        What it would do, None for nothing that could be tried; and how its forge is spoken of.

    Raises:
        CommandFailure: The command cannot be carried out as it was given, or has no answer.
    """
    wanted = settled(reference(named))

    def told(found: Impact) -> None:
        progress.at(f"trying {wanted.short}: {found.tried} of {found.total} packages")

    async def look() -> tuple[Impact | None, Terms]:
        async with AsyncExitStack() as stack:
            place, renderer = await _ready(wanted, runner, maker, stack)
            progress.at(f"trying {wanted.short}")
            found = await dry_impact(place, renderer, wanted.number, told)
            return found, place.forge.terms

    try:
        return asyncio.run(look())
    except _UNTOLD as error:
        said = _refused(error, wanted) if isinstance(error, ForgeRefusedError) else once(error)
        raise CommandFailure(
            f"what {wanted.short} would do is unknown: {terminal.line(said)}"
        ) from error


async def _runner(stack: AsyncExitStack, wanted: RunnerOptions, folder: Path) -> Client:
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


def _lines(wanted: ProposalReference, found: DryRun, tried: Path | None) -> Iterator[str]:
    """The verdict as a tree, the checks, and what the bot would do."""
    p = found.proposal
    what = f", {found.terms.said(revisions(p))}" if p.content.touched else ""
    which = f"{wanted.name}{found.terms.numbered(wanted.number)}"
    yield f"{which}: {terminal.line(p.place.title)}{terminal.line(what)}"
    if tried:
        yield f"Evaluated with {tried} instead of .porchbot.yaml."
    if observes(found):
        yield "The bot only observes here (mode: observe): it would show neutral checks."
    if os.environ.get(DATABASE):
        yield _NOT_ASKED
    yield _WORDS[found.answer]
    if found.if_wanted:
        yield _IF_WANTED
    for gate in found.judgement.gates if p.content.approvable else ():
        yield from _gate(gate)
    for check in found.shown:
        title = terminal.line(plain(check.title))
        yield f"check {check.name}: {check.conclusion or 'in progress'}: {title}"
    yield "The bot would:" if found.actions else "The bot would do nothing."
    for action in found.actions:
        yield f"  {terminal.line(phrase(action, found.terms))}"


def _gate(gate: Gate) -> Iterator[str]:
    needed = f" Needed: {gate.wanted}." if gate.wanted else ""
    who = f" Who: {gate.who}." if gate.who else ""
    yield f"  {gate.state}: {_text(f'{gate.name}: {gate.actual}.{needed}{who}')}"
    yield from _below(gate.leaves, "    ")


def _below(leaves: Iterable[Leaf], indent: str) -> Iterator[str]:
    for leaf in leaves:
        yield f"{indent}{leaf.state}: {_text(leaf.text)}"
        yield from _below(leaf.leaves, f"{indent}  ")


def _as_json(wanted: ProposalReference, found: DryRun, tried: Path | None) -> dict[str, object]:
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
        "ifWanted": found.if_wanted,
        "rules": str(tried) if tried else None,
        "observe": observes(found),
        "databaseAsked": False,
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
        "next": [{"action": a.KIND.name, "text": phrase(a, found.terms)} for a in found.actions],
    }


def _tree(leaves: Sequence[Leaf]) -> list[dict[str, object]]:
    return [
        {"state": str(leaf.state), "text": _text(leaf.text), "rules": _tree(leaf.leaves)}
        for leaf in leaves
    ]


def _text(markdown: str) -> str:
    return terminal.line(plain(markdown).replace("**", ""))
