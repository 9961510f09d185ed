"""What a variant writes into a Kptfile: its functions, labels and annotations."""

from collections.abc import Mapping, Sequence
from typing import Final

from cadlib.kptfile import text as kptfile_text
from cadlib.kptfile.values import Kptfile
from cadlib.yaml import Value, read
from lifecycle.variants import naming
from lifecycle.variants.values import Variant

OWNER: Final = "porchbot.dev/variant"
"""The annotation of a Kptfile that names the variant which keeps the package in step."""


def with_functions(kptfile: bytes, variant: Variant) -> bytes:
    """Return a Kptfile with the functions of a variant in front of the package's own.

    Those that it put there before go. Every other byte stays as it is.

    Args:
        kptfile: The Kptfile.
        variant: The variant; its name tells its functions from others.

    Raises:
        PackageError: It cannot be read, or the change does not fit into its text.
    """
    root = _root(kptfile)
    wanted = dict(_map(root.get("pipeline")))
    steps = {"mutators": variant.spec.mutators, "validators": variant.spec.validators}
    for step, functions in steps.items():
        found = [
            each
            for each in _list(wanted.get(step))
            if not naming.is_function_of(_map(each).get("name"), variant.name)
        ]
        ours = [_named(each, variant.name, index) for index, each in enumerate(functions)]
        wanted.pop(step, None)
        if ours or found:
            wanted[step] = [*ours, *found]
    changed = {key: value for key, value in root.items() if key != "pipeline"}
    if wanted:
        changed = {**root, "pipeline": wanted}
    return kptfile if changed == root else kptfile_text.write(kptfile, changed)


def _named(function: Mapping[str, Value], variant: str, position: int) -> Value:
    rest = {key: value for key, value in function.items() if key != "name"}
    given = function.get("name")
    name = given if isinstance(given, str) else ""
    return {"name": naming.function_name(name, variant, position), **rest}


def with_marks(kptfile: bytes, variant: Variant) -> bytes:
    """Return a Kptfile with the labels and annotations of a variant, and its name; others stay.

    Raises:
        PackageError: As for `with_functions`.
    """
    root = _root(kptfile)
    metadata = dict(_map(root.get("metadata")))
    if variant.spec.labels:
        metadata["labels"] = {**_map(metadata.get("labels")), **variant.spec.labels}
    given = {**variant.spec.annotations, OWNER: variant.name}
    metadata["annotations"] = {**_map(metadata.get("annotations")), **given}
    changed = {**root, "metadata": metadata}
    return kptfile if changed == root else kptfile_text.write(kptfile, changed)


def _root(kptfile: bytes) -> dict[str, Value]:
    return _map(kptfile_text.document(read(kptfile, path="Kptfile"))[1].value)


def _map(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _list(value: Value) -> Sequence[Value]:
    return value if isinstance(value, list) else []


def kept_by(kptfile: Kptfile) -> set[str]:
    """Return the names of the variants that keep a package in step, as it says itself.

    Those of Porch put functions into a package: it goes on under ours.
    """
    owner = kptfile.annotations.get(OWNER, "")
    if owner:
        return {owner}
    functions = (*kptfile.mutators, *kptfile.validators)
    before = f"{naming.FUNCTION}."
    given = [each.name for each in functions if each.name.startswith(before)]
    return {each.removeprefix(before).rsplit(".", 2)[0] for each in given if each.count(".") > 2}
