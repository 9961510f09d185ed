"""What Porch's controllers, Kubernetes and cel-go say of rules for variants: words to look up.

People search for these in Porch's documents and issues, so they stand here as they do there.
"""

from collections.abc import Sequence

# --- what Porch's controllers refuse --------------------------------------------------------------

UPSTREAM_REQUIRED = "spec.upstream is a required field"
NO_VERSION = "either spec.upstream.revision or spec.upstream.workspaceName must be specified"
NO_TARGETS = "must specify at least one item in spec.targets"


def missing(field: str) -> str:
    """A field of a PackageVariant is not there."""
    return f"missing required field {field}"


def required(field: str) -> str:
    """A field of a PackageVariantSet is not there."""
    return f"{field} is a required field"


def policy(field: str, values: Sequence[str]) -> str:
    """A policy has another value."""
    return f"{field} can only be {_or(values)}"


def policy_field(field: str, values: Sequence[str]) -> str:
    """The same, as Porch says it of one field."""
    return f"{field} field can only be {_or(values)}"


def no_name(field: str) -> str:
    """An injector has no name."""
    return f"{field}.name must not be empty"


def own_key(field: str, shown: str, key: str) -> str:
    """A key of the package context is not for rules to set."""
    return f'{field}: Invalid value: {shown}: must not contain the key "{key}"'


def empty(field: str) -> str:
    """A value is not there."""
    return f"{field} cannot be empty"


def empty_list(field: str) -> str:
    """A list has nothing in it."""
    return f"{field} must not be an empty list if specified"


def one_kind(field: str) -> str:
    """A target chooses in no way, or in several."""
    return f"{field} must specify one of `repositories`, `repositorySelector`, or `objectSelector`"


def only_one(field: str, one: str, other: str) -> str:
    """Two fields exclude each other."""
    return f"{field} may specify only one of `{one}` and `{other}`"


def either(field: str, one: str, other: str) -> str:
    """One of two fields is needed."""
    return f"{field} must specify either `{one}` or `{other}`"


def no_image(field: str) -> str:
    """A function has no image."""
    return f"{field}.image must not be empty"


def dotted(field: str) -> str:
    """A function's name has a dot, by which Porch divides names."""
    return f"{field}.name must not contain '.'"


def no_repository(name: str) -> str:
    """A template comes to a repository that nobody knows."""
    return f'repository "{name}" could not be loaded'


def _or(values: Sequence[str]) -> str:
    return " or ".join(f'"{each}"' for each in values)


# --- what the API server refuses, and what to do about it -----------------------------------------

WRITE_MAPPING = "Write `key: value` lines below it"
WRITE_LIST = "Write one `- ` line for each item"
WRITE_TEXT = "Write text; put a number, true or false in quotes"
WRITE_TEXTS = "Write `key: text` lines below it"
WRITE_NUMBER = "Write a whole number without quotes"
LEAVE_OUT = "Leave it out"


def unknown_field(field: str) -> str:
    """There is no such field."""
    return f'unknown field "{field}"'


def meant(field: str) -> str:
    """Which field could be meant."""
    return f"Did you mean {field!r}? Leave it out otherwise"


def mistyped(field: str, found: str, wanted: str) -> str:
    """A value is of another type."""
    return f'{field}: Invalid value: "{found}": {field} in body must be of type {wanted}: "{found}"'


def number_alone(number: int) -> str:
    """A number is written as Porch had it before."""
    return f"Write the number alone: {number}"


# --- what cel-go says -----------------------------------------------------------------------------

COST = "operation cancelled: actual cost limit exceeded"
COST_TOGETHER = f"{COST} by all expressions together"
PATTERN = (
    "the pattern of matches() must be written out in the expression, as one text without escapes"
    " but \\\\, \\n and the like"
)
RECURSION = "expression recursion limit exceeded"
TOO_DEEP = "Exceeded max recursion depth"
"""What the library says for `RECURSION`, among other things."""

NO_SELECTION = "invalid argument to has() macro"
NO_IDENTIFIER = "argument is not an identifier"
NO_NAME = "argument must be a simple name"
BAD_BYTES = "invalid UTF-8 in bytes, cannot convert to string"
INDEX = r"index out of bounds: \1"
NO_CONVERSION = r"type conversion error from 'string' to '\1'"
NO_TEXT = {
    "BOOL": "type conversion error from bool to 'string'",
    "BYTES": "type conversion error from Bytes to 'string'",
    "DOUBLE": "type conversion error from Double to 'string'",
    "DURATION": "type conversion error from 'Duration' to 'string'",
    "INT": "unsupported type conversion from 'int' to string",
    "NULL": "type conversion error from 'null_type' to 'string'",
    "TIMESTAMP": "type conversion error from 'Timestamp' to 'string'",
    "TYPE": "type conversion not supported for 'type'",
    "UINT": "unsupported type conversion from 'uint' to string",
}


def no_text(kind: str) -> str:
    """An expression gives something that is no text: of a list, a mapping, or anything else."""
    return NO_TEXT.get(kind.upper(), f"type conversion error from {kind} to 'string'")


def long_expression(most: int) -> str:
    """An expression is too long; ours, since cel-go has no such limit."""
    return f"the expression is longer than {most} characters"


def long_result(most: int) -> str:
    """A result is too long; ours."""
    return f"the result is longer than {most} characters"
