"""What people do about variants: rules written, changed and taken away, drafts touched and closed.

Rules come in by a push of the owner, or by a pull request that somebody else merges by hand.
"""

from bot.sandbox.git import trees
from bot.sandbox.records.repository import Pull
from tests.simulation.hands import Hands, ImpossibleError
from tests.simulation.moves import Moves, content, writer
from tests.simulation.setting import ADMIN, HONEST, MAIN
from tests.simulation.variants import (
    DOWNSTREAMS,
    EDGES,
    FOLDER,
    LIVE,
    OBJECTS,
    OLD,
    OTHER,
    SHOP,
    SITES,
    UPSTREAM,
    Wish,
    sites,
    thing,
    wanted,
)

MOVES = move = Moves()

BRANCH = "/packagevariant-"
"""What the names of variants' drafts hold."""


def wish(h: Hands, *names: str, asap: bool | None = None) -> Wish:
    """A rule for these packages, or for any."""
    if not names:
        some = tuple(e for e in EDGES if h.chance(0.6)) or EDGES[:1]
        names = h.one([(SHOP,), (OLD,), some])
    kind = h.one(("", "", "", LIVE, LIVE, OTHER)) if names[0] in EDGES else ""
    return Wish(
        names=names[:1] if kind else names,
        revision=h.one((0, 0, 1, 2)),
        follow=h.chance(0.7),
        asap=h.chance(0.5) if asap is None else asap,
        adopts=h.chance(0.3),
        orphans=h.chance(0.3),
        label=h.one(("", "", "red", "blue")),
        injects=h.chance(0.4),
        chosen=names[0] in EDGES and not kind and h.chance(0.5),
        context=h.one(("", "", "north", "south")),
        function=h.chance(0.25),
        kind=kind,
        afar=bool(h.wide) and h.chance(0.3),
    )


def of_variants(h: Hands, *, every: bool = False) -> list[Pull]:
    """Pull requests of variants, open ones where not all are asked for."""
    found = h.repo.pulls if every else h.repo.open_pulls
    return [p for p in found.values() if BRANCH in p.head_ref]


def package_of(pull: Pull) -> str:
    """The package that a variant's pull request is about."""
    return pull.head_ref.removeprefix("drafts/").partition(BRANCH)[0]


def there(h: Hands, path: str) -> bool:
    """Whether something stands at a path of the main branch."""
    return trees.entry_at(h.state.git(h.repo), h.tip(MAIN), path) is not None


def written(h: Hands) -> dict[str, bytes]:
    """The files with rules on the main branch, and what a set chooses by."""
    git = h.state.git(h.repo)
    paths = [*(f"{FOLDER}/{name}.yaml" for name in (SHOP, OLD, "edges")), SITES]
    entries = {path: trees.entry_at(git, h.tip(MAIN), path) for path in paths}
    return {path: git.blob(entry.sha) for path, entry in entries.items() if entry is not None}


@move("variant: rule pushed", 2)
def push_rule(h: Hands) -> str:
    rule = wish(h)
    h.commit(ADMIN, MAIN, rule.files, "rule")
    return f"{ADMIN} pushes a rule: {rule}"


@move("variant: rule proposed", 2.5)
def propose_rule(h: Hands) -> str:
    h.begin()
    rule, who, branch = wish(h), writer(h), h.fresh("rule")
    h.commit(who, branch, rule.files, "rule", onto=h.tip(MAIN))
    pull = h.open(who, branch, MAIN, "A rule")
    if h.chance(0.8):
        judge = h.one([w for w in HONEST if w != who])
        h.merge(judge, pull, h.one(("merge", "squash", "rebase")))
        return f"{who} proposes a rule, and {judge} merges #{pull.number}: {rule}"
    return f"{who} opens #{pull.number} with a rule: {rule}"


@move("variant: rule taken away", 0.8)
def remove_rule(h: Hands) -> str:
    path = h.one(sorted(written(h).keys() - {SITES}))
    h.commit(ADMIN, MAIN, {path: None}, "no rule")
    return f"{ADMIN} takes {path} away"


@move("variant: package taken out of the set", 3)
def shrink_set(h: Hands) -> str:
    path = f"{FOLDER}/edges.yaml"
    now = wanted(path, written(h).get(path, b""), written(h).get(SITES, b""))
    names = [e for e in EDGES if now and e in now]
    gone = h.one(names[1:])
    first = now[names[0]] if now else None
    if first is None:
        raise ImpossibleError
    rule = Wish(
        names=tuple(e for e in names if e != gone),
        revision=first.revision,
        follow=first.follow,
        orphans=first.orphans,
        adopts=first.adopts,
        label=first.label,
        injects=first.injects,
        afar=first.afar,
    )
    h.commit(ADMIN, MAIN, {path: rule.text}, "fewer")
    return f"{ADMIN} takes {gone} out of the set"


@move("variant: what a set chooses by changed", 1)
def change_sites(h: Hands) -> str:
    if SITES not in written(h):
        raise ImpossibleError
    some = tuple(each for each in EDGES if h.chance(0.6))
    h.commit(ADMIN, MAIN, {SITES: sites(some)}, "sites")
    return f"{ADMIN} leaves objects for {', '.join(some) or 'nothing'}"


@move("variant: object changed", 1)
def change_object(h: Hands) -> str:
    value = h.one(("north", "south", "east"))
    h.commit(ADMIN, MAIN, {f"{OBJECTS}/site.yaml": thing("site", "ConfigMap", value)}, "object")
    return f"{ADMIN} makes the object {value}"


@move("variant: commit to its draft", 2)
def touch_draft(h: Hands) -> str:
    pull, who = h.one(of_variants(h)), writer(h)
    h.commit(who, h.own_branch(pull), content(h.draw, package_of(pull)), "mine")
    return f"{who} pushes to #{pull.number} of a variant"


@move("variant: closed or opened again", 2)
def close(h: Hands) -> str:
    pull, who = h.one(of_variants(h, every=True)[-4:]), writer(h)
    if pull.merged:
        raise ImpossibleError
    wanted_state = "closed" if pull.state == "open" else "open"
    h.turn(who, pull, wanted_state)
    return f"{who} makes #{pull.number} of a variant {wanted_state}"


@move("variant: its branch deleted", 0.5)
def delete_branch(h: Hands) -> str:
    pull, who = h.one(of_variants(h, every=True)[-4:]), writer(h)
    h.push(who, f"refs/heads/{h.own_branch(pull)}", "")
    return f"{who} deletes the branch of #{pull.number} of a variant"


@move("variant: its package changed by people", 1)
def change_package(h: Hands) -> str:
    package = h.one([p for p in DOWNSTREAMS if there(h, f"{p}/Kptfile")])
    who, files = writer(h), content(h.draw, package, sound=True)
    if h.chance(0.4):
        h.commit(who, MAIN, files, "straight in")
        return f"{who} changes {package} on {MAIN}"
    branch = h.fresh("w")
    h.commit(who, branch, files, "change", onto=h.tip(MAIN))
    pull = h.open(who, branch, MAIN, f"Change {package}")
    return f"{who} opens #{pull.number}, which changes {package}"


@move("variant: hold ended", 2.5)
def resume(h: Hands) -> str:
    held = [p for p in DOWNSTREAMS if there(h, f".porchbot/ledger/{p}.yaml")]
    who, package, pull = writer(h), h.one(held), h.pull()
    h.say(who, pull, f"/resume {package}", "resume")
    return f"{who} says /resume {package} on #{pull.number}"


@move("variant: upstream proposed", 1.5)
def propose_upstream(h: Hands) -> str:
    h.begin()
    who, branch = writer(h), h.fresh("up")
    h.commit(who, branch, content(h.draw, UPSTREAM, sound=True), "up", onto=h.tip(MAIN))
    pull = h.open(who, branch, MAIN, f"Change {UPSTREAM}")
    return f"{who} opens #{pull.number}, which changes {UPSTREAM}"
