"""What is wrong with a comment that is nearly a command, and what to do instead."""

from collections.abc import Mapping, Sequence

UNSEEN = "contains invisible characters; write it as plain text"
DOUBTFUL = (
    "is placed where HTML, hidden characters, a table, a link, a formula or `>>>` may"
    " change how it is displayed; post it as plain text in a separate comment"
)
LONG_PARAGRAPH = (
    "is in a paragraph that is too long to be read, or follows several long ones;"
    " post it in a separate comment"
)

NO_FOLDER = "takes a folder of the repository with a slash at the end, such as `net/core/`"
NO_PACKAGE = (
    "takes the folder of a package, such as `net/core`; no part of it is `..`, or named like `v5`"
)
NO_ASSIGNMENT = "takes a field and a value, such as `spec.replicas=3`"
NO_PAIRS = "takes each value once, as `key=value`, in quotes where it contains spaces"
NO_END = "takes an end time such as `until 2026-12-24 18:00` (UTC), or `for 2h`"

INSTEAD: Mapping[str, str] = {
    "retry": "comment `/check` to check again from scratch",
}
"""Words that people try because Porch or other bots have them, and what to do here instead."""


def misspelt(word: str, suggestion: str) -> str:
    """A word that is no command.

    Args:
        word: As written; "" when it is not fit to be repeated.
        suggestion: The command that is meant, as far as one can tell; "" when none is near.
    """
    what = f"`{word}` is not a command" if word else "that word is not a command"
    return f"{what}; did you mean `/{suggestion}`?" if suggestion else what


def malformed(command: str, problem: str) -> str:
    """A command that is not written as it must be; `command` is "" for a comment as a whole."""
    return f"`/{command}` {problem}" if command else problem


def instead(word: str) -> str:
    """A word of another tool."""
    return f"is not a command here; {INSTEAD[word]}"


ONTO = (
    "takes nothing after it, a package, or `onto` and an upstream, such as `net/core onto"
    " net/base@v3`"
)


COMMIT_ALONE = (
    "takes nothing after it, or one commit by at least 7 of its digits, such as `1a2b3c4`"
)


def superfluous(usages: Sequence[str]) -> str:
    """Text that no argument of a command takes.

    Args:
        usages: Of its arguments, such as "[<package>] [v<N>]".
    """
    if not usages:
        return "takes no arguments; write it alone on its line"
    if [*usages] == ["[<commit>]"]:
        return COMMIT_ALONE
    return f"takes no more than `{' '.join(usages)}` after it, each without spaces"


def missing(name: str) -> str:
    """An argument that has to be there."""
    return f"takes {'an' if name[:1] in 'aeiou' else 'a'} {name} after it"


def one_of(option: str, choices: Sequence[str]) -> str:
    """An option that takes one of a few words."""
    return f"takes one of these behind `--{option}`: {', '.join(f'`{each}`' for each in choices)}"


def many_packages(most: int) -> str:
    """More packages than one command takes."""
    return f"takes at most {most} packages; write several commands"


TWO_REVISIONS = (
    "compares with one revision, such as `v3`; `porchbot rpkg diff A@v1 B@v2` on the command line"
    " compares any two"
)


def no_revision() -> str:
    """An argument that is no revision."""
    return "takes one revision after it, such as `v3`"


def too_long(limit: int) -> str:
    """An argument of more than so many characters."""
    return f"takes at most {limit} characters after it"


def long_comment(limit: int, what: str) -> str:
    """A comment that is too long to be read: so many characters, or lines."""
    return f"comments of more than {limit} {what} are not read"


def many_commands(limit: int) -> str:
    """A comment with more commands than are read."""
    return f"only the first {limit} commands of a comment are read"
