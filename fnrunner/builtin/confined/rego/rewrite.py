"""Rewrites a module as Open Policy Agent's compiler does before it evaluates.

Rules:
    - What a negated literal works on is worked out before it: calls, references and
      comprehensions among the arguments of a negated call, calls anywhere, and what stands in
      the brackets of a reference. Where it is undefined, so is the body. The sides of `==` and
      `=`, and a reference itself, stay in the negation.
    - A variable of a negated literal must have a value elsewhere.
    - A call with one argument more than its function has gives its value to that.

Source: Open Policy Agent, Policy Language, "Negation" and "Universal Quantification"; its
compiler, stages RewriteExprTerms and RewriteDynamicTerms.
"""

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from fnrunner.builtin.confined.rego import patterns
from fnrunner.builtin.confined.rego.syntax import (
    ASSIGN,
    UNIFY,
    Array,
    Body,
    Comprehension,
    Every,
    FunctionCallTerm,
    Infix,
    Literal,
    Module,
    Object,
    Ref,
    RegoError,
    Rule,
    Set,
    Some,
    SomeIn,
    Term,
    Test,
    Var,
    With,
    children,
    head_terms,
    rebuilt,
    rebuilt_name,
    terms_of,
)

_SIDES: Final = ("==", UNIFY, ASSIGN)
_FRESH: Final = "worked_out_{}_"
ANY: Final = "_"


class Rewriter:
    """Rewrites the modules of one template.

    Args:
        names: Names that stand for rules and imports in the module, `input` and `data`.
        arity: Tells how many arguments a function has; None for what is none.
    """

    def __init__(
        self,
        names: frozenset[str],
        arity: Callable[[str], int | None],
    ) -> None:
        self._globals = names
        self._arity = arity
        self._count = 0

    def module(self, module: Module) -> Module:
        """Return a module rewritten."""
        return replace(module, rules=tuple(map(self._rule, module.rules)))

    def _rule(self, rule: Rule) -> Rule:
        head = rule.head
        known = frozenset(_names(head_terms(replace(rule, branches=()))))
        inner = known | _positive(rule.body or ())

        def deep(term: Term) -> Term:
            return self._deep(term, inner)

        def maybe(term: Term | None) -> Term | None:
            return None if term is None else deep(term)

        head = replace(
            head,
            name=rebuilt_name(head.name, deep),
            args=None if head.args is None else tuple(map(deep, head.args)),
            element=maybe(head.element),
            value=maybe(head.value),
        )
        branches = tuple(
            replace(
                each,
                value=maybe(each.value),
                body=None if each.body is None else self._body(each.body, known),
            )
            for each in rule.branches
        )
        body = None if rule.body is None else self._body(rule.body, known)
        rule = replace(rule, head=head, body=body, branches=branches)
        return self._with_args_apart(self._with_values_inside(rule))

    def _with_values_inside(self, rule: Rule) -> Rule:
        """Return a rule whose values are worked out in its bodies, where there are several.

        A value that is undefined is for the next `else` then, as in Open Policy Agent.
        """
        if not rule.branches:
            return rule
        value, body = self._inside(rule.head.value, rule.body)
        branches = []
        for each in rule.branches:
            inner, within = self._inside(each.value, each.body)
            branches.append(replace(each, value=inner, body=within))
        head = replace(rule.head, value=value)
        return replace(rule, head=head, body=body, branches=tuple(branches))

    def _inside(self, value: Term | None, body: Body | None) -> tuple[Term | None, Body | None]:
        if value is None or self._still(value):
            return value, body
        name = Var(value.at, self._fresh())
        found = Test(value.at, Infix(value.at, ASSIGN, name, value))
        return name, (*(body or ()), found)

    def _with_args_apart(self, rule: Rule) -> Rule:
        args: list[Term] = []
        tests: list[Literal] = []
        for each in rule.head.args or ():
            if isinstance(each, Var) and each.name != ANY and each in args:
                again = Var(each.at, self._fresh())
                tests.append(Test(each.at, Infix(each.at, "==", each, again)))
                args.append(again)
                continue
            arg, more = patterns.apart(each, self._globals, self._fresh)
            args.append(arg)
            tests += more
        if not tests:
            return rule
        body = (*tests, *(rule.body or ()))
        branches = tuple(replace(each, body=(*tests, *(each.body or ()))) for each in rule.branches)
        head = replace(rule.head, args=tuple(args))
        return replace(rule, head=head, body=body, branches=branches)

    def _fresh(self) -> str:
        self._count += 1
        return _FRESH.format(self._count)

    # --- bodies ------------------------------------------------------------------------------

    def _body(self, body: Body, outer: frozenset[str]) -> Body:
        known = outer | _positive(body)
        made: list[Literal] = []
        for literal in body:
            made += self._literal(literal, known, outer | _bound(body))
        return tuple(made)

    def _literal(
        self, literal: Literal, known: frozenset[str], bound: frozenset[str]
    ) -> list[Literal]:
        """Return a literal, behind those that work out what it needs."""
        if isinstance(literal, Some):
            return [literal]
        withs = self._withs(literal.withs, known)
        match literal:
            case Test(term=Infix(operator=operator) as term) if (
                not literal.negated and operator in (UNIFY, ASSIGN)
            ):
                term = rebuilt(term, lambda each: self._deep(each, known))
                return self._taken_apart(replace(literal, term=term, withs=withs), bound)
            case Test(term=term):
                made: list[Term] = []
                term = self._deep(term, known)
                if literal.negated:
                    term = self._negation(term, made)
                    _check(term, known | frozenset(_names(made)) | self._globals)
                    term = self._outside(term, made)
                before = [Test(literal.at, each, withs=withs) for each in made]
                return [*before, replace(literal, term=self._with_output(term), withs=withs)]
            case Every(key=key, value=value, domain=domain, body=body):
                names = {each.name for each in (key, value) if each is not None}
                domain = self._deep(domain, known)
                body = self._body(body, known | names)
                return [replace(literal, domain=domain, body=body, withs=withs)]
            case SomeIn(key=first, value=value, domain=domain):
                first = None if first is None else self._deep(first, known)
                value, domain = self._deep(value, known), self._deep(domain, known)
                some = replace(literal, key=first, value=value, domain=domain, withs=withs)
                return self._members(some)

    def _members(self, some: SomeIn) -> list[Literal]:
        """Return what goes through the members of a domain, objects among them taken apart."""
        if not patterns.is_pattern(some.value, self._globals):
            return [some]
        at, member = some.at, Var(some.at, self._fresh())
        names = frozenset(_names((some.value,)))
        return [
            *patterns.declared(names, at),
            replace(some, value=member),
            *self._taken_apart(Test(at, Infix(at, UNIFY, some.value, member)), {member.name}),
        ]

    def _taken_apart(self, test: Test, bound: AbstractSet[str]) -> list[Literal]:
        """Return a unification whose patterns are taken apart.

        Args:
            test: The unification.
            bound: Variables that have a value already.
        """
        term = test.term
        if not isinstance(term, Infix):
            return [test]
        pairs = patterns.pairs(term.left, term.right, self._globals)
        if pairs is not None:
            tests = [replace(test, term=replace(term, left=a, right=b)) for a, b in pairs]
            return [each for one in tests for each in self._taken_apart(one, bound)]
        before: list[Literal] = []
        after: list[Literal] = []
        sides = [term.left, term.right]
        for number, other in ((0, term.right), (1, term.left)):
            side = sides[number]
            made = isinstance(other, Var) and other.name not in bound  # `x = {…}` makes an object
            if made or not patterns.is_pattern(side, self._globals):
                continue
            if number == 0 and term.operator == ASSIGN:
                before += patterns.declared(frozenset(_names((side,))), test.at)
            sides[number], more = patterns.apart(side, self._globals, self._fresh)
            after += more
            break
        operator = UNIFY if before else term.operator
        left, right = sides
        unified = replace(test, term=replace(term, left=left, right=right, operator=operator))
        return [*before, unified, *after]

    def _withs(self, withs: Iterable[With], known: frozenset[str]) -> tuple[With, ...]:
        return tuple(replace(each, value=self._deep(each.value, known)) for each in withs)

    def _still(self, term: Term) -> bool:
        """Tell whether a term is there as it is, with nothing to work out."""
        if isinstance(term, Ref | FunctionCallTerm | Infix | Comprehension):
            return False
        if isinstance(term, Var):
            return term.name not in self._globals
        return all(map(self._still, children(term)))

    def _with_output(self, term: Term) -> Term:
        if isinstance(term, FunctionCallTerm) and self._arity(term.name) == len(term.args) - 1:
            *given, output = term.args
            return Infix(term.at, UNIFY, output, replace(term, args=tuple(given)))
        return term

    # --- negation ----------------------------------------------------------------------------

    def _negation(self, term: Term, made: list[Term]) -> Term:
        """Return what is negated without the calls in it, which are worked out before."""
        if isinstance(term, Comprehension):
            return term
        return rebuilt(term, lambda each: self._without_calls(each, made))

    def _without_calls(self, term: Term, made: list[Term]) -> Term:
        if isinstance(term, FunctionCallTerm | Infix):
            return self._before(term, made)
        if isinstance(term, Comprehension):
            return term
        return rebuilt(term, lambda each: self._without_calls(each, made))

    def _outside(self, term: Term, made: list[Term]) -> Term:
        """Return what is negated without the references that it works on."""
        match term:
            case Infix(operator=operator) if operator in _SIDES:
                return rebuilt(term, lambda each: self._side(each, made))
            case FunctionCallTerm() | Infix():
                return rebuilt(term, lambda each: self._operand(each, made))
        return self._side(term, made)

    def _side(self, term: Term, made: list[Term]) -> Term:
        match term:
            case Ref(path=path):
                return replace(term, path=tuple(self._operand(each, made) for each in path))
            case Array() | Set() | Object():
                return self._operand(term, made)
            case FunctionCallTerm():
                return rebuilt(term, lambda each: self._operand(each, made))
        return term

    def _operand(self, term: Term, made: list[Term]) -> Term:
        match term:
            case Ref() | FunctionCallTerm() | Infix() | Comprehension():
                return self._before(term, made)
            case Var(name=name) if name in self._globals:
                return self._before(term, made)
            case Array() | Set() | Object():
                return rebuilt(term, lambda each: self._operand(each, made))
        return term

    def _before(self, term: Term, made: list[Term]) -> Term:
        name = Var(term.at, self._fresh())
        made.append(Infix(term.at, ASSIGN, name, term))
        return name

    # --- terms -------------------------------------------------------------------------------

    def _deep(self, term: Term, known: frozenset[str]) -> Term:
        """Return a term with the bodies in it rewritten."""
        if not isinstance(term, Comprehension):
            return rebuilt(term, lambda each: self._deep(each, known))
        inner = known | frozenset(_names(children(term)))
        body = self._body(term.body, inner)
        known = inner | _positive(term.body)
        first = None if term.key is None else self._deep(term.key, known)
        return replace(term, key=first, term=self._deep(term.term, known), body=body)


def _vars(term: Term | None) -> Iterator[Var]:
    return iter(()) if term is None else patterns.variables(term)


def _bound(body: Body) -> frozenset[str]:
    """Return the variables to which a body assigns a value."""
    found: set[str] = set()
    for each in body:
        match each:
            case Test(term=Infix(operator=operator, left=left)) if operator == ASSIGN:
                found.update(_names((left,)))
            case SomeIn(key=first, value=value):
                found.update(each.name for part in (first, value) for each in _vars(part))
    return frozenset(found)


def _positive(body: Body) -> frozenset[str]:
    """Return the variables that a body may give a value, as what is negated in it cannot."""
    return frozenset(
        name
        for each in body
        if not (isinstance(each, Test) and each.negated)
        for name in _names(terms_of(each))
    )


def _names(terms: Iterable[Term]) -> Iterator[str]:
    """Yield the variables in terms, the bodies of comprehensions and "_" left out."""
    for each in terms:
        if isinstance(each, Var):
            if each.name != ANY:
                yield each.name
        else:
            yield from _names(children(each))


def _check(term: Term, known: frozenset[str]) -> None:
    if isinstance(term, Var) and term.name not in known:
        name = "a variable `_`" if term.name == ANY else f"the variable {term.name}"
        raise RegoError(
            term.at,
            f"{name} has no value outside the negation. Move what is negated into its own rule",
        )
    if not isinstance(term, Comprehension):  # what is in one has a body of its own
        for each in children(term):
            _check(each, known)
