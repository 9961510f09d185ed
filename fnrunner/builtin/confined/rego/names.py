"""What the names in a template's modules stand for, and whether they stand for anything here.

Rules:
    - A function that neither the modules define nor the language has, or that is not available
      here, is refused by name.
    - A package is no value here: what asks for one whole, or goes through its rules, is refused.
    - Functions and operations of the language that the engine would judge otherwise become
      calls of ours (`functions`).

Source: Open Policy Agent, Policy Language, "Packages", "Imports" and "Functions".
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from fnrunner.builtin.confined.rego import functions
from fnrunner.builtin.confined.rego.syntax import (
    Body,
    Comprehension,
    Every,
    FunctionCallTerm,
    Head,
    Infix,
    Literal,
    Module,
    Place,
    Ref,
    RegoError,
    Rule,
    ScalarTerm,
    Some,
    SomeIn,
    Term,
    Test,
    Var,
    With,
    dotted,
    every_term,
    key,
    rebuilt,
)

_ROOTS: Final = frozenset(("data", "input"))


class ModuleNames:
    """The names of all modules of a template, as one of them sees them.

    Attributes:
        known: Names that stand for rules, imports, `input` or `data` in this module.
        used: Names of the stand-ins that it needs, once it has them.
    """

    def __init__(self, module: Module, modules: Sequence[Module]) -> None:
        self._module = module
        self.used: set[str] = set()
        self._imports = {each.name: each.path for each in module.imports}
        self._rules: dict[tuple[str, ...], int | None] = {}
        self._conditional: set[tuple[str, ...]] = set()  # values that may be undefined
        for other in modules:
            for rule in other.rules:
                args = rule.head.args
                path = ("data", *other.package, *_prefix(rule.head.name))
                self._rules[path] = None if args is None else len(args)
                if args is None and _conditional(rule) and _constant(rule.head):
                    self._conditional.add(path)
        self._packages = {("data", *other.package) for other in modules}
        self._home = ("data", *module.package)
        own = {path[len(self._home)] for path in self._rules if self._within(path, self._home)}
        self.known = frozenset(own | set(self._imports) | _ROOTS)

    def _within(self, path: tuple[str, ...], begin: tuple[str, ...]) -> bool:
        return len(path) > len(begin) and path[: len(begin)] == begin

    def full(self, name: str) -> tuple[str, ...]:
        """Return the path of a dotted name; that of a function of the language is its own."""
        first, *rest = name.split(".")
        if first in self._imports:
            return (*self._imports[first], *rest)
        if first in self.known and first not in _ROOTS:
            return (*self._home, first, *rest)
        return (first, *rest)

    def arity(self, name: str) -> int | None:
        """Return how many arguments a function has; None for what is no function."""
        if not name:
            return None
        path = self.full(name)
        if path[0] in _ROOTS:
            return self._rules.get(path)
        return functions.arity(".".join(path))

    # --- checks ------------------------------------------------------------------------------

    def check(self, *, v1: bool) -> None:
        """See that everything that is called is there, and that no package is a value.

        Args:
            v1: Whether the module is written in the first stable version of the language.

        Raises:
            RegoError: Something is not available.
        """
        self._check_heads()
        heads: set[int] = set()  # by identity: a variable that begins a reference is no value
        for rule in self._module.rules:
            for term in every_term(rule):
                if isinstance(term, FunctionCallTerm):
                    self._check_call(term, v1=v1)
                elif isinstance(term, Ref):
                    heads.add(id(term.head))
                    self._check_ref(term)
                elif isinstance(term, Var) and id(term) not in heads:
                    self._check_ref(term)

    def _check_heads(self) -> None:
        """See that rules that make one object together all name its parts in the same way."""
        shapes: dict[str, tuple[bool, ...]] = {}
        for rule in self._module.rules:
            name = rule.head.name
            if rule.head.args is not None or not isinstance(name, Ref):
                continue
            shape = tuple(key(each) is None for each in name.path)
            first = shapes.setdefault(_prefix(name)[0], shape)
            if first != shape and max(len(first), len(shape)) > 1 and any(first + shape):
                raise RegoError(
                    rule.at,
                    f"rules of {_prefix(name)[0]} have variables in different places of their"
                    " heads, which is not supported here. Give them names of their own",
                )

    def _check_call(self, call: FunctionCallTerm, *, v1: bool) -> None:
        name = call.name
        path = self.full(name) if name else ()
        if path and path[0] not in _ROOTS:
            functions.check(".".join(path), call.at, v1=v1)
        elif self._rules.get(path) is None:
            raise RegoError(call.at, f"the function {name or 'that is called here'} is not defined")
        wanted = self.arity(name)
        if wanted is not None and len(call.args) not in (wanted, wanted + 1):
            raise RegoError(
                call.at,
                f"{name} is called with {len(call.args)} arguments, and has {wanted}",
            )

    def _check_ref(self, term: Ref | Var) -> None:
        path = self._path(term)
        if path[:1] != ("data",):
            return
        if any(self._within(each, path) or each == path for each in self._packages):
            raise RegoError(
                term.at,
                f"{'.'.join(path)} is a package, which cannot be used as a value here. Name its"
                " rule",
            )
        length = len(path)
        if isinstance(term, Ref) and isinstance(term.head, Var):
            length = len(self.full(term.head.name)) + len(term.path)
        if any(self._within(each, path) and len(each) > length for each in self._conditional):
            raise RegoError(
                term.at,
                f"{'.'.join(path)} is an object defined by several rules, which cannot be used as"
                " a value here. Name the rule",
            )

    def _path(self, term: Ref | Var) -> tuple[str, ...]:
        """Return the beginning of a reference that is plain names."""
        head = term.head if isinstance(term, Ref) else term
        if not isinstance(head, Var) or head.name not in self.known:
            return ()
        return (*self.full(head.name), *(_keys(term.path) if isinstance(term, Ref) else ()))

    # --- stand-ins ---------------------------------------------------------------------------

    def with_stand_ins(self, term: Term) -> Term:
        """Return a term with what stands in for functions and operations of the engine."""
        term = rebuilt(term, self.with_stand_ins)
        match term:
            case Infix(at=at, operator="in", left=left, right=right, key=first):
                if first is None:
                    return FunctionCallTerm(at, self._ours(at, "member"), (left, right))
                return FunctionCallTerm(at, self._ours(at, "keyed_member"), (first, left, right))
            case Infix(at=at, operator="/" | "%" as operator, left=left, right=right):
                # Called where it stands, so that a division by zero is named with its place.
                worker = ScalarTerm(at, f'"{functions.OPERATIONS[operator]}"')
                call = FunctionCallTerm(at, Ref(at, Var(at, "ours"), (worker,)), (left, right))
                return Ref(at, call, (ScalarTerm(at, "0"),))
            case Infix(at=at, operator=operator, left=left, right=right):
                name = functions.OPERATIONS.get(operator)
                return (
                    term
                    if name is None
                    else FunctionCallTerm(at, self._ours(at, name), (left, right))
                )
            case FunctionCallTerm(at=at, args=args):
                function = self.stand_in(term.function)
                if function is term.function or (term.name == "walk" and len(args) == 2):
                    return term
                if term.name == "walk":
                    return Ref(at, FunctionCallTerm(at, function, args), (Var(at, "_"),))
                return FunctionCallTerm(at, function, args)
            case Comprehension(body=body):
                return replace(term, body=self.body(body))
        return term

    def stand_in(self, function: Var | Ref) -> Var | Ref:
        """Return what stands in for a function; the function itself if nothing does."""
        path = self.full(dotted(function)) if dotted(function) else ()
        name = ".".join(path) if path and path[0] not in _ROOTS else ""
        return self._ours(function.at, name) if functions.stand_in(name) else function

    def _ours(self, at: Place, name: str) -> Ref:
        self.used.add(functions.stand_in(name))
        return _standing_in(at, name)

    def body(self, body: Body) -> Body:
        """Return a body with stand-ins."""
        return tuple(map(self._literal, body))

    def _literal(self, literal: Literal) -> Literal:
        if isinstance(literal, Some):
            return literal
        withs = tuple(
            With(self.stand_in(each.target), self._value(each.value)) for each in literal.withs
        )
        term = self.with_stand_ins
        match literal:
            case Test():
                return replace(literal, term=term(literal.term), withs=withs)
            case SomeIn(key=first):
                return replace(
                    literal,
                    key=None if first is None else term(first),
                    value=term(literal.value),
                    domain=FunctionCallTerm(
                        literal.at, self._ours(literal.at, "members"), (term(literal.domain),)
                    ),
                    withs=withs,
                )
            case Every():
                domain, body = term(literal.domain), self.body(literal.body)
                return replace(literal, domain=domain, body=body, withs=withs)

    def _value(self, value: Term) -> Term:
        return self.stand_in(value) if isinstance(value, Var | Ref) else self.with_stand_ins(value)


def _standing_in(at: Place, name: str) -> Ref:
    parts = (functions.PACKAGE, functions.stand_in(name))
    return Ref(at, Var(at, "data"), tuple(ScalarTerm(at, f'"{each}"') for each in parts))


def _prefix(name: Var | Ref) -> tuple[str, ...]:
    if isinstance(name, Var):
        return (name.name,)
    head = name.head.name if isinstance(name.head, Var) else ""
    return (head, *_keys(name.path))


def _constant(head: Head) -> bool:
    """Tell whether a head is that of one value whose name has several plain parts."""
    name = head.name
    return (
        head.element is None
        and isinstance(name, Ref)
        and all(key(each) is not None for each in name.path)
    )


def _conditional(rule: Rule) -> bool:
    value = rule.head.value
    return rule.body is not None or not (value is None or isinstance(value, ScalarTerm))


def _keys(path: Sequence[Term]) -> Iterator[str]:
    for each in path:
        name = key(each)
        if name is None:
            return
        yield name
