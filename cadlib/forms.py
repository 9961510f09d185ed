"""Parses configuration files: YAML to strict pydantic models, all validation errors at once.

Rules
- What cannot be used whole is not used at all. No key is accepted and then ignored.
- Every problem is told in one go, each with its line, what is wrong and what to do; of more than
  `MOST_PROBLEMS` the first ones, since anybody may send such a file.
- The classes are the format: what keys there are, and their JSON schema, follow from them.
"""

import ast
import difflib
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from cadlib.errors import PackageError, Place, quoted
from cadlib.yaml import Document, FieldPath, field_text
from cadlib.yaml import read as read_yaml

Later = Mapping[FieldPath, frozenset[str]]
"""Keys that are planned, by the mapping they stand in (0 for any item of a list)."""

_NONE: Final[Later] = {}

MOST_PROBLEMS: Final = 50
"""Problems of a file that are told; each of them takes a millisecond to put into words."""


class Strict(BaseModel):
    """A mapping of such a file: no key is unknown, no text is taken for a number."""

    # Docstrings of keys are for the schema alone, which reads them: to do so for each form as it is
    # imported takes a twentieth of the bot's start.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


Form = TypeVar("Form", bound=Strict)


class FormError(Exception):
    """A file cannot be used.

    Attributes:
        problems: What is wrong with it, in the order of its lines; how many more there are last.
    """

    def __init__(self, problems: Sequence[PackageError]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


def wrong(problem: str, fix: str) -> PydanticCustomError:
    """Return the error that a validator raises for an invalid value."""
    return PydanticCustomError("ours", "{problem}", {"problem": problem, "fix": fix})


def later(problem: str, fix: str) -> PydanticCustomError:
    """Return the error that a validator raises for a feature that is not there yet."""
    return PydanticCustomError("later", "{problem}", {"problem": problem, "fix": fix})


def read(form: type[Form], data: bytes, path: str, planned: Later = _NONE) -> Form:
    """Read a file of one document; an empty one has all the defaults.

    Args:
        form: What it is.
        data: Its text, UTF-8.
        path: Its name, for messages.
        planned: Keys to call planned instead of unknown.

    Raises:
        FormError: It cannot be used.
    """
    found = documents(data, path)
    if not found:
        return form()
    if len(found) > 1:
        place = Place(path, found[-1].start_line)
        raise _broken(place, "the file holds more than one document", "Keep the first only")
    return filled(form, found[0], path, planned)


def documents(data: bytes, path: str) -> list[Document]:
    """Return the documents of a file that are not empty, or raise FormError."""
    try:
        return [each for each in read_yaml(data, path=path).documents if not each.empty]
    except PackageError as error:
        raise FormError([error]) from error


def filled(form: type[Form], document: Document, path: str, planned: Later = _NONE) -> Form:
    """Return a document's values; as `read`."""
    place = Place(path, document.start_line)
    if document.template:
        raise _broken(place, "a key is not text", "Write every key as plain text")
    if not isinstance(document.value, dict):
        raise _broken(place, "the file is not a mapping", "Write `key: value` lines")
    try:
        return form.model_validate(document.value)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        raise FormError(_problems(form, document, path, errors, planned)) from error


def _broken(place: Place, problem: str, fix: str) -> FormError:
    return FormError([PackageError(place, problem, fix)])


# --- problems in words ----------------------------------------------------------------------------


def _problems(
    form: type[Strict],
    document: Document,
    path: str,
    errors: Iterable[ErrorDetails],
    planned: Later,
) -> list[PackageError]:
    found, listed = set(), list(errors)
    for error in listed[:MOST_PROBLEMS]:
        at = tuple(step for step in error["loc"] if step != "[key]")
        problem, fix = _words(form, error, at, planned)
        field = field_text(tuple(quoted(s) if isinstance(s, str) else s for s in at))
        found.add((document.line(at) or 0, field, problem, fix))
    told = [
        PackageError(Place(path, line or None, at), problem, fix)
        for line, at, problem, fix in sorted(found)
    ]
    if len(listed) > MOST_PROBLEMS:
        problem = f"the file has {len(listed) - MOST_PROBLEMS} more problems"
        told.append(PackageError(Place(path), problem, "Fix those above first"))
    return told


def _words(
    form: type[Strict], error: ErrorDetails, at: FieldPath, planned: Later
) -> tuple[str, str]:
    """Say one of pydantic's errors as ours: what is wrong, what to do."""
    context = error.get("ctx", {})
    match error["type"]:
        case "ours" | "later":
            return context["problem"], context["fix"]
        case "extra_forbidden":
            return _unknown(form, at, planned)
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
            return "it is empty", "List at least one, or leave the key out"
        case "too_long" | "string_too_long":
            return "it is too long", f"Keep it within {context['max_length']}"
        case kind:
            wanted, how = _KINDS.get(kind, ("usable", f"Correct it: {error['msg']}"))
            return f"{_shown(error['input'])} is not {wanted}", how


_KINDS: Mapping[str, tuple[str, str]] = {
    "string_type": ("text", "Write text; put a number, true or false in quotes"),
    "int_type": ("a whole number", "Write a whole number without quotes"),
    "bool_type": ("true or false", "Write true or false without quotes"),
    "list_type": ("a list", "Write one `- ` line for each item, or [a, b]"),
    "dict_type": ("a mapping", "Write `key: value` lines below it"),
    "model_type": ("a mapping", "Write `key: value` lines below it"),
}


def _unknown(form: type[Strict], at: FieldPath, planned: Later) -> tuple[str, str]:
    key = str(at[-1])
    around: FieldPath = tuple(0 if isinstance(step, int) else step for step in at[:-1])
    if key in planned.get(around, frozenset()):
        return f"{key!r} is not supported", "Leave it out"
    shown = quoted(key)
    known = _keys(form, around)
    near = difflib.get_close_matches(key.lower(), [k.lower() for k in known], 1)
    if near:
        meant = next(k for k in known if k.lower() == near[0])
        return f"the key {shown!r} is unknown", f"Did you mean {meant!r}? Leave it out otherwise"
    return f"the key {shown!r} is unknown", f"Leave it out; known keys are {', '.join(known)}"


@lru_cache(maxsize=256)  # making the schema takes 15 ms
def _keys(form: type[Strict], around: FieldPath) -> tuple[str, ...]:
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
    return tuple(sorted(_choose(schema, here)["properties"]))


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


class _Documented(GenerateJsonSchema):
    """Leaves out the titles that repeat the keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Say no."""
        del schema
        return False

    def model_schema(self, schema: Any) -> Any:
        """Describe each key by its docstring."""
        found = super().model_schema(schema)
        form = schema["cls"]
        for each in form.__mro__[: form.__mro__.index(Strict)]:
            for name, text in _docstrings(each).items():
                key = form.model_fields[name].alias or name
                found["properties"][key].setdefault("description", text)
        return found


def _docstrings(form: type[Strict]) -> dict[str, str]:
    """The text below each key of a form, by the key's name in our code."""
    (written,) = ast.parse(inspect.getsource(form)).body
    body = written.body if isinstance(written, ast.ClassDef) else []
    return {
        key.target.id: inspect.cleandoc(below.value.value)
        for key, below in pairwise(body)
        if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(below.value.value, str)
    }


def schema_text(form: type[Strict], title: str) -> str:
    """Return the JSON schema of a form, as it is published for editors."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **form.model_json_schema(schema_generator=_Documented),
        "title": title,
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
