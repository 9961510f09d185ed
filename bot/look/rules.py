"""Which rules judge a change: those of its base, never those that it brings.

Where the files are is the caller's affair: the bot has a mirror, `porchbot check` a working tree.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from bot import config
from bot.config import CONFIG
from bot.extends import KEY, FileReference
from bot.ledger_paths import LEDGER, ledger_package, package_ledger
from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from lifecycle.ledger import Entries, Ledger, both
from lifecycle.messages import configuration as texts
from lifecycle.policy import (
    BrokenPolicy,
    ConfigurationProblem,
    GuardrailFunction,
    Policy,
    united,
)

Blob = Callable[[str, str], bytes | BrokenPolicy | None]
"""Gives a regular file by commit and path; None where there is nothing, and what is wrong where
something else stands in its place. One of another repository is spelled <owner>/<name>@<id>."""


@dataclass(frozen=True, slots=True)
class BaseRules:
    """The rules of a base branch.

    Attributes:
        policy: Its configuration, united with that of the default branch.
        published: Packages are published from this branch.
        branches: Other branches that they are published from, beside the default branch.
    """

    policy: Policy | BrokenPolicy
    published: bool
    branches: frozenset[str] = frozenset()


def of_base(blob: Blob, at: str, base_ref: str, default: str | None) -> BaseRules:
    """Read the rules of a base branch.

    The default branch says from which other branches packages are published, and its rules hold
    there as well: anybody with write access can make a branch that is not there yet, or not any
    more, and the file on it can only ask for more (ADR 19).

    Args:
        blob: Reads files.
        at: The commit whose rules hold.
        base_ref: The branch's name, such as "main".
        default: Commit of the default branch, "" for none; None where the base is that branch.
    """
    policy = configuration(blob, at)
    above = None if default is None else configuration(blob, default)
    observe = (policy if above is None else above).observe
    if isinstance(above, BrokenPolicy):
        policy = above
    elif above is not None and isinstance(policy, Policy):
        policy = united(above, policy)
    ledger = _ledger(blob, at)
    if isinstance(ledger, BrokenPolicy):
        # Without the ledger the next number cannot be told: nothing is published.
        policy = ledger
    # The default branch's word alone, whatever is broken here and whatever that says.
    if policy.observe != observe:
        policy = replace(policy, observe=observe)
    if not isinstance(above, Policy):
        own = policy.branches if above is None and isinstance(policy, Policy) else frozenset()
        return BaseRules(policy, published=True, branches=own - {base_ref})
    return BaseRules(policy, base_ref in above.branches, above.branches - {base_ref})


def listed(blob: Blob, at: str, package: str) -> Entries | BrokenPolicy:
    """Return what the ledger says of a package's revisions at a commit, in both of its forms.

    Where both list a revision, a withdrawal counts.

    Args:
        blob: Reads files.
        at: The commit; "" for none.
        package: Its path.
    """
    path = package_ledger(package)
    data = blob(at, path) if path and at else None
    own = data if isinstance(data, BrokenPolicy) else config.read_package_ledger(data, path)
    older = _ledger(blob, at) if at else {}
    if isinstance(own, BrokenPolicy):
        return own
    return older if isinstance(older, BrokenPolicy) else both(older.get(package, {}), own)


def file_of_ledger(blob: Blob, at: str, path: str) -> Ledger | BrokenPolicy:
    """Return what one file of the ledger says, package to entries; of either form.

    Args:
        blob: Reads files.
        at: A commit; "" for none.
        path: The file.
    """
    if path == LEDGER:
        return _ledger(blob, at) if at else {}
    data = blob(at, path) if at else None
    found = data if isinstance(data, BrokenPolicy) else config.read_package_ledger(data, path)
    return found if isinstance(found, BrokenPolicy) else {ledger_package(path) or "": found}


def listed_packages(blob: Blob, commits: Iterable[str], files: Iterable[str]) -> set[str]:
    """Return the packages of whose revisions a change may say something in the ledger.

    Args:
        blob: Reads files.
        commits: What is compared.
        files: Paths that differ.
    """
    found: set[str] = set()
    for path in files:
        if path == LEDGER:
            for at in commits:
                there = _ledger(blob, at) if at else {}
                found |= set() if isinstance(there, BrokenPolicy) else set(there)
        elif package := ledger_package(path):
            found.add(package)
    return found


def problems(blob: Blob, head: str, origin: str) -> tuple[Finding, ...]:
    """Return the problems of the configuration as a change would leave it.

    Args:
        blob: Reads files.
        head: The change's commit.
        origin: What it began with; "" for nothing.
    """
    read: list[object] = []
    if not origin or _differs(blob, head, origin):
        read.append(configuration(blob, head))
    if not origin or blob(head, LEDGER) != blob(origin, LEDGER):
        read.append(_ledger(blob, head))
    return findings(*read)


def findings(*read: object) -> tuple[Finding, ...]:
    """Return the problems of files with rules, as those of a change."""
    return tuple(
        Finding(message=p.problem, severity=Severity.ERROR, place=p.place, fix=p.fix)
        for each in read
        if isinstance(each, BrokenPolicy)
        for p in each.problems
    )


def _differs(blob: Blob, head: str, origin: str) -> bool:
    """Whether a change touches the configuration, or a file that it names."""
    named = _written(blob, head)
    paths = _config_files(named) if isinstance(named, Policy) else ()
    return any(blob(head, path) != blob(origin, path) for path in (CONFIG, *paths))


def configuration(blob: Blob, at: str) -> Policy | BrokenPolicy:
    """Return the configuration at a commit, as it stands there alone.

    Args:
        blob: Reads files.
        at: The commit; "" for none.
    """
    found = _written(blob, at)
    return _configured(found, partial(blob, at)) if isinstance(found, Policy) else found


def _written(blob: Blob, at: str) -> Policy | BrokenPolicy:
    found = blob(at, CONFIG) if at else None
    if isinstance(found, BrokenPolicy):
        return found
    return config.read(found, defaults=lambda reference: _defaults(blob, reference))


def _config_files(policy: Policy) -> tuple[str, ...]:
    """Return the files with parameters of guardrails, without repetitions."""
    functions = (*policy.mutators, *policy.validators)
    return tuple(dict.fromkeys(f.config_path for f in functions if f.config_path is not None))


def _configured(
    policy: Policy, file: Callable[[str], bytes | BrokenPolicy | None]
) -> Policy | BrokenPolicy:
    """A policy with the files that its guardrails name; broken where one cannot be used."""
    read: dict[str, Mapping[str, object]] = {}
    problems: list[ConfigurationProblem] = []
    paths = _config_files(policy)
    if not paths:
        return policy
    for path in paths:
        found = config.function_config(file(path), path)
        if isinstance(found, BrokenPolicy):
            problems += found.problems
        else:
            read[path] = found
    if problems:
        return BrokenPolicy(tuple(problems), observe=policy.observe)

    def filled(functions: Iterable[GuardrailFunction]) -> tuple[GuardrailFunction, ...]:
        return tuple(
            replace(f, config=read[f.config_path]) if f.config_path else f for f in functions
        )

    return replace(policy, mutators=filled(policy.mutators), validators=filled(policy.validators))


def _defaults(blob: Blob, reference: FileReference) -> bytes | BrokenPolicy:
    """A file of another repository; who reads files knows that by what stands for the commit."""
    found = blob(f"{reference.repository}@{reference.commit}", reference.path)
    if found is not None:
        return found
    problem = texts.missing_defaults(reference.shown, texts.NOT_THERE)
    return BrokenPolicy((ConfigurationProblem(Place(CONFIG, None, KEY), *problem),))


def _ledger(blob: Blob, at: str) -> Ledger | BrokenPolicy:
    found = blob(at, LEDGER)
    return found if isinstance(found, BrokenPolicy) else config.read_ledger(found)
