r"""kustomize's field specs: a path of keys, for the resources of some group, version and kind.

Rules:
    - Keys are separated by slashes; `\/` is a slash within a key.
    - Lists on the way are entered whether the path says so (`containers[]`) or not.
    - What is missing or null is left alone; nothing is created here.

Source: kustomize, api/filters/fieldspec.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cadlib.yaml import Value
from fnrunner.builtin import resource
from fnrunner.builtin.resource import Path, ShapeError

_MOST_KEYS: Final = 100  # no resource is that deep


class FieldSpecError(Exception):
    """A field spec cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """Fields of some resources.

    Attributes:
        path: The keys that lead there.
        group: API group; "" for any.
        version: API version; "" for any.
        kind: Kind; "" for any.
    """

    path: tuple[str, ...]
    group: str = ""
    version: str = ""
    kind: str = ""

    def means(self, value: Value) -> bool:
        """Tell whether it is about a resource."""
        return (
            self.group in ("", resource.group(value))
            and self.version in ("", resource.version(value))
            and self.kind in ("", resource.kind(value))
        )


def read(value: Value, at: str) -> FieldSpec:
    """Read a field spec of a configuration.

    Args:
        value: A mapping with `path`, and perhaps `group`, `version` and `kind`.
        at: Where it stands, for the error.

    Raises:
        FieldSpecError: It has no path or one that is too long, or one of them is no text.
    """
    if not isinstance(value, dict):
        raise FieldSpecError(f"{at} must be a mapping with a `path`")
    texts = {}
    for key in ("path", "group", "version", "kind"):
        found = value.get(key)
        if not isinstance(found, str | None):
            raise FieldSpecError(f"{at}.{key} must be a text; put it in quotes")
        texts[key] = found or ""
    if not texts["path"].strip("/"):
        raise FieldSpecError(f"{at} must have a `path`")
    path = keys(texts["path"])
    if len(path) > _MOST_KEYS:
        raise FieldSpecError(f"{at}.path has {len(path)} keys, more than {_MOST_KEYS}")
    return FieldSpec(path, texts["group"], texts["version"], texts["kind"])


def keys(path: str) -> tuple[str, ...]:
    r"""Return the keys of a path such as `metadata/annotations/example.com\/a`."""
    parts = path.strip("/").replace(r"\/", "\0").split("/")
    return tuple(part.replace("\0", "/") for part in parts)


def change(
    value: Value, path: tuple[str, ...], new: Callable[[Value], Value], *, done: Path = ()
) -> Value:
    """Return a value with what stands at a path changed; the same object if nothing does.

    Args:
        value: A resource or a part of one; it stays as it is.
        path: The keys that lead there.
        new: Gets each value found, and returns the one wanted.
        done: Where `value` is, for the error.

    Raises:
        ShapeError: Something on the way is neither a mapping nor a list.
    """
    if value is None:
        return None
    if not path:
        return new(value)
    if isinstance(value, list):
        copy = [change(each, path, new, done=(*done, i)) for i, each in enumerate(value)]
        changed = any(one is not other for one, other in zip(copy, value, strict=True))
        return copy if changed else value
    if not isinstance(value, dict):
        raise ShapeError(done)
    key = path[0].removesuffix("[]")
    if key not in value:
        return value
    found = change(value[key], path[1:], new, done=(*done, key))
    return value if found is value[key] else {**value, key: found}
