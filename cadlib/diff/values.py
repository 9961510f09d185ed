"""Changes between two states of a package, as values: read without a parser of YAML."""

from dataclasses import dataclass
from enum import StrEnum

from cadlib.findings import ResourceRef

# Longest value shown in `str(change)`: about as much as fits beside a field in one line.
_SHOWN = 60


class ChangeKind(StrEnum):
    """What happened to a resource, field or file.

    A list whose elements are in another order has `ORDER`; `COMMENTS` and `LAYOUT` are
    said of resources whose value is the same.
    """

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    ORDER = "order changed"
    COMMENTS = "comments changed"
    LAYOUT = "layout changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference.

    `str()` gives one line, such as "deploy.yaml: Deployment shop/cart:
    spec.replicas: 3 -> 4", with long values cut.

    Attributes:
        path: File; the new one for a resource that moved.
        kind: Added, removed or changed.
        resource: The resource; None when it is the file as a whole.
        field: The field, such as "spec.replicas"; "" for the whole resource or file,
            "mode" for a file whose mode changed.
        old: Its value before, as text; None if it had none or it is not shown.
        new: Its value after, likewise.
    """

    path: str
    kind: ChangeKind
    resource: ResourceRef | None = None
    field: str = ""
    old: str | None = None
    new: str | None = None

    def __str__(self) -> str:
        parts = [self.path]
        if self.resource:
            name = "/".join(filter(None, (self.resource.namespace, self.resource.name)))
            parts.append(f"{self.resource.kind} {name}")
        parts += [self.field] if self.field else []
        if self.old is not None and self.new is not None:
            parts.append(f"{_short(self.old)} -> {_short(self.new)}")
        elif self.old is not None:
            parts.append(f"removed {_short(self.old)}")
        elif self.new is not None:
            parts.append(f"added {_short(self.new)}")
        else:
            parts.append(self.kind)
        return ": ".join(parts)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."
