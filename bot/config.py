"""`.porchbot.yaml` and `.porchbot/ledger.yaml`: from bytes to values, or to every problem at once.

Longer than 400 lines: the form of one file, key by key.

Rules:

1. The caller gives the file of the base branch, never that of a proposal's head.
2. What cannot be used whole is not used at all: the answer is a `BrokenPolicy`, which publishes
   nothing. No key is accepted and then ignored.
3. Every problem is told in one go, each with its line, what is wrong and what to do.

The classes are the format. `make reference` writes its JSON schema, which stands in
`docs/reference/porchbot.schema.json` for editors.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from bot import calendars, config_access, config_variants
from bot.config_access import Access, folder, upstream_address
from bot.config_variants import (
    FilesOfVariants,
    NameInRules,
    ObjectsOfVariants,
    RepositoryOfVariants,
    SourceName,
)
from bot.extends import KEY, MOST_FILES, PATTERN, Defaults, FileReference, parse, united
from bot.ledger_paths import LEDGER, package_ledger
from cadlib import forms
from cadlib.errors import Place
from cadlib.forms import Form, FormError, Strict, wrong
from cadlib.images import is_image
from cadlib.kptfile import values
from cadlib.merge.policy import ConflictPolicy
from cadlib.render.functions import config_problem
from cadlib.yaml import FieldPath
from lifecycle import names, policy
from lifecycle.access import (
    AccessAction,
)
from lifecycle.commands.table import TABLE
from lifecycle.ledger import Entries, Ledger, LedgerEntry, ListedState, both
from lifecycle.messages import configuration as texts
from lifecycle.messages import naming
from lifecycle.policy import (
    LABELS,
    BrokenPolicy,
    ConfigurationProblem,
    GuardrailFunction,
    ImpactMode,
    MergeMethod,
    Mode,
    OutsideCheck,
    Policy,
    RenderMode,
    Root,
    ShownStage,
    UpdateMode,
    UpstreamPolicy,
)

CONFIG, FOLDER = ".porchbot.yaml", ".porchbot"

_LATER: Mapping[FieldPath, frozenset[str]] = {
    (): frozenset({"drafts"}),
    ("publish",): frozenset({"oci"}),
    ("guardrails", "mutators", 0): frozenset({"exec", "tag"}),
    ("guardrails", "validators", 0): frozenset({"exec", "tag"}),
}
"""Keys that are planned, by the mapping they stand in (0 for any item of a list)."""


def _branch(text: str) -> str:
    reason = naming.ref_problem(names.branch_ref(text))
    if text.startswith(("refs/", "-")):
        reason = texts.NOT_ALONE
    if reason:
        raise wrong(*texts.branch(text, reason))
    return text


def _check_name(text: str) -> str:
    if text.partition("/")[0] == "porchbot":
        raise wrong(*texts.own_check(text))
    return text


def _image(text: str) -> str:
    if not is_image(text):
        raise wrong(*texts.image(text))
    return text


def _reference(text: str) -> str:
    if parse(text) is None:
        raise wrong(*texts.reference(text))
    return text


AttributeKey = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._/-]{0,251}[A-Za-z0-9])?$")]
AttributeValue = Annotated[str, Field(max_length=500)]

_ALIAS = re.compile(r"[a-z][a-z0-9-]{0,39}")


class PackageFolder(Strict):
    """A part of the repository that has packages."""

    directory: Annotated[str, AfterValidator(folder)] = ""
    """Folder, relative to the root of the repository; `.` for the whole repository."""

    branch: Annotated[str, AfterValidator(_branch)] | None = None
    """Branch from which its packages are published. Default: the default branch."""


class Selector(Strict):
    """Which resources: those that match all of these. Each text must match exactly."""

    api_version: str = Field("", alias="apiVersion")
    """Their `apiVersion`."""

    kind: str = ""
    """Their `kind`."""

    name: str = ""
    """Their `metadata.name`."""

    namespace: str = ""
    """Their `metadata.namespace`."""

    labels: dict[str, str] = Field(default={})
    """Labels that they must have; they may have others."""

    annotations: dict[str, str] = Field(default={})
    """Annotations that they must have; they may have others."""


_Selectors = Annotated[list[Selector], Field(max_length=50)]


def _config_path(text: str) -> str:
    plain = posixpath.normpath(text) == text and text.isprintable()
    if not text.startswith(f"{FOLDER}/") or not plain:
        raise wrong(*texts.config_path(text, FOLDER))
    return text


class Function(Strict):
    """A function that runs on every package."""

    image: Annotated[str, AfterValidator(_image)]
    """Image, such as `kubeconform:v0.1`. A short name means a function of the catalog."""

    config_map: dict[str, str] | None = Field(None, alias="configMap")
    """Parameters of the function. Every value is text, so put numbers, `true` and `false` in
    quotes."""

    config_path: Annotated[str, AfterValidator(_config_path)] | None = Field(
        None, alias="configPath"
    )
    """Instead of `configMap`: a file in `.porchbot/` with one resource. It is read from the base
    branch, and changing it counts as changing the rules."""

    selectors: _Selectors = Field(default=[])
    """Which resources the function gets: those that match any of these. Default: all."""

    exclude: _Selectors = Field(default=[])
    """Which of them it does not get."""

    name: Annotated[str, Field(max_length=100)] = ""
    """A name for this step."""

    mode: Literal["block", "warn"] = "block"
    """`block`: errors must be fixed before publishing. `warn`: they are only shown."""

    fix: Annotated[str, Field(max_length=500)] = ""
    """What people should do about findings of this function, in your own words."""

    @model_validator(mode="after")
    def _configured_once(self) -> "Function":
        if self.config_map is not None and self.config_path is not None:
            raise wrong(*texts.TWO_CONFIGURATIONS)
        return self


class Guardrails(Strict):
    """Functions that run on all packages of the repository, after each package's own pipeline."""

    mutators: Annotated[list[Function], Field(max_length=50)] = Field(default=[])
    """Functions that may change resources. They run in this order."""

    validators: Annotated[list[Function], Field(max_length=50)] = Field(default=[])
    """Functions that only check resources."""


class Functions(Strict):
    """Which functions the pipelines of packages may use."""

    allow: (
        Annotated[list[Annotated[str, Field(min_length=1, max_length=300)]], Field(max_length=100)]
        | None
    ) = None
    """Names of the images that are allowed, such as `ghcr.io/acme/*`; `*` stands for any
    characters. A name without a tag allows all tags; a name without a `/` means the function
    catalog. Other functions do not run, and `porchbot/render` fails. Default: all functions.
    Guardrails are always allowed."""


class Check(Strict):
    """A check run or commit status that publishing waits for."""

    name: Annotated[str, AfterValidator(_check_name), Field(min_length=1, max_length=250)]
    """Its name, or the context of the status."""

    app: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")] = ""
    """The App that must report it, by the name in its address, such as `github-actions`; on GitLab
    the login of the user who reports it. A check of the same name from anybody else does not count.
    Default: anybody's check counts."""


def _check(given: object) -> object:
    return {"name": given} if isinstance(given, str) else given


class Publish(Strict):
    """How and when the bot publishes."""

    merge: Literal["merge", "squash"] = "merge"
    """How to merge: with a merge commit, or squashed into one commit."""

    auto_merge: bool = True
    """`true`: the bot merges as soon as every gate holds, even if the last missing approval was a
    review. `false`: the bot waits until an approver has commented `/approve`."""

    update: Literal["manual", "auto"] = "manual"
    """What to do if the base branch has changed a package of a proposal in the meantime. `manual`:
    somebody comments `/rebase`, or merges the base branch. `auto`: the bot merges it, unless
    something conflicts."""

    checks: Annotated[
        list[Annotated[Check, BeforeValidator(_check, json_schema_input_type=Check | str)]],
        Field(max_length=20),
    ] = Field(default=[])
    """Check runs and commit statuses of other programs to wait for, at the head commit. Each is a
    name, or a mapping with `name` and `app`. As with GitHub's required checks, `neutral` and
    `skipped` count as passed. If several have the same name, the worst counts; if one cannot be
    read, the bot waits."""

    release: bool = False
    """`true`: also make a release with notes for each tag. It is never marked as the repository's
    "latest" release."""

    windows: Annotated[list[calendars.Window], Field(max_length=50)] = Field(default=[])
    """When packages may be published, and when not."""


Label = Annotated[str, Field(min_length=1, max_length=50)]
"""A label's name; 50 characters is what GitHub takes."""


class Labels(Strict):
    """Names of the labels that show the stage of a pull request. They are never commands."""

    draft: Label = LABELS[ShownStage.DRAFT]
    """For drafts."""

    proposed: Label = LABELS[ShownStage.PROPOSED]
    """For proposals."""

    deletion_proposed: Label = Field(LABELS[ShownStage.DELETION_PROPOSED], alias="deletionProposed")
    """For proposals that remove packages or withdraw revisions."""

    merged: Label = LABELS[ShownStage.MERGED]
    """For pull requests that are merged but not published yet."""

    published: Label = LABELS[ShownStage.PUBLISHED]
    """For published pull requests."""

    deleted: Label = LABELS[ShownStage.DELETED]
    """For pull requests that removed packages or withdrew revisions, once merged and approved."""

    variant: Label = LABELS[ShownStage.VARIANT]
    """In addition to these, for pull requests that the bot made for a variant."""

    @model_validator(mode="after")
    def _differ(self) -> "Labels":
        named = [name.lower() for name in self.names.values()]
        twice = [name for name in named if named.count(name) > 1]
        if twice:
            raise wrong(*texts.label_twice(twice[0]))
        return self

    @property
    def names(self) -> dict[ShownStage, str]:
        """Stage to label."""
        return {
            ShownStage.DRAFT: self.draft,
            ShownStage.PROPOSED: self.proposed,
            ShownStage.DELETION_PROPOSED: self.deletion_proposed,
            ShownStage.MERGED: self.merged,
            ShownStage.PUBLISHED: self.published,
            ShownStage.DELETED: self.deleted,
            ShownStage.VARIANT: self.variant,
        }


def _repository(text: str) -> str:
    if not re.fullmatch(_REPOSITORY, text) or not {".", ".."}.isdisjoint(text.split("/")):
        raise wrong(*texts.repository(text))
    return text


_REPOSITORY = r"[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){1,20}"
_Address = Annotated[str, AfterValidator(upstream_address), Field(max_length=500)]


class UpstreamsSection(Strict):
    """Which upstreams packages may come from, and who may use this repository as an upstream."""

    default: (
        Annotated[
            str, AfterValidator(_repository), Field(json_schema_extra={"pattern": _REPOSITORY})
        ]
        | None
    ) = None
    """Repository in which to look for a package that is named without a repository, such as
    `acme/blueprints`. Default: this repository."""

    allow: Annotated[list[_Address], Field(max_length=200)] | None = None
    """Where packages may come from: addresses without a scheme, such as `github.com/acme/*`; `*` at
    the end stands for anything. This repository is always allowed. Default: every repository that
    the bot serves and that the person who asks may read."""

    share: Annotated[list[_Address], Field(max_length=200)] = Field(default=[])
    """Repositories whose variants may use packages from this one although more people can read
    them, such as `acme/*`. A public repository does not need this. A name means the repository that
    had it when it was first let in; `acme/live#123` lets in the one of that number."""

    conflicts: Literal["upstream", "local", "fail"] = "upstream"
    """Which side wins if an upgrade and the package changed the same field; `fail`: the upgrade is
    refused. Every conflict is reported, and `/resolve` decides it differently."""

    def use(self) -> UpstreamPolicy:
        """As the lifecycle knows it."""
        allow = None if self.allow is None else tuple(self.allow)
        conflicts = ConflictPolicy(self.conflicts)
        return UpstreamPolicy(self.default or "", allow, tuple(self.share), conflicts)


class Commands(Strict):
    """Commands in comments."""

    aliases: Annotated[dict[str, str], Field(max_length=50)] = Field(default={})
    """Other words for commands, such as `lgtm: approve`."""

    @model_validator(mode="after")
    def _mean_commands(self) -> "Commands":
        for alias, word in self.aliases.items():
            if not _ALIAS.fullmatch(alias) or TABLE.named(alias) is not None:
                raise wrong(*texts.alias(alias))
            if word not in TABLE.words:
                raise wrong(*texts.alias_of(alias, word, TABLE.words))
        return self


class Configuration(Strict):
    """What porchbot reads from `.porchbot.yaml` on the base branch. Every key may be left out."""

    version: Annotated[int, Field(ge=1, le=1)] = 1
    """Version of this format."""

    extends: (
        Annotated[str, AfterValidator(_reference), Field(json_schema_extra={"pattern": PATTERN})]
        | None
    ) = None
    """Where to take defaults from, for keys that this file does not set:
    `<owner>/.porchbot@<commit>:<file>`, or `.github` in place of `.porchbot`. The owner must be
    this repository's, and the commit must be 40 digits long and on that repository's default
    branch. `version`, `packages` and `mode` are never taken from there."""

    mode: Literal["active", "observe"] = "active"
    """`observe`: the bot checks each proposal and shows the result in neutral checks, and writes
    nothing else. The file on the default branch sets this for all branches."""

    packages: Annotated[list[PackageFolder], Field(min_length=1, max_length=100)] | None = None
    """Where the packages are. Default: anywhere in the repository, on its default branch."""

    deployment: bool = False
    """`true`: packages in this repository are ready to be deployed. A package that is cloned into
    it gets a `package-context.yaml`."""

    metadata: Annotated[dict[AttributeKey, AttributeValue], Field(max_length=50)] = Field(
        default={}
    )
    """Labels for every package in this repository, such as `{team: network}`; selectors can use
    them. A label in a package's Kptfile takes precedence. They are read from the default branch."""

    render: Literal["commit", "check"] = "commit"
    """`commit`: the bot pushes the rendered result to the draft branch. `check`: it only reports
    the difference."""

    impact: Literal["inform", "block", "skip"] = "inform"
    """What to do if a pull request changes the rules, or a package that others are made from.
    `inform`: the check `porchbot/impact` shows which packages would render, validate or merge
    differently. `block`: in addition, nothing is published while a package of this repository would
    fail or conflict. `skip`: the effect is not worked out."""

    guardrails: Guardrails = Guardrails()
    functions: Functions = Functions()
    access: Access = Field(default_factory=lambda: Access.model_validate({}))
    publish: Publish = Publish()
    upstreams: UpstreamsSection = UpstreamsSection()

    variants: Annotated[list[FilesOfVariants], Field(max_length=50)] = Field(default=[])
    """Files with PackageVariants and PackageVariantSets, such as `variants/*.yaml`, read from the
    default branch. The bot creates the packages that they ask for, and keeps them up to date by
    pull requests. If a rule is removed, its `deletionPolicy` decides: by `delete`, the default, a
    pull request removes the package; by `orphan` it stays. Everything in these folders counts as
    configuration: a change of it needs the approvals of `access.configure`."""

    variants_from: Annotated[list[SourceName], Field(max_length=50)] = Field(default=[])
    """Other repositories whose variants may open pull requests here, such as `acme/control`. A name
    means the repository that had it when it was first let in; to let in another one that has it
    now, write its number as well: `acme/control#123`."""

    repositories: Annotated[dict[NameInRules, RepositoryOfVariants], Field(max_length=1000)] = (
        Field(default={})
    )
    """Which repositories the names in those files refer to."""

    objects: Annotated[list[ObjectsOfVariants], Field(max_length=50)] = Field(default=[])
    """Folders with resources that those files may select and inject."""

    commands: Commands = Commands()

    labels: Labels | Literal[False] = Field(default_factory=lambda: Labels.model_validate({}))
    """Labels that show the stage of a pull request; `false` for none."""

    @model_validator(mode="after")
    def _each_once(self) -> "Configuration":
        listed = [(p.directory, p.branch) for p in self.packages or ()]
        twice = [root[0] or "." for root in listed if listed.count(root) > 1]
        if twice:
            raise wrong(*texts.listed_twice(twice[0]))
        return self

    def policy(self) -> Policy:
        """As the lifecycle knows it."""
        access = self.access
        return Policy(
            version=self.version,
            roots=tuple(Root(p.directory, p.branch) for p in self.packages or ()),
            deployment=self.deployment,
            attributes=self.metadata,
            render=RenderMode(self.render),
            mutators=tuple(_guardrail(f) for f in self.guardrails.mutators),
            validators=tuple(_guardrail(f) for f in self.guardrails.validators),
            approve=config_access.rule(access.approve),
            configure=config_access.rule(access.configure) if access.configure else None,
            access=config_access.rules(access, AccessAction.APPROVE, AccessAction.CONFIGURE),
            paths=tuple(
                policy.PathAccess(each.directory, config_access.rules(each))
                for each in access.paths
            ),
            upstreams=tuple(
                policy.UpstreamAccess(each.upstream, config_access.rules(each))
                for each in access.upstreams
            ),
            upstream_use=self.upstreams.use(),
            variants=config_variants.use(
                self.variants, self.variants_from, self.repositories, self.objects
            ),
            merge=MergeMethod(self.publish.merge),
            release=self.publish.release,
            auto_merge=self.publish.auto_merge,
            labels=self.labels.names if self.labels else {},
            update=UpdateMode(self.publish.update),
            observe=self.mode == "observe",
            impact=ImpactMode(self.impact),
            checks=tuple(OutsideCheck(c.name, c.app.lower()) for c in self.publish.checks),
            aliases=dict(self.commands.aliases),
            calendars=calendars.of(self.publish.windows),
            allow=() if self.functions.allow is None else (tuple(self.functions.allow),),
        )


def _guardrail(function: Function) -> GuardrailFunction:
    return GuardrailFunction(
        image=function.image,
        config_map=function.config_map,
        config_path=function.config_path,
        selectors=tuple(_selector(each) for each in function.selectors),
        exclude=tuple(_selector(each) for each in function.exclude),
        name=function.name,
        mode=Mode(function.mode),
        fix=function.fix.rstrip(". \n"),
    )


def _selector(selector: Selector) -> values.Selector:
    return values.Selector(**selector.model_dump())


class Listed(Strict):
    """What is to be known of a revision, and why."""

    state: Literal["withdrawn", "deprecated", "held"]
    """`held`: the package was rolled back to it, and nothing newer is taken from its upstream."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]
    tag: Annotated[str, Field(pattern="^([0-9a-f]{40}|[0-9a-f]{64})?$")] = ""
    """Object of the tag that is withdrawn with it; left out: the tag that porchbot made."""

    def entry(self) -> LedgerEntry:
        """As the bot knows it."""
        return LedgerEntry(ListedState(self.state), self.reason, self.tag)


def _package(text: str) -> str:
    # One spelling only: two keys for one package would hide one of their lists of numbers.
    if text != "." and (not text or folder(text) != text):
        raise wrong(*texts.package(text))
    return folder(text)


def _revision(text: str) -> str:
    if not names.looks_like_revision(f"v{text.removeprefix('v')}"):
        raise wrong(*texts.revision(text))
    return text.removeprefix("v")


def _once(listed: object) -> object:
    # The later of two spellings would hide what the other one says of the number.
    seen = set[str]()
    for key in listed if isinstance(listed, dict) else ():
        number = str(key).removeprefix("v")
        if number in seen:
            raise wrong(*texts.revision_twice(number))
        seen.add(number)
    return listed


_Numbers = Annotated[
    dict[Annotated[str, AfterValidator(_revision)], Listed], BeforeValidator(_once)
]


class WholeLedger(Strict):
    """What porchbot reads from `.porchbot/ledger.yaml` on the publish branch."""

    version: Annotated[int, Field(ge=1, le=1)] = 1
    """Version of this format."""

    revisions: dict[Annotated[str, AfterValidator(_package)], _Numbers] = Field(default={})
    """Package, then number, then why: these numbers stay used for ever."""


class PackageLedger(Strict):
    """What porchbot reads from `.porchbot/ledger/<package path>.yaml` on the publish branch."""

    version: Annotated[int, Field(ge=1, le=1)] = 1
    """Version of this format."""

    revisions: _Numbers = Field(default={})
    """Number, then why: these numbers stay used for ever."""


def read(
    data: bytes | None, *, path: str = CONFIG, defaults: Defaults | None = None
) -> Policy | BrokenPolicy:
    """Read a repository's configuration.

    Args:
        data: The file at the base branch; None when there is none.
        path: Its name, for messages.
        defaults: Gives the files that it extends; None reads it alone, for what no defaults give.
    """
    if defaults is not None and data and KEY.encode() in data:
        return _extended(data, path, defaults)
    if len(data or b"") > MOST_KEPT:
        return _policy(data, path)
    return _kept_policy(data, path)


def _policy(data: bytes | None, path: str) -> Policy | BrokenPolicy:
    found = _read(Configuration, data, path)
    return found if isinstance(found, BrokenPolicy) else found.policy()


_kept_policy = lru_cache(maxsize=64)(_policy)


def _extended(data: bytes, path: str, defaults: Defaults) -> Policy | BrokenPolicy:
    """Read a configuration with the files that it extends, each judged alone and then together."""
    own = _read(Configuration, data, path)
    if isinstance(own, BrokenPolicy):
        return own
    observes = own.mode == "observe"
    found, value = own, _value(data)
    seen: list[FileReference] = []
    while found.extends is not None:
        reference = parse(found.extends)
        if reference is None or reference in seen or len(seen) + 1 >= MOST_FILES:
            return _not_extended(texts.too_deep(MOST_FILES), path, observes)
        seen.append(reference)
        given = defaults(reference)
        if isinstance(given, BrokenPolicy):
            return replace(given, observe=observes)
        judged = _read(Configuration, given, str(reference))
        if isinstance(judged, BrokenPolicy):
            # What stands there may be for fewer eyes than what is said here.
            where = [each.place for each in judged.problems]
            return _not_extended(texts.broken_defaults(reference.shown, where), path, observes)
        found, value = judged, united(value, _value(given))
    try:
        return Configuration.model_validate(value).policy()
    except ValidationError as error:
        fields = sorted({".".join(map(str, each["loc"])) for each in error.errors()})
        return _not_extended(texts.unfit_defaults(seen[-1].shown, fields), path, observes)


def _value(data: bytes) -> dict[str, Any]:
    found = forms.documents(data, CONFIG)
    value = found[0].value if found else {}
    return value if isinstance(value, dict) else {}


def _not_extended(problem: tuple[str, str], path: str, observes: bool) -> BrokenPolicy:
    place = Place(path, None, KEY)
    return BrokenPolicy((ConfigurationProblem(place, *problem),), observe=observes)


def read_ledger(data: bytes | None, *, path: str = LEDGER) -> Ledger | BrokenPolicy:
    """Read the ledger: package to the revisions whose numbers stay used, and why.

    Args:
        data: The file at the publish branch; None when there is none.
        path: Its name, for messages.

    Returns:
        What `names.next_revision` takes; broken when the next number cannot be told safely.
    """
    if not data:
        return {}
    return (_kept_ledger if len(data) <= MOST_KEPT else _long_ledger)(data, path)


def _ledger(data: bytes, path: str) -> Ledger | BrokenPolicy:
    found = _read(WholeLedger, data, path)
    if isinstance(found, BrokenPolicy):
        return found
    return {package: _entries(numbers) for package, numbers in found.revisions.items()}


_kept_ledger = lru_cache(maxsize=64)(_ledger)
# One of 1 MiB takes a second to read, and is asked for each package, and at the commit of each of
# its releases: the text is mostly the same.
_long_ledger = lru_cache(maxsize=2)(_ledger)


def read_package_ledger(data: bytes | None, path: str) -> Entries | BrokenPolicy:
    """Read the ledger of one package: the numbers that stay used, and why.

    Args:
        data: The file at the publish branch; None when there is none.
        path: Its name, for messages.
    """
    if not data:
        return {}
    return (_kept_numbers if len(data) <= MOST_KEPT else _long_numbers)(data, path)


def _numbers(data: bytes, path: str) -> Entries | BrokenPolicy:
    found = _read(PackageLedger, data, path)
    return found if isinstance(found, BrokenPolicy) else _entries(found.revisions)


_kept_numbers = lru_cache(maxsize=64)(_numbers)
_long_numbers = lru_cache(maxsize=2)(_numbers)


def _entries(listed: Mapping[str, Listed]) -> Entries:
    return {int(number): each.entry() for number, each in listed.items()}


def ledger_entry(
    whole: bytes | None, own: bytes | None, package: str, revision: int
) -> LedgerEntry | BrokenPolicy | None:
    """Return what the ledgers say of a revision; None for nothing.

    Args:
        whole: The older ledger of all packages; None where there is none.
        own: That of the package; None where there is none.
        package: Its path.
        revision: Its number.
    """
    older, alone = read_ledger(whole), read_package_ledger(own, package_ledger(package))
    if isinstance(older, BrokenPolicy):
        return older
    if isinstance(alone, BrokenPolicy):
        return alone
    return both(older.get(package, {}), alone).get(revision)


MOST_KEPT = 16 * 1024
"""Bytes of a file with rules that is kept as read: each look reads those of several commits, which
mostly are the same text."""

MOST_BYTES = 1024**2
"""Bytes of a file with rules: each look reads it, and a hundredth of that is a long one."""


def function_config(
    data: bytes | BrokenPolicy | None, path: str
) -> Mapping[str, object] | BrokenPolicy:
    """Read the parameters of a guardrail: a file with one resource.

    Args:
        data: The file at the base branch; None where there is none.
        path: Its name, for messages.
    """
    if isinstance(data, BrokenPolicy):
        return data
    if data is None:
        return BrokenPolicy((ConfigurationProblem(Place(CONFIG), *texts.no_config(path)),))
    if len(data) > MOST_BYTES:
        return BrokenPolicy((ConfigurationProblem(Place(path), *texts.large_file(MOST_BYTES)),))
    try:
        found = forms.documents(data, path)
    except FormError as error:
        return BrokenPolicy(
            tuple(ConfigurationProblem(e.place, e.problem, e.fix) for e in error.problems)
        )
    value = found[0].value if len(found) == 1 else None
    problem = config_problem(value) if len(found) == 1 else texts.number_of(len(found))
    if problem or not isinstance(value, dict):
        said = texts.bad_config(problem)
        return BrokenPolicy((ConfigurationProblem(Place(path), *said),))
    return value


def irregular(path: str) -> BrokenPolicy:
    """Something stands where a file with rules belongs: broken, and not absent."""
    return BrokenPolicy((ConfigurationProblem(Place(path), *texts.IRREGULAR),))


Blob = Callable[[str, str, int], bytes | None]
"""Gives the first bytes of a regular file by commit and path; None where there is none."""


def fetch(blob: Blob, commit: str, path: str) -> bytes | None:
    """Take a file with rules out of git; of one that is too large enough that `read` sees it."""
    return blob(commit, path, MOST_BYTES + 1)


def _read(form: type[Form], data: bytes | None, path: str) -> Form | BrokenPolicy:
    if len(data or b"") > MOST_BYTES:
        problem = ConfigurationProblem(Place(path), *texts.large_file(MOST_BYTES))
        return BrokenPolicy((problem,), observe=form is Configuration and _says(data or b""))
    planned = _LATER if form is Configuration else {}
    try:
        return forms.read(form, data or b"", path, planned)
    except FormError as error:
        return BrokenPolicy(
            tuple(
                ConfigurationProblem(each.place, each.problem, each.fix) for each in error.problems
            ),
            observe=form is Configuration and _observes(data or b""),
        )


def _observes(data: bytes) -> bool:
    """Whether a file that cannot be used says all the same that the bot only observes."""
    try:
        found = forms.documents(data, CONFIG)
    except FormError:
        return _says(data)
    value = found[0].value if found else None
    return isinstance(value, dict) and value.get("mode") == "observe"


_MODE = re.compile(rb"""^(["']?)mode\1[ \t]*:[ \t]*(.*?)[ \t]*(?:#.*)?$""", re.MULTILINE)


def _says(data: bytes) -> bool:
    """Whether the lines of a file say so that is no YAML, or too long to be read."""
    modes = [value.strip(b"\"'") for _, value in _MODE.findall(data.replace(b"\r", b""))]
    return bool(modes) and set(modes) == {b"observe"}


def schema_text() -> str:
    """The JSON schema of `.porchbot.yaml`, as it is published."""
    return forms.schema_text(Configuration, "porchbot")
