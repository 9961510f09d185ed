"""What is wrong with `.porchbot.yaml` and the ledger: for each problem a clause, and a remedy."""

from collections.abc import Iterable

from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from lifecycle.ledger import LedgerChange, LedgerEntry, ListedState

Problem = tuple[str, str]
"""What is wrong, and what to do; neither with a full stop."""

IRREGULAR: Problem = (
    "it is not a regular file but a link, a folder or a submodule",
    "Replace it with the file itself, or remove it",
)
ROOT: Problem = ("'/' is not a folder of the repository", "Write . for all of it")
NOT_ALONE = "it contains more than the name"
RECURS_HALF: Problem = (
    "one of `from` and `until` recurs and the other does not",
    "Use cron expressions for both, or dates for both (one of the dates may be left out)",
)
TWO_CONFIGURATIONS: Problem = (
    "it has both `configMap` and `configPath`",
    "Leave one of them out",
)
NO_TIME: Problem = (
    "it ends at or before its start",
    "Give `until` a later moment than `from`",
)


NOT_THERE = "it does not exist, or the bot has no access to it"
NOT_FETCHED = "they were not fetched here"


def reference(text: str) -> Problem:
    """A text that names no defaults."""
    return (
        f"{text!r} is not a reference to defaults at a pinned commit",
        "Write <owner>/.porchbot@<commit>:<file>, with the commit's 40 digits",
    )


def too_deep(most: int) -> Problem:
    """Files that extend one another without end."""
    return (
        f"more than {most} files extend each other, or one extends itself",
        "Remove `extends` from the defaults",
    )


def broken_defaults(shown: str, places: Iterable[Place]) -> Problem:
    """Defaults that break the format; what stands there is not repeated."""
    where = "; ".join(
        " ".join(filter(None, (f"line {p.line}" if p.line else "", p.field))) or "the file"
        for p in places
    )
    return (
        f"the defaults {shown} cannot be used ({where})",
        "Fix them, and pin the commit with the fix",
    )


def unfit_defaults(shown: str, fields: Iterable[str]) -> Problem:
    """Defaults that can be used alone, and not with what the file itself says."""
    return (
        f"this conflicts with the defaults {shown}: {', '.join(fields) or 'the file'}",
        "Set these keys here, or change the defaults",
    )


def foreign_defaults(shown: str, owner: str) -> Problem:
    """Defaults of somebody else."""
    return (
        f"the defaults {shown} belong to another owner",
        f"Keep them in {owner}/.porchbot or {owner}/.github",
    )


def missing_defaults(shown: str, reason: str) -> Problem:
    """Defaults that could not be read."""
    return (
        f"the defaults {shown} cannot be read: {reason}",
        "Check commit and file, and install the App in that repository or make it public",
    )


def stray_defaults(shown: str, branch: str) -> Problem:
    """A commit that a fork may have brought."""
    return (
        f"the commit of the defaults {shown} is not on {branch!r}, the default branch there",
        "Merge it there, then pin it",
    )


def large_file(most: int) -> Problem:
    """A file with rules that is too large to be read."""
    return (
        f"it has more than {most} bytes, which is too large",
        "Remove what no rule needs",
    )


def folder(text: str) -> Problem:
    """A text that is no folder."""
    return (
        f"{text!r} is not a folder of the repository",
        "Write its path from the top of the repository, such as packages/net",
    )


def branch(text: str, reason: str) -> Problem:
    """A text that is no branch."""
    return f"{text!r} is not a branch: {reason}", "Write its name, such as main"


def zone(text: str) -> Problem:
    """A text that is no time zone."""
    return f"{text!r} is not a time zone", "Write its IANA name, such as Europe/Berlin, or UTC"


def moment(text: str, reason: str) -> Problem:
    """A date that there is not."""
    return f"{text!r} is not a date and time: {reason}", "Write one such as 2026-12-20 18:00"


def years(first: int, last: int) -> str:
    """Why a moment is refused that is too far away."""
    return f"its year is not between {first} and {last}; to set no limit, leave the key out"


def schedule(text: str) -> Problem:
    """A text that is neither a cron expression nor a moment."""
    return (
        f"{text!r} is neither a five-field cron expression that ever matches, nor a date and time",
        "Write one such as 0 18 * * FRI, or 2026-12-20 18:00",
    )


def config_path(text: str, folder: str) -> Problem:
    """A path of a configuration that is not where the rules are."""
    return (
        f"{text!r} is not in {folder}",
        f"Write the path of a file such as {folder}/policy.yaml: a change of it is then approved"
        " like other changes of the rules",
    )


def no_config(path: str) -> Problem:
    """A configuration of a guardrail that is not there."""
    return f"there is no file {path!r} on this branch", "Add it, or leave `configPath` out"


def number_of(documents: int) -> str:
    """Too many resources in a file, or none."""
    return f"it holds {documents} resources" if documents else "it is empty"


def bad_config(reason: str) -> Problem:
    """A configuration of a guardrail that is none."""
    return (
        f"it is not the configuration of a function: {reason}",
        "Leave one resource in the file, with apiVersion, kind and metadata.name",
    )


def own_check(text: str) -> Problem:
    """A check of ours, which cannot wait for itself."""
    return f"{text!r} is one of porchbot's own checks", "Name checks of other Apps"


def image(text: str) -> Problem:
    """A text that is no image."""
    return f"{text!r} is not an image", "Write a name such as set-labels:v0.2"


def bare_role(text: str) -> Problem:
    """A role without what tells that it is one."""
    return f"{text!r} names nobody", f"Write role:{text}"


def machine(text: str) -> Problem:
    """The login of an App's account."""
    return f"{text!r} is an App", f"Write app:{text[5:-5]}"


def app(text: str) -> Problem:
    """A text that is no App."""
    return f"{text!r} is not an App", "Write its name as in its address, such as app:renovate"


def anybodys(text: str) -> Problem:
    """The App whose account workflows have."""
    return (
        f"{text!r} is anybody who can push a workflow",
        "Name an App of your own, and give its token to the workflows of a protected branch alone",
    )


AUTOMATIC_OF_NOBODY: Problem = (
    "`automatic` names nobody: neither Apps nor variants",
    "Name Apps under `by`, or write `variants: true`",
)


def team(text: str) -> Problem:
    """A team that is not spelled as forges do in addresses."""
    return (
        f"{text!r} is not a team",
        "Write its name as in its address, in lower case, without the organization, such as"
        " team:network-leads",
    )


def upstream(text: str) -> Problem:
    """A text that is no upstream."""
    return (
        f"{text!r} is not an upstream",
        "Write an address such as github.com/acme/blueprints, with `*` only at its end",
    )


def repository(text: str) -> Problem:
    """A text that is no full name of a repository."""
    return f"{text!r} is not a repository", "Write its full name, such as acme/blueprints"


OWNERS_OF_NOTHING: Problem = (
    "'codeowners' names the owners of changed files, and this action changes none",
    "Name a role, a team or users",
)
WHOLE_PATH: Problem = (
    "a rule of `paths` is for one folder",
    "Write the rule for the whole repository beside `paths`",
)


def ruled_twice(text: str) -> Problem:
    """A folder or upstream that has two entries of rules."""
    return f"{text!r} is listed twice", "Put all its rules into one entry"


def source(text: str, roles: Iterable[str]) -> Problem:
    """A text that names no approvers."""
    return (
        f"{text!r} names nobody",
        f"Write role:<role>, the role being one of {', '.join(roles)}, or user:<login>,"
        " team:<name>, app:<name> or codeowners",
    )


def too_few(required: int, named: int) -> Problem:
    """More approvals than there are people who can give them."""
    return (
        f"{required} people must approve, and `from` names {named}",
        "Name more people, or require fewer",
    )


def label_twice(name: str) -> Problem:
    """Two stages with one label."""
    return f"the label {name!r} is used for two stages", "Give each stage a label of its own"


def listed_twice(directory: str) -> Problem:
    """A folder that `packages` lists twice."""
    return f"packages lists {directory!r} twice", "Remove one of the two"


def package(text: str) -> Problem:
    """A key of the ledger that is no package."""
    return f"{text!r} is not a package", "Write its path such as net/core, or . for the root"


def revision(text: str) -> Problem:
    """A key of a package in the ledger that is no revision."""
    return f"{text!r} is not a revision", "Write its number, such as 5"


def revision_twice(number: str) -> Problem:
    """One revision listed under two spellings."""
    return f"revision {number} is listed twice", f"Keep one of {number} and v{number}"


def ledger_change(change: LedgerChange) -> Finding | None:
    """What no approval lets pass of a change of the ledger; None for nothing."""
    if change.frees:
        message = (
            f"{change.name} was withdrawn: its entry in the ledger stays as it is, so that the"
            " number is never used again"
        )
        fix = "Put the entry back as it was"
    elif not change.known:
        message = f"{change.name} was never published: listing it would skip its number"
        fix = "Leave the entry out"
    else:
        return None
    return Finding(message=message, severity=Severity.ERROR, place=Place(change.path), fix=fix)


def upstream_listed(package: str, upstream: str, entry: LedgerEntry) -> Finding:
    """The upstream of a package is a revision that nobody should use: a warning, or an error."""
    gone = entry.state is ListedState.WITHDRAWN
    return Finding(
        message=f"its upstream {upstream} is {entry.state}: {entry.reason}",
        severity=Severity.ERROR if gone else Severity.WARNING,
        place=Place(f"{package}/Kptfile".lstrip("/")),
        fix="Update the package to another revision, for example with `porchbot pkg update`",
    )


def alias(text: str) -> Problem:
    """A word that cannot stand for a command."""
    return (
        f"{text!r} cannot be an alias: it is already a command, or is not a plain word",
        "Choose another word of lower-case letters, digits and hyphens",
    )


def alias_of(text: str, word: str, words: Iterable[str]) -> Problem:
    """An alias for what is no command."""
    return (
        f"{text!r} is an alias of {word!r}, which is not a command",
        f"Write one of {', '.join(words)}",
    )


def files_are_folder(pattern: str) -> tuple[str, str]:
    """Say that what names files is a folder."""
    return f"`variants` names the folder {pattern}, not files", f"Write `{pattern}/*.yaml`"


def no_files(pattern: str) -> tuple[str, str]:
    """Say that no file has such a name."""
    return (
        f"`variants` names {pattern}, and there is no such file",
        "Check the folder and the ending, or add the file",
    )
