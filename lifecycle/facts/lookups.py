"""What was looked up about a proposal because a command or the configuration asks for it.

Which commands ask for what: `lifecycle.commands.asked`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cadlib.diff.values import Change
from lifecycle.facts.drafts import DraftRequest, DraftState, DraftWait
from lifecycle.facts.open_drafts import OpenDrafts
from lifecycle.facts.origins import FieldOrigin
from lifecycle.facts.update import BaseUpdate
from lifecycle.facts.whole import Whole
from lifecycle.ledger import RemovalState, RevisionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookups:
    """What is only found out where somebody wants to know it, or the rules do.

    Attributes:
        update: What bringing it up to date comes to; None where nobody wants that.
        compared: Revisions that somebody asked to have it compared with: package to what differs,
            where there is such a revision.
        origins: What set the fields that somebody asks about, by what is asked; what is not in it
            was not looked into yet.
        new_fields: Fields of resources that it adds, with their packages, by what is asked; `diff`
            of a verdict tells such a resource as a whole.
        removed: Packages that it removes, and somebody wants removed with their revisions.
        revisions: Revisions that somebody wants withdrawn or deprecated, by package and number.
        drafts: Drafts that somebody with the right asks for, as far as they were worked out.
        open_drafts: On the dashboard issue, what was found out about packages that are asked about.
        whole: The repository; told only where somebody asks for something that is about it.
    """

    update: BaseUpdate | None = None
    compared: Mapping[int, Mapping[str, tuple[Change, ...]]] = field(default_factory=dict)
    origins: Mapping[str, tuple[FieldOrigin, ...]] = field(default_factory=dict)
    new_fields: Mapping[str, tuple[tuple[str, Change], ...]] = field(default_factory=dict)
    removed: Mapping[str, RemovalState] = field(default_factory=dict)
    revisions: Mapping[tuple[str, int], RevisionState] = field(default_factory=dict)
    drafts: Mapping[DraftRequest, DraftState] = field(default_factory=dict)
    open_drafts: OpenDrafts = field(default_factory=OpenDrafts)
    whole: Whole | None = None

    @property
    def known_packages(self) -> frozenset[str]:
        """Paths of the packages of the repository; empty where that was not looked up."""
        return frozenset() if self.whole is None else self.whole.packages

    @property
    def waiting_drafts(self) -> Mapping[DraftRequest, DraftWait]:
        """What waits for an upstream and was not given up, each thing once, whoever asks."""
        found: dict[DraftRequest, DraftWait] = {}
        for request, state in self.drafts.items():
            if state.waits is not None and not state.waits.over:
                found.setdefault(replace(request, asker=None), state.waits)
        return found
