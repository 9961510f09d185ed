"""`porchbot verify`: whether a revision is what the bot published, and what it attests of it."""

import json
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from bot import gitlabs
from bot.cli import terminal
from bot.cli.disk import clone
from bot.cli.disk.git_objects import RepositoryTrees
from bot.cli.dropin import CommandFailure, StrictCommand
from bot.git.process import users_environment
from bot.signing import allowed
from bot.signing.allowed import Signer
from bot.signing.tags import Attested, ExpectedRepository, ForgedError, check
from lifecycle import names
from lifecycle.identity import NAME
from lifecycle.ledger import LedgerEntry

MOST_BYTES = 1024**2
"""Bytes of a tag that are read; ours have a few thousand."""

_PATH = re.compile(r"[^/:\s]+(?:/[^/:\s]+)+", re.ASCII)
_ID = re.compile(rf"{NAME}:[0-9]+", re.ASCII)


@click.command(
    cls=StrictCommand,
    examples="""
    # Verify a revision with the keys that the bot publishes.
    $ curl --fail https://porchbot.example/allowed_signers > porchbot.signers
    $ porchbot verify net/core@v5 --allowed-signers porchbot.signers

    # Verify a package at the root of the repository, with the file that git is configured to use.
    $ git config gpg.ssh.allowedSignersFile ~/.config/git/allowed_signers
    $ porchbot verify @v3

    # Verify in a repository that was not cloned from the forge, such as a mirror or an archive.
    $ porchbot verify net/core@v5 --repo mirror.git --repository github:42
    """,
)
@click.argument("revision", metavar="PACKAGE@vN | TAG")
@click.option(
    "--allowed-signers",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of trusted keys. Default: git's gpg.ssh.allowedSignersFile.",
)
@click.option(
    "--repo",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Repository with the tags fetched. Default: the one around the current folder.",
)
@click.option(
    "--repository",
    metavar="ID | URL | OWNER/NAME",
    default="",
    help="Repository where the revision must have been published. Best is its id in the"
    " provenance, such as github:42, which no other repository of that bot has; a name alone may"
    " be another forge's as well. Default: the address of the remote `origin`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the provenance as JSON.")
def verify(revision: str, file: Path | None, repo: Path, repository: str, as_json: bool) -> None:
    """Verify the signature of a revision's tag, and the provenance in it.

    Prints where it was published, who approved it, which functions rendered it, and what each gate
    required and found. The exit status is 1 if anything cannot be verified, or if the ledger on a
    publish branch, as last fetched, says that the revision was withdrawn. It contacts neither the
    forge nor the bot: download the bot's file of allowed signers once, and keep it.
    """
    found = names.parse_shown(revision) or names.parse_tag(names.tag_ref(revision))
    if found is None:
        raise click.UsageError(
            f"{revision!r} is not a revision. Write PACKAGE@vN, such as net/core@v5, or its tag,"
            " such as net/core/v5."
        )
    package, number = found
    revision = names.shown(package, number)
    tag, folder = names.spelled(package, number), repo.absolute()
    signers, expected = _signers(folder, file), _expected(folder, repository)
    with closing(RepositoryTrees(folder, users_environment())) as git:
        try:
            data = _tag(git, folder, tag)
            attested = check(tag, data, signers, lambda at: git.tree(at, package), expected)
        except ForgedError as error:
            raise CommandFailure(terminal.line(str(error)).removesuffix(".")) from error
        base = _part(attested.predicate, "base", "ref")
        branches, entry = clone.ledger(git, folder, base, attested.commit, package, number)
    if entry is not None and entry.state == "withdrawn":
        raise CommandFailure(
            f"{revision} was published and later withdrawn: {terminal.line(entry.reason)}."
            " Use another revision; `git tag --list` shows them"
        )
    said = attested.predicate
    click.echo(json.dumps(said, indent=2) if as_json else _told(revision, attested))
    if not as_json:
        click.echo(_ledger(branches, entry))


def _tag(git: RepositoryTrees, folder: Path, tag: str) -> bytes:
    held = git.named(names.tag_ref(tag), MOST_BYTES)
    if held is None:
        raise CommandFailure(
            f"there is no tag {tag} in {folder}. Fetch it with `git fetch --tags`, or list the"
            " revisions with `git tag --list`"
        )
    if held.kind != "tag":
        raise CommandFailure(
            f"tag {tag} is a lightweight tag of a {held.kind}, so it has no signature. porchbot"
            " creates annotated tags; do not use this one"
        )
    return held.data


def _expected(folder: Path, given: str) -> ExpectedRepository:
    """Where the revision has to have been published."""
    if given:
        return _named(given)
    expected = clone.repository(folder)
    if expected is None:
        raise CommandFailure(
            f"{folder} has no remote that names its repository. Give the repository where the"
            " revision was published: --repository OWNER/NAME, or better its id"
        )
    return expected


def _named(given: str) -> ExpectedRepository:
    if _ID.fullmatch(given):
        return ExpectedRepository(id=given)
    if _PATH.fullmatch(given):
        return ExpectedRepository(path=given)
    found = clone.place_in(given)
    if found is None:
        raise click.UsageError(
            f"{given!r} is not a repository. Write its id, such as github:42, its address, or"
            " OWNER/NAME, such as acme/blueprints."
        )
    return found


def _signers(folder: Path, file: Path | None) -> tuple[Signer, ...]:
    path = file or _configured(folder)
    try:
        text = path.read_text()
        signers = allowed.read(text)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise CommandFailure(f"cannot read {path}: {why}. Name a file you can read") from error
    if not text.strip():
        raise CommandFailure(
            f"{path} is empty, as a bot publishes it that has no signing key. Its tags are not"
            " signed: ask its operator for a key, or for the file of the bot that published this"
        )
    if not signers:
        raise CommandFailure(
            f"{path} has no ed25519 key that may sign for git. Use the file that the bot"
            " publishes at /allowed_signers"
        )
    return signers


def _configured(folder: Path) -> Path:
    """The file that git is configured to use."""
    named = clone.said(folder, "config", "--type=path", "--get", "gpg.ssh.allowedSignersFile")
    if not named:
        raise CommandFailure(
            "no file of trusted keys is given or configured. Download the one that the bot"
            " publishes at /allowed_signers, and name it with --allowed-signers"
        )
    return folder / named


def _told(revision: str, attested: Attested) -> str:
    """What is attested, for people."""
    said = attested.predicate
    lines = [
        f"{revision} is verified: porchbot published it in {_where(said['repository'])}.",
        f"  signed by   {attested.signer} ({attested.key.fingerprint})",
        f"  commit      {attested.commit}",
        f"  tree        {said['tree']}",
        f"  base        {_part(said, 'base', 'ref')} at {_part(said, 'base', 'commit')}",
        f"  proposal    {_proposal(said)}",
        f"  approved by {_approvers(said)}",
    ]
    lines += [
        f"  function    {_part(each, 'image')} ({_part(each, 'asked')}) {_part(each, 'digest')}"
        for each in said.get("functions", [])
    ]
    lines += [
        f"  gate        {_part(each, 'name')}: {_part(each, 'actual')}"
        f" (required: {_part(each, 'wanted')})"
        for each in said.get("gates", [])
    ]
    return "\n".join(_row(line) for line in lines)


def _where(repository: dict[str, Any]) -> str:
    """The repository as it is told apart from others."""
    host = repository.get("host") or "a forge that it does not name, so compare the id"
    return f"{_part(repository, 'name')} ({_part(repository, 'id')}) at {host}"


def _proposal(said: dict[str, Any]) -> str:
    """The proposal as people write it; a GitLab that has a name of its own is not known as one."""
    forge = _part(said, "repository", "id").partition(":")[0]
    number = said.get("proposal")
    written = gitlabs.numbered(number, forge) if isinstance(number, int) else f"#{number}"
    return f"{_part(said, 'repository', 'name')}{written}"


def _row(line: str) -> str:
    """One row of a table, whose columns keep their places."""
    return terminal.lines(" ".join(line.expandtabs().splitlines()))


def _ledger(branches: Sequence[str], entry: LedgerEntry | None) -> str:
    """What the ledger says, for people; withdrawn it is not."""
    where = f" ({', '.join(branches)})" if branches else ""
    if entry is not None:
        return f"  ledger      deprecated: {terminal.line(entry.reason)}{where}"
    if not branches:
        return "  ledger      unknown: no publish branch was fetched, so it may have been withdrawn"
    return f"  ledger      not withdrawn{where}"


def _approvers(said: dict[str, Any]) -> str:
    logins = [_part(each, "login") for each in said.get("approvers", [])]
    return ", ".join(logins) or "nobody: no approval required"


def _part(value: Any, *keys: str) -> str:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return str(value)
