"""What is wrong with `.porchbot.yaml` and the ledger: for each problem a clause, and a remedy."""

from collections.abc import Iterable

Problem = tuple[str, str]
"""What is wrong, and what to do; neither with a full stop."""

IRREGULAR: Problem = (
    "it is no regular file (a link, a folder or a submodule stands there)",
    "Put the file itself there, or nothing",
)
ROOT: Problem = ("'/' is not a folder of the repository", "Write . for all of it")
NOT_ALONE = "it is not the name alone"
RECURS_HALF: Problem = (
    "it begins at one moment and ends at many, or the other way round",
    "Give `from` and `until` a cron expression each, or a date each; a date may be left out",
)
NO_TIME: Problem = (
    "it ends when it begins, or before",
    "Give `until` a later moment than `from`",
)


def large_file(most: int) -> Problem:
    """A file with rules that is too large to be read."""
    return (
        f"it has more than {most} bytes, which is more than is read",
        "Leave out what no rule needs",
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
    return f"{text!r} is not a moment: {reason}", "Write one such as 2026-12-20 18:00"


def schedule(text: str) -> Problem:
    """A text that is neither a cron expression nor a moment."""
    return (
        f"{text!r} is neither a cron expression of five fields that ever comes, nor a moment",
        "Write one such as 0 18 * * FRI, or 2026-12-20 18:00",
    )


def image(text: str) -> Problem:
    """A text that is no image."""
    return f"{text!r} is not an image", "Write a name such as set-labels:v0.2"


def bare_role(text: str) -> Problem:
    """A role without what tells that it is one."""
    return f"{text!r} names nobody", f"Write role:{text}"


def machine(text: str) -> Problem:
    """The login of an App's account."""
    return f"{text!r} is an App", f"Write app:{text[5:-5]}"


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
        "Write an address such as github.com/acme/blueprints, with `*` at its end or nowhere",
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


def listed_twice(directory: str) -> Problem:
    """A folder that `packages` lists twice."""
    return f"packages lists {directory!r} twice", "Remove one of the two"


def package(text: str) -> Problem:
    """A key of the ledger that is no package."""
    return f"{text!r} is not a package", "Write its path such as net/core, or . for the root"


def revision(text: str) -> Problem:
    """A key of a package in the ledger that is no revision."""
    return f"{text!r} is not a revision", "Write its number, such as 5"
