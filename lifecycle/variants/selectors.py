"""Selectors over labels, as Kubernetes has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

IN, NOT_IN, EXISTS, ABSENT = "In", "NotIn", "Exists", "DoesNotExist"
OPERATORS: Final = (IN, NOT_IN, EXISTS, ABSENT)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One of `matchExpressions`: a key, one of `OPERATORS`, and values for the first two."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Tell whether labels are as it asks; what has no such label is in no list."""
        found = labels.get(self.key)
        match self.operator:
            case "In":
                return found is not None and found in self.values
            case "NotIn":
                return found is None or found not in self.values
            case "Exists":
                return found is not None
            case _:
                return found is None


@dataclass(frozen=True, slots=True)
class Selector:
    """Chooses by labels; one that asks for nothing chooses everything."""

    labels: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether something with these labels is chosen."""
        return all(labels.get(key) == value for key, value in self.labels.items()) and all(
            each.holds(labels) for each in self.requirements
        )
