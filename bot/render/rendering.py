"""One package rendered and judged, as a generator: whoever drives it runs the functions.

The renderer of this process and the worker processes drive it alike.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from bot.render import encoded, verdicts
from bot.render.judging import Judging
from bot.render.verdicts import Before
from cadlib.diff import secrets
from cadlib.limits import DEFAULT, STREAM, PackageLimits
from cadlib.package.files import Entry, Files
from cadlib.render.calls import CallOutcome, FunctionCall
from cadlib.render.pipeline import Rendered
from cadlib.yaml.bulk import Bulk
from lifecycle.facts.verdicts import Verdict

MOST_SEARCHED = 1_000_000_000
"""Bytes looked at for values of Secrets, of each value anew: a second. More is taken as found."""


@dataclass(frozen=True, slots=True)
class NotRun:
    """A function cannot be run now, which is no fault of the package.

    Attributes:
        reason: Why, for an operator.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class FreshVerdict:
    """A verdict that was made just now.

    Attributes:
        verdict: It.
        encoded: The same as `bot.render.encoded` writes it; b"" where nobody has.
        private: It may not leave memory: it holds a value of a Secret, in the files that rendering
            changes or by coincidence; or it is told by what befell this process.
        stopped: The package took too much, or its process ended.
    """

    verdict: Verdict
    encoded: bytes = b""
    private: bool = False
    stopped: bool = False


Steps: TypeAlias = Generator[FunctionCall, CallOutcome | NotRun, FreshVerdict]
"""Yields calls, one at a time, and is sent what came of each."""


def steps(
    package: str,
    files: Files,
    before: Before,
    rules: Judging,
    limits: PackageLimits = DEFAULT,
    bulk: Bulk | None = None,
) -> Steps:
    """Render and validate a package.

    Args:
        package: Its path in the repository.
        files: As they are.
        before: As they were at the merge base, as for `verdicts.of`.
        rules: Those of the base branch.
        limits: For packages.
        bulk: Reads and edits files.
    """
    secret = verdicts.secret_values(files.values())
    rendering = verdicts.begin(files, rules, limits, bulk)
    outcome: CallOutcome | None = None
    while True:
        try:
            call = next(rendering) if outcome is None else rendering.send(outcome)
        except StopIteration as done:
            rendered: Rendered = done.value
            break
        answer = yield call
        if isinstance(answer, NotRun):
            rendering.close()
            reason = secrets.redacted(answer.reason, secret)
            return FreshVerdict(Verdict(package=package, broken=reason))
        outcome = answer
        if call.step.startswith("mutators") and outcome.resources is not None:
            secret |= secrets.added(outcome.resources, call.resources, STREAM)
    verdict = verdicts.of(package, files, before, rendered, rules, secret, bulk)
    written = encoded.write(verdict)
    old = before if isinstance(before, Mapping) else {}
    secret |= verdicts.secret_values(_only(old, files))
    return FreshVerdict(verdict, written, private=_holds(written, secret))


def _only(files: Files, others: Files) -> list[Entry]:
    """The files that are not the same in another package."""
    return [entry for path, entry in files.items() if others.get(path) != entry]


def _holds(data: bytes, secret: set[str]) -> bool:
    """Tell whether a text has a value of a Secret anywhere, in the middle of a word, too."""
    if len(secret) * len(data) > MOST_SEARCHED:
        return True
    return any(value.encode("utf-8", "surrogatepass") in data for value in secret)
