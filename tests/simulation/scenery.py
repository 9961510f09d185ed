"""What scenes are made of: a proposal that could be published, and those who may do that together.

A scene is what several people do one after the other, with time between. Of a proposal that could
be published one thing is taken away, by somebody who may do so or by somebody who may not: each
comes near to one defence, which chance alone would do too rarely to tell whether it is there.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from bot.sandbox.git import trees
from bot.sandbox.records.accounts import Role
from bot.sandbox.records.repository import Comment, Pull
from tests.simulation.hands import Hands, ImpossibleError
from tests.simulation.moves import content, writer
from tests.simulation.setting import (
    ADMIN,
    BY_TEXT,
    CONFIG,
    DEFAULT,
    HONEST,
    MAIN,
    RulesText,
    may,
)

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

T = TypeVar("T")


class Stage:
    """A sound proposal, and those who may publish it together.

    Args:
        s: The history.
        rules: Those that are made the main branch's before; None for those that it has.
        package: Which one it changes; "" for any.
    """

    def __init__(self, s: "Simulation", rules: RulesText | None = None, package: str = "") -> None:
        if not s.begun:
            raise ImpossibleError
        self.s, self.hands = s, s.hands
        self.author = writer(s.hands)
        rules = None if rules is None else s.hands.as_here(rules)
        if rules is not None and rules_of(s.hands) != rules:
            text = rules.text
            self.does(lambda: s.hands.commit(ADMIN, MAIN, {CONFIG: text}, "rules"))
            self.passes(3)
        self.rules = rules_of(s.hands)
        self.package = package or s.hands.one(s.hands.packages)
        self.branch = s.hands.fresh("ready")
        self.pull = self.does(self._open)
        self.passes(3)

    def _open(self) -> Pull:
        h = self.hands
        files = content(h.draw, self.package, sound=True)
        h.commit(self.author, self.branch, files, "ready", onto=h.tip(MAIN))
        return h.open(self.author, self.branch, MAIN, f"Ready {self.package}")

    def does(self, act: Callable[[], T]) -> T:
        """Somebody does something at the forge."""
        with self.s.forge.change():
            return act()

    def passes(self, seconds: float) -> None:
        """Time passes, a little more or less."""
        self.s.pass_time(seconds * (0.5 + self.hands.draw.random()))

    def says(self, who: str, word: str) -> Comment:
        """Somebody writes a command."""
        return self.does(lambda: self.hands.say(who, self.pull, f"/{word}", word))

    def judges(self, *first: str, apart: tuple[str, ...] = ()) -> list[str]:
        """As many as must approve it, these first; none of them wrote it, or stands apart."""
        h = self.hands
        others = [w for w in HONEST if w not in (*first, *apart, self.author) and self.may(w)]
        found = [*first, *others][: max(1, self.rules.require)]
        if len(found) < self.rules.require or not all(self.may(who) for who in found):
            raise ImpossibleError
        if h.chance(0.5):
            found.reverse()
        return found

    def may(self, who: str) -> bool:
        """Whether the rules let somebody approve."""
        return may(self.hands.level(who), who, self.rules)

    def approves(self, who: str) -> None:
        """By a command, or by a review."""
        if self.hands.chance(0.6):
            self.says(who, "approve")
        else:
            self.does(lambda: self.hands.review(who, self.pull, "APPROVE"))

    def approve(self, people: list[str]) -> None:
        """All of them approve."""
        for who in people:
            self.approves(who)
            self.passes(1)

    def ours(self) -> list[Comment]:
        """The bot's comments on it."""
        return self.hands.ours(self.pull)

    def until(self, holds: Callable[[], object], seconds: float = 30.0) -> None:
        """Wait until something holds, and not a moment longer than that."""
        end = self.s.loop.now + seconds
        while not holds():
            if self.s.loop.now > end:
                raise ImpossibleError
            if self.s.rest(2):
                self.s.pass_time(0.2)


def rules_of(h: Hands) -> RulesText:
    """Those of the main branch, where they ask for somebody else's approval."""
    git = h.state.git(h.repo)
    entry = trees.entry_at(git, h.tip(MAIN), CONFIG)
    found = DEFAULT if entry is None else BY_TEXT.get(git.blob(entry.sha))
    if found is None or found.broken:
        raise ImpossibleError
    return found


def holder(h: Hands) -> str:
    return h.one([who for who in HONEST if h.can(who, Role.WRITE)])


def approved_and_held(
    s: "Simulation", *, by: str, rules: RulesText | None = None
) -> tuple[Stage, list[str], str]:
    """Approved, by a command or a review, and held meanwhile."""
    a = Stage(s, rules)
    who, judges = holder(a.hands), a.judges()
    a.says(who, "hold")
    a.passes(6)
    for judge in judges:
        if by == "command":
            a.says(judge, "approve")
        else:
            a.does(lambda j=judge: a.hands.review(j, a.pull, "APPROVE"))  # type: ignore[misc]
        a.passes(1)
    a.passes(15)
    return a, judges, who


def released(a: Stage, who: str) -> None:
    a.passes(6)
    a.says(who, "unhold")
    a.passes(20)
