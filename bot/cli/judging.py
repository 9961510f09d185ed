"""Renders and validates packages on this machine, as the bot would."""

from dataclasses import replace
from pathlib import Path

from bot.cli import colour, progress, terminal
from bot.cli.disk.worktree import WorkingTree
from bot.cli.dropin import CommandFailure
from bot.cli.fn.runner import CommandFunctionRunner
from bot.render import verdicts
from bot.render.verdicts import Before
from cadlib.diff import secrets
from cadlib.errors import PackageError
from cadlib.findings import Finding, Severity
from cadlib.limits import DEFAULT, STREAM
from cadlib.package.files import Files
from cadlib.render.calls import CallOutcome, FunctionCall
from cadlib.render.pipeline import Rendered, Steps
from cadlib.stream.resourcelist import encode
from fnrunner.contract.errors import (
    FunctionError,
    FunctionUnavailableError,
    RunnerBrokenError,
    RunnerBusyError,
)
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages.findings import annotation
from lifecycle.policy import BrokenPolicy, Policy

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def judged_package(
    tree: WorkingTree,
    package: str,
    trees: tuple[str, str],
    policy: Policy,
    functions: CommandFunctionRunner,
) -> Verdict:
    """Render and validate a package of a working tree.

    Args:
        tree: Where it is.
        package: Its path.
        trees: Its trees before and now; "" before where it is new.
        policy: The rules.
        functions: Runs what these ask for.
    """
    progress.at(f"checking {package or 'the root package'}")
    try:
        files, before = verdicts.read(tree.files, trees[1], trees[0])
    except PackageError as error:
        return verdicts.unreadable(package, error)
    return judged(package, files, before, policy, functions)


def judged(
    package: str, files: Files, before: Before, policy: Policy, functions: CommandFunctionRunner
) -> Verdict:
    """Render and validate files of a package.

    Args:
        package: Its path.
        files: As they are.
        before: As they were, for what changed.
        policy: The rules.
        functions: Runs what these ask for.
    """
    secret = verdicts.secret_values(files.values())
    steps = verdicts.begin(files, policy, DEFAULT)
    rendered, broken = _drive(steps, functions, secret)
    if rendered is None:
        return Verdict(package=package, broken=secrets.redacted(broken, secret))
    return verdicts.of(package, files, before, rendered, policy, secret)


def _drive(
    steps: Steps, functions: CommandFunctionRunner, secret: set[str]
) -> tuple[Rendered | None, str]:
    """Run what a rendering asks for; None, and why, where a function cannot be run at all.

    Args:
        steps: The rendering.
        functions: Runs them.
        secret: Values that must not be said; those that functions put into Secrets are added.
    """
    try:
        call = next(steps)
        while True:
            progress.at(f'running "{call.function}" on {len(call.items)} resources')
            outcome = _answer(call, functions)
            if call.step.startswith("mutators"):
                secret |= _secrets(outcome)
            call = steps.send(outcome)
    except StopIteration as done:
        rendered: Rendered = done.value
        return rendered, ""
    except (FunctionUnavailableError, RunnerBusyError, RunnerBrokenError) as error:
        steps.close()
        return None, str(error)


def _answer(call: FunctionCall, functions: CommandFunctionRunner) -> CallOutcome:
    """What a function answers, in the bot's words where it failed."""
    try:
        outcome = functions.answer(call)
    except FunctionUnavailableError as error:
        if error.passing:
            raise
        return CallOutcome(error=str(error))
    except FunctionError as error:
        return CallOutcome(error=str(error))
    return replace(outcome, error=outcome.log or verdicts.REFUSED) if outcome.exit_code else outcome


def _secrets(outcome: CallOutcome) -> frozenset[str]:
    if outcome.items is None:
        return secrets.values(outcome.resources or b"", STREAM)
    return secrets.values(encode(outcome.items, None), STREAM)


def readable(policy: Policy | BrokenPolicy, where: Path | str) -> Policy:
    """Return rules that can be read.

    Args:
        policy: The rules.
        where: Where they stand, for people.

    Raises:
        CommandFailure: They cannot be.
    """
    if isinstance(policy, BrokenPolicy):
        problems = "; ".join(str(each).removesuffix(".") for each in policy.problems)
        raise CommandFailure(terminal.line(f"rules of {where}: {problems}. Fix that first"))
    return policy


def as_line(finding: Finding) -> str:
    """Return one finding as compilers write them, so that editors find its line.

    Args:
        finding: What was found.
    """
    line = f":{finding.place.line}" if finding.place.line else ""
    severity = colour.out(str(finding.severity), _COLOURS[finding.severity])
    by = f" ({finding.function})" if finding.function else ""
    said = terminal.line(f"{annotation(finding)}{by}")
    return f"{terminal.line(finding.place.path)}{line}: {severity}: {said}"
