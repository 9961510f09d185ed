"""The pull request that proposes a `.porchbot.yaml`: its file, title and text."""

from lifecycle.facts.checks import PUBLISH
from lifecycle.messages.markdown import code
from lifecycle.onboarding import FoundContent

TITLE = "Configure porchbot"

MOST_LISTED = 30
"""Packages that the text names."""


def file(found: FoundContent) -> str:
    """The file that is proposed: what holds without it, spelled out for what was found."""
    who = "codeowners" if found.codeowners else "role:write"
    why = f"owners of the changed files, by {found.codeowners}" if found.codeowners else ""
    roots = "\n".join(f"  - directory: {_quoted(root or '.')}" for root in found.roots)
    return (
        "# porchbot reads this file from the default branch. Every key may be left out.\n"
        "version: 1\n"
        "\n"
        "# To try porchbot out, use `observe`: it shows neutral checks and writes nothing else.\n"
        "mode: active\n"
        "\n"
        "# Where packages live: folders with a Kptfile.\n"
        f"packages:\n{roots}\n"
        "\n"
        "access:\n"
        f"  # Who approves{f': {why}' if why else ''}. Authors never approve their own work.\n"
        f'  approve: {{require: 1, from: ["{who}"]}}\n'
    )


def body(found: FoundContent, app: str) -> str:
    """The text of the pull request."""
    listed = [_package(found, package) for package in found.packages[:MOST_LISTED]]
    more = len(found.packages) - len(listed)
    rows = "\n".join([*listed, *([f"- and {more} more"] if more > 0 else [])])
    foreign = (
        f"{found.foreign} other tags stay as they are and do not count as revisions."
        if found.foreign
        else "There are no other tags."
    )
    owners = (
        f"{code(found.codeowners)} says who owns what: with this file, code owners approve."
        if found.codeowners
        else "There is no CODEOWNERS file: anyone with write access may approve."
    )
    return (
        "porchbot found packages here, and no `.porchbot.yaml`. This pull request proposes one."
        " Nothing that already exists is published, only what is merged from now on.\n\n"
        f"**Found** on {code(found.default_ref)}:\n\n{rows}\n\n{foreign} {owners}\n\n"
        "**Before you rely on it**, an administrator should require, under Settings → Rules:\n\n"
        f"1. a branch ruleset for {code(found.default_ref)} with the status check {code(PUBLISH)}"
        f" from the App {code(app)}, and an empty bypass list;\n"
        f"2. a tag ruleset for {code('**/v*')} that restricts creations, updates and deletions,"
        f" with {code(app)} alone in the bypass list.\n\n"
        f"{code('porchbot doctor --fix')} adds both.\n\n"
        "Edit the file as you like, then approve and merge it like any other change. If you close"
        " this pull request instead, the defaults apply, and porchbot does not ask again."
    )


def _package(found: FoundContent, package: str) -> str:
    number = found.revisions.get(package)
    name = code(package or "the top of the repository")
    return f"- {name}, published as v{number}" if number else f"- {name}, not published yet"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
