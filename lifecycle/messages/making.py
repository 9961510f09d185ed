"""What is wrong with a draft that somebody asks for, told where its files are made."""

from collections.abc import Sequence

from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, Severity
from cadlib.merge.conflicts import COMMENT, NOT_WRITTEN
from cadlib.package.files import KPTFILE
from lifecycle.facts.update import PackageMerge
from lifecycle.facts.upgrades import NumberedConflict, Upgrade
from lifecycle.messages.markdown import number, one_line, typed

_SHOWN = 10
"""Places that one text lists."""


def _some(items: Sequence[str], between: str = ", ") -> str:
    """The first of a list; the rest is counted."""
    more = f", and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return between.join(items[:_SHOWN]) + more


def problem(error: PackageError) -> str:
    """What is wrong with a package, as a sentence with what to do, without its full stop."""
    where = "" if error.place == Place() else f"{error.place}: "
    return f"{where}{error.problem}. {error.fix}"


def there_already(package: str) -> PackageError:
    """A package is there already."""
    return PackageError(
        Place(f"{package}/{KPTFILE}".lstrip("/")),
        "there is a package in this folder already",
        "Name another folder",
    )


def packages_inside(package: str, inside: Sequence[str]) -> PackageError:
    """There are packages below the folder, which the new one would have as its parts."""
    return PackageError(
        Place(),
        f"{one_line(package) or 'the top folder'} holds packages already:"
        f" {_some([*map(one_line, inside)])}. They would become parts of the new"
        " package",
        "Name a folder beside them",
    )


def files_in_the_way(package: str, paths: Sequence[str]) -> PackageError:
    """The folder holds files that the package has as well, with other contents."""
    return PackageError(
        Place(),
        f"{one_line(package) or 'the top folder'} holds other files of the same names:"
        f" {_some([*map(one_line, paths)])}",
        "Name another folder, or move these files first",
    )


def unlocked(ref: str) -> PackageError:
    """The lock names a branch and no commit, so nobody can tell what the package was made from."""
    return PackageError(
        Place(KPTFILE, field="upstreamLock.git.commit"),
        f"the lock names {one_line(ref) or 'no ref'} and no commit, so nobody can tell what"
        " the package was made from",
        "Write the commit that it was made from into `upstreamLock`",
    )


def origin_gone(gone: PackageError, package: str) -> PackageError:
    """What the package was made from is gone, so that nobody can tell what was changed here."""
    replace, copy = (
        typed(f"upgrade --strategy {strategy} {package or '.'}")
        for strategy in ("force-delete-replace", "copy-merge")
    )
    return PackageError(
        gone.place,
        gone.problem,
        f"{replace} takes the upstream as it is, {copy} keeps the files that it does not have; or"
        " write the commit there that comes nearest to it into `upstreamLock.git` of the Kptfile",
    )


def no_upstream(address: str) -> PackageError:
    """The upstream could not be read."""
    return PackageError(
        Place(), f"the upstream {address} could not be read", "Check its address, and comment again"
    )


def no_package(package: str) -> PackageError:
    """There is no package."""
    return PackageError(
        Place(f"{package}/{KPTFILE}".lstrip("/")),
        "there is no package in this folder",
        "Check its path",
    )


def not_cloned() -> PackageError:
    """The package has no upstream."""
    return PackageError(
        Place(KPTFILE, field="upstream"),
        "the package has no upstream, or none that was ever fetched",
        "Clone a package with `/clone`, or write `upstream` and `upstreamLock` into the Kptfile",
    )


def function_failed(image: str, said: str) -> PackageError:
    """A function failed, and said why; without values of Secrets."""
    why = said or "it gave no reason"
    return PackageError(
        Place(), f"{image} failed: {why[:300]}", "Check the function and its configuration"
    )


def not_run(reason: str) -> PackageError:
    """A function cannot be run now."""
    return PackageError(
        Place(),
        f"the function cannot be run now: {reason[:300].rstrip('.')}",
        "Check how its image is written, or wait until it can be run",
    )


_SET = typed("set Kind/name path=value")


def no_place(field: str, resource: str) -> PackageError:
    """No field and no setter of that name."""
    if resource:
        return PackageError(
            Place(), f"the package has no resource {resource}", "Check its kind and its name"
        )
    return PackageError(
        Place(),
        f"the package has no setter and no field {field}",
        f"Check the spelling, or name the resource: {_SET}",
    )


def several_places(field: str, places: Sequence[str]) -> PackageError:
    """Several places fit."""
    return PackageError(
        Place(),
        f"{field} occurs in {len(places)} places: {_some(places)}",
        f"Name the resource: {_SET}",
    )


def no_scalar(file: str) -> PackageError:
    """The field holds more than one value."""
    return PackageError(
        Place(file), "the field holds a mapping or a list", "Name a field inside it"
    )


def no_field(file: str) -> PackageError:
    """Nothing can stand at that path."""
    return PackageError(
        Place(file), "the path goes through a value that has no such field", "Check the path"
    )


def no_value(file: str, why: str) -> PackageError:
    """The value is no YAML."""
    return PackageError(Place(file), f"the value cannot be read: {why}", "Put it in quotes")


def conflicting(conflicts: Sequence[str]) -> PackageError:
    """Both sides changed the same, and the configuration lets nobody take a side unasked."""
    return PackageError(
        Place(),
        f"both sides changed the same fields: {_some(conflicts, '; ')}",
        "Change these here first, or set `upstreams.conflicts` in .porchbot.yaml",
    )


def no_conflict() -> PackageError:
    """There is no conflict of that number any more."""
    return PackageError(
        Place(), "there is no conflict of this number any more", "Read the summary again"
    )


def conflict_gone(path: str) -> PackageError:
    """What conflicted is not there any more."""
    return PackageError(
        Place(path), "the field is not there any more", "Change the file, and push it"
    )


def conflict_hidden(path: str) -> PackageError:
    """A value of a Secret."""
    return PackageError(Place(path), "it is a value of a Secret", "Change the file, and push it")


def conflict_by_hand(path: str, *, resource: bool) -> PackageError:
    """A side of more than a field cannot be taken, or has no other value.

    Args:
        path: The file.
        resource: A resource in it conflicts, and not all of it.
    """
    what = "resource" if resource else "file"
    fix = "Take local or upstream, or change the file and push it"
    return PackageError(Place(path), f"a whole {what} conflicts", fix)


def conflict_of_comment(path: str) -> PackageError:
    """The comment of a field has no other value."""
    fix = "Take local or upstream, or change the file and push it"
    return PackageError(Place(path), "the comment of the field conflicts", fix)


def conflict_unwritten(path: str) -> PackageError:
    """A resource that could not be merged stayed as it was, and no side of one field changes it."""
    return PackageError(
        Place(path), "what was merged cannot be written here", "Change the file, and push it"
    )


def conflict_of_package(folder: str) -> PackageError:
    """A package that is gone upstream is not removed by a decision of a conflict."""
    return PackageError(
        Place(folder), "the whole package is gone upstream", "Remove its folder, and push that"
    )


def conflict_of_address(path: str) -> PackageError:
    """Where a package comes from is more than one value."""
    return PackageError(
        Place(path),
        "where the package comes from is decided with its lock, and not by one value",
        "Change `upstream` in the file, and push it",
    )


def conflict_in_the_way(path: str) -> PackageError:
    """A file that comes back would be in the place of a folder, or below a file."""
    return PackageError(
        Place(path),
        "a file and a folder would have one name",
        "Rename the one that is here, and push it",
    )


def conflict_finding(found: NumberedConflict, count: int) -> Finding:
    """A conflict of an upgrade, at its line; who may push decides it.

    Args:
        found: It.
        count: How many there are.
    """
    told = found.conflict
    values = f"base {told.base}, here {told.ours}, upstream {told.theirs}"
    unwritten = told.reason.startswith(NOT_WRITTEN)
    what = f"{told.field}: {values}" if told.field and not unwritten else told.reason
    number_of = f"upgrade conflict {found.number} of {count}"
    value = told.field and told.reason != COMMENT
    sides = ", `upstream` or a value" if value else " or `upstream`"
    decide = f"Decide it with {typed(f'resolve {found.number} local')}{sides}"
    return Finding(
        message=f"{number_of}: {what}; {told.chosen or 'upstream'} is taken",
        severity=Severity.WARNING,
        place=Place(told.path, told.line or None, told.field),
        fix="Change the file, and push it" if unwritten else decide,
    )


def conflicts_unknown(upgrade: Upgrade) -> Finding:
    """An upgrade that cannot be worked out again: its upstream cannot be read as it was then."""
    return Finding(
        message="the conflicts of this upgrade are not known",
        severity=Severity.WARNING,
        place=Place(f"{upgrade.package}/{KPTFILE}".lstrip("/"), field="upstreamLock"),
        fix=upgrade.problem,  # with a command in it, maybe, as it is written at the forge
    )


def held(package: str, revision: int, reason: str) -> str:
    """The package is held after a rollback."""
    shown = one_line(package) or "the root package"
    return (
        f"{shown} is held at v{revision} since a rollback ({one_line(reason)})."
        f" End that first with {typed('resume ' + (package or '.'))}"
    )


def withdrawn(package: str, revision: int, reason: str) -> str:
    """The revision to go back to was withdrawn."""
    shown = one_line(package) or "the root package"
    return f"{shown} v{revision} was withdrawn ({one_line(reason)}). Name another revision"


def in_the_way(branch: str, other: str) -> str:
    """A branch is in the way of another: one name would be a folder of the other."""
    return (
        f"the branch {one_line(other)} conflicts with the name {one_line(branch)}: git cannot have"
        " one inside the other. Rename or delete it"
    )


def variant_upgrades(branch: str, version: str) -> str:
    """A variant's draft does already what is asked for."""
    return (
        f"a variant's draft brings it to {one_line(version)} already: {one_line(branch)}. Go on"
        " there, or close that one"
    )


def tag_moved(package: str, revision: int) -> str:
    """The tag of a revision names something else than what was published."""
    shown = one_line(package) or "the root package"
    return (
        f"the tag of {shown} v{revision} points to another commit than the one that was"
        " published. Restore it, or name another revision"
    )


def not_held(package: str) -> str:
    """The package is not held."""
    shown = one_line(package) or "the root package"
    return (
        f"{shown} is not held at any revision, so nothing keeps it from being upgraded. Name a"
        " package that is held"
    )


def ledger_broken(path: str) -> str:
    """The ledger cannot be read, or has no place for the entry."""
    return f"{path} cannot be read, or has no place for the entry. Fix it in a pull request"


NO_REASON = "no reason given"
"""Stands in the ledger where somebody rolls back without saying why."""


def unmanaged(package: str) -> str:
    """The package is in no folder that the bot looks after."""
    return (
        f"{one_line(package)} is in none of the folders that .porchbot.yaml lists under `packages`."
        " Name a folder inside one of them"
    )


def other_branch(package: str, other: str) -> str:
    """Two packages that are published from different branches, or the second from none."""
    return (
        f"{one_line(other)} is not published from the branch of {one_line(package)}, so they cannot"
        " be in one pull request. Upgrade each by itself"
    )


def about(package: str, problem: str) -> str:
    """A problem of one of several packages; one that begins with its name says so already."""
    shown = one_line(package) or "the root package"
    named = problem.startswith((f"{shown} ", f"{shown}/"))
    return problem if named else f"{shown}: {problem}"


def no_base(branch: str) -> str:
    """The branch that the package is published on is not there."""
    return (
        f"the package is published on the branch {one_line(branch)}, which does not exist. Push it,"
        " or change `packages` in .porchbot.yaml"
    )


def no_revision(package: str, revision: int) -> str:
    """There is no such revision."""
    shown = one_line(package) or "the root package"
    return f"{shown} has no revision v{revision}. `git tag --list` shows all revisions"


DRY_UNKNOWN = "not known"
"""What an upgrade would come to that nobody worked out."""


def dry(made: PackageMerge) -> str:
    """What an upgrade would come to, in a few words."""
    if made.problem:
        return DRY_UNKNOWN
    count = len(made.conflicts) + made.more
    return number(count, "conflict") if count else "none"
