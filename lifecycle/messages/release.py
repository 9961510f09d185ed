"""The notes of a release: what changed, by what it was judged, and who approved it.

Who and by what is read out of the tag, which keeps it: a release may be made long after.
"""

from collections.abc import Sequence

from lifecycle import limits, names
from lifecycle.facts.releases import ReleaseNotes
from lifecycle.ledger import LedgerEntry
from lifecycle.messages.markdown import code, fenced, number, one_line, people, remark, shell

MOST_CHANGES = 200
"""Changes that are listed: a release has a page of its own."""

KEYS = "porchbot.signers"
"""The file with the bot's keys, as the documentation calls it."""

_NOBODY = "nobody needed to"


def title(repository: str, release: ReleaseNotes) -> str:
    """Title of the release, plain text, such as "net/core v5"."""
    return f"{one_line(release.package) or repository} v{release.revision}"[:200]


def notes(proposal: int, release: ReleaseNotes) -> str:
    """Notes of one revision, at most `limits.TEXT` characters."""
    since = f" since v{release.before}" if release.before else ""
    approvers = [who for line in _said(release, "Approved-by") for who in line.split(", ")]
    approved = (
        "no approval required"
        if approvers == [_NOBODY]
        else (f"approved by {people(approvers)}" if approvers else "approved")
    )
    functions = _said(release, "Function")
    parts = [
        f"Published by #{proposal}, {approved}.",
        f"### Changes{since}\n\n" + _list([code(str(change)) for change in release.changes]),
        f"### {number(len(functions), 'function')}\n\n" + _list([code(f) for f in functions])
        if functions
        else "",
    ]
    text = "\n\n".join(part for part in parts if part)
    if not release.signed:
        return text[: limits.TEXT]
    last = _verification(release)
    return f"{text[: limits.TEXT - len(last) - 2]}\n\n{last}"


def listed(entry: LedgerEntry) -> str:
    """What stands above the notes of a revision that nobody should use, and why."""
    what = entry.state.value.capitalize()
    return f"**{what}:** {remark(entry.reason)}\n\nUse another version."


def _verification(release: ReleaseNotes) -> str:
    """The commands as they can be pasted; a test does so."""
    tag = names.tag_ref(names.spelled(release.package, release.revision))
    fetch = shell("git", "fetch", "origin", f"{tag}:{tag}")
    revision = names.shown(release.package, release.revision)
    verify = shell("porchbot", "verify", revision, "--allowed-signers", KEYS)
    return (
        f"### Verification\n\nSave the keys that the bot publishes at {code('/allowed_signers')} as"
        f" {code(KEYS)}, and run this in a clone of the repository:\n\n"
        + fenced(f"{fetch}\n{verify}", "shell")
    )


def _said(release: ReleaseNotes, key: str) -> list[str]:
    """What the lines of the tag's message say that begin with a key."""
    start = f"{key}: "
    lines = release.message.splitlines()
    return [line.removeprefix(start) for line in lines if line.startswith(start)]


def _list(lines: Sequence[str]) -> str:
    shown = [f"- {line}" for line in lines[:MOST_CHANGES]]
    more = len(lines) - len(shown)
    return "\n".join([*shown, *([f"- and {more} more"] if more else [])]) or (
        "No resources changed; see the files."
    )
