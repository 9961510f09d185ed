"""A repository's configuration as values; `bot.config` parses the file.

Longer than 400 lines: the rules of a repository, read as one.

`Policy()` is what holds without a file: packages anywhere on the default branch, renderings
committed, one approval by somebody with write access who is not an author
(docs/design.md, "Rules of a repository").
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum

from cadlib.errors import Place
from cadlib.kptfile.values import Selector
from cadlib.merge.policy import ConflictPolicy
from lifecycle.access import (
    APPROVING,
    AccessAction,
    AppSource,
    AuthorSource,
    HolderSource,
    Role,
    RoleSource,
    Source,
    VariantsSource,
    in_both,
)
from lifecycle.windows import Calendar

RULES = (".porchbot.yaml", ".porchbot/")
"""Where rules stand, from the top of the repository."""


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


class ImpactMode(StrEnum):
    """What follows from what a change would do to other packages."""

    INFORM = "inform"
    """It is shown."""
    BLOCK = "block"
    """Nothing is published that would make a package here fail."""
    SKIP = "skip"
    """It is not worked out."""


class ShownStage(StrEnum):
    """A stage that a label stands for."""

    DRAFT = "draft"
    PROPOSED = "proposed"
    DELETION_PROPOSED = "deletionProposed"
    MERGED = "merged"
    PUBLISHED = "published"
    DELETED = "deleted"
    VARIANT = "variant"
    """Beside these: it was made for a variant, by the bot."""


LABELS: Mapping[ShownStage, str] = {
    ShownStage.DRAFT: "porchbot: draft",
    ShownStage.PROPOSED: "porchbot: proposed",
    ShownStage.DELETION_PROPOSED: "porchbot: deletion proposed",
    ShownStage.MERGED: "porchbot: merged",
    ShownStage.PUBLISHED: "porchbot: published",
    ShownStage.DELETED: "porchbot: deleted",
    ShownStage.VARIANT: "porchbot: variant",
}
"""Labels by default."""


class Mode(StrEnum):
    """Whether the findings of a guardrail block, or only warn."""

    BLOCK = "block"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class OutsideCheck:
    """A check run or commit status of others that publishing waits for.

    Attributes:
        name: Its name, or the context of the status.
        app: The App that has to report it, in lower case; "" for any.
    """

    name: str
    app: str = ""


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
        config_path: File on the base branch with its parameters, in `.porchbot/`; None for none.
        config: What stands in that file; None before it was read.
        selectors: Only these resources, if any is given.
        exclude: Not these resources.
        name: A name for it in results; "" for none.
        mode: Whether its findings block.
        fix: What people should do about its findings; "" where they say so themselves.
    """

    image: str
    config_map: Mapping[str, str] | None = None
    config_path: str | None = None
    config: Mapping[str, object] | None = None
    selectors: tuple[Selector, ...] = ()
    exclude: tuple[Selector, ...] = ()
    name: str = ""
    mode: Mode = Mode.BLOCK
    fix: str = ""


@dataclass(frozen=True, slots=True)
class AccessRule:
    """Who may do something (docs/design.md, "Rules of a repository", `access`).

    Attributes:
        require: How many people must approve, for actions that take approvals; 0 for nobody.
        sources: Who counts: any of these.
        self_allowed: Authors may approve their own work.
        automatic: Apps whose patch-level changes need no approval (ADR 37), and `VARIANTS` where
            what they make needs none either (ADR 59); empty for none.
    """

    require: int = 1
    sources: tuple[Source, ...] = (RoleSource(Role.WRITE),)
    self_allowed: bool = False
    automatic: tuple[AppSource | VariantsSource, ...] = ()


_READERS = AccessRule(sources=(RoleSource(Role.READ),))
_WRITERS = AccessRule()
_MAINTAINERS = AccessRule(sources=(RoleSource(Role.MAINTAIN),))
_AUTHOR_OR_WRITERS = AccessRule(sources=(AuthorSource(), RoleSource(Role.WRITE)))

DEFAULTS: Mapping[AccessAction, AccessRule] = {
    AccessAction.DRAFT: _WRITERS,
    AccessAction.PROPOSE: _AUTHOR_OR_WRITERS,
    AccessAction.REJECT: _AUTHOR_OR_WRITERS,
    AccessAction.CLONE: _WRITERS,
    AccessAction.UPGRADE: _WRITERS,
    AccessAction.ROLLBACK: _WRITERS,
    AccessAction.BULK: _MAINTAINERS,
    AccessAction.FREEZE: _MAINTAINERS,
    AccessAction.UNAPPROVE: _READERS,  # it reaches nobody's approval but one's own
    AccessAction.CHECK: _AUTHOR_OR_WRITERS,
    AccessAction.HOLD: _AUTHOR_OR_WRITERS,
    AccessAction.UNHOLD: AccessRule(sources=(HolderSource(), RoleSource(Role.WRITE))),
    AccessAction.READ: _READERS,
}
"""What holds where the configuration tells nothing. Actions that take approvals (`APPROVING`) go by
the rule of `approve` then: at least one approval, and never an author's."""

Rules = Mapping[AccessAction, AccessRule]
"""The rules of some actions; the others go by what holds further out."""


@dataclass(frozen=True, slots=True)
class PathAccess:
    """Rules for the packages of one folder, in place of the repository's.

    Attributes:
        directory: Folder in the repository, no slash at either end.
        rules: Of the actions that it tells.
    """

    directory: str
    rules: Rules

    def holds(self, path: str) -> bool:
        """Tell whether a package lies in it."""
        return f"{path}/".startswith(f"{self.directory}/")


@dataclass(frozen=True, slots=True)
class UpstreamAccess:
    """Rules for what comes from some upstreams, in place of the repository's.

    Attributes:
        upstream: Such as "github.com/acme/blueprints"; a `*` at its end stands for the rest.
        rules: Of the actions that it tells.
    """

    upstream: str
    rules: Rules

    def holds(self, upstream: str) -> bool:
        """Tell whether an upstream is one of them."""
        if self.upstream.endswith("*"):
            return upstream.startswith(self.upstream[:-1])
        return upstream == self.upstream


@dataclass(frozen=True, slots=True)
class UpstreamPolicy:
    """Which upstreams may be used, and who may use this repository as one.

    Attributes:
        default: Full name of the repository that packages are looked for in where none stands in
            front of them; "" for the repository itself.
        allow: Such as "github.com/acme/*"; a `*` at its end stands for the rest. None for the
            repositories that the bot serves.
        share: Full names of repositories, or beginnings of them with a `*`, that get packages from
            here without a person who may read both.
        conflicts: Which side an upgrade takes where both changed the same.
    """

    default: str = ""
    allow: tuple[str, ...] | None = None
    share: tuple[str, ...] = ()
    conflicts: ConflictPolicy = ConflictPolicy.UPSTREAM


@dataclass(frozen=True, slots=True)
class NamedRepository:
    """A repository under the name that variants have for it.

    Attributes:
        repository: Its full name; "" for the repository where the rules stand.
        labels: What selectors choose it by.
        branch: Where its packages are published; "" for its default branch.
        directory: The folder that their paths begin in; "" for all of it.
    """

    repository: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    branch: str = ""
    directory: str = ""


@dataclass(frozen=True, slots=True)
class ObjectFolder:
    """A folder with resources that rules for variants may select and inject.

    Attributes:
        directory: The folder.
        namespace: The namespace of those that name none.
        repository: Full name of its repository; "" for the one where the rules stand.
        branch: The branch that it is read from; "" for the default branch.
    """

    directory: str
    namespace: str = "default"
    repository: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True)
class VariantUse:
    """Rules for packages that are kept in step with an upstream.

    Attributes:
        files: Files of such rules: a folder, and a name with `*` for any characters.
        sources: Full names of other repositories whose rules may want packages here.
        repositories: What the rules' names of repositories mean.
        objects: Folders with resources that rules may select and inject.
    """

    files: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    repositories: Mapping[str, NamedRepository] = field(default_factory=dict)
    objects: tuple[ObjectFolder, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The configuration of a base branch.

    Attributes:
        version: Of the format.
        roots: Where packages live; empty for the whole repository on its default branch.
        deployment: Packages are deployed from here as they are.
        attributes: Labels of all packages, where their own Kptfiles say no other.
        render: What happens to a draft that is not its own rendering.
        mutators: Run after each package's own pipeline, in this order.
        validators: Run after all mutators.
        approve: Who must approve.
        configure: Who must approve a change of the configuration or the ledger; None for whoever
            approves packages. At least one, and never an author.
        access: The rules of other actions, as far as the configuration tells them.
        paths: Rules for the packages of some folders; the innermost folder counts.
        upstreams: Rules for what comes from some upstreams; the longest text counts.
        upstream_use: Which upstreams may be used at all.
        variants: Rules for packages that are kept in step with an upstream.
        merge: How the bot merges.
        auto_merge: It merges once every gate holds; else only once `/approve` asked for it.
        update: Who brings a proposal up to date.
        observe: The bot judges and shows, and writes nothing else.
        impact: What follows from what a change would do to other packages.
        aliases: Other words for commands.
        calendars: When packages are published; of several, each has to be open.
        release: A release is made of each tag.
        labels: Stage to the label that mirrors it, "" for none; empty for no labels at all.
        above: The configuration of the default branch, where this is another branch's: of each
            rule the stricter one counts, so ask `rule`. None for the default branch itself.
    """

    version: int = 1
    roots: tuple[Root, ...] = ()
    deployment: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)
    render: RenderMode = RenderMode.COMMIT
    mutators: tuple[GuardrailFunction, ...] = ()
    validators: tuple[GuardrailFunction, ...] = ()
    approve: AccessRule = field(default_factory=AccessRule)
    configure: AccessRule | None = None
    access: Rules = field(default_factory=dict)
    paths: tuple[PathAccess, ...] = ()
    upstreams: tuple[UpstreamAccess, ...] = ()
    upstream_use: UpstreamPolicy = UpstreamPolicy()
    variants: VariantUse = field(default_factory=VariantUse)
    merge: MergeMethod = MergeMethod.MERGE
    auto_merge: bool = True
    update: UpdateMode = UpdateMode.MANUAL
    observe: bool = False
    impact: ImpactMode = ImpactMode.INFORM
    aliases: Mapping[str, str] = field(default_factory=dict)
    calendars: tuple[Calendar, ...] = ()
    checks: tuple[OutsideCheck, ...] = ()
    release: bool = False
    allow: tuple[tuple[str, ...], ...] = ()
    labels: Mapping[ShownStage, str] = field(default_factory=lambda: LABELS)
    above: "Policy | None" = None

    @property
    def branches(self) -> frozenset[str]:
        """Branches that packages are published from, beside the default branch."""
        return frozenset(root.branch for root in self.roots if root.branch)

    @property
    def folders(self) -> frozenset[str]:
        """Folders with rules of their own, of both configurations where two hold."""
        beyond = self.above.folders if self.above else frozenset()
        return beyond | {each.directory for each in self.paths}

    @property
    def told(self) -> tuple[AccessRule, ...]:
        """All rules that are written down, wherever they hold; of both configurations."""
        inner = (*(p.rules for p in self.paths), *(u.rules for u in self.upstreams))
        places = (self.access, *inner)
        found = [self.approve, *(rule for rules in places for rule in rules.values())]
        if self.configure is not None:
            found.append(self.configure)
        return (*(self.above.told if self.above else ()), *found)

    def writes(self, action: AccessAction, package: str) -> bool:
        """Tell whether a rule of an action is written down that holds for a package."""
        rules = (self.access, *(each.rules for each in self.paths if each.holds(package)))
        above = self.above is not None and self.above.writes(action, package)
        return above or any(action in each for each in rules)

    def rule(self, action: AccessAction, package: str = "", upstream: str = "") -> AccessRule:
        """Return the rule of an action.

        The innermost folder's counts, then that of the upstream, then the repository's, then what
        holds without any. Where two configurations hold, each is asked by itself, and the stricter
        of their answers is the rule: a table made of both would let a rule of one win over another
        place's of the other.

        Args:
            action: Which one.
            package: Path of the package that it is about; "" for the root package, or for none.
            upstream: Where something comes from; "" for nowhere.
        """
        own = self._told(action, package, upstream)
        if self.above is None:
            return own
        return _stricter(self.above.rule(action, package, upstream), own)

    def _told(self, action: AccessAction, package: str, upstream: str) -> AccessRule:
        """The rule by this configuration alone."""
        inner = sorted(self.paths, key=lambda each: -len(each.directory))
        found = [each.rules for each in inner if each.holds(package)]
        beside = sorted(self.upstreams, key=lambda each: -len(each.upstream))
        found += [each.rules for each in beside if upstream and each.holds(upstream)]
        found.append({**self.access, AccessAction.APPROVE: self.approve})
        if self.configure is not None:
            found.append({AccessAction.CONFIGURE: self.configure})
        told = next((rules[action] for rules in found if action in rules), None)
        if told is None and action in APPROVING and action not in DEFAULTS:
            approve = self._told(AccessAction.APPROVE, package, "")
            return AccessRule(max(1, approve.require), approve.sources)
        return told or DEFAULTS[action]

    @property
    def digest(self) -> str:
        """Digest of what can change a package's verdict, 64 hex digits; approvals bind to it.

        A guardrail's `fix` and `name` are words for people; roots, `merge`, `update`, windows and
        checks of others do not judge: an approval survives their change. Who may approve is a set,
        the functions are a sequence.
        """
        judging: list[object] = [
            [_judging(f) for f in self.mutators],
            [_judging(f) for f in self.validators],
            *_approving(self),
        ]
        if self.allow:
            judging.append([sorted(patterns) for patterns in self.allow])
        if self.above is not None:
            judging.append(_approving(self.above))
        return hashlib.sha256(json.dumps(judging, sort_keys=True).encode()).hexdigest()


def _approving(policy: Policy) -> list[object]:
    """Who approves packages by one configuration, for the digest."""
    inner = {
        each.directory: _asked(each.rules[AccessAction.APPROVE])
        for each in policy.paths
        if AccessAction.APPROVE in each.rules
    }
    return [*_asked(policy.approve), *([inner] if inner else [])]


def _asked(rule: AccessRule) -> list[object]:
    sources = sorted({source.spelling for source in rule.sources})
    by_itself = sorted(source.spelling for source in rule.automatic)
    return [rule.require, sources, rule.self_allowed, *([by_itself] if by_itself else [])]


def _judging(function: GuardrailFunction) -> list[object]:
    config = None if function.config_map is None else dict(function.config_map)
    judging: list[object] = [function.image, config, function.config_path, function.mode]
    # What was there before these is judged as it was: its digest stays.
    narrowed = [list(map(asdict, function.selectors)), list(map(asdict, function.exclude))]
    if any(narrowed) or function.config is not None:
        judging += [*narrowed, function.config]
    return judging


def configuring(policy: "Policy | BrokenPolicy") -> Policy:
    """Return the policy by which a change of the configuration is approved.

    Rules that cannot be read name nobody: an administrator repairs them, with the approval of
    another one.
    """
    if isinstance(policy, BrokenPolicy):
        return Policy(approve=AccessRule(1, (RoleSource(Role.ADMIN),)))
    above = None if policy.above is None else configuring(policy.above)
    rule = policy.configure or policy.approve
    # Rules of folders are about packages; the configuration is the repository's.
    approve = AccessRule(max(1, rule.require), rule.sources)
    return replace(policy, approve=approve, paths=(), above=above)


HARMLESS = {AccessAction.READ, AccessAction.CHECK, AccessAction.HOLD, AccessAction.UNAPPROVE}
"""What asks, looks again, stops one proposal, or takes back one's own."""

_ADMINISTRATORS = AccessRule(1, (RoleSource(Role.ADMIN),))

UNREAD = Policy(
    approve=_ADMINISTRATORS,
    access=dict.fromkeys(set(AccessAction) - HARMLESS, _ADMINISTRATORS),
)
"""In place of rules that cannot be read: what stays when they can be read again takes those who may
repair them, whomever they name."""


def united(above: Policy, own: Policy) -> Policy:
    """Return the union of two configurations, the stricter of both in each rule.

    Whoever makes a branch writes the file there, so that it can add to what the default branch
    asks for and take nothing away (ADR 19). Where packages live, which words are commands and
    labels, is the default branch's word; what the bot does
    unasked it does where both say so.

    Args:
        above: The configuration of the default branch.
        own: The configuration of the branch itself.
    """
    commits = own.render is above.render is RenderMode.COMMIT
    updates = own.update is above.update is UpdateMode.AUTO
    return replace(
        own,
        above=above,
        roots=above.roots,
        aliases=above.aliases,
        labels=above.labels,
        deployment=above.deployment,
        attributes=above.attributes,
        variants=above.variants,
        auto_merge=above.auto_merge and own.auto_merge,
        release=above.release and own.release,
        impact=_surer(above.impact, own.impact),
        render=RenderMode.COMMIT if commits else RenderMode.CHECK,
        update=UpdateMode.AUTO if updates else UpdateMode.MANUAL,
        mutators=_with(above.mutators, own.mutators),
        validators=_with(above.validators, own.validators),
        calendars=tuple(dict.fromkeys((*above.calendars, *own.calendars))),
        checks=tuple(dict.fromkeys((*above.checks, *own.checks))),
        allow=tuple(dict.fromkeys((*above.allow, *own.allow))),
    )


def _with(
    functions: tuple[GuardrailFunction, ...], more: tuple[GuardrailFunction, ...]
) -> tuple[GuardrailFunction, ...]:
    return (*functions, *(function for function in more if function not in functions))


def _surer(one: ImpactMode, other: ImpactMode) -> ImpactMode:
    """The one that keeps more from being published."""
    order = [ImpactMode.SKIP, ImpactMode.INFORM, ImpactMode.BLOCK]
    return max(one, other, key=order.index)


def _stricter(one: AccessRule, other: AccessRule) -> AccessRule:
    return AccessRule(
        max(one.require, other.require),
        in_both(one.sources, other.sources),
        one.self_allowed and other.self_allowed,
        tuple(app for app in one.automatic if app in other.automatic),
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
        observe: It says all the same that the bot only observes.
    """

    problems: tuple[ConfigurationProblem, ...]
    observe: bool = False

    @property
    def aliases(self) -> Mapping[str, str]:
        """None are known."""
        return {}
