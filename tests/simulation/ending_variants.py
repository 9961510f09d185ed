"""What rules want is there at the end where nothing went wrong: it is made, or asked for.

What a person closed, what is held or another's, and what has no revision to be made of is left out.
"""

from collections.abc import Iterator

from tests.simulation.beyond import ZONE
from tests.simulation.catalog import FAR
from tests.simulation.evidence import ZERO
from tests.simulation.evidence_variants import Variants, package_of
from tests.simulation.setting import ADVERSARY, BOT, MAIN
from tests.simulation.variants import CONTEXT, UPSTREAM, Wanted


def unmade(v: Variants) -> Iterator[str]:
    """Packages that rules want, and that are neither there nor asked for."""
    diary = v.diary
    end = len(diary.entries)
    tip = v.evidence.tip(MAIN, end)
    revisions = _good(v, tip)
    wanted = dict(v.wants(tip) or {}) if tip else {}
    if wanted.pop(FAR, None) is not None and _lacks(v, tip):
        yield f"{FAR} is wanted of the catalog's newest, and nothing asks for it"
    if v.beyond is not None and revisions and not {"held"} & v.state(tip, ZONE):
        yield from v.beyond.unmade(any(_open(v, ZONE)) or _odd(v, ZONE))
    for package, rule in wanted.items():
        yield from _stale(v, package, rule)
        number = _meant(rule, revisions)
        theirs = v.history.at(tip, package) and v.owner(tip, package) != rule.owner
        held = {"held"} & v.state(tip, package)
        if not number or held or (theirs and not rule.adopts) or _odd(v, package):
            continue
        lock = v.lock(tip, package)
        there = v.history.package(tip, package)
        if there and (lock.number == number or not (rule.follow or rule.revision)):
            continue
        if there and not lock.number:
            continue  # without a lock nobody can tell what it was made of
        if theirs and rule.context and not v.history.at(tip, f"{package}/{CONTEXT}"):
            continue  # people made it without: there is no place for what the rule writes into it
        if not any(v.lock(head, package).number == number for head in _open(v, package)):
            yield f"{package} is wanted of v{number}, and nothing asks for it"


def _stale(v: Variants, package: str, rule: Wanted) -> Iterator[str]:
    """A draft that holds what an object of another repository was, and is not any more."""
    if v.beyond is None or not rule.afar or _odd(v, package):
        return
    for head in _open(v, package):
        if v.by_bot(v.added(head, len(v.diary.entries))) and (
            said := v.beyond.stale_in(head, package)
        ):
            yield f"what asks for {package} holds {said}, which the object there is no more"


def _lacks(v: Variants, tip: str) -> bool:
    """Whether a package made of the catalog's is neither there nor asked for, and could be."""
    if v.catalog is None or not v.catalog.published or _odd(v, FAR):
        return False
    now = v.catalog.now
    could = now.open and now.served and now.named and not {"held"} & v.state(tip, FAR)
    return could and not v.history.at(tip, FAR) and not any(_open(v, FAR))


def _good(v: Variants, tip: str) -> list[int]:
    """The upstream's revisions that a rule may mean; none where anybody else touched its tags."""
    found = list[int]()
    for ref, moves in v.diary.of_ref.items():
        if not ref.startswith(f"refs/tags/{UPSTREAM}/v"):
            continue
        number = int(ref.rpartition("/v")[2])
        if len(moves) > 1 or moves[0].who != BOT or v.state(tip, UPSTREAM, number):
            return []
        found.append(number)
    return sorted(found)


def _meant(rule: Wanted, revisions: list[int]) -> int:
    """The revision that a rule means; 0 for none."""
    if not revisions or rule.revision > revisions[-1]:
        return 0
    return rule.revision if rule.revision and not rule.follow else revisions[-1]


def _odd(v: Variants, package: str) -> bool:
    """Whether people closed what was asked for, or left its branch as it was not made."""
    for e in v.diary.entries:
        if e.who == BOT:
            continue
        about = package_of(e.text) == package
        if about and e.what == "push" and (e.after == ZERO or e.who == ADVERSARY):
            return True
        if about and e.what == "push" and e.before not in v.history.ancestry(e.after):
            return True
        opened = next((o for o in v.diary.of_pull.get(e.pull, ()) if o.what == "pull opened"), None)
        ours = opened is not None and package_of(opened.text) == package
        if ours and e.what in ("pull closed", "pull edited", "pull merged", "pull reopened"):
            return True
    return False


def _open(v: Variants, package: str) -> Iterator[str]:
    """Heads of the open pull requests of its variant."""
    for said in v.diary.of_pull.values():
        opened = next((e for e in said if e.what == "pull opened"), None)
        states = [e for e in said if e.what in ("pull opened", "pull closed", "pull merged")]
        ours = opened is not None and package_of(opened.text) == package
        if ours and states[-1].what == "pull opened":
            yield said[-1].head
