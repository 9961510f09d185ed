"""Findings as threads at the lines that they are about.

A thread blocks the merge where a project wants all of them resolved; so only what fails a check
gets one. Each carries a mark of ours, by which it is found again: it is resolved once its finding
is gone, opened again when that is back, and of two that two replicas made one is deleted.

Source: https://docs.gitlab.com/api/discussions/#create-a-thread-in-the-merge-request-diff
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from bot.forges.gitlab import speech, talk
from bot.forges.gitlab.calls import place
from bot.forges.gitlab.conversations import Conversations
from bot.forges.gitlab.fields import is_us
from bot.forges.gitlab.http import JSONObject, failure
from bot.forges.gitlab.merge_requests import Shown
from bot.forges.marks import spelled
from bot.forges.port import BotIdentity, ForgeMissingError
from cadlib.diff.patch import Suggestion
from cadlib.findings import Finding, Severity
from lifecycle.actions import SetCheck, Suggest
from lifecycle.facts.checks import PUBLISH, RENDER, Conclusion, Status
from lifecycle.messages.findings import annotation, thread
from lifecycle.messages.markdown import block
from lifecycle.names import Sha

MOST_THREADS = 50
"""Threads of one check; whoever mends these sees the rest, which the summary has as well."""

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_FOUND = re.compile(rf"(?:\A|\n){re.escape(talk.MARK)}finding ([^\n]+) ([0-9a-f]{{24}}) -->\s*\Z")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the new state that the difference shows; `old` where it stood before, if at all."""

    path: str
    old_path: str
    new: int
    old: int | None


class Threads(Conversations):
    """Merge requests of one project, with our findings at their lines."""

    async def show_findings(self, check: SetCheck) -> None:
        """Make the threads of one check be those of its findings at lines that are shown.

        In each merge request that has this head. The check that waits for people waits with nothing
        found: a thread that it left open would have to be resolved before it can go on.
        """
        for shown in self._at_head(check.head):
            await self._show(shown, check)

    def may_change_threads(self, check: SetCheck) -> bool:
        """Whether it has findings for threads, or one of ours is open where its head stands."""
        return any(True for _ in _wanted(check.annotations)) or any(
            talk.MARK in self._at_lines.get(shown.number, "") for shown in self._at_head(check.head)
        )

    async def _show(self, shown: Shown, check: SetCheck) -> None:
        name = spelled(check.name, self._access.instance)
        failing = check.status is Status.COMPLETED and check.conclusion is Conclusion.FAILURE
        if check.status is not Status.COMPLETED and check.name != PUBLISH:
            return  # what was found before stands until it is known what is found now
        if check.name == RENDER:
            await self._end_suggestions(shown, everything=not failing)
        wanted = dict(_wanted(check.annotations if failing else ()))
        mark = f"{talk.MARK}finding {name} "
        if not wanted and mark not in self._at_lines.get(shown.number, ""):
            return
        there = await self._there(shown.number, name)
        for key, discussions in there.items():
            kept, *doubles = sorted(discussions, key=lambda each: int(each["notes"][0]["id"]))
            for double in doubles:
                await self.delete_comment(shown.number, int(double["notes"][0]["id"]))
            await self._resolve(shown.number, kept, resolved=key not in wanted)
        missing = [(key, found) for key, found in wanted.items() if key not in there]
        room = MOST_THREADS - len(wanted.keys() & there.keys())
        await self._add(shown, check.head, name, missing[: max(0, room)])

    async def _there(self, number: int, name: str) -> dict[str, list[JSONObject]]:
        """Our threads of a check, by the keys of their findings."""
        me, found = await self._access.identity(), dict[str, list[JSONObject]]()
        wanted, path = "read the threads", f"{place(number)}/discussions"
        async for discussion in self._list(wanted, path):
            key = _key_of(discussion, name, me)
            if key:
                found.setdefault(key, []).append(discussion)
        return found

    async def _resolve(self, number: int, discussion: JSONObject, *, resolved: bool) -> None:
        note = discussion["notes"][0]
        if bool(note.get("resolved")) == resolved or not note.get("resolvable"):
            return
        path = f"{place(number)}/discussions/{discussion['id']}"
        with suppress(ForgeMissingError):
            await self._send("resolve a thread", "PUT", path, {"resolved": resolved})

    async def _add(
        self, shown: Shown, head: Sha, name: str, missing: Sequence[tuple[str, Finding]]
    ) -> None:
        """Begin threads at lines that the difference shows; others the summary tells."""
        lines = await self._lines(shown, head) if missing else {}
        for key, found in missing:
            line = lines.get((found.place.path, found.place.line or 0))
            if line is not None:
                said = self.terms.said(thread(found))
                text = f"{said}\n\n{talk.MARK}finding {name} {key} -->"
                await self._begin(shown, head, line, text)

    async def _begin(self, shown: Shown, head: Sha, line: _Line, text: str) -> None:
        """Begin a thread at a line; one that GitLab does not show after all stays in the summary.

        Source: "line_code can't be blank", https://docs.gitlab.com/api/discussions/
        """
        version = next(v for v in self._kept[shown.number].found if v["head_commit_sha"] == head)
        position = {
            "position_type": "text",
            "base_sha": version["base_commit_sha"],
            "start_sha": version["start_commit_sha"],
            "head_sha": head,
            "new_path": line.path,
            "old_path": line.old_path,
            "new_line": line.new,
        } | ({"old_line": line.old} if line.old is not None else {})
        wanted, path = "begin a thread", f"{place(shown.number)}/discussions"
        body = {"body": text, "position": position}
        answer = await self._ask(wanted, "POST", path, body)
        if not answer.ok and answer.status != 400:
            raise failure(wanted, answer)

    async def _lines(self, shown: Shown, head: Sha) -> Mapping[tuple[str, int], _Line]:
        """Lines that the difference shows; none where GitLab's is not of this head yet."""
        await self._versions(shown.number, head, -1)
        newest = self._kept[shown.number].found
        if not newest or newest[0]["head_commit_sha"] != head:
            return {}
        wanted, path = "read the difference", f"{place(shown.number)}/diffs"
        files = [data async for data in self._list(wanted, path)]
        return {(line.path, line.new): line for data in files for line in _shown_lines(data)}

    async def suggest(self, suggest: Suggest) -> None:
        """Say what it is about, then suggest each change at its lines, as far as GitLab has them.

        The thread of a suggestion is resolved by whoever applies it, and by us once its head is not
        the newest any more, or nothing is left to render: it would keep back the merge.

        Source: https://docs.gitlab.com/user/project/merge_requests/reviews/suggestions/
        """
        mark = f"{talk.SUGGESTED}{suggest.head} -->"
        path = f"{place(suggest.number)}/notes"
        body = {"body": speech.sealed(f"{suggest.body}\n\n{mark}", self._access.seals)}
        await self._send("suggest changes", "POST", path, body)
        shown = await self._last_shown(suggest.number)
        if shown.head != suggest.head:
            return
        lines = await self._lines(shown, suggest.head)
        for each in suggest.suggestions:
            line = lines.get((each.path, each.last))
            if line is not None:
                await self._begin(shown, suggest.head, line, f"{_suggestion(each)}\n\n{mark}")

    async def _end_suggestions(self, shown: Shown, *, everything: bool) -> None:
        """Resolve the threads of suggestions for other heads; of this one too where all is well."""

        def is_over(text: str) -> bool:
            head = talk.suggested_at(text)
            return bool(head) and (everything or head != shown.head)

        if talk.SUGGESTED not in self._at_lines.get(shown.number, ""):
            return
        me, path = await self._access.identity(), f"{place(shown.number)}/discussions"
        async for discussion in self._list("read the threads", path):
            note = discussion["notes"][0]
            if is_us(note["author"], me) and is_over(str(note["body"])):
                await self._resolve(shown.number, discussion, resolved=True)


def _suggestion(wanted: Suggestion) -> str:
    """A block that GitLab shows with a button which commits it; it counts lines from its own."""
    return block(wanted.text, f"suggestion:-{wanted.last - wanted.first}+0")


def _wanted(findings: Iterable[Finding]) -> Iterator[tuple[str, Finding]]:
    """Each finding that fails a check, by a key that stays when lines are put in above it."""
    seen = Counter[str]()
    for found in findings:
        if found.severity is not Severity.ERROR or not found.place.line:
            continue
        said = "\0".join([found.place.path, found.function, annotation(found)])
        seen[said] += 1
        yield hashlib.sha256(f"{said}\0{seen[said]}".encode()).hexdigest()[:24], found


def _key_of(discussion: JSONObject, name: str, me: BotIdentity) -> str:
    note = discussion["notes"][0]
    found = _FOUND.search(str(note["body"])) if is_us(note["author"], me) else None
    return found[2] if found and found[1] == name else ""


def _shown_lines(data: JSONObject) -> Iterator[_Line]:
    """Lines of a file's new state in its difference, as GitLab names them.

    An added line has a new number only, an unchanged one both.
    """
    old = new = 0
    path, old_path = str(data["new_path"]), str(data["old_path"])
    for text in str(data.get("diff") or "").split("\n"):
        hunk = _HUNK.match(text)
        if hunk:
            old, new = int(hunk[1]), int(hunk[2])
        elif text.startswith("+"):
            yield _Line(path, old_path, new, None)
            new += 1
        elif text.startswith("-"):
            old += 1
        elif text.startswith(" "):
            yield _Line(path, old_path, new, old)
            old, new = old + 1, new + 1
