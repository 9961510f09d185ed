"""Reports merge conflicts: on standard error, in a file, or as an error, by `--on-conflict`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from bot.cli import terminal
from cadlib.errors import PackageError, Place
from cadlib.merge.conflicts import Conflict
from cadlib.merge.policy import ConflictPolicy

REPORT = click.option(
    "--conflicts",
    "report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all conflicts to this file, as JSON.",
)
ON_CONFLICT = click.option(
    "--on-conflict",
    type=click.Choice([each.value for each in ConflictPolicy]),
    default=ConflictPolicy.UPSTREAM.value,
    show_default=True,
    help=(
        "In a conflict, take the upstream's value, take the local one, or change nothing and fail."
    ),
)


@dataclass(frozen=True, slots=True)
class ConflictReport:
    """Where merge conflicts are reported.

    Attributes:
        policy: Which side they go to.
        file: Where they are written to as JSON, or None.
    """

    policy: ConflictPolicy = ConflictPolicy.UPSTREAM
    file: Path | None = None

    def take(self, conflicts: Sequence[Conflict]) -> None:
        """Show conflicts on standard error, and write them to the file.

        Raises:
            PackageError: There are some, and the policy is to fail; or the file cannot be
                written.
        """
        if self.file is not None:
            self._write(self.file, conflicts)
        if not conflicts:
            return
        failing = self.policy is ConflictPolicy.FAIL
        told = ", as --on-conflict upstream would end them" if failing else ""
        terminal.say(f"\n{len(conflicts)} conflict(s){told}:", err=True)
        for each in conflicts:
            terminal.say(f"  {each}", err=True)
        if failing:
            raise PackageError(
                Place(),
                f"both sides changed the same in {len(conflicts)} place(s), listed above",
                "Nothing was changed: choose with --on-conflict upstream or local",
            )

    def _write(self, file: Path, conflicts: Sequence[Conflict]) -> None:
        told = [each.as_json() for each in conflicts]
        if self.policy is ConflictPolicy.FAIL:
            told = [each | {"chosen": "none"} for each in told]
        text = json.dumps(told, indent=2, ensure_ascii=False)
        try:
            file.write_text(f"{text}\n", encoding="utf-8")
        except OSError as error:
            problem = f"cannot be written: {error.strerror}"
            raise PackageError(Place(str(file)), problem, "Name another file") from error
