"""What holds when faults have stopped and time has passed: judged as the oracle judges each step.

- "settles": nothing is written any more;
- "reasons": each open proposal shows what it waits for, once;
- "answered once": each command has its one reaction, and no two answers;
- "prompt": where nothing goes wrong, each command is answered within 40 s (asked along the way);
- "published": what surely may be published is;
- "released": each tag has one release, where the rules have asked for that all the time.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tests.simulation import ending_boxes, ending_impact, ending_variants
from tests.simulation.diary import Entry
from tests.simulation.evidence import Evidence
from tests.simulation.evidence_variants import Variants, package_of
from tests.simulation.oracle_boxes import TICKED, boxed, is_approval
from tests.simulation.setting import BOT, CONFIG, MAIN, RulesText, called, may
from tests.simulation.words import SUMMARY, Violation, answered_by, tags_of

PUBLISH = "porchbot/publish"
SUGGESTED = "<!-- porchbot-suggested "
TAGGED = re.compile(r"^Tagged (.*) on `", re.MULTILINE)


class Ending:
    """Judges how a history ended.

    Args:
        evidence: Git and the diary.
        repo: The repository as the forge has it.
        app: The App that the bot is.
        began: Place in the diary at which the bot came.
        quiet: Place from which on nothing was to be written any more.
        doubt: A database was lost, or the forge refused what it need not have: then nothing is
            sure to be published, but says what it waits for all the same.
        forgotten: Whether what the bot said on a pull request was lost in both places: with a
            database, and where it stood.
        variants: What is known of variants; None where there are none.
        calm: Nothing ever went wrong.
    """

    def __init__(
        self,
        evidence: Evidence,
        repo: Any,
        app: Any,
        *,
        began: int,
        quiet: int,
        doubt: bool,
        forgotten: Callable[[int], bool],
        variants: Variants | None = None,
        calm: bool = False,
    ) -> None:
        self._variants = variants
        self._calm = calm
        self._evidence = evidence
        self._history = evidence.history
        self._diary = evidence.diary
        self._repo = repo
        self._app = app
        self._began = began
        self._quiet = quiet
        self._doubt = doubt
        self._forgotten = forgotten

    def judge(self) -> list[Violation]:
        """All that is wrong at the end."""
        end = len(self._diary.entries)
        late = [e for e in self._diary.entries[self._quiet :] if e.who == BOT]
        boards = [e for e in late if e.what == "issue edited"]
        late = [e for e in late if e not in boards[:1]]  # it is written some minutes later
        found = [Violation("settles", f"still at work: {e}", e.place) for e in late]
        for pull in self._repo.pulls.values():
            for check, why in self._of(pull):
                found.append(Violation(check, f"#{pull.number}: {why}", end))
        found += [Violation("answered once", why, end) for why in self._issues()]
        found += [Violation("released", why, end) for why in self._unreleased()]
        if self._variants is not None:
            told = ending_impact.untrue(self._variants, self._repo, self._app)
            found += [Violation("told", why, end) for why in told]
        if self._variants is None or self._doubt or not self._calm:
            return found
        unsaid = ending_boxes.untold(self._evidence, self._repo, self._began)
        found += [Violation("boxes", why, end) for why in unsaid]
        return found + [Violation("made", w, end) for w in ending_variants.unmade(self._variants)]

    def _unreleased(self) -> Iterator[str]:
        """Tags of the bot's that still stand and have no release, though the rules ask for one."""
        made = [each.tag for each in self._repo.releases.values()]
        for name in sorted(set(made)):
            if made.count(name) > 1:
                yield f"{name} has {made.count(name)} releases"
        if self._doubt:
            return
        for ref, moves in self._diary.of_ref.items():
            name = ref.removeprefix("refs/tags/")
            if name == ref or len(moves) > 1 or moves[0].who != BOT or name in made:
                continue
            rules = self._evidence.main_rules(0, len(self._diary.entries))
            if rules and all(r.releases for r in rules):
                yield f"{name} has no release"

    def _issues(self) -> Iterator[str]:
        """Commands on the dashboard issue that have no answer, or two."""
        for issue in self._repo.threads:
            if called(issue.user.login) != BOT or issue.number in self._repo.pulls:
                continue
            ours = [c for c in issue.comments if called(c.user.login) == BOT]
            answers = Counter(number for c in ours for number in answered_by(c.body))
            twice = (f"comment {n} has two answers" for n, times in answers.items() if times > 1)
            found = [*(why for _, why in self._unanswered(issue, answers)), *twice]
            yield from (f"dashboard issue: {why}" for why in found)

    def unanswered(self) -> list[Violation]:
        """Commands without an answer, while nothing hinders the bot."""
        end = len(self._diary.entries)
        found = [Violation("prompt", why, end) for why in self._issues()]
        for pull in self._repo.pulls.values():
            if pull.state == "open" and self._changes(pull):
                ours = [c for c in pull.comments if called(c.user.login) == BOT]
                answers = Counter(number for c in ours for number in answered_by(c.body))
                for _, why in self._unanswered(pull, answers):
                    found.append(Violation("prompt", f"#{pull.number}: {why}", end))
        return found

    def _of(self, pull: Any) -> Iterator[tuple[str, str]]:
        ours = [c for c in pull.comments if called(c.user.login) == BOT]
        summaries = [c for c in ours if c.body.startswith(SUMMARY)]
        if len(summaries) > 1:
            yield "said once", f"{len(summaries)} summaries stand there"
        about = self._diary.of_pull[pull.number]
        touched = {e.number for e in about if e.what == "comment edited" and e.who != BOT}
        whole = [c for c in ours if c.id not in touched]  # others made of the rest what they liked
        answers = Counter(number for c in whole for number in answered_by(c.body))
        for number, times in answers.items():
            if times > 1:
                yield "answered once", f"comment {number} has {times} answers"
        yield from self._untrue(pull, summaries)
        if pull.state != "open" or not self._changes(pull):
            return
        for comment in ours:
            who = self._edited_by(pull, comment)
            if who not in ("", BOT):
                yield "reasons", f"comment {comment.id} stands as {who} left it"
        if not summaries and not self._told_in_check(pull):
            yield "reasons", "no summary says what it waits for"
        # GitLab leaves one open whose branch is gone: nothing of it can be merged any more.
        there = pull.head_repo is not self._repo or self._repo.branch(pull.head_ref)
        if there and not self._verdict(pull):
            yield "reasons", f"{PUBLISH} says nothing at its head"
        if there:
            yield from self._open_threads(pull)
        yield from self._unanswered(
            pull, Counter(number for c in ours for number in answered_by(c.body))
        )
        why = self._surely(pull)
        if why:
            yield "published", f"every gate holds, and it is open: {why}"

    def _open_threads(self, pull: Any) -> Iterator[tuple[str, str]]:
        """Threads that keep back a merge, and whose reason is gone: a finding, or a suggestion."""
        for note in at_lines(pull):
            suggests = SUGGESTED in note.body
            over = pull.head_sha not in note.body if suggests else self._mended(pull)
            if note.resolved_by is None and over:
                what = "of a suggestion for another head" if suggests else "of what is mended"
                yield "reasons", f"the thread {what} is open"

    def _mended(self, pull: Any) -> bool:
        """Whether nothing is found in what it changes."""
        rules, own = map(self._history.rules, (self._repo.branch(MAIN), pull.head_sha))
        if rules is None or rules.broken or (own is not None and own.broken):
            return False
        trees = [tree for tree in self._changes(pull).values() if tree]
        return not rules.judges or all(
            b"bad" not in data for tree in trees for _, data in self._history.files(tree)
        )

    def _untrue(self, pull: Any, summaries: list[Any]) -> Iterator[tuple[str, str]]:
        """What the summary of a published proposal says of its tags, while nobody touched them."""
        made = tags_of(self._evidence, pull.number, len(self._diary.entries))
        for summary in summaries:
            ours = self._edited_by(pull, summary) in ("", BOT)
            said = TAGGED.search(summary.body) if ours else None
            for name in re.findall(r"`([^`]+/v\d+)`", said[1]) if said else ():
                moves = self._diary.of_ref.get(f"refs/tags/{name}", ())
                if not any(e.who == BOT for e in moves):
                    yield "reasons", f"its summary says that {name} was tagged, and it was not"
        if not made or any(len(moves) > 1 for moves in made.values()):
            return
        for summary in summaries:
            if pull.merged and "the tag is gone" in summary.body:
                yield "reasons", f"its summary says that {', '.join(made)} is gone"

    def _edited_by(self, pull: Any, comment: Any) -> str:
        """Who edited a comment last; "" for nobody."""
        about = self._diary.of_pull[pull.number]
        edits = [e for e in about if e.number == comment.id and e.what == "comment edited"]
        return edits[-1].who if edits else ""

    def _told_in_check(self, pull: Any) -> bool:
        """Whether it is a variant's draft in which nobody but the bot said a word (ADR 77)."""
        others = [c for c in (*pull.comments, *pull.reviews) if called(c.user.login) != BOT]
        alone = called(pull.user.login) == BOT and pull.draft and not others
        runs = self._runs(pull) if alone and package_of(f"refs/heads/{pull.head_ref}") else []
        return bool(runs) and "**Packages**" in (runs[-1].text or "")

    def _verdict(self, pull: Any) -> str:
        """What the bot's check says at the head; where checks are statuses, their newest line."""
        said = [
            status.description or ""
            for pipeline in self._repo.gitlab.pipelines.values()
            if pipeline.sha == pull.head_sha
            for status in pipeline.latest
            if status.name == PUBLISH and called(status.user.login) == BOT
        ]
        if said:
            return str(said[-1])
        runs = self._runs(pull)
        return (runs[-1].summary or "") if runs else ""

    def _runs(self, pull: Any) -> list[Any]:
        """The bot's check at the head, oldest first."""
        return [
            run
            for suite in self._repo.suites.on(pull.head_sha)
            if suite.app is self._app
            for run in suite.runs
            if run.name == PUBLISH
        ]

    def _unanswered(self, pull: Any, answers: Counter[int]) -> Iterator[tuple[str, str]]:
        """A bot that dies between an answer and its reaction leaves the answer: that will do."""
        for comment in pull.comments:
            if not self._diary.meant.get(comment.id) or self._edited_by(pull, comment):
                continue
            if any(e.number == comment.id for e in self._diary.of_pull[pull.number][:1]):
                continue
            made = [e for e in self._diary.of_pull[pull.number] if e.number == comment.id]
            if not made or made[0].place < self._began:
                continue
            reactions = [r for r in comment.reactions if called(r.user.login) == BOT]
            twice = len(reactions) > 1 and not self._forgotten(pull.number)
            if twice or not (reactions or answers[comment.id]):
                told = f"{len(reactions)} reactions and no answer"
                yield "answered once", f"comment {comment.id} ({comment.body!r}) has {told}"

    # --- what surely may be published -----------------------------------------------------------

    def _left(self, pull: Any) -> str:
        """The commit where its head left its base; "" where there is not exactly one."""
        return self._history.left(self._repo.branch(pull.base_ref) or "", pull.head_sha)

    def _changes(self, pull: Any) -> dict[str, str]:
        """The packages that a pull request surely changes where packages are published from."""
        tip = self._repo.branch(pull.base_ref)
        if pull.base_ref != MAIN or tip is None:
            return {}
        left = self._left(pull)
        return self._history.touched(left, pull.head_sha) if left else {}

    def _surely(self, pull: Any) -> str:
        """Who approved what surely may be published; "" where anything is in doubt."""
        tip = self._repo.branch(MAIN)
        rules, left = self._history.rules(tip), self._left(pull)
        touched = self._changes(pull)
        protected = self._repo.protections or self._repo.rulesets or _asks_more(self._repo.gitlab)
        if (
            pull.draft
            or protected
            or self._doubt
            or rules is None
            or rules.broken
            or not all(touched.values())
        ):
            return ""
        if pull.head_repo is not self._repo or not self._plain(pull, left, touched):
            return ""
        if not all(self._history.is_sound(tree, rules) for tree in touched.values()):
            return ""
        people = {e.who for e in self._counts(pull, rules, tip)}
        return ", ".join(sorted(people)) if len(people) >= max(1, rules.require) else ""

    def _plain(self, pull: Any, left: str, touched: dict[str, str]) -> bool:
        """Nothing but these packages is changed, and nothing about them was ever odd."""
        tip = self._repo.branch(MAIN)
        first = self._diary.of_ref["refs/heads/main"]
        start = first[0].before if first else tip
        for package in touched:
            if self._history.at(tip, package) != self._history.at(left, package):
                return False
            if self._history.at(tip, package) != self._history.at(start, package):
                return False
            if any(r.startswith(f"refs/tags/{package}/") for r in self._diary.of_ref):
                return False
        for path in (CONFIG, ".porchbot", "variants", "objects"):
            if self._history.at(left, path) != self._history.at(pull.head_sha, path):
                return False
        if any("freeze" in word for words in self._diary.meant.values() for word in words):
            return False
        if any(p is not pull and p.head_sha == pull.head_sha for p in self._repo.pulls.values()):
            return False
        odd = {"review changes_requested", "review dismissed", "pull closed", "pull reopened"}
        ours = {c.id for c in pull.comments if called(c.user.login) == BOT}
        for e in self._diary.of_pull[pull.number]:
            meant = set(self._diary.meant.get(e.number, ()))
            if e.what in odd or meant & {"hold", "reject", "unapprove"}:
                return False
            if e.who != BOT and e.what in ("comment edited", "comment deleted"):
                return False
            if e.what == "comment deleted" and e.number in ours:
                return False
        return True

    def _counts(self, pull: Any, rules: RulesText, tip: str) -> Iterator[Entry]:
        """Approvals that nothing speaks against."""
        about = self._diary.of_pull[pull.number]
        still = {"comment created", "comment edited", "review approved", "review commented"}
        still |= {TICKED, f"altered {TICKED}"}
        moves = [e for e in about if e.what not in still and not _follows(e)]
        ref = f"refs/heads/{pull.head_ref}"
        anew = self._history.rebased
        mine = [e for e in self._diary.of_ref[ref] if e.who != BOT or not anew(e.before, e.after)]
        moves += [*mine, *self._diary.of_ref["refs/heads/main"]]
        last = max((e.place for e in moves), default=0)
        then = max((e.at for e in moves), default=0.0)
        authors = self._evidence.authors(self._left(pull), pull.head_sha, pull.number, ref)
        authors |= {e.who for e in self._diary.of_ref[ref]}
        if self._variants is not None and package_of(ref):
            authors |= self._variants.every_writer()
        authors |= {e.who for e in self._diary.entries if e.what == TICKED and not e.pull}
        for e in about:
            rests = [p for p, _ in self._diary.quiet if last < p <= e.place]
            words = self._diary.meant.get(e.number, ())
            approves = "approve" in words or e.what == "review approved" or is_approval(e)
            if not approves or e.place < max(last, self._began) or not rests or e.at < then + 3:
                continue
            if e.who in authors and not rules.alone:
                continue
            levels = self._evidence.roles_within(e.who, 0, len(self._diary.entries))
            if all(may(each, e.who, rules) and not boxed(e, {each}, rules) for each in levels):
                yield e


def _follows(entry: Entry) -> bool:
    """What the forge tells of a push of the bot's, which is told of its branch as well."""
    return entry.who == BOT and entry.what == "pull synchronize"


def at_lines(pull: Any) -> list[Any]:
    """The bot's threads at lines, which GitLab alone has."""
    return [
        note
        for note in pull.comments
        if getattr(note, "kind", None) == "DiffNote" and called(note.user.login) == BOT
    ]


def _asks_more(project: Any) -> bool:
    """Whether a project of GitLab asks for what people have to do: not how it merges, nor of us."""
    services = [each for each in project.status_checks.values() if each.name != PUBLISH]
    ours = {"merge_method", "only_allow_merge_if_all_status_checks_passed"}
    return bool(
        project.protected_branches
        or project.protected_tags
        or project.approval_rules
        or services
        or any(said for name, said in project.settings.items() if name not in ours)
    )
