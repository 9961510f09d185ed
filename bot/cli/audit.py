"""`porchbot audit`: what the bot did, as a table or as lines of JSON."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import click

from bot.cli.dropin import CommandFailure, StrictCommand
from bot.logs import UNPRINTABLE, printable

SHOWN = 50
"""Entries of a table, where --limit says nothing: what fits a screen or two."""

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"(\d{1,6})([mhdw])", re.ASCII)


def _moment(_: click.Context, __: click.Parameter, text: str | None) -> datetime | None:
    """Read a moment, or how long ago it was; a time without a zone is UTC."""
    if text is None:
        return None
    ago = _AGO.fullmatch(text)
    try:
        if ago:
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        read = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(
            f"{text!r} is not a time. Write 2026-11-22, 2026-11-22T14:00Z, or 36h for 36 hours ago "
            "(m, h, d, w)."
        ) from error
    return read if read.tzinfo else read.replace(tzinfo=UTC)


@click.command(
    cls=StrictCommand,
    examples="""
    # What happened to a proposal, and who asked for it.
    $ porchbot audit --repository acme/blueprints --proposal 12

    # What was merged and tagged since yesterday.
    $ porchbot audit --action Merge --action Tag --since 1d

    # Copy everything to a file.
    $ porchbot audit --json > audit.jsonl
    """,
)
@click.option("--repository", metavar="NAME", help="OWNER/NAME, or FORGE:NUMBER.")
@click.option("--proposal", type=click.IntRange(min=1), help="Number of the pull request.")
@click.option("--person", metavar="LOGIN", help="Who asked; also webhook, sweep, operator.")
@click.option(
    "--action",
    "actions",
    multiple=True,
    metavar="NAME",
    help="Action, such as Merge, also one that only earlier releases wrote; may be given several"
    " times. A wrong one is answered with all.",
)
@click.option(
    "--since",
    metavar="TIME",
    callback=_moment,
    help="Only entries since then: 2026-11-22, or 36h for 36 hours ago.",
)
@click.option("--until", metavar="TIME", callback=_moment, help="Only entries before then.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help=f"Print only this many of the newest entries. Default: {SHOWN}; with --json all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per entry.")
def audit(
    repository: str | None,
    proposal: int | None,
    person: str | None,
    actions: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Print what the bot did, who asked for it, and the facts it decided on; oldest first.

    Like `porchbot serve`, it reads the database that DATABASE_URL names, otherwise the one in
    PORCHBOT_STATE. The bot may be running.
    """
    # Heavy, and not needed for --help.
    from bot.store.trail import TrailFilter, entries
    from bot.store.values import StoreError

    try:
        with _database() as url:
            _refuse_unknown(url, actions)
            wanted = TrailFilter(
                repositories=_keys(url, repository),
                proposal=proposal,
                person=person or "",
                actions=tuple(actions),
                since=since,
                until=until,
            )
            found = entries(url, wanted, limit if limit or as_json else SHOWN)
            for line in map(_line, found) if as_json else _table(found):
                click.echo(line)
    except StoreError as error:
        raise CommandFailure(str(error)) from error


def _refuse_unknown(url: str, given: tuple[str, ...]) -> None:
    """Refuse the name of no action: nothing would be found, as if nothing had been done.

    What this release does not write, an earlier one may have written: the trail tells.
    """
    # Heavy, and not needed for --help.
    from bot.store.trail import holds
    from bot.store.values import BEGAN, TRY_AGAIN
    from lifecycle.actions import Action

    names = sorted([BEGAN, TRY_AGAIN, *(each.KIND.name for each in get_args(Action))])
    for name in given:
        if name not in names and not holds(url, name):
            raise click.BadParameter(
                f"{name!r} is not one of {', '.join(names)}. No entry of an earlier release has it"
                " either.",
                param_hint="'--action'",
            )


@contextmanager
def _database() -> Iterator[str]:
    """The address of the bot's database; its own server is started where none runs."""
    from bot.settings import state_folder
    from bot.store.embedded.place import PostgresError
    from bot.store.embedded.server import EmbeddedPostgres, running_at

    if url := os.environ.get("DATABASE_URL", ""):
        yield url
        return
    folder = state_folder(os.environ) / "postgres"
    if not folder.is_dir():
        raise CommandFailure(
            f"{folder} does not exist, so there is no bot's database here. Set PORCHBOT_STATE to "
            "the bot's folder, or DATABASE_URL to its server."
        )
    try:
        if url := running_at(folder) or "":
            yield url
            return
        with EmbeddedPostgres(folder) as server:
            yield server.url
    except (PostgresError, PermissionError) as error:
        raise CommandFailure(str(error)) from error


def _keys(url: str, repository: str | None) -> tuple[str, ...] | None:
    """Beginnings of the keys of a repository; None for all of them."""
    from bot.store.trail import keys_of

    if repository is None:
        return None
    if re.fullmatch(r"[a-z]+:\d+", repository, re.ASCII):
        return (f"{repository}:",)
    found = keys_of(url, repository)
    if not found:
        raise CommandFailure(
            f"The bot has no entries for a repository {repository!r}. Write OWNER/NAME as on the "
            "forge, or FORGE:NUMBER, such as github:42."
        )
    return found


def _line(entry: Mapping[str, Any]) -> str:
    told = {
        "id": entry["id"],
        "at": entry["at"].astimezone(UTC).isoformat(),
        "repository": entry["full_name"],
        "key": entry["key"],
        "actor": entry["actor"],
        "action": entry["action"],
    }
    return printable(json.dumps(told | entry["detail"] | told, ensure_ascii=False))


_WIDTHS = (20, 28, 9, 13, 11, 24)
_HEADS = ("TIME", "REPOSITORY", "PROPOSAL", "ACTION", "OUTCOME", "ASKED BY", "DETAIL")


def _table(found: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    """Lines of a table; its widths are fixed, since entries are printed as they come."""
    from bot.gitlabs import numbered

    yield _row(_HEADS)
    none = True
    for entry in found:
        none = False
        detail = entry["detail"]
        forge = entry["key"].partition(":")[0]
        numbers = [
            each.get("written") or numbered(each["number"], forge)  # older entries lack it
            for each in detail.get("proposals", ())
        ]
        # Who wrote several comments asked once.
        asked = dict.fromkeys(_asker(each) for each in detail.get("asked", ()))
        yield _row(
            (
                f"{entry['at'].astimezone(UTC):%Y-%m-%d %H:%M:%S}",
                entry["full_name"] or ":".join(entry["key"].split(":")[:2]),
                ",".join(numbers) or "-",
                entry["action"],
                detail.get("outcome", "-").replace("_", " ").lower(),
                ",".join(asked) or f"({entry['actor']})",
                detail.get("why") or _about(detail),
            )
        )
    if none:
        click.echo("No entries.", err=True)


def _row(cells: tuple[str, ...]) -> str:
    cells = tuple(UNPRINTABLE.sub("?", each) for each in cells)
    padded = [cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=False)]
    return "  ".join([*padded, *cells[len(_WIDTHS) :]]).rstrip()


def _asker(asked: Mapping[str, Any]) -> str:
    """A person's login; what else asked in brackets, since a person may be called so."""
    return str(asked.get("login") or f"({asked.get('by', '?')})")


def _about(detail: Mapping[str, Any]) -> str:
    """What an action named, in one word or two; of what was begun, the actions."""
    values = detail.get("values", {})
    named: list[Any] = [each["action"] for each in detail.get("actions", ())]
    named += [values.get(name) for name in ("ref", "name", "conclusion", "reaction", "method")]
    return " ".join(str(each) for each in named if each)
