"""A renderer in memory: what each function does to a package is a Python function of the test."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from bot.render import merging, verdicts
from bot.render.kept import CachingReader
from bot.render.port import DraftSides, FetchPackage, TreeFiles
from bot.render.rendering import NotRun
from cadlib.diff.changes import changes
from cadlib.diff.values import Change
from cadlib.errors import PackageError
from cadlib.findings import Finding, Severity
from cadlib.images import resolve_image
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.package.files import Entry, Files
from cadlib.render.calls import FunctionCall, Step
from cadlib.render.pipeline import Rendered
from lifecycle.facts.drafts import DraftRequest
from lifecycle.facts.update import PackageMerge
from lifecycle.facts.verdicts import Verdict
from lifecycle.policy import GuardrailFunction, Policy
from tests.memory import drafts


@dataclass(frozen=True, slots=True)
class Answer:
    """What a function makes of a package.

    Attributes:
        changes: New text by path in the package, None for a file to delete; those of a validator
            do not count.
        findings: Places are relative to the package; who found them is added.
        error: Why it failed; "" when it did not.
        digest: What ran; one that begins with "builtin:" means the same for ever.
    """

    changes: Mapping[str, bytes | None] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    error: str = ""
    digest: str = ""


_READER = CachingReader()
"""One for all: histories have the same few files, in thousands of repositories."""

Function = Callable[[GuardrailFunction, Files], Answer]
"""Given as whom the rules name it, with its parameters, and the files as they are by then."""


class MemoryRenderer:
    """Implements `Renderer` without a runner: guardrails run here, pipelines are not looked at.

    Answers are kept until they are forgotten: what an image means does not change by itself.

    Args:
        functions: By image, as the rules name them. Others cannot be run.
        limits: For packages.

    Attributes:
        broken: Why no function can be run at present; "" when they can.
    """

    def __init__(
        self, functions: Mapping[str, Function] | None = None, limits: PackageLimits = DEFAULT
    ):
        self._functions = {resolve_image(image): f for image, f in (functions or {}).items()}
        self._limits = limits
        self._kept: dict[tuple[str, str, str, str], Verdict] = {}
        self._changes: dict[tuple[str, str], tuple[Change, ...]] = {}
        self._spelling: dict[int, tuple[Policy, str]] = {}
        self.broken = ""

    async def verdict(
        self,
        trees: TreeFiles,
        package: str,
        tree: str,
        origin: str,
        policy: Policy,
        *,
        tried: bool = False,
    ) -> Verdict:
        """As `Renderer` has it; it keeps all."""
        del tried
        key = tree, package, origin, self._spelled(policy)
        if key not in self._kept:
            found = self._render(trees, package, tree, origin, policy)
            if found.broken:
                return found
            self._kept[key] = found
        return self._kept[key]

    async def changes(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        """As `Renderer` has it."""
        if (before, after) not in self._changes:
            try:
                old, new = self._files(trees, before), self._files(trees, after)
                found = changes(old, new, bulk=_READER)
            except PackageError:
                return ()
            self._changes[before, after] = tuple(found)
        return self._changes[before, after]

    async def merged(
        self, trees: TreeFiles, package: str, base: str, ours: str, theirs: str
    ) -> PackageMerge:
        """As `Renderer` has it."""
        try:
            files = [self._files(trees, tree) for tree in (base, ours, theirs)]
        except PackageError as error:
            return merging.unmerged(package, error)
        return merging.merge(package, *files)

    async def drafted(
        self, trees: TreeFiles, request: DraftRequest, sides: DraftSides, fetch: FetchPackage
    ) -> PackageMerge:
        """As `Renderer` has it; functions cannot be run alone."""

        async def call(_called: FunctionCall) -> NotRun:
            return NotRun("no function runs alone here")

        return await drafts.drafted(trees, request, sides, self._limits, fetch, call)

    def forget(self, trees: Iterable[str]) -> None:
        """As `Renderer` has it."""
        gone = set(trees)
        self._kept = {key: kept for key, kept in self._kept.items() if key[0] not in gone}

    def _spelled(self, policy: Policy) -> str:
        """All that a policy says: its digest leaves words for people out."""
        known = self._spelling.get(id(policy))
        if known is None:
            known = self._spelling[id(policy)] = policy, repr(policy)
        return known[1]

    def _files(self, trees: TreeFiles, tree: str) -> Files:
        return trees.files(tree, self._limits) if tree else {}

    def _render(
        self, trees: TreeFiles, package: str, tree: str, origin: str, policy: Policy
    ) -> Verdict:
        try:
            files, before = verdicts.read(lambda t: trees.files(t, self._limits), tree, origin)
        except PackageError as error:
            return verdicts.unreadable(package, error)
        if self.broken and (policy.mutators or policy.validators):
            return Verdict(package=package, broken=self.broken)
        secret = verdicts.secret_values(files.values())
        rendered = self._run(files, policy)
        return verdicts.of(package, files, before, rendered, policy, secret, _READER)

    def _run(self, files: Files, policy: Policy) -> Rendered:
        now, findings, steps = dict(files), list[Finding](), list[Step]()
        for guardrail in (*policy.mutators, *policy.validators):
            at = len(steps)
            mutates = at < len(policy.mutators)
            place = f"mutators[{at}]" if mutates else f"validators[{at - len(policy.mutators)}]"
            image = resolve_image(guardrail.image)
            function = self._functions.get(image)
            answer = function(guardrail, now) if function else Answer(error="there is no such one")
            findings += (
                replace(found, function=image, guardrail=place) for found in answer.findings
            )
            steps.append(_step(image, answer, mutates))
            if answer.error:
                message = f"{guardrail.image}: {answer.error}"
                failed = Finding(message=message, severity=Severity.ERROR, function=image)
                findings.append(replace(failed, guardrail=place))
                if mutates:
                    return Rendered(
                        findings=tuple(findings), steps=tuple(steps), failed=True, complete=False
                    )
            if mutates:
                now = _changed(now, answer.changes)
        return Rendered(changes=_between(files, now), findings=tuple(findings), steps=tuple(steps))


def _step(image: str, answer: Answer, mutates: bool) -> Step:
    return Step(
        image=image,
        package="",
        step="mutators" if mutates else "validators",
        source="guardrail",
        ok=not answer.error,
        digest=answer.digest,
    )


def _changed(files: Files, changes: Mapping[str, bytes | None]) -> dict[str, Entry]:
    written = {path: Entry(data) for path, data in changes.items() if data is not None}
    return {path: entry for path, entry in files.items() if path not in changes} | written


def _between(before: Files, after: Files) -> dict[str, bytes | None]:
    gone: dict[str, bytes | None] = {path: None for path in before if path not in after}
    new = {path: e.data for path, e in after.items() if path not in before or e != before[path]}
    return gone | new
