"""`.porchbot.yaml` and `.porchbot/ledger.yaml`: from bytes to values, or to every problem at once.

Rules:

1. The caller gives the file of the base branch, never that of a proposal's head.
2. What cannot be used whole is not used at all: the answer is a `BrokenPolicy`, which publishes
   nothing. No key is accepted and then ignored.
3. Every problem is told in one go, each with its line, what is wrong and what to do.

The classes are the format. `python -m bot.config` writes its JSON schema, which stands in
`docs/reference/porchbot.schema.json` for editors.
"""

import difflib
import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from cadlib.errors import PackageError, Place
from cadlib.images import is_image
from cadlib.yaml import Document, FieldPath, field_text
from cadlib.yaml import read as read_yaml
from lifecycle import names
from lifecycle.access import Role, RoleSource, Source, UserSource
from lifecycle.policy import (
    ApproveRule,
    BrokenPolicy,
    GuardrailFunction,
    MergeMethod,
    Mode,
    Policy,
    Problem,
    RenderMode,
    Root,
)

CONFIG = ".porchbot.yaml"
LEDGER = ".porchbot/ledger.yaml"

_LATER: Mapping[FieldPath, frozenset[str]] = {
    (): frozenset({"deployment", "metadata", "drafts", "functions", "upstreams", "variants"}),
    ("access",): frozenset({"propose", "configure", "delete"}),
    ("publish",): frozenset({"checks", "release", "oci"}),
    ("guardrails", "mutators", 0): frozenset({"configPath", "exec", "exclude", "selectors", "tag"}),
    ("guardrails", "validators", 0): frozenset(
        {"configPath", "exec", "exclude", "selectors", "tag"}
    ),
}
"""Keys that are planned, by the mapping they stand in (0 for any item of a list). `configPath`
waits for a way to read it from the base branch: out of the proposal, its author would choose how
the guardrail judges him."""

_ROLES = tuple(str(role) for role in Role if role > Role.NONE)
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SOURCE_SCHEMA: dict[str, Any] = {
    "pattern": rf"^(role:({'|'.join(_ROLES)})|user:{_LOGIN.pattern})$"
}


def _wrong(problem: str, fix: str, *, later: bool = False) -> PydanticCustomError:
    context = {"problem": problem, "fix": fix}
    return PydanticCustomError("later" if later else "ours", "{problem}", context)


def _directory(text: str) -> str:
    path = text.removeprefix("./").rstrip("/")
    if path in ("", "."):
        if text.startswith("/"):
            raise _wrong("'/' is not a folder of the repository", "Write . for all of it")
        return ""
    parts = path.split("/")
    if (
        not all(parts)
        or not {".", ".."}.isdisjoint(parts)
        or "\\" in path
        or not path.isprintable()
    ):
        raise _wrong(
            f"{text!r} is not a folder of the repository",
            "Write its path from the top of the repository, such as packages/net",
        )
    return path


def _branch(text: str) -> str:
    wrong = names.problem(f"refs/heads/{text}")
    if text.startswith(("refs/", "-")):
        wrong = "it is not the name alone"
    if wrong:
        raise _wrong(f"{text!r} is not a branch: {wrong}", "Write its name, such as main")
    return text


def _image(text: str) -> str:
    if not is_image(text):
        raise _wrong(f"{text!r} is not an image", "Write a name such as set-labels:v0.2")
    return text


def _source(text: str) -> str:
    kind, _, rest = text.partition(":")
    if text == "codeowners" or kind == "team":
        raise _wrong(f"{text!r} is not supported yet", "Name roles and users for now", later=True)
    if (kind == "role" and rest in _ROLES) or (kind == "user" and _LOGIN.fullmatch(rest)):
        return text
    if text in _ROLES:
        raise _wrong(f"{text!r} names nobody", f"Write role:{text}")
    if kind == "user" and rest.endswith("[bot]"):
        raise _wrong(f"{text!r} is not a person", "Name people; machines do not approve")
    raise _wrong(
        f"{text!r} names nobody",
        f"Write role:<role>, the role being one of {', '.join(_ROLES)}, or user:<login>",
    )


class _Strict(BaseModel):
    """No key is unknown, no text is taken for a number."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True
    )


class Package(_Strict):
    """A part of the repository where packages live."""

    directory: Annotated[str, AfterValidator(_directory)] = ""
    """Folder, from the top of the repository; `.` for all of it."""

    branch: Annotated[str, AfterValidator(_branch)] | None = None
    """Branch that its packages are published on; the default branch when left out."""


class Function(_Strict):
    """A function that runs on every package."""

    image: Annotated[str, AfterValidator(_image)]
    """Image, such as `kubeconform:v0.1`; a short name means the function catalog's."""

    config_map: dict[str, str] | None = Field(None, alias="configMap")
    """Its parameters; every value is text, so put numbers, true and false in quotes."""

    name: Annotated[str, Field(max_length=100)] = ""
    """A name for this step."""

    mode: Literal["block", "warn"] = "block"
    """`block`: an error must be mended before publishing. `warn`: it is shown only."""

    fix: Annotated[str, Field(max_length=500)] = ""
    """What people should do about its findings, in words of yours."""


class Guardrails(_Strict):
    """Functions that the repository runs on all its packages, after their own pipelines."""

    mutators: Annotated[list[Function], Field(max_length=50)] = []
    """Functions that may change resources, in their order."""

    validators: Annotated[list[Function], Field(max_length=50)] = []
    """Functions that only judge."""


class Approve(_Strict):
    """Who must approve before something is published."""

    require: Annotated[int, Field(ge=0, le=100)] = 1
    """How many people must approve."""

    from_: Annotated[
        list[Annotated[str, AfterValidator(_source), Field(json_schema_extra=_SOURCE_SCHEMA)]],
        Field(min_length=1, max_length=100),
    ] = Field(["role:write"], alias="from")
    """Whose approval counts, any of: `role:read`, `role:triage`, `role:write`, `role:maintain`,
    `role:admin` (that role or a higher one), `user:<login>`."""

    self_: bool = Field(False, alias="self")
    """Authors may approve their own work."""

    @model_validator(mode="after")
    def _can_be_met(self) -> "Approve":
        logins = {source.lower() for source in self.from_ if source.startswith("user:")}
        if all(source.startswith("user:") for source in self.from_) and self.require > len(logins):
            raise _wrong(
                f"{self.require} people must approve, and `from` names {len(logins)}",
                "Name more people, or require fewer",
            )
        return self


class Access(_Strict):
    """Who may do what."""

    approve: Approve = Field(default_factory=lambda: Approve.model_validate({}))


class Publish(_Strict):
    """How the bot publishes."""

    merge: Literal["merge", "squash"] = "merge"
    """With a merge commit, or squashed into one commit."""


class Configuration(_Strict):
    """What porchbot reads from `.porchbot.yaml` on the base branch. Every key may be left out."""

    version: Annotated[int, Field(ge=1, le=1)] = 1
    """Version of this format."""

    packages: Annotated[list[Package], Field(min_length=1, max_length=100)] | None = None
    """Where packages live; the whole repository on its default branch when left out."""

    render: Literal["commit", "check"] = "commit"
    """`commit`: push the rendered result to the draft. `check`: report the difference only."""

    guardrails: Guardrails = Guardrails()
    access: Access = Access()
    publish: Publish = Publish()

    @model_validator(mode="after")
    def _each_once(self) -> "Configuration":
        listed = [(p.directory, p.branch) for p in self.packages or ()]
        twice = [root[0] or "." for root in listed if listed.count(root) > 1]
        if twice:
            raise _wrong(f"packages lists {twice[0]!r} twice", "Remove one of the two")
        return self

    def policy(self) -> Policy:
        """As the lifecycle knows it."""
        approve = self.access.approve
        return Policy(
            version=self.version,
            roots=tuple(Root(p.directory, p.branch) for p in self.packages or ()),
            render=RenderMode(self.render),
            mutators=tuple(_guardrail(f) for f in self.guardrails.mutators),
            validators=tuple(_guardrail(f) for f in self.guardrails.validators),
            approve=ApproveRule(
                approve.require, tuple(_as_source(text) for text in approve.from_), approve.self_
            ),
            merge=MergeMethod(self.publish.merge),
        )


def _guardrail(function: Function) -> GuardrailFunction:
    return GuardrailFunction(
        image=function.image,
        config_map=function.config_map,
        name=function.name,
        mode=Mode(function.mode),
        fix=function.fix.rstrip(". \n"),
    )


def _as_source(text: str) -> Source:
    kind, _, rest = text.partition(":")
    return UserSource(rest) if kind == "user" else RoleSource(Role[rest.upper()])


class Withdrawn(_Strict):
    """Why a revision is no longer to be used."""

    state: Literal["withdrawn", "deprecated"]
    reason: Annotated[str, Field(min_length=1, max_length=500)]


def _package(text: str) -> str:
    # One spelling only: two keys for one package would hide one of their lists of numbers.
    if text != "." and (not text or _directory(text) != text):
        raise _wrong(
            f"{text!r} is not a package", "Write its path such as net/core, or . for the root"
        )
    return _directory(text)


def _revision(text: str) -> str:
    if not names.looks_like_revision(f"v{text.removeprefix('v')}"):
        raise _wrong(f"{text!r} is not a revision", "Write its number, such as 5")
    return text.removeprefix("v")


class Ledger(_Strict):
    """What porchbot reads from `.porchbot/ledger.yaml` on the publish branch."""

    version: Annotated[int, Field(ge=1, le=1)] = 1
    """Version of this format."""

    revisions: dict[
        Annotated[str, AfterValidator(_package)],
        dict[Annotated[str, AfterValidator(_revision)], Withdrawn],
    ] = {}
    """Package, then number, then why: these numbers stay used for ever."""


def read(data: bytes | None, *, path: str = CONFIG) -> Policy | BrokenPolicy:
    """Read a repository's configuration.

    Args:
        data: The file at the base branch; None when there is none.
        path: Its name, for messages.
    """
    found = _read(Configuration, data, path)
    return found if isinstance(found, BrokenPolicy) else found.policy()


def read_ledger(
    data: bytes | None, *, path: str = LEDGER
) -> Mapping[str, frozenset[int]] | BrokenPolicy:
    """Read the ledger: package to the revisions whose numbers stay used without a tag.

    Args:
        data: The file at the publish branch; None when there is none.
        path: Its name, for messages.

    Returns:
        What `names.next_revision` takes; broken when the next number cannot be told safely.
    """
    found = _read(Ledger, data, path)
    if isinstance(found, BrokenPolicy):
        return found
    return {
        package: frozenset(int(number) for number in numbers)
        for package, numbers in found.revisions.items()
    }


_Format = TypeVar("_Format", bound=_Strict)


def _read(form: type[_Format], data: bytes | None, path: str) -> _Format | BrokenPolicy:
    try:
        documents = [d for d in read_yaml(data or b"", path=path).documents if not d.empty]
    except PackageError as error:
        return BrokenPolicy((Problem(error.place, error.problem, error.fix),))
    if not documents:
        return form()
    document = documents[0]
    place = Place(path, documents[-1].start_line)
    if len(documents) > 1:
        return _broken(place, "the file holds more than one document", "Keep the first only")
    if document.template:
        return _broken(place, "a key is not text", "Write every key as plain text")
    if not isinstance(document.value, dict):
        return _broken(place, "the file is not a mapping", "Write `key: value` lines")
    try:
        return form.model_validate(document.value)
    except ValidationError as error:
        return BrokenPolicy(_problems(form, document, path, error.errors(include_url=False)))


def _broken(place: Place, problem: str, fix: str) -> BrokenPolicy:
    return BrokenPolicy((Problem(place, problem, fix),))


# --- problems in words ----------------------------------------------------------------------------


def _problems(
    form: type[_Strict], document: Document, path: str, errors: Iterable[ErrorDetails]
) -> tuple[Problem, ...]:
    found = set()
    for error in errors:
        at = tuple(step for step in error["loc"] if step != "[key]")
        problem, fix = _words(form, error, at)
        found.add(Problem(Place(path, document.line(at), field_text(at)), problem, fix))
    return tuple(sorted(found, key=lambda p: (p.place.line or 0, p.place.field, p.problem)))


def _words(form: type[_Strict], error: ErrorDetails, at: FieldPath) -> tuple[str, str]:
    """Say one of pydantic's errors as ours: what is wrong, what to do."""
    context = error.get("ctx", {})
    match error["type"]:
        case "ours" | "later":
            return context["problem"], context["fix"]
        case "extra_forbidden":
            return _unknown(form, at)
        case "missing":
            return f"the key {at[-1]!r} is missing", "Add it"
        case "literal_error":
            wanted = str(context["expected"]).replace("'", "")
            return f"{_shown(error['input'])} is not {wanted}", f"Write {wanted}"
        case "greater_than_equal" | "less_than_equal":
            limit = "at least" if "ge" in context else "at most"
            bound = context.get("ge", context.get("le"))
            return (
                f"{_shown(error['input'])} is out of range",
                f"Write a whole number of {limit} {bound}",
            )
        case "too_short" | "string_too_short":
            return "it is empty", "Name at least one, or leave the key out"
        case "too_long" | "string_too_long":
            return "it is too long", f"Keep it within {context['max_length']}"
        case kind:
            wanted, how = _KINDS.get(kind, ("usable", f"Mind this: {error['msg']}"))
            return f"{_shown(error['input'])} is not {wanted}", how


_KINDS: Mapping[str, tuple[str, str]] = {
    "string_type": ("text", "Write text; put a number, true or false in quotes"),
    "int_type": ("a whole number", "Write a whole number without quotes"),
    "bool_type": ("true or false", "Write true or false without quotes"),
    "list_type": ("a list", "Write one `- ` line for each item, or [a, b]"),
    "dict_type": ("a mapping", "Write `key: value` lines below it"),
    "model_type": ("a mapping", "Write `key: value` lines below it"),
}


def _unknown(form: type[_Strict], at: FieldPath) -> tuple[str, str]:
    key = str(at[-1])
    around: FieldPath = tuple(0 if isinstance(step, int) else step for step in at[:-1])
    later = _LATER.get(around, frozenset()) if form is Configuration else frozenset()
    if key in later:
        return f"{key!r} is not supported yet", "Leave it out for now"
    known = _keys(form, around)
    near = difflib.get_close_matches(key.lower(), [k.lower() for k in known], 1)
    if near:
        meant = next(k for k in known if k.lower() == near[0])
        return f"the key {key!r} is unknown", f"Did you mean {meant!r}? Leave it out otherwise"
    return f"the key {key!r} is unknown", f"Leave it out; known are {', '.join(known)}"


def _keys(form: type[_Strict], around: FieldPath) -> list[str]:
    """The keys of the mapping at a path, out of the schema, so that no list is kept twice."""
    schema = form.model_json_schema()
    here: Any = schema
    for step in around:
        here = _choose(schema, here)
        here = (
            here["items"]
            if step == 0
            else here.get("properties", {}).get(step, here.get("additionalProperties"))
        )
    return sorted(_choose(schema, here)["properties"])


def _choose(schema: Any, here: Any) -> Any:
    """Follow references, and leave null out of the choice."""
    while "$ref" in here or "anyOf" in here:
        if "$ref" in here:
            here = schema["$defs"][here["$ref"].rsplit("/", 1)[1]]
        else:
            here = next(one for one in here["anyOf"] if one.get("type") != "null")
    return here


def _shown(value: object) -> str:
    """A value as it stands in the file, shortened."""
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return repr(shown) if isinstance(value, str) else shown


# --- the schema -----------------------------------------------------------------------------------


class _Untitled(GenerateJsonSchema):
    """Leaves out the titles that repeat the keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Say no."""
        del schema
        return False


def schema_text() -> str:
    """The JSON schema of `.porchbot.yaml`, as it is published."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Configuration.model_json_schema(schema_generator=_Untitled),
        "title": "porchbot",
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
