"""What a module of Rego says, as a tree; where something stands makes no difference to `==`.

Source: Open Policy Agent, Policy Language, "Grammar" and "Policy Reference".
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

Place = tuple[int, int]
"""Line and column of a module, from 1."""

UNIFY: Final = "="
ASSIGN: Final = ":="


class RegoError(Exception):
    """A module cannot be read, or asks for what is not available here.

    Attributes:
        at: Where.
        problem: What, and what to do.
    """

    def __init__(self, at: Place, problem: str) -> None:
        super().__init__(problem)
        self.at = at
        self.problem = problem


@dataclass(frozen=True, slots=True)
class ScalarTerm:
    """A number, `true`, `false` or `null` as it is written, or a string as JSON writes it."""

    at: Place = field(compare=False)
    text: str


@dataclass(frozen=True, slots=True)
class Var:
    """A variable or the name of a rule; "_" stands for one that is nowhere else."""

    at: Place = field(compare=False)
    name: str


@dataclass(frozen=True, slots=True)
class Ref:
    """Something, and the way into it: `head[path[0]][path[1]]`; `.name` is `["name"]`."""

    at: Place = field(compare=False)
    head: "Term"
    path: tuple["Term", ...]


@dataclass(frozen=True, slots=True)
class FunctionCallTerm:
    """A call; the name of its function is a variable or a reference of plain names."""

    at: Place = field(compare=False)
    function: "Var | Ref"
    args: tuple["Term", ...]

    @property
    def name(self) -> str:
        """The name of the function, such as "regex.match"; "" if it is none."""
        return dotted(self.function)


@dataclass(frozen=True, slots=True)
class Infix:
    """An operation on two terms; `key` is what `key, left in right` has before the comma."""

    at: Place = field(compare=False)
    operator: str
    left: "Term"
    right: "Term"
    key: "Term | None" = None


@dataclass(frozen=True, slots=True)
class Array:
    """An array."""

    at: Place = field(compare=False)
    items: tuple["Term", ...]


@dataclass(frozen=True, slots=True)
class Set:
    """A set; one without items is `set()`."""

    at: Place = field(compare=False)
    items: tuple["Term", ...]


@dataclass(frozen=True, slots=True)
class Object:
    """An object, its keys and values in the order in which they are written."""

    at: Place = field(compare=False)
    pairs: tuple[tuple["Term", "Term"], ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """An array ("["), a set ("{") or, with a key, an object made from what a body finds."""

    at: Place = field(compare=False)
    bracket: str
    term: "Term"
    body: "Body"
    key: "Term | None" = None


Term = ScalarTerm | Var | Ref | FunctionCallTerm | Infix | Array | Set | Object | Comprehension


@dataclass(frozen=True, slots=True)
class With:
    """`with target as value`."""

    target: "Var | Ref"
    value: Term


@dataclass(frozen=True, slots=True)
class Test:
    """A term that must hold, or with `negated` must not."""

    at: Place = field(compare=False)
    term: Term
    negated: bool = False
    withs: tuple[With, ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """`some x, y`."""

    at: Place = field(compare=False)
    names: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class SomeIn:
    """`some value in domain`, or `some key, value in domain`."""

    at: Place = field(compare=False)
    key: Term | None
    value: Term
    domain: Term
    withs: tuple[With, ...] = ()


@dataclass(frozen=True, slots=True)
class Every:
    """`every key, value in domain { body }`."""

    at: Place = field(compare=False)
    key: Var | None
    value: Var
    domain: Term
    body: "Body"
    withs: tuple[With, ...] = ()


Literal = Test | Some | SomeIn | Every
Body = tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """What a rule defines.

    Attributes:
        at: Where.
        name: The name of the rule, and what is behind it in brackets and behind dots.
        args: Arguments of a function; None if the rule is none.
        element: What a set holds (`p contains element`, or `p[element]` in the first version);
            None for other rules.
        value: Its value; None where that is `true` because none is written.
        operator: What stands before the value.
    """

    at: Place = field(compare=False)
    name: Var | Ref
    args: tuple[Term, ...] | None = None
    element: Term | None = None
    value: Term | None = None
    operator: str = ASSIGN


@dataclass(frozen=True, slots=True)
class Branch:
    """`else = value { body }`."""

    at: Place = field(compare=False)
    value: Term | None
    body: Body | None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with one body; what has several is several rules."""

    at: Place = field(compare=False)
    head: Head
    body: Body | None
    branches: tuple[Branch, ...] = ()
    default: bool = False


@dataclass(frozen=True, slots=True)
class Import:
    """`import path as alias`; "" if there is no alias."""

    at: Place = field(compare=False)
    path: tuple[str, ...]
    alias: str

    @property
    def name(self) -> str:
        """The name by which the module knows it."""
        return self.alias or self.path[-1]


@dataclass(frozen=True, slots=True)
class Module:
    """A module.

    Attributes:
        package: The parts of its package's name, without `data`.
        imports: What it imports, keywords of the language left out.
        rules: Its rules in order.
    """

    package: tuple[str, ...]
    imports: tuple[Import, ...]
    rules: tuple[Rule, ...]


def dotted(term: Term) -> str:
    """Return a name such as "input.review.name"; "" for what is no such name."""
    if isinstance(term, Var):
        return term.name
    if not isinstance(term, Ref) or not isinstance(term.head, Var):
        return ""
    keys = [key(each) for each in term.path]
    return "" if None in keys else ".".join((term.head.name, *(each or "" for each in keys)))


def key(term: Term) -> str | None:
    """Return the key that a plain string is; None for any other term."""
    if isinstance(term, ScalarTerm) and term.text[:1] == '"':
        return str(json.loads(term.text))
    return None


def children(node: Term) -> Sequence[Term]:
    """Return the terms in a term, those in the bodies of comprehensions left out."""
    match node:
        case Ref(head=head, path=path):
            return (head, *path)
        case FunctionCallTerm(args=args):
            return args
        case Infix(left=left, right=right, key=first):
            return (left, right) if first is None else (first, left, right)
        case Array(items=items) | Set(items=items):
            return items
        case Object(pairs=pairs):
            return tuple(each for pair in pairs for each in pair)
        case Comprehension(term=term, key=first):
            return (term,) if first is None else (first, term)
    return ()


def rebuilt_name(name: Var | Ref, change: Callable[[Term], Term]) -> Var | Ref:
    """Return the name of a rule with what stands in its brackets changed."""
    if isinstance(name, Var):
        return name
    return replace(name, path=tuple(map(change, name.path)))


def rebuilt(node: Term, change: Callable[[Term], Term]) -> Term:
    """Return a term with each of its `children` changed."""
    match node:
        case Ref(head=head, path=path):
            return replace(node, head=change(head), path=tuple(map(change, path)))
        case FunctionCallTerm(args=args):
            return replace(node, args=tuple(map(change, args)))
        case Infix(left=left, right=right, key=first):
            begun = None if first is None else change(first)
            return replace(node, key=begun, left=change(left), right=change(right))
        case Array(items=items) | Set(items=items):
            return replace(node, items=tuple(map(change, items)))
        case Object(pairs=pairs):
            return replace(node, pairs=tuple((change(one), change(two)) for one, two in pairs))
        case Comprehension(term=term, key=first):
            begun = None if first is None else change(first)
            return replace(node, key=begun, term=change(term))
    return node


def terms_of(literal: Literal) -> Iterator[Term]:
    """Yield the terms of a literal, those in the body of an `every` left out."""
    match literal:
        case Test(term=term, withs=withs):
            yield term
        case SomeIn(key=first, value=value, domain=domain, withs=withs):
            yield from (value, domain) if first is None else (first, value, domain)
        case Every(domain=domain, withs=withs):
            yield domain
        case Some():
            return
    yield from (each.value for each in withs)


def bodies_of(rule: Rule) -> Iterator[Body]:
    """Yield the bodies of a rule and of its branches."""
    if rule.body is not None:
        yield rule.body
    yield from (each.body for each in rule.branches if each.body is not None)


def head_terms(rule: Rule) -> Iterator[Term]:
    """Yield the terms in the heads of a rule and of its branches, its name left out."""
    head = rule.head
    if isinstance(head.name, Ref):
        yield from head.name.path
    yield from head.args or ()
    yield from (each for each in (head.element, head.value) if each is not None)
    yield from (each.value for each in rule.branches if each.value is not None)


def every_term(rule: Rule) -> Iterator[Term]:
    """Yield every term of a rule, however deep it lies, outer ones first."""
    for each in head_terms(rule):
        yield from _deep(each)
    for body in bodies_of(rule):
        yield from every_term_of(body)


def every_term_of(body: Body) -> Iterator[Term]:
    """Yield every term of a body, however deep it lies, outer ones first."""
    for literal in body:
        for term in terms_of(literal):
            yield from _deep(term)
        if isinstance(literal, Every):
            yield from every_term_of(literal.body)


def _deep(term: Term) -> Iterator[Term]:
    yield term
    for each in children(term):
        yield from _deep(each)
    if isinstance(term, Comprehension):
        yield from every_term_of(term.body)
