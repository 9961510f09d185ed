"""The catalog's `set-name-prefix`: puts one prefix of names in the place of another.

Rules:
    - A name that is the old prefix, or begins with it and a hyphen, gets the new one in its place.
    - The new prefix is the package's name, from the package's context, unless one is given.
    - Local configuration and kpt's inventory keep their names. References follow
      (name_references).

Source: the catalog's functions/go/set-name-prefix.
"""

from dataclasses import dataclass, replace
from typing import Final

from cadlib.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import name_references, resource, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.verdict import Verdict

ABOUT: Final = About(
    tags=(),  # the catalog has it without a release
    summary="Puts one prefix of names in the place of another, such as the package's name.",
    doc="""\
A ConfigMap with `prefix`, the new one (the package's name if none is given), and `oldPrefix`, the
one to replace (`packagename` if none is given). Without a configuration both are the defaults.

`packagename` and `packagename-web` become `NEW` and `NEW-web`; `packagenames` stays. Local
configuration keeps its names. References in Kubernetes' own kinds follow, and so does the
annotation `config.kubernetes.io/depends-on`.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: prefix
data:
  prefix: shop
  oldPrefix: packagename
""",
)

_OLD: Final = "packagename"
_CONTEXT: Final = "kptfile.kpt.dev"  # the ConfigMap that kpt keeps the package's name in


class _RefusedError(Exception):
    """The function cannot begin; the text says why."""


@dataclass(frozen=True, slots=True)
class _Prefixes:
    old: str
    new: str

    def edited(self, name: str) -> str:
        if name == self.old or name.startswith(f"{self.old}-"):
            return self.new + name.removeprefix(self.old)
        return name


def run(resources: ResourceList) -> Verdict:
    """Rename the resources."""
    items = resources.items
    try:
        prefixes = _read(resources.config, items)
    except _RefusedError as error:
        return verdict.refused(items, verdict.result(str(error), "error"))
    olds = [resource.name(item.value) for item in items]
    news = [
        prefixes.edited(old) if _may_change(item.value) else old
        for old, item in zip(olds, items, strict=True)
    ]
    values = name_references.renamed(
        [item.value for item in items], {i: new for i, new in enumerate(news) if new != olds[i]}
    )
    return Verdict(
        items=tuple(
            item if item.value is value else replace(item, value=value)
            for item, value in zip(items, values, strict=True)
        ),
        results=(),
    )


def _may_change(value: Value) -> bool:
    inventory = (resource.group(value), resource.kind(value)) == ("kpt.dev", "ResourceGroup")
    return not inventory and not resource.is_local(value)


def _read(config: Value, items: tuple[Item, ...]) -> _Prefixes:
    kind, api_version = resource.kind(config), resource.api_version(config)
    if config and (kind, api_version) != ("ConfigMap", "v1"):
        raise _RefusedError(
            f"functionConfig error: unknown functionConfig Kind {api_version}, Kind={kind};"
            " give a ConfigMap"
        )
    data = resource.field(config, "data")
    if not isinstance(data, dict | None):
        raise _RefusedError("functionConfig error: `data` must be a mapping")
    old = _text(data or {}, "oldPrefix", _OLD)
    new = _text(data or {}, "prefix", "")
    if not old:
        raise _RefusedError("`data.oldPrefix` should not be empty")
    if not new and "prefix" in (data or {}):
        raise _RefusedError("`data.prefix` should not be empty")
    return _Prefixes(old, new or _package_name(items))


def _text(data: dict[str, Value], key: str, default: str) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise _RefusedError(f"functionConfig error: `data.{key}` must be a text; put it in quotes")
    return value


def _package_name(items: tuple[Item, ...]) -> str:
    """Return the package's name, from its context."""
    found = [
        item.value
        for item in items
        if resource.is_local(item.value) and resource.name(item.value) == _CONTEXT
    ]
    if not found:
        raise _RefusedError("unable to find package context object")
    if len(found) > 1:
        raise _RefusedError("found multiple matches for package-context object")
    name = resource.text(resource.field(found[0], "data", "name"))
    if not name:
        raise _RefusedError("package name (data.name) not set in package context object")
    return name
