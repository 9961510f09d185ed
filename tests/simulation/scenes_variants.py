"""Scenes about variants: an upstream goes on, and what is made of it is taken up, or stopped.

In the last of them an adversary, who may write, tries to have something approved by a rule.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bot.sandbox.git import trees
from bot.sandbox.git.objects import TagObject
from bot.sandbox.records.accounts import Role
from bot.sandbox.records.repository import Pull
from tests.simulation.beyond import ZONE
from tests.simulation.catalog import CAST
from tests.simulation.deeds import scenes
from tests.simulation.hands import Hands, ImpossibleError
from tests.simulation.moves import content, writer
from tests.simulation.moves_variants import of_variants, package_of, wish, written
from tests.simulation.scenery import Stage, rules_of
from tests.simulation.setting import (
    ADMIN,
    ADVERSARY,
    AUTOMATIC,
    CONFIG,
    HONEST,
    MAIN,
    RELEASE,
    WRITERS,
    resource,
)
from tests.simulation.variants import DOWNSTREAMS, EDGES, OLD, SHOP, SITES, UPSTREAM, Wish

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

SCENES = scenes()


class Play:
    """A history with variants, and what is often done in it.

    Args:
        s: The history.
    """

    def __init__(self, s: "Simulation") -> None:
        if not s.begun or not s.hands.varied:
            raise ImpossibleError
        self.s = s
        self.hands: Hands = s.hands
        if not s.hands.repo.refs.below(f"refs/tags/{UPSTREAM}/v"):
            self.publishes()

    def does(self, act: Callable[[], object]) -> None:
        """Somebody does something at the forge."""
        with self.s.forge.change():
            act()

    def passes(self, seconds: float) -> None:
        """Time passes, a little more or less."""
        self.s.pass_time(seconds * (0.5 + self.hands.draw.random()))

    def writes(self, rule: Wish) -> None:
        """The owner pushes a rule, where it does not stand there yet."""
        there = written(self.hands)
        if any(there.get(path) != text for path, text in rule.files.items()):
            self.does(lambda: self.hands.commit(ADMIN, MAIN, rule.files, "rule"))

    def publishes(self) -> str:
        """The upstream is published once more."""
        a = Stage(self.s, package=UPSTREAM)
        a.approve(a.judges())
        self.passes(15)
        return f"#{a.pull.number}"

    def lets_rules_approve(self) -> None:
        """What variants ask for is published by itself from now on."""
        if not rules_of(self.hands).automatic:
            text = self.hands.as_here(self.hands.one(AUTOMATIC)).text
            self.does(lambda: self.hands.commit(ADMIN, MAIN, {CONFIG: text}, "rules"))
            self.passes(3)

    def one_of(self, package: str = "") -> Pull:
        """An open pull request of a variant."""
        found = [p for p in of_variants(self.hands) if package in ("", package_of(p))]
        return self.hands.one(found[-3:])

    def proposes(self, pull: Pull, who: str) -> None:
        """Somebody makes it a proposal."""
        if pull.draft and pull.state == "open":
            self.does(lambda: self.hands.say(who, pull, "/propose", "propose"))
            self.passes(4)

    def approves(self, pull: Pull) -> None:
        """As many approve as rules ask for at most."""
        people = [w for w in HONEST if self.hands.can(w, Role.WRITE)][:3]
        for who in people:
            self.does(lambda w=who: self.hands.say(w, pull, "/approve", "approve"))  # type: ignore[misc]
            self.passes(1)
        self.passes(15)

    def drafted(self, *, asap: bool) -> tuple[Wish, Pull]:
        """A rule, and the draft that was made by it."""
        h = self.hands
        rule = wish(h, h.one((SHOP, SHOP, EDGES[0])), asap=asap)
        self.writes(rule)
        self.passes(25)
        return rule, self.one_of(rule.names[0])


@SCENES.add("variant: its upstream is published", 3)
def upstream(s: "Simulation") -> str:
    play = Play(s)
    told = play.publishes()
    play.passes(15)
    return f"{UPSTREAM} is published by {told}"


@SCENES.add("variant: what it asks for is approved", 3)
def approved(s: "Simulation") -> str:
    play = Play(s)
    pull = play.one_of()
    play.proposes(pull, writer(play.hands))
    play.approves(pull)
    return f"#{pull.number} of a variant is approved"


@SCENES.add("variant: published by its rule", 2)
def by_rule(s: "Simulation") -> str:
    play = Play(s)
    play.lets_rules_approve()
    h = play.hands
    rule = wish(h, h.one(((SHOP,), EDGES[:2]))[0], asap=True)
    play.writes(rule)
    play.passes(30)
    if h.chance(0.7):
        play.publishes()
        play.passes(15)
    return f"what it asks for needs nobody: {rule}"


@SCENES.add("variant: closed by a person, and asked for again", 2)
def closed(s: "Simulation") -> str:
    play = Play(s)
    h = play.hands
    pull, who = play.one_of(), writer(h)
    if h.chance(0.3):
        play.does(lambda: h.commit(who, h.own_branch(pull), content(h.draw, package_of(pull)), "x"))
        play.passes(8)
    play.does(lambda: h.turn(who, pull, "closed"))
    play.passes(25)
    if h.chance(0.4):
        s.pass_time(1000.0)
    how = h.one(("", "", "upstream", "rule"))
    if how == "rule" and package_of(pull) in (CAST, ZONE):
        how = ""  # other rules ask for it, and the oracle knows of no further ones
    if how == "upstream":
        play.publishes()
    elif how == "rule":
        play.writes(wish(h, package_of(pull)))
    play.passes(20)
    return f"{who} closes #{pull.number} of a variant{how and f', then the {how} changes'}"


@SCENES.add("variant: rolled back and held", 2)
def held(s: "Simulation") -> str:
    play = Play(s)
    h = play.hands
    tags = [
        r.removeprefix("refs/tags/").rpartition("/v")
        for p in DOWNSTREAMS
        for r in h.repo.refs.below(f"refs/tags/{p}/v")
    ]
    package, _, number = h.one(tags)
    who, on = writer(h), h.pull()
    word = f"/rollback {package}@v{number} it was worse"
    play.does(lambda: h.say(who, on, word, "rollback"))
    play.passes(15)
    head = f"drafts/{package}/rollback-v{number}"
    pull = h.one([p for p in h.repo.open_pulls.values() if p.head_ref == head])
    play.proposes(pull, who)
    play.approves(pull)
    play.publishes()
    play.passes(15)
    if h.chance(0.4):
        play.does(lambda: h.say(who, h.pull(), f"/resume {package}", "resume"))
        play.passes(15)
    return f"{who} rolls {package} back to v{number} by #{pull.number}"


@SCENES.add("variant: its rule goes, and comes back", 1.5)
def gone(s: "Simulation") -> str:
    play = Play(s)
    h = play.hands
    path = h.one(sorted(written(h).keys() - {SITES}))
    text = written(h)[path]
    play.does(lambda: h.commit(ADMIN, MAIN, {path: None}, "no rule"))
    play.passes(25)
    how = h.one(("approved", "closed", "back", ""))
    removals = [p for p in of_variants(h) if p.title.startswith("Remove ")]
    if how == "approved" and removals:
        play.approves(removals[-1])
    elif how == "closed" and removals:
        play.does(lambda: h.turn(writer(h), removals[-1], "closed"))
        play.passes(20)
    if how:
        play.does(lambda: h.commit(ADMIN, MAIN, {path: text}, "rule again"))
        play.passes(20)
    return f"{path} goes{how and f', is {how}, and comes back'}"


@SCENES.add("variant: changed here and upstream", 3)
def changed_twice(s: "Simulation") -> str:
    play = Play(s)
    play.lets_rules_approve()
    h, rule = play.hands, Wish(names=(SHOP,), asap=True, adopts=True)
    play.writes(rule)
    play.passes(30)
    for pull in of_variants(h):
        if package_of(pull) == SHOP:
            play.proposes(pull, writer(h))
    a = Stage(s, package=SHOP)
    mine = {f"{SHOP}/{n}.yaml": resource(n, h.fresh("mine")) for n in "ab"}
    a.does(lambda: h.commit(a.author, a.branch, mine, "ours"))
    a.passes(3)
    a.approve(a.judges())
    a.passes(15)
    told = play.publishes()
    play.passes(25)
    for pull in of_variants(h):
        if package_of(pull) == SHOP:
            play.proposes(pull, writer(h))
    play.passes(20)
    return f"#{a.pull.number} changes {SHOP}, and {told} its upstream"


# --- an adversary ---------------------------------------------------------------------------------


def _eve(h: Hands) -> str:
    if not h.can(ADVERSARY, Role.WRITE):
        raise ImpossibleError
    return ADVERSARY


def _forged(play: Play, pull: Pull, rule: Wish) -> None:
    """A commit with the bot's name and words, and other content."""
    h, branch = play.hands, play.hands.own_branch(pull)
    commit = h.state.git(h.repo).commit(pull.head_sha)
    us, files = play.s.forge.us.login, content(h.draw, rule.names[0], sound=True)
    onto = h.one(("", h.tip(MAIN)))
    word = commit.message.rstrip("\n")
    h.commit(_eve(h), branch, files, word, onto=onto, author=us, committer=us)


def _older(play: Play, pull: Pull, _: Wish) -> None:
    """A head that the bot has made before."""
    h, ref = play.hands, f"refs/heads/{pull.head_ref}"
    heads = [e.after for e in h.diary.of_ref[ref] if e.after.strip("0")]
    h.push(_eve(h), ref, h.one([e for e in heads if e != pull.head_sha]))


def _number(play: Play) -> int:
    """A number that no draft has."""
    return 20 + int(play.hands.fresh("n")[1:])


def _beside(play: Play, pull: Pull, rule: Wish) -> None:
    """Another branch of the name of a variant's, with the bot's own commit or one like it."""
    h, branch = play.hands, f"drafts/{rule.names[0]}/packagevariant-{_number(play)}"
    if h.chance(0.5):
        h.push(_eve(h), f"refs/heads/{branch}", pull.head_sha)
    else:
        word = h.state.git(h.repo).commit(pull.head_sha).message.rstrip("\n")
        files = content(h.draw, rule.names[0], sound=True)
        h.commit(_eve(h), branch, files, word, onto=pull.head_sha)
    h.open(ADVERSARY, branch, MAIN, pull.title)


def _tagged(play: Play, pull: Pull, _: Wish) -> None:
    """A tag at the upstream that nobody approved: a newer one, or one that is there, moved."""
    h, git = play.hands, play.hands.state.git(play.hands.repo)
    tags = h.repo.refs.below(f"refs/tags/{UPSTREAM}/v")
    last = h.one(list(tags))
    number = int(last.rpartition("/v")[2]) + (0 if h.chance(0.4) else 3)
    old = git.tag(h.repo.refs[last])
    sha = h.commit(
        _eve(h), h.fresh("up"), content(h.draw, UPSTREAM, sound=True), "x", onto=old.target
    )
    name = f"{UPSTREAM}/v{number}"
    tag = TagObject(name=name, target=sha, kind="commit", tagger=old.tagger, message=old.message)
    h.push(ADVERSARY, f"refs/tags/{name}", git.write_tag(tag))


def _with_rule(play: Play, pull: Pull, rule: Wish) -> None:
    """Its own rule, changed beside what it asks for."""
    h = play.hands
    text = Wish(names=rule.names, label="eve", asap=True).text
    h.commit(_eve(h), h.own_branch(pull), {rule.path: text}, "rule")


def _merged_with_rules(play: Play, pull: Pull, rule: Wish) -> None:
    """Merged by a push of her own, and the merge changes what judges others besides."""
    h, git, package = play.hands, play.hands.state.git(play.hands.repo), rule.names[0]
    if pull.state != "open":
        raise ImpossibleError
    shown = trees.entry_at(git, pull.head_sha, package)
    below = git.tree(shown.sha) if shown is not None else ()
    made = {f"{package}/{e.name}": git.blob(e.sha) for e in below}
    other = Wish(names=(OLD,), label="eve", adopts=True)
    more = h.one(((other.path, other.text), (CONFIG, h.one(AUTOMATIC).text)))
    word, parents = f"Merge pull request #{pull.number}", (h.tip(MAIN), pull.head_sha)
    h.commit(_eve(h), MAIN, {**made, more[0]: more[1]}, word, parents=parents)


def _rule_changed(play: Play, pull: Pull, rule: Wish) -> None:
    """The rule asks for something else, or for nothing, just then."""
    other = Wish(names=rule.names, label="green", revision=rule.revision, follow=rule.follow)
    text = play.hands.one((other.text, None))
    play.hands.commit(ADMIN, MAIN, {rule.path: text}, "other rule")


TWISTS: dict[str, Callable[[Play, Pull, Wish], object]] = {
    "pushed to": lambda play, pull, rule: play.hands.commit(
        _eve(play.hands),
        play.hands.own_branch(pull),
        content(play.hands.draw, rule.names[0], sound=True),
        "x",
    ),
    "forged": _forged,
    "an older head": _older,
    "another branch": _beside,
    "a tag at the upstream": _tagged,
    "with its rule": _with_rule,
    "the rule changes": _rule_changed,
    "retargeted": lambda play, pull, _: play.hands.retarget(_eve(play.hands), pull, RELEASE),
    "held": lambda play, pull, _: play.hands.say(play.hands.one(WRITERS), pull, "/hold", "hold"),
    "merged with other rules": _merged_with_rules,
    "merged past the bot": lambda play, pull, _: play.hands.merge(_eve(play.hands), pull),
}
"""What happens to a variant's draft before it would be published by a rule."""


@SCENES.add("attack: variant: approved by its rule", 4)
def attacked(s: "Simulation") -> str:
    play = Play(s)
    h = play.hands
    play.lets_rules_approve()
    rule, pull = play.drafted(asap=False)
    twist = h.one(sorted(TWISTS))
    if twist == "an older head":
        play.publishes()
        play.passes(15)
    late = h.chance(0.5)
    if not late:
        play.does(lambda: TWISTS[twist](play, pull, rule))
        if h.chance(0.6):
            play.passes(6)
    every = [p for p in of_variants(h) if package_of(p) == rule.names[0]]
    for each in every:
        play.does(lambda p=each: h.say(_eve(h), p, "/propose", "propose"))  # type: ignore[misc]
    if late:
        s.rest(int(h.draw.random() * 120))
        play.does(lambda: TWISTS[twist](play, pull, rule))
    play.passes(15)
    if twist == "a tag at the upstream":
        for each in of_variants(h):
            play.proposes(each, ADVERSARY)
        play.passes(15)
    return f"#{pull.number} of a variant, approved by its rule: {twist}"
