"""Requirements on keys and their values, as Kubernetes has them for labels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

IN, NOT_IN, EXISTS, ABSENT = "In", "NotIn", "Exists", "DoesNotExist"
OPERATORS: Final = (IN, NOT_IN, EXISTS, ABSENT)


def _equal(found: str, wanted: str) -> bool:
    return found == wanted


@dataclass(frozen=True, slots=True)
class Requirement:
    """One of `matchExpressions`: a key, one of `OPERATORS`, and values for the first two."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Tell whether labels are as it asks; what has no such label is in no list."""
        return self.holds_of(labels.get(self.key))

    def holds_of(self, found: str | None, same: Callable[[str, str], bool] = _equal) -> bool:
        """Tell whether what was found under its key is as it asks.

        Args:
            found: The value there; None for none.
            same: Whether a value that was found is one that was written.
        """
        match self.operator:
            case "In":
                return found is not None and any(same(found, each) for each in self.values)
            case "NotIn":
                return found is None or not any(same(found, each) for each in self.values)
            case "Exists":
                return found is not None
            case _:
                return found is None


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Chooses by labels; one that asks for nothing chooses everything."""

    labels: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[Requirement, ...] = ()

    @property
    def steps(self) -> int:
        """What matching takes, where 1 is that of a plain one: each value is compared by itself."""
        values = sum(len(each.values) for each in self.requirements)
        return 1 + (len(self.labels) + 4 * len(self.requirements) + values) // 8

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether something with these labels is chosen."""
        return all(labels.get(key) == value for key, value in self.labels.items()) and all(
            each.holds(labels) for each in self.requirements
        )
