"""Takes objects apart that have variables in them, as Open Policy Agent does.

An object that is unified with another one has the same keys; the engine takes one with more for
the same. So `{"a": x} = y` becomes: y has the keys `{"a"}`, and `x = y["a"]`.

Source: Open Policy Agent, Policy Language, "Unification" and "Composite Keys".
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from fnrunner.builtin.confined.rego.syntax import (
    UNIFY,
    Array,
    FunctionCallTerm,
    Infix,
    Literal,
    Object,
    Ref,
    ScalarTerm,
    Set,
    Some,
    Term,
    Test,
    Var,
    children,
)

ANY = "_"


def variables(term: Term) -> Iterator[Var]:
    """Yield the variables of a term, the bodies of comprehensions and "_" left out."""
    if isinstance(term, Var):
        if term.name != ANY:
            yield term
        return
    for each in children(term):
        yield from variables(each)


def is_pattern(term: Term, known: frozenset[str]) -> bool:
    """Tell whether a term holds an object with variables that are not known."""
    if isinstance(term, Object):
        return any(each.name not in known for each in variables(term)) or _any(term)
    return isinstance(term, Array) and any(is_pattern(each, known) for each in term.items)


def _any(term: Term) -> bool:
    if isinstance(term, Var):
        return term.name == ANY
    return isinstance(term, Array | Object) and any(map(_any, children(term)))


def apart(
    term: Term, known: frozenset[str], fresh: Callable[[], str]
) -> tuple[Term, list[Literal]]:
    """Return a pattern with variables in the place of its objects, and what these have to be.

    Args:
        term: An array or object.
        known: Variables that stand for what is there already.
        fresh: Returns a new name.
    """
    found: list[Literal] = []

    def change(each: Term) -> Term:
        if isinstance(each, Array) and is_pattern(each, known):
            return replace(each, items=tuple(map(change, each.items)))
        if not isinstance(each, Object) or not is_pattern(each, known):
            return each
        whole = Var(each.at, fresh())
        keys: Term = Set(each.at, tuple(first for first, _ in each.pairs))
        given = FunctionCallTerm(each.at, _keys_of(each), (whole,))
        found.append(Test(each.at, Infix(each.at, "==", given, keys)))
        for first, value in each.pairs:
            inner = Var(each.at, fresh()) if value == Var(each.at, ANY) else change(value)
            found.append(Test(each.at, Infix(each.at, UNIFY, inner, Ref(each.at, whole, (first,)))))
        return whole

    return change(term), found


def pairs(left: Term, right: Term, known: frozenset[str]) -> list[tuple[Term, Term]] | None:
    """Return what has to be unified for two objects to be; None for what is no such pair.

    Args:
        left: The one.
        right: The other.
        known: Variables that stand for what is there already.
    """
    if not (isinstance(left, Object) and isinstance(right, Object)):
        return None
    if not (is_pattern(left, known) and is_pattern(right, known)):
        return None
    others = dict(right.pairs)
    if {key for key, _ in left.pairs} != set(others):
        return None
    return [(value, others[key]) for key, value in left.pairs]


def _keys_of(term: Object) -> Ref:
    return Ref(term.at, Var(term.at, "object"), (ScalarTerm(term.at, '"keys"'),))


def declared(names: frozenset[str], at: tuple[int, int]) -> list[Literal]:
    """Return the declaration of names; none for no names."""
    return [Some(at, tuple(Var(at, each) for each in sorted(names)))] if names else []
