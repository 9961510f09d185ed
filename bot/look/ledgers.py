"""What a change does to the ledger: entry by entry, with the tags and users of each revision."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from bot import ledger_paths
from bot.ledger_paths import LEDGER
from bot.look import rules, upstreams
from bot.look.reader import MirrorReader
from bot.look.rules import Blob
from cadlib.findings import Finding
from lifecycle import names
from lifecycle.ledger import Entries, LedgerChange, ListedState
from lifecycle.messages import configuration as texts
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy


@dataclass(frozen=True, slots=True)
class LedgerDifference:
    """What differs between two commits in the ledger.

    Attributes:
        changes: Entries that differ, by package and number.
        paths: Files in which they stand, and nothing else differs that the bot reads.
        broken: Problems of files that cannot be read any more.
    """

    changes: tuple[LedgerChange, ...] = ()
    paths: frozenset[str] = frozenset()
    broken: tuple[Finding, ...] = ()


def difference(blob: Blob, before: str, after: str, files: Iterable[str]) -> LedgerDifference:
    """Compare the ledger at two commits.

    Args:
        blob: Reads files.
        before: A commit; "" for nothing at all.
        after: A commit.
        files: The paths that differ between them.
    """
    differ = sorted(path for path in files if path == LEDGER or ledger_paths.ledger_package(path))
    there: dict[str, dict[str, tuple[Entries, Entries]]] = {}
    broken: list[BrokenPolicy] = []
    for path in differ:
        old, new = rules.file_of_ledger(blob, before, path), rules.file_of_ledger(blob, after, path)
        if isinstance(new, BrokenPolicy):
            broken += [new] if path != LEDGER else []  # told with the configuration
        elif not isinstance(old, BrokenPolicy):
            there[path] = {p: (old.get(p, {}), new.get(p, {})) for p in {*old, *new}}
    packages = {package for found in there.values() for package in found}
    changes: list[LedgerChange] = []
    for package in sorted(packages):
        path = next(path for path in sorted(there, reverse=True) if package in there[path])
        changes += _of(package, path, *(_all(blob, at, package) for at in (before, after)))
    told = {each.package for each in changes}
    paths = {path for path, found in there.items() if found and told.issuperset(_differing(found))}
    return LedgerDifference(tuple(changes), frozenset(paths), rules.findings(*broken))


def told(
    reader: MirrorReader,
    changes: Iterable[LedgerChange],
    left: Sha,
    base: Sha | None,
    changed: Collection[str],
    others: Mapping[str, Sha],
    *,
    merged: bool,
) -> tuple[LedgerChange, ...]:
    """Return changes of the ledger with how their revisions stand.

    What the base branch uses counts as well: it may have come after the proposal was made. So does
    what other branches use: the tag is one for all of them.

    Args:
        reader: Reads git.
        changes: What differs.
        left: What is left: the proposal's head; after a merge the base branch as it is now, for
            who used them may have moved on since.
        base: Tip of the base branch, before the merge; None after it.
        changed: Packages that the proposal changes.
        others: The other branches that packages are published from, each to its tip.
        merged: It is merged: a tag that told of a number may be gone by it.
    """
    changes = list(changes)
    going = [(each.package, each.revision) for each in changes if each.withdraws]
    users = upstreams.users_of(reader.git, left, reader.address, going)
    there = upstreams.users_of(reader.git, base, reader.address, going) if base else {}
    elsewhere = upstreams.users_elsewhere(reader.git, others, reader.address, going)
    found = []
    for each in changes:
        revision = (each.package, each.revision)
        tag, ours = reader.tags.standing(*revision)
        by = {*users.get(revision, ()), *(set(there.get(revision, ())) - set(changed))}
        given = each.revision <= reader.tags.highest(each.package)
        known = merged or each.before is not None or given
        used_by = (*sorted(by), *elsewhere.get(revision, ()))
        found.append(replace(each, tag=tag, ours=ours, known=known, used_by=used_by))
    return tuple(found)


def problems(changes: Iterable[LedgerChange]) -> tuple[Finding, ...]:
    """Return what no approval lets pass: numbers that would be free again, or are none yet."""
    return tuple(finding for each in changes if (finding := texts.ledger_change(each)) is not None)


def used(
    reader: MirrorReader,
    head: Sha,
    touched: Iterable[str],
    listed: Callable[[str], Entries],
) -> tuple[Finding, ...]:
    """Return what is to be said of upstreams in this repository that nobody should use any more.

    Args:
        reader: Reads git.
        head: The proposal's head.
        touched: Packages that are there.
        listed: Gives what the ledgers say of a package.
    """
    found = []
    for package in touched:
        refs = {
            each.ref for each in upstreams.of_package(reader.git, head, reader.address, package)
        }
        for ref in sorted(refs):
            named = names.parse_tag(ref if names.is_tag(ref) else names.tag_ref(ref))
            entry = listed(named[0]).get(named[1]) if named else None
            if named and entry and entry.state is not ListedState.HELD:
                found.append(texts.upstream_listed(package, names.spelled(*named), entry))
    return tuple(found)


def _of(
    package: str, path: str, old: Entries | BrokenPolicy, new: Entries | BrokenPolicy
) -> list[LedgerChange]:
    if isinstance(old, BrokenPolicy) or isinstance(new, BrokenPolicy):
        return []
    return [
        LedgerChange(package=package, revision=n, path=path, before=old.get(n), after=new.get(n))
        for n in sorted({*old, *new})
        if old.get(n) != new.get(n)
    ]


def _differing(found: Mapping[str, tuple[Entries, Entries]]) -> set[str]:
    return {package for package, (old, new) in found.items() if old != new}


def _all(blob: Blob, at: str, package: str) -> Entries | BrokenPolicy:
    return rules.listed(blob, at, package) if at else {}
