"""What a variant writes into the package context: keys set, and keys taken away."""

from cadlib.errors import PackageError, Place
from cadlib.package.source import ref
from cadlib.render.context import FILE, NAME
from cadlib.yaml import Value, edit, read
from lifecycle.messages import variants as messages
from lifecycle.variants.values import VariantSpec


def with_context(data: bytes | None, spec: VariantSpec) -> bytes | None:
    """Return the package context with what a variant wants in it.

    Args:
        data: The file `package-context.yaml`; None where there is none.
        spec: What is asked for.

    Raises:
        PackageError: Keys are asked for, and there is no context to put them into.
    """
    if not spec.context and not spec.context_removed:
        return data
    if data is None:
        raise PackageError(Place(FILE), *messages.NO_CONTEXT)
    stream = read(data, path=FILE)
    for position, document in enumerate(stream.documents):
        found = ref(document.value)
        value = document.value
        if isinstance(value, dict) and (found.kind, found.name) == ("ConfigMap", NAME):
            return edit(stream, {position: _changed(value, spec)})
    raise PackageError(Place(FILE), *messages.no_context_in(NAME))


def _changed(value: dict[str, Value], spec: VariantSpec) -> Value:
    given = value.get("data")
    if not isinstance(given, dict):
        raise PackageError(Place(FILE, field="data"), *messages.NO_CONTEXT_DATA)
    added = {key: spec.context[key] for key in sorted(spec.context)}
    wanted: dict[str, Value] = {**given, **added}
    for key in spec.context_removed:
        wanted.pop(key, None)
    return {**value, "data": wanted}
