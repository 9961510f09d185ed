"""What the oracle goes by: git as it lies in the forge, and the diary read backwards.

Nothing of the bot is imported here, nor by the oracle: it reads git's objects for itself.
"""

import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from tests.simulation.diary import Diary, Entry
from tests.simulation.setting import (
    BOT,
    BY_TEXT,
    CONFIG,
    DEFAULT,
    MAIN,
    PACKAGES,
    STAMP,
    RulesText,
    called,
)

LEDGER = ".porchbot/ledger"
"""Where the ledger says which revisions are gone."""

QUEUE = "github-merge-queue[bot]"
"""The account by which a merge queue merges."""

ZERO = "0" * 40


class History:
    """Git of one repository, as the forge has it.

    Args:
        git: Reads commits, trees, blobs and tags by their ids.
        packages: Paths of the packages that may be there.
        rebases: The forge merges only what stands on the newest: the bot has it made anew there.
    """

    def __init__(self, git: Any, packages: Sequence[str] = PACKAGES, rebases: bool = False) -> None:
        self._git = git
        self._rebases = rebases
        self.packages = packages
        self._at: dict[tuple[str, str], str] = {}
        self._above: dict[str, frozenset[str]] = {}
        self._sound: dict[tuple[str, bool, bool], bool] = {}

    def parents(self, commit: str) -> tuple[str, ...]:
        """Parents of a commit."""
        return tuple(self._git.commit(commit).parents)

    def commit(self, sha: str) -> Any:
        """A commit."""
        return self._git.commit(sha)

    def at(self, commit: str, path: str) -> str:
        """The object at a path; "" where there is none."""
        if not commit or commit == ZERO:
            return ""
        key = commit, path
        if key not in self._at:
            found = self._git.commit(commit).tree
            for part in path.split("/"):
                entries = self._git.tree(found)
                found = next((e.sha for e in entries if e.name == part), "")
                if not found:
                    break
            self._at[key] = found
        return self._at[key]

    def package(self, commit: str, path: str) -> str:
        """The tree of a package: a folder with a `Kptfile`; "" where there is none."""
        return self.at(commit, path) if self.at(commit, f"{path}/Kptfile") else ""

    def ancestry(self, commit: str) -> frozenset[str]:
        """A commit with all before it."""
        if commit not in self._above:
            above, waiting = set[str](), [commit]
            while waiting:
                each = waiting.pop()
                if each in above:
                    continue
                if each in self._above:
                    above |= self._above[each]
                    continue
                above.add(each)
                waiting += self._git.commit(each).parents
            self._above[commit] = frozenset(above)
        return self._above[commit]

    def withdraws(self, commit: str, package: str, number: int) -> bool:
        """Whether the ledger in a commit says that a revision is gone."""
        return self.listed(commit, package).get(number) == "withdrawn"

    def listed(self, commit: str, package: str) -> dict[int, str]:
        """The states of a package's revisions that the ledger in a commit lists."""
        blob = self.at(commit, f"{LEDGER}/{package}.yaml")
        if not blob:
            return {}
        listed = yaml.safe_load(self._git.blob(blob)) or {}
        entries = {str(n): entry or {} for n, entry in (listed.get("revisions") or {}).items()}
        return {int(n): str(entry.get("state", "")) for n, entry in entries.items() if n.isdigit()}

    def left(self, base: str, head: str) -> str:
        """The commit where a head left its base; "" where there is not exactly one."""
        both = self.ancestry(base) & self.ancestry(head)
        below = {p for sha in both for p in self.parents(sha)}
        best = both - below
        return next(iter(best)) if len(best) == 1 else ""

    def rebased(self, old: str, new: str) -> bool:
        """Whether a commit holds what another added, made anew on something newer.

        Each commit of the old one is there again, by its words and its author, and each package is
        what it was there, or has what came between.
        """
        if ZERO in (old, new):
            return False
        gone = self.ancestry(old) - self.ancestry(new)
        mine = [self.commit(sha) for sha in gone if len(self.parents(sha)) < 2]
        below, made = new, list[Any]()
        while len(made) < len(mine) and len(self.parents(below)) == 1:
            made.append(self.commit(below))
            below = self.parents(below)[0]
        left = self.left(below, old)
        if not mine or Counter(map(_says, mine)) != Counter(map(_says, made)) or not left:
            return False
        came = self.touched(left, below)
        return all(
            self.package(new, package) == tree or package in came
            for package, tree in self.touched(left, old).items()
        )

    def wanted_anew(self, old: str, new: str) -> bool:
        """Whether the bot could not but have a branch made anew, and nothing of it was lost."""
        return self._rebases and self.rebased(old, new)

    def tag(self, sha: str) -> Any:
        """A tag object; None for anything else."""
        return self._git.tag(sha) if self._git.kind(sha) == "tag" else None

    def kind(self, sha: str) -> str:
        """What an object is."""
        return str(self._git.kind(sha))

    def blob(self, sha: str) -> bytes:
        """What a file holds."""
        data: bytes = self._git.blob(sha)
        return data

    def rules(self, commit: str) -> RulesText | None:
        """The rules that stand in a commit; None where nobody here wrote them."""
        blob = self.at(commit, CONFIG)
        return BY_TEXT.get(self._git.blob(blob)) if blob else DEFAULT

    def files(self, tree: str, folder: str = "") -> Iterator[tuple[str, bytes]]:
        """Every file of a tree."""
        for entry in self._git.tree(tree):
            path = f"{folder}{entry.name}"
            if entry.kind == "tree":
                yield from self.files(entry.sha, f"{path}/")
            else:
                yield path, self._git.blob(entry.sha)

    def is_sound(self, tree: str, rules: RulesText) -> bool:
        """Whether a package is what its guardrails make of it, and they find nothing."""
        key = tree, rules.stamps, rules.judges
        if key not in self._sound:
            files = [(p, data) for p, data in self.files(tree) if not p.endswith("Kptfile")]
            stamped = all(data.startswith(STAMP.encode()) for _, data in files)
            judged = not any(b"bad" in data for _, data in files)
            self._sound[key] = (stamped or not rules.stamps) and (judged or not rules.judges)
        return self._sound[key]

    def touched(self, before: str, after: str) -> dict[str, str]:
        """Packages whose trees differ, to their later tree; "" where they are gone."""
        found = {p: (self.package(before, p), self.package(after, p)) for p in self.packages}
        return {p: new for p, (old, new) in found.items() if old != new}


class Evidence:
    """Questions to the diary.

    Args:
        diary: What everybody did.
        history: Git.
        beginning: The main branch's commit at the beginning: the diary tells of moves alone.
    """

    def __init__(self, diary: Diary, history: History, beginning: str = "") -> None:
        self.diary = diary
        self.history = history
        self.beginning = beginning

    def window(self, place: int, stale: int) -> int:
        """The earliest place whose facts something that was done at a place may rest on.

        What is decided is read after the last moment at which no bot was doing anything; a forge
        may show what was so some changes before.

        Args:
            place: Where it was done.
            stale: Changes that an answer of the forge may be behind.
        """
        rests = self.diary.quiet[: bisect_right(self.diary.quiet, (place, sys.maxsize))]
        first, moment = rests[-1] if rests else (0, 0)
        while first and self.diary.entries[first - 1].moment >= moment - stale:
            first -= 1
        return first

    def began(self, place: int) -> float:
        """When reading began for what was done at a place, at the earliest, in seconds."""
        at = bisect_right(self.diary.quiet, (place, sys.maxsize))
        return self.diary.rested[at - 1] if at else 0.0

    def roles_within(self, who: str, first: int, last: int) -> set[str]:
        """The roles that somebody had at any time between two places."""
        found = {"none"}
        for place, level in self.diary.roles.get(who, ()):
            if place <= first:
                found = {level}
            elif place <= last:
                found.add(level)
        return found

    def tip(self, branch: str, place: int) -> str:
        """The commit of a branch at a place in the diary."""
        ref, tip = f"refs/heads/{branch}", self.beginning if branch == MAIN else ""
        for entry in self.diary.of_ref.get(ref, ()):
            if entry.place >= place:
                return tip or entry.before
            tip = entry.after
        return tip

    def tips(self, branch: str, first: int, last: int) -> list[str]:
        """The commits that a branch had at any time between two places."""
        moves = self.diary.of_ref.get(f"refs/heads/{branch}", ())
        return [self.tip(branch, first), *(e.after for e in moves if first <= e.place <= last)]

    def merge_of(self, pull: int) -> Entry | None:
        """How a pull request was merged; None where it was not."""
        found = (e for e in self.diary.of_pull.get(pull, ()) if e.what == "pull merged")
        return next(found, None)

    def before_merge(self, merge: Entry) -> str:
        """The base branch's commit before a merge, by the push that brought it in.

        A queue pushes several at once: each stands on the one before.
        """
        if merge.who == QUEUE:
            return self.history.parents(merge.merged)[0]
        for entry in self.diary.of_ref.get(f"refs/heads/{merge.base}", ()):
            if entry.place >= merge.place - 1 and merge.merged in self.history.ancestry(
                entry.after
            ):
                return entry.before
        return ""

    def authors(self, before: str, head: str, pull: int, ref: str) -> set[str]:
        """Who wrote, committed or pushed what a head adds to a base."""
        old = self.history.ancestry(before)
        fresh = {
            sha
            for sha in self.history.ancestry(head) - old
            if not any(p in old for p in self.history.parents(sha)[1:])  # "Update branch"
        }
        moves = self.diary.of_ref.get(ref, ())
        for move in reversed(moves):  # what was made anew is still of who had pushed it
            if move.after in fresh and self.history.rebased(move.before, move.after):
                fresh |= self.history.ancestry(move.before) - old
        people = {e.who for e in self.diary.of_pull.get(pull, ()) if e.what == "pull opened"}
        people |= {e.who for e in moves if e.after in fresh}
        for sha in fresh:
            commit = self.history.commit(sha)
            people |= {login_of(commit.author.email), login_of(commit.committer.email)}
        return people - {BOT, "noreply"}

    def main_rules(self, first: int, last: int) -> list[RulesText]:
        """The rules of the default branch at any time between two places, as far as known."""
        found = (self.history.rules(tip) for tip in self.tips(MAIN, first, last) if tip)
        return [rules for rules in found if rules is not None]


def _says(commit: Any) -> tuple[str, Any]:
    return commit.message, commit.author


def login_of(email: str) -> str:
    """Who an address belongs to: `12345+login@…` or `12345-login@…` of the forges, or `login@…`."""
    local = email.partition("@")[0]
    for mark in "+-":
        number, between, rest = local.partition(mark)
        if between and number.isdigit():
            return called(rest)
    return local
