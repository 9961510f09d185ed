"""A repository's configuration as values; `bot.config` parses the file.

`Policy()` is what holds without a file: packages anywhere on the default branch, renderings
committed, one approval by somebody with write access who is not an author
(docs/design.md, "Rules of a repository").
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from cadlib.errors import Place
from lifecycle.access import Role, RoleSource, Source, in_both


class RenderMode(StrEnum):
    """Whether the bot commits the rendering of a draft, or only checks it."""

    COMMIT = "commit"
    CHECK = "check"


class MergeMethod(StrEnum):
    """The method by which the bot merges."""

    MERGE = "merge"
    SQUASH = "squash"


class UpdateMode(StrEnum):
    """Who brings a proposal up to date whose packages its base branch changed meanwhile."""

    MANUAL = "manual"
    """People: by `/rebase`, or by merging the base themselves."""
    AUTO = "auto"
    """The bot does it unasked."""


class Mode(StrEnum):
    """Whether the findings of a guardrail block, or only warn."""

    BLOCK = "block"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Root:
    """A part of the repository where packages live.

    Attributes:
        directory: Folder in the repository, no slash at either end; "" for all of it.
        branch: Branch it is published on; None for the repository's default branch.
    """

    directory: str = ""
    branch: str | None = None

    def holds(self, path: str) -> bool:
        """Tell whether a folder lies in it."""
        return not self.directory or f"{path}/".startswith(f"{self.directory}/")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailFunction:
    """A function that the repository runs on all its packages.

    Attributes:
        image: As written, such as "kubeconform:v0.1".
        config_map: Its parameters; None for none.
        config_path: File in the package with its parameters; None for none.
        name: A name for it in results; "" for none.
        mode: Whether its findings block.
        fix: What people should do about its findings; "" where they say so themselves.
    """

    image: str
    config_map: Mapping[str, str] | None = None
    config_path: str | None = None
    name: str = ""
    mode: Mode = Mode.BLOCK
    fix: str = ""


@dataclass(frozen=True, slots=True)
class ApproveRule:
    """Who must approve (docs/design.md, "Rules of a repository", `access.approve`).

    Attributes:
        require: How many people; 0 for nobody.
        sources: Who counts: any of these.
        self_allowed: Authors may approve their own work.
    """

    require: int = 1
    sources: tuple[Source, ...] = (RoleSource(Role.WRITE),)
    self_allowed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The configuration of a base branch.

    Attributes:
        version: Of the format.
        roots: Where packages live; empty for the whole repository on its default branch.
        render: What happens to a draft that is not its own rendering.
        mutators: Run after each package's own pipeline, in this order.
        validators: Run after all mutators.
        approve: Who must approve.
        configure: Who must approve a change of the configuration or the ledger; None for whoever
            approves packages. At least one, and never an author.
        merge: How the bot merges.
        update: Who brings a proposal up to date.
    """

    version: int = 1
    roots: tuple[Root, ...] = ()
    render: RenderMode = RenderMode.COMMIT
    mutators: tuple[GuardrailFunction, ...] = ()
    validators: tuple[GuardrailFunction, ...] = ()
    approve: ApproveRule = field(default_factory=ApproveRule)
    configure: ApproveRule | None = None
    merge: MergeMethod = MergeMethod.MERGE
    update: UpdateMode = UpdateMode.MANUAL

    @property
    def branches(self) -> frozenset[str]:
        """Branches that packages are published from, beside the default branch."""
        return frozenset(root.branch for root in self.roots if root.branch)

    @property
    def digest(self) -> str:
        """Digest of what can change a package's verdict, 64 hex digits; approvals bind to it.

        A guardrail's `fix` and `name` are words for people; roots, `merge` and `update` do not
        judge: an approval survives their change. Who may approve is a set, the functions are a
        sequence.
        """
        judging = [
            [_judging(f) for f in self.mutators],
            [_judging(f) for f in self.validators],
            self.approve.require,
            sorted({source.spelling for source in self.approve.sources}),
            self.approve.self_allowed,
        ]
        return hashlib.sha256(json.dumps(judging, sort_keys=True).encode()).hexdigest()


def _judging(function: GuardrailFunction) -> list[object]:
    config = None if function.config_map is None else dict(function.config_map)
    return [function.image, config, function.config_path, function.mode]


def configuring(policy: "Policy | BrokenPolicy") -> Policy:
    """Return the policy by which a change of the configuration is approved.

    Rules that cannot be read name nobody: an administrator repairs them, with the approval of
    another one.
    """
    if isinstance(policy, BrokenPolicy):
        return Policy(approve=ApproveRule(1, (RoleSource(Role.ADMIN),)))
    rule = policy.configure or policy.approve
    return replace(policy, approve=ApproveRule(max(1, rule.require), rule.sources))


def united(above: Policy, own: Policy) -> Policy:
    """Return the union of two configurations, the stricter of both in each rule.

    Whoever makes a branch writes the file there, so that it can add to what the default branch
    asks for and take nothing away (ADR 19). Where packages live is the default branch's word.

    Args:
        above: The configuration of the default branch.
        own: The configuration of the branch itself.
    """
    configures = above.configure or own.configure
    return replace(
        own,
        roots=above.roots,
        mutators=_with(above.mutators, own.mutators),
        validators=_with(above.validators, own.validators),
        approve=_stricter(above.approve, own.approve),
        configure=(
            _stricter(configuring(above).approve, configuring(own).approve) if configures else None
        ),
    )


def _with(
    functions: tuple[GuardrailFunction, ...], more: tuple[GuardrailFunction, ...]
) -> tuple[GuardrailFunction, ...]:
    return (*functions, *(function for function in more if function not in functions))


def _stricter(one: ApproveRule, other: ApproveRule) -> ApproveRule:
    return ApproveRule(
        max(one.require, other.require),
        in_both(one.sources, other.sources),
        one.self_allowed and other.self_allowed,
    )


@dataclass(frozen=True, slots=True)
class ConfigurationProblem:
    """One thing wrong with a configuration file.

    Attributes:
        place: File, line and key.
        problem: What is wrong: a clause without a full stop at its end.
        fix: What to do about it: a sentence without a full stop at its end.
    """

    place: Place
    problem: str
    fix: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}. {self.fix}."


@dataclass(frozen=True, slots=True)
class BrokenPolicy:
    """A configuration that cannot be used: everything waits until it is mended.

    Attributes:
        problems: At least one, by line.
    """

    problems: tuple[ConfigurationProblem, ...]
