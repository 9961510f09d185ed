"""What rendering and the guardrails say about the packages of a proposal."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cadlib.diff.patch import Suggestion
from cadlib.diff.values import Change
from cadlib.findings import Finding, Severity
from lifecycle.policy import Policy


@dataclass(frozen=True, slots=True)
class FunctionVersion:
    """What a function was that ran.

    Attributes:
        asked: Where it was asked for: "pipeline" or "guardrail".
        digest: What ran: the "sha256:…" of an image, or "builtin:<name>/<behaviour>@<version>" of a
            builtin function; "" where the runner does not say.
    """

    asked: str
    digest: str = ""

    @property
    def moves(self) -> bool:
        """The name that was asked for may mean something else tomorrow."""
        return not self.digest.startswith("builtin:")

    @property
    def behaviour(self) -> str:
        """Equal for what judges alike: an upgrade of the bot leaves it alone, a new image not."""
        return self.digest if self.moves else self.digest.partition("@")[0]


@dataclass(frozen=True, slots=True)
class ReadinessGate:
    """A condition that a package waits for: an entry of `info.readinessGates` in its Kptfile.

    Attributes:
        type: Of the condition.
        status: What `status.conditions` says of it; "" where it says nothing. Of several conditions
            of the type, the first that is not "True".
        reason: Why, in one word of whoever set it.
        message: Why, in a sentence.
    """

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""

    @property
    def holds(self) -> bool:
        """The package need not wait for it any more."""
        return self.status == "True"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What rendering and the guardrails say about one package at one tree.

    Attributes:
        package: Path in the repository.
        changes: What rendering would change: path in the repository to new bytes, None for a
            file to delete; empty when the tree is its own rendering.
        findings: Places are relative to the repository.
        functions: How many functions were run.
        versions: Image to what it was when it ran.
        broken: Why a function could not be run at all; "" when all ran. An operator acts.
        complete: The rendering came to its end. Otherwise a finding of severity error says why
            not, and no `changes` mean nothing.
        diff: What the proposal changes, against the merge base, by resource and field.
        rendering: What rendering would change, by resource and field.
        patch: The same as a patch: path in the repository to what `git apply` takes. Files that
            cannot be shown are left out: large and binary ones, and those with a Secret's value.
        suggestions: What of it fits at lines that the proposal shows.
        readiness: The conditions that it waits for, in the order of its Kptfile.
        seconds: Image to the seconds that its calls took, and under "" all of it; empty where the
            verdict was kept from before. It says nothing of the package, and verdicts that differ
            in it alone are equal.
    """

    package: str
    changes: Mapping[str, bytes | None] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    functions: int = 0
    versions: Mapping[str, FunctionVersion] = field(default_factory=dict)
    broken: str = ""
    complete: bool = True
    diff: tuple[Change, ...] = ()
    rendering: tuple[Change, ...] = ()
    patch: Mapping[str, str] = field(default_factory=dict)
    suggestions: tuple[Suggestion, ...] = ()
    readiness: tuple[ReadinessGate, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """The findings that must be fixed before publishing."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)


def rules_digest(policy: Policy, verdicts: Iterable[Verdict]) -> str:
    """Digest of what judges a proposal: the rules, and what each function was that ran.

    A tag of an image that means something else since is another judge; a builtin function is the
    same one until its behaviour changes (docs/design.md, "Approvals").
    """
    ran = sorted({(image, ran.behaviour) for v in verdicts for image, ran in v.versions.items()})
    return hashlib.sha256(json.dumps([policy.digest, ran]).encode()).hexdigest()
