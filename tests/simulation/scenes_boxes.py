"""Scenes about boxes of the dashboard issue: what they approve, propose and upgrade, and for whom.

The issue is written every five minutes, so that a scene waits for its box.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from bot.sandbox.records.repository import Pull
from tests.simulation.boxes import Box, boxes, ticking
from tests.simulation.deeds import scenes
from tests.simulation.forge_calls import LOST
from tests.simulation.hands import Hands, ImpossibleError
from tests.simulation.moves import content, writer
from tests.simulation.moves_boxes import alter, clicker, offered
from tests.simulation.moves_dashboard import issue
from tests.simulation.moves_variants import there
from tests.simulation.scenery import Stage
from tests.simulation.scenes_variants import Play
from tests.simulation.setting import ADMIN, ADVERSARY, HONEST, MAIN, WRITERS
from tests.simulation.variants import UPSTREAM
from tests.simulation.weather import FORGE, Mishap

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

SCENES = scenes()

PATIENCE = 420.0
"""Seconds that a scene waits for a box: the issue is written every 300."""


class Board:
    """The dashboard issue of a history.

    Args:
        s: The history.
    """

    def __init__(self, s: "Simulation") -> None:
        if not s.boxed or not s.begun:
            raise ImpossibleError
        self.s = s
        self.hands: Hands = s.hands

    def offers(self, said: str) -> Box:
        """Wait for a box whose command begins so."""
        end = self.s.loop.now + PATIENCE
        while True:
            try:
                found = [each for each in offered(issue(self.hands)) if each.said.startswith(said)]
            except ImpossibleError:
                found = []
            if found:
                return found[-1]
            if self.s.loop.now > end:
                raise ImpossibleError
            self.s.pass_time(30.0)

    def text(self) -> str:
        """What the issue says."""
        return issue(self.hands).body or ""

    def rewrites(self, who: str, text: str) -> None:
        """Somebody writes the issue, where it says something else."""
        with self.s.forge.change():
            self.hands.rewrite(who, issue(self.hands), text)

    def ticks(self, who: str, said: str, text: str = "") -> None:
        """Somebody ticks the box with a command, in the text that stands there, or in another."""
        text = text or self.text()
        found = [each for each in boxes(text) if each.said == said and not each.ticked]
        self.rewrites(who, ticking(text, self.hands.one(found)))


def _by_whoever(a: Stage, board: Board, box: Box) -> None:
    board.ticks(clicker(a.hands), box.said)


def _by_author(a: Stage, board: Board, box: Box) -> None:
    board.ticks(a.author, box.said)


def _pushed(a: Stage, board: Board, box: Box) -> None:
    """The head moves, and whoever has the page open ticks what it shows."""
    shown = board.text()
    files = content(a.hands.draw, a.package, sound=True)
    a.does(lambda: a.hands.commit(a.author, a.branch, files, "more"))
    a.passes(a.hands.one((0.0, 1.0, 8.0)))
    board.ticks(ADMIN, box.said, shown)


def _altered(a: Stage, board: Board, box: Box) -> None:
    """The adversary writes other words to it first."""
    a.does(lambda: alter(a.hands))
    a.passes(a.hands.one((0.0, 0.0, 2.0)))
    for each in offered(issue(a.hands)):
        if each.said == box.said:
            board.ticks(ADMIN, each.said)
            return
    raise ImpossibleError


def _again(a: Stage, board: Board, box: Box) -> None:
    """It is ticked, and once more by a page that somebody still had open."""
    shown = board.text()
    board.ticks(ADMIN, box.said, shown)
    a.passes(a.hands.one((0.0, 1.0, 8.0)))
    board.rewrites(ADMIN, shown)
    board.ticks(a.hands.one((ADMIN, *WRITERS)), box.said, shown)


def _deprived(a: Stage, board: Board, box: Box) -> None:
    """Whoever ticked it loses the right before anybody looks."""
    h: Hands = a.hands
    who = h.one([w for w in (*WRITERS, ADMIN) if w != a.author])
    was = h.level(who)
    a.does(lambda: h.role(who, "admin"))
    a.passes(20)
    board.ticks(who, box.said)
    a.does(lambda: h.role(who, "write"))
    a.passes(20)
    a.does(lambda: h.role(who, was))


def _all(a: Stage, board: Board, box: Box) -> None:
    """Several people tick it at once."""
    for who in (ADMIN, *WRITERS):
        shown = board.text()
        board.rewrites(who, ticking(shown, *[e for e in boxes(shown) if e.said == box.said]))
        board.rewrites(who, shown)


TWISTS: dict[str, Callable[[Stage, Board, Box], None]] = {
    "": lambda a, board, box: board.ticks(ADMIN, box.said),
    "by whoever": _by_whoever,
    "by its author": _by_author,
    "by the adversary": lambda a, board, box: board.ticks(ADVERSARY, box.said),
    "pushed to": _pushed,
    "altered": _altered,
    "ticked again": _again,
    "without the right by then": _deprived,
    "by all of them": _all,
}
"""How a box that approves is ticked."""


@SCENES.add("box: a proposal is approved by it", 6)
def approved(s: "Simulation") -> str:
    board = Board(s)
    a = Stage(s)
    people = [w for w in HONEST if w not in (a.author, ADMIN) and a.may(w)]
    for who in people[: max(1, a.rules.require) - 1]:
        a.approves(who)
    box = board.offers(f"approve {a.pull.head_sha}")
    how = a.hands.one(("", "altered", *sorted(TWISTS)))
    a.passes(a.hands.one((0.0, 3.0)))
    TWISTS[how](a, board, box)
    a.passes(25)
    return f"the box of #{a.pull.number} is ticked{how and f': {how}'}"


@SCENES.add("box: drafts are proposed by it", 3)
def proposed(s: "Simulation") -> str:
    board = Board(s)
    play = Play(s)
    h = play.hands
    who, branch, package = writer(h), h.fresh("draft"), h.one(h.packages)
    pulls = list[Pull]()

    def opened() -> None:
        h.commit(who, branch, content(h.draw, package, sound=True), "w", onto=h.tip(MAIN))
        pulls.append(h.open(who, branch, MAIN, f"Draft {package}", draft=True))

    play.does(opened)
    board.offers(f"propose {pulls[0].head_sha}")
    by = clicker(h)
    found = [each for each in offered(issue(h)) if each.word == "propose"]
    some = found if h.chance(0.3) else [e for e in found if e.pull == pulls[0].number]
    board.rewrites(by, ticking(board.text(), *some))
    play.passes(25)
    return f"{by} ticks the boxes that propose {', '.join(f'#{each.pull}' for each in some)}"


@SCENES.add("box: a package is upgraded by it", 5)
def upgraded(s: "Simulation") -> str:
    board = Board(s)
    play = Play(s)
    h = play.hands
    made = [p for p in h.packages if p != UPSTREAM and there(h, f"{p}/Kptfile")]
    package = h.one(made)
    if not any(each.said.startswith(f"upgrade {package} ") for each in _shown(board)):
        play.does(lambda: h.commit(ADMIN, MAIN, _made(play, package), "made of v1"))
        if f"refs/tags/{UPSTREAM}/v2" not in h.repo.refs:
            play.publishes()
    box = board.offers(f"upgrade {package} ")
    by, shown = clicker(h), board.text()
    how, branch = h.one(("", "", "closed", "again", "closed unseen")), f"drafts/{package}/upgrade"
    lost = Mishap("502 once it was done", FORGE, 0, LOST, of="open_proposal")
    if how == "closed unseen" and not s.manner.calm:
        s.weather.coming.append(lost)
    board.ticks(by, box.said)
    if lost in s.weather.coming:  # before the bot asks again whether it opened it
        end = s.loop.now + 20
        while lost in s.weather.coming and s.loop.now < end:
            s.pass_time(0.25)
        for each in [p for p in h.repo.open_pulls.values() if p.head_ref == branch]:
            play.does(partial(h.turn, writer(h), each, "closed"))
        s.weather.coming[:] = [each for each in s.weather.coming if each is not lost]
    play.passes(h.one((0.0, 20.0)))
    if how == "again":
        board.rewrites(by, shown)
        board.ticks(clicker(h), box.said, shown)
    play.passes(20)
    drafts = [p for p in h.repo.open_pulls.values() if p.head_ref == branch]
    if how == "closed" and drafts:
        play.does(lambda: h.turn(writer(h), drafts[0], "closed"))
        play.passes(20)
    elif drafts and h.chance(0.4):
        play.proposes(drafts[0], writer(h))
        play.approves(drafts[0])
    return f"{by} ticks the box {box.said}{how and f', {how}'}"


def _shown(board: Board) -> list[Box]:
    try:
        return offered(issue(board.hands))
    except ImpossibleError:
        return []


def _made(play: Play, package: str) -> dict[str, bytes | None]:
    """A package as made of the upstream's first revision, as people write that down."""
    h = play.hands
    first = h.repo.refs.get(f"refs/tags/{UPSTREAM}/v1")
    if first is None:
        raise ImpossibleError
    tag = h.state.git(h.repo).tag(first)
    git = f"repo: {play.s.forge.url(h.repo)}, directory: /{UPSTREAM}, ref: {UPSTREAM}/v1"
    name = package.replace("/", "-")
    text = (
        f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n"
        f"upstream: {{type: git, git: {{{git}}}, updateStrategy: resource-merge}}\n"
        f"upstreamLock: {{type: git, git: {{{git}, commit: {tag.target}}}}}\n"
    )
    return {f"{package}/Kptfile": text.encode()}
