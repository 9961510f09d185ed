"""The dashboard issue: what waits and why, drafts, and every package with its newest revision.

The most important comes first, and what has no room is counted: an issue takes `limits.COMMENT`
characters, and a repository may have thousands of packages. Nothing in it depends on the time of
day, so that it changes only when there is news; and pull requests are linked in a way that leaves
no trace in them.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from lifecycle import boxes, limits
from lifecycle.events import Frozen
from lifecycle.facts.overview import (
    ListedBehind,
    ListedChange,
    ListedPackage,
    ListedStage,
    ListedUpstream,
    ListedVariant,
    ListedWait,
    Overview,
)
from lifecycle.messages import boxes as box_texts
from lifecycle.messages import timing
from lifecycle.messages.markdown import code, label, name, number, plain, quote, reason, some, typed
from lifecycle.terms import kept

T = TypeVar("T")

TITLE = "Packages of this repository"

INTRODUCTION = (
    "porchbot keeps this issue up to date: every package with its latest revision, and what each"
    " proposal is waiting for. Manual edits are overwritten. Close the issue to stop the updates;"
    " reopen it to resume them. Comment `/freeze <reason>` here to stop publishing at once, and"
    " `/thaw` to resume; `/help` lists all commands. Tick a box to run the command next to it."
)
VARIANTS, BEHIND = "Drafts of variants", "Behind their upstream"
RUNS = {"Proposals": "approve", BEHIND: "upgrade", VARIANTS: "propose", "Drafts": "propose"}
"""Lists with boxes: they take the room that others leave, and a command does so for many."""

WAITING = "Variants that wait"
"""The heading of what `waits_told` reads."""

NOTHING_PROPOSED = "There are no open proposals."

MOST_CHANGES = 28_000
"""Characters for proposals: some 150 with two waits each."""

MOST_FROZEN = 6_000
"""Characters for what is frozen: some ten freezes with a reason as long as may be."""

MOST_DRAFTS = 8_000
"""Characters for drafts, which wait for nobody but their authors."""

MOST_VARIANTS = 4_000
"""Characters for drafts of variants: a machine makes many, and each has its label."""

MOST_WAITING = 5_000
"""Characters for variants that wait: some 20."""

MOST_DELETIONS = 2_000
"""Characters for deletions that were proposed with Porch."""

MOST_BEHIND = 6_000
"""Characters for packages whose upstream has newer revisions: some 60."""

MOST_CLONEABLE = 2_000
"""Characters for packages that can be cloned: some 30."""

MOST_PACKAGES = 8_000
"""Characters for packages where lists with boxes are long; else they have what is left."""

MOST_WAITS = 3
"""Things that a proposal waits for that are named; the rest is counted."""

LONGEST_WAIT = 160
"""Characters of what is so; beyond it only the gate is named: Markdown cannot be cut anywhere."""

LONGEST_REASON = 500
"""Characters of why a variant waits; of more, the last sentence stays, which says what to do."""

_LEAST = 150
"""Characters that are kept of what is so."""

_TITLE = 80


def dashboard(overview: Overview, room: int = limits.TEXT) -> str:
    """Return the text of the dashboard issue, at most `limits.TEXT` characters.

    Args:
        overview: What it tells.
        room: Characters that there are for it, where there are fewer: what is frozen is told first.
    """
    room = min(room, limits.TEXT)
    left = room / limits.TEXT
    variants = [c for c in overview.changes if c.variant and c.stage is ListedStage.DRAFT]
    proposed = [c for c in overview.changes if c.stage is not ListedStage.DRAFT]
    drafts = [c for c in overview.changes if c.stage is ListedStage.DRAFT and not c.variant]
    lists: list[_List[Any]] = [
        _List("Frozen", overview.frozen, _frozen, MOST_FROZEN),
        _List("Boxes that stopped", [*box_texts.going_on(overview.boxes)], str, MOST_FROZEN),
        _List("Proposals", sorted(proposed, key=_urgent), _change, int(MOST_CHANGES * left)),
        _List("Drafts", sorted(drafts, key=_urgent), _change, int(MOST_DRAFTS * left)),
        _List(VARIANTS, sorted(variants, key=_urgent), _change, int(MOST_VARIANTS * left)),
        _List(WAITING, overview.waiting, _variant, int(MOST_WAITING * left)),
        _List(BEHIND, _every_behind(overview), _behind, int(MOST_BEHIND * left)),
        _List("Deletion proposed", sorted(overview.deletions), _deletion, MOST_DELETIONS),
    ]
    cloneable = _List("Can be cloned", overview.cloneable, _upstream, int(MOST_CLONEABLE * left))
    listed = sorted(overview.packages, key=_notable)
    packages = _List("Packages", listed, _package, int(MOST_PACKAGES * left))
    spare = room - sum(len(each.text) + 2 for each in (*lists, cloneable, packages))
    spare -= len(INTRODUCTION) + 2 + len(NOTHING_PROPOSED)
    for each in (*(e for e in lists if e.title in RUNS), packages):
        spare -= each.widened(spare)
    parts = [INTRODUCTION, *(each.text for each in lists[:2]), lists[2].text or NOTHING_PROPOSED]
    parts += [each.text for each in (*lists[3:], packages, cloneable)]
    return "\n\n".join(part for part in parts if part)


class _List(Generic[T]):
    """A heading with a list, at most so many characters; "" where there is nothing to list.

    What has no room is not written out: there may be thousands.
    """

    def __init__(
        self, title: str, items: Sequence[T], write: Callable[[T], str], most: int
    ) -> None:
        self.title = title
        self._items = items
        self._write = write
        self._written: list[str] = []
        self.text = self._within(most)

    def widened(self, more: int) -> int:
        """Take some more characters, where lines have no room; returns how many were taken."""
        before = len(self.text)
        if more > 0:
            self.text = self._within(before + more)
        return len(self.text) - before

    def _within(self, most: int) -> str:
        if not self._items:
            return ""
        heading = f"### {self.title} ({len(self._items)})\n"
        counted = f"; {box_texts.more(RUNS[self.title])}" if self.title in RUNS else ""
        room = most - len(heading) - 40 - len(counted)  # for the line that counts the rest
        shown: list[str] = []
        for at, item in enumerate(self._items):
            if at == len(self._written):
                self._written.append(f"- {self._write(item)}")
            room -= len(self._written[at]) + 1
            if room < 0:
                break
            shown.append(self._written[at])
        rest = len(self._items) - len(shown)
        return "\n".join([heading, *shown, *([f"- and {rest} more{counted}"] if rest else [])])


def _frozen(each: Frozen) -> str:
    return f"{timing.frozen([each])}. **Needed:** {timing.thaw([each])}"


def _late(behind: ListedBehind) -> tuple[int, str, str]:
    """What is behind furthest first, then by name."""
    return (-len(behind.newer), behind.package, behind.branch)


def _every_behind(overview: Overview) -> list[tuple[ListedBehind, int]]:
    """What is behind, each with where it is held after a rollback; 0 for nowhere."""
    held = {(p.package, p.branch): p.held[0] for p in overview.packages if p.held}
    every = sorted(overview.behind, key=_late)
    return [(each, held.get((each.package, each.branch), 0)) for each in every]


def _behind(one: tuple[ListedBehind, int]) -> str:
    """A line of it; what is held after a rollback is not upgraded before it is resumed."""
    behind, held = one
    on = f" on {code(behind.branch)}" if behind.branch else ""
    newest = f"v{behind.newer[-1]}"
    told = (
        f"{name(behind.package)}{on} is made from {code(f'{behind.upstream}@v{behind.revision}')};"
        f" {newest} is {number(len(behind.newer), 'revision')} ahead{_conflicts(behind)}"
    )
    if held:
        return f"{told}; held at v{held}, so it is not upgraded until it is resumed"
    command = f"upgrade {behind.package or '.'} {newest}"
    return f"[ ] {typed(command)}: {told}{boxes.UNSEALED}" if boxes.fits(command) else told


def _conflicts(behind: ListedBehind) -> str:
    if behind.conflicts is None:
        return ""
    if not behind.conflicts:
        return "; an upgrade has no conflicts"
    first = ", " if behind.conflicts == 1 else ", the first "
    return (
        f"; an upgrade has {number(behind.conflicts, 'conflict')}{first}at {code(behind.conflict)}"
    )


def _upstream(upstream: ListedUpstream) -> str:
    return code(upstream.reference)


def _variant(each: ListedVariant) -> str:
    by = f" by {code(each.variant)}" if each.package else ""
    what = name(each.package) if each.package else code(each.file or each.variant)
    of = f" of {code(each.file)}" if each.package and each.file else ""
    if not (each.package or each.file or each.variant):
        return _why(each.why)
    return f"{what}{by}{of}, **{each.state}** since {each.since:%Y-%m-%d}: {_why(each.why)}"


def _why(text: str) -> str:
    """Why a variant waits; where that is long, what is so is cut, and not what to do about it."""
    if len(text) <= LONGEST_REASON:
        return reason(text)
    said, _, advice = text.rpartition(". ")
    room = LONGEST_REASON - len(advice)
    if not said or room < _LEAST:
        return reason(text[:LONGEST_REASON]) + "…"
    return f"{reason(said[:room])}… {reason(advice)}"


_TOLD = re.compile(
    r"- (?P<ticks>`+)(?P<package>[^`]+)(?P=ticks) by `[^`]*`(?: of `[^`]*`)?,"
    r" \*\*(?P<state>[^*]+)\*\* since (?P<since>[0-9]{4}-[0-9]{2}-[0-9]{2}): (?P<why>.+)",
    re.ASCII,
)


def waits_told(text: str) -> dict[str, str]:
    """Return which packages of variants wait and why, as a dashboard tells it, in plain text.

    What has no room there is not told, nor what is wrong with rules: that is of no package.

    Args:
        text: Of the issue.

    Returns:
        Path of the package to its state, since when, and why.
    """
    section = f"\n{text}".partition(f"\n### {WAITING} (")[2].partition("\n### ")[0]
    found = (_TOLD.fullmatch(each.strip()) for each in section.split("\n"))
    return {
        each["package"]: f"{each['state']} since {each['since']}: {plain(each['why'])}"
        for each in found
        if each
    }


def _urgent(change: ListedChange) -> tuple[bool, bool, str, int]:
    """Merged and not published first, then what waits for longest; then by number."""
    since = min((wait.since.isoformat() for wait in change.waits), default="")
    return (change.stage is not ListedStage.MERGED, not since, since, change.number)


_OFFERED = {
    ListedStage.DRAFT: "propose",
    ListedStage.PROPOSED: boxes.APPROVE,
}
"""The command that a box gives about a proposal, which names the commit that is shown."""

_APPROVABLE, _BEFORE = frozenset({"approved", "rules approved"}), frozenset({"rendered", "valid"})
"""Gates of which one has to be waited for, and none may be, for an approval to be offered."""


def _change(change: ListedChange) -> str:
    line, command = _told(change), _OFFERED.get(change.stage)
    gates = {wait.gate for wait in change.waits}
    if command == boxes.APPROVE and (gates & _BEFORE or not gates & _APPROVABLE):
        return line
    offered = f"{typed(f'{command} {change.head}')} in {line}"
    return f"[ ] {offered}{boxes.UNSEALED}" if boxes.gives(offered) else line


def _told(change: ListedChange) -> str:
    title = quote(change.title[:_TITLE]) + ("…" if len(change.title) > _TITLE else "")
    named = change.variant and [p for p in change.packages if f" {p} " in change.title[:_TITLE]]
    # "#12" would add a line to the pull request's own conversation.
    first = f"[#{change.number}](../pull/{change.number}) {title}" if change.number else title
    told = change.packages and named != [*change.packages]
    of = f": {some(change.packages, write=name)}" if told else ""
    merged = " was merged but is not published" if change.stage is ListedStage.MERGED else ""
    return f"{first.strip()}{of}{merged}{_waits(change.waits)}"


def _waits(waits: Sequence[ListedWait]) -> str:
    if not waits:
        return ""
    told = [_wait(wait) for wait in waits[:MOST_WAITS]]
    more = len(waits) - len(told)
    rest = f"; and {more} more" if more else ""
    return f". Waiting since {waits[0].since:%Y-%m-%d}: {'; '.join(told)}{rest}"


def _wait(wait: ListedWait) -> str:
    # Said already, when it was kept.
    detail = f" ({kept(wait.actual)})" if len(wait.actual) <= LONGEST_WAIT else ""
    return f"**{label(wait.gate)}**{' '.join(detail.splitlines())}"


def _notable(package: ListedPackage) -> tuple[bool, str, str]:
    """Packages whose revisions were deprecated or withdrawn first, the others by name."""
    told = package.deprecated or package.withdrawn or package.held or package.back
    return (not told, package.package, package.branch)


def _package(package: ListedPackage) -> str:
    on = f" on {code(package.branch)}" if package.branch else ""
    newest = f"v{package.revision}" if package.revision else "not published yet"
    deprecated = [
        f"v{revision} deprecated: {quote(reason[:_TITLE])}"
        for revision, reason in sorted(package.deprecated.items(), reverse=True)
    ]
    withdrawn = [f"{number(package.withdrawn, 'revision')} withdrawn"] if package.withdrawn else []
    held = (
        [f"held at v{package.held[0]}: {quote(package.held[1][:_TITLE])}"] if package.held else []
    )
    told = "; ".join([newest, *held, *deprecated[:2], *withdrawn])
    command = _offered(package)
    if command and not package.branch and boxes.fits(command):
        return f"[ ] {typed(command)}: {name(package.package)}: {told}{boxes.UNSEALED}"
    return f"{name(package.package)}{on}: {told}"


def _offered(package: ListedPackage) -> str:
    """The command that a box gives about a package; "" for none."""
    if package.held:
        return f"resume {package.package or '.'}"
    if package.back:
        revision, why = package.back
        return f"rollback {package.package or '.'}@v{revision} {why}"
    return ""


def _deletion(revision: str) -> str:
    package, _, last = revision.rpartition("/")
    target = f"{package}@{last}" if package else f".@{last}"
    return f"{code(revision)}, with Porch. Comment {typed(f'delete {target}')} on a pull request"
