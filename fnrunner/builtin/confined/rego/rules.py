"""Reads modules of Rego: package, imports and rules, in both versions of the language."""

from dataclasses import replace
from typing import Final

from fnrunner.builtin.confined.rego import tokens
from fnrunner.builtin.confined.rego.syntax import (
    ASSIGN,
    UNIFY,
    Body,
    Branch,
    FunctionCallTerm,
    Head,
    Import,
    Module,
    Ref,
    RegoError,
    Rule,
    Set,
    Term,
    Test,
    Var,
    dotted,
    key,
)
from fnrunner.builtin.confined.rego.terms import TermReader
from fnrunner.builtin.confined.rego.tokens import END, KEYWORDS, NEW_KEYWORDS

_ROOTS: Final = ("data", "input")


def read(text: str, *, v1: bool) -> Module:
    """Return what a module says.

    Args:
        text: The module.
        v1: Whether it is written in the first stable version of the language.

    Raises:
        RegoError: It cannot be read.
    """
    try:
        return _Reader(text, v1=v1).module()
    except RecursionError:
        raise RegoError((1, 1), "it is nested too deeply. Split it into several rules") from None


class _Reader(TermReader):
    """Reads one module.

    Attributes:
        v1: Whether rules need `if` and `contains`.
    """

    def __init__(self, text: str, *, v1: bool) -> None:
        super().__init__(tokens.read(text), KEYWORDS | NEW_KEYWORDS if v1 else KEYWORDS)
        self.v1 = v1

    def module(self) -> Module:
        """Read the module."""
        if not self.took("package"):
            raise self.error("a module begins with `package` and its name")
        package = self._path(self.token)
        imports: list[Import] = []
        rules: list[Rule] = []
        while self.token.kind != END:
            self.took(";")
            if self.sees("import"):
                imports += self._import()
            elif self.token.kind != END:
                rules += self._rules()
        return Module(package, tuple(imports), tuple(rules))

    def _path(self, begin: tokens.Token) -> tuple[str, ...]:
        name = self._continued(Var(begin.at, self.take().text))
        path = dotted(name)
        if begin.kind != "word" or not path:
            raise RegoError(begin.at, "a name such as lib.names is missing here")
        rest = name.path if isinstance(name, Ref) else ()
        return (begin.text, *(key(each) or "" for each in rest))

    # --- imports -----------------------------------------------------------------------------

    def _import(self) -> list[Import]:
        at = self.take().at
        path = self._path(self.token)
        alias = self._variable().name if self.took("as") else ""
        if path[0] in _ROOTS:
            return [Import(at, path, alias)]
        if path[:2] == ("rego", "v1"):
            self.v1 = True
            self.keywords |= NEW_KEYWORDS
        elif path[:2] == ("future", "keywords") and len(path) <= 3:
            self._keyword(path[2:], at)
        else:
            raise RegoError(at, f"{'.'.join(path)} cannot be imported here. Remove the import")
        return []

    def _keyword(self, wanted: tuple[str, ...], at: tuple[int, int]) -> None:
        words = frozenset(wanted) or NEW_KEYWORDS
        if not words <= NEW_KEYWORDS:
            raise RegoError(at, f"the keyword `{wanted[0]}` is not supported here. Do not use it")
        self.keywords |= words | ({"in"} if "every" in words else set())

    # --- rules -------------------------------------------------------------------------------

    def _rules(self) -> list[Rule]:
        """Read a rule; what has several bodies is several rules."""
        at = self.token.at
        default = self.took("default")
        head = self._head()
        conditional = self.sees("if")
        head = head if conditional else self._as_set(head)
        if default:
            if head.value is None:
                raise RegoError(at, "a default rule needs a value")
            return [Rule(at, head, None, default=True)]
        if not conditional and not self.sees("{"):
            if head.value is None and head.element is None and head.args is not None:
                raise RegoError(at, f"the function {dotted(head.name)} has neither value nor body")
            if head.value is None and head.element is None and self.v1:
                raise RegoError(at, f"the rule {dotted(head.name)} has neither value nor body")
            return [Rule(at, head, None)]
        body = self._rule_body(at)
        branches = []
        while self.sees("else"):
            branches.append(self._branch())
        found = [Rule(at, head, body, tuple(branches))]
        while self.sees("{") and not branches:
            further = self.token.at
            self.take()
            found.append(Rule(further, head, self.body()))
        return found

    def _head(self) -> Head:
        token = self.token
        if token.kind != "word" or token.text in self.keywords - {"contains"}:
            raise self.error(f"a rule is missing before {self._seen()}")
        self.take()
        name = Var(token.at, token.text)
        self._join()
        term = self._continued(name)
        args: tuple[Term, ...] | None = None
        if isinstance(term, FunctionCallTerm):
            args, term = term.args, term.function
        if not isinstance(term, Var | Ref) or not _named(term):
            raise RegoError(token.at, "a rule needs a name before its brackets")
        element: Term | None = None
        value: Term | None = None
        operator = ASSIGN
        if args is None and self.took("contains"):
            element = self.term()
        elif self.sees(UNIFY, ASSIGN):
            operator = self.take().text
            value = self.term()
        return Head(token.at, term, args, element, value, operator)

    def _join(self) -> None:
        """Let a bracket belong to the name of the rule before it, blanks or not."""
        if self.sees("[", "("):
            self._tokens[self._position] = replace(self.token, spaced=False)

    def _as_set(self, head: Head) -> Head:
        """Return a head `p[x]` without `if` and value as that of a set, which it is."""
        name = head.name
        if head.args is not None or head.element is not None or head.value is not None:
            return head
        if not isinstance(name, Ref) or len(name.path) != 1:
            return head
        if self.v1:
            raise RegoError(head.at, "`contains` is required here: name contains value if { … }")
        return Head(head.at, name.head if isinstance(name.head, Var) else name, None, name.path[0])

    def _rule_body(self, at: tuple[int, int]) -> Body:
        if not self.took("if"):
            if self.v1:
                raise RegoError(at, "`if` is required before the body of a rule")
            self.want("{")
            return self.body()
        if not self.sees("{"):
            return (self.literal(),)
        alone = self.attempt(self._unambiguous)
        if alone is not None:
            return alone
        self.want("{")
        return self.body()

    def _unambiguous(self) -> Body | None:
        """Read one literal that begins with a brace; None for a set, which is a body then."""
        found = self.literal()
        if isinstance(found, Test) and isinstance(found.term, Set) and not found.withs:
            return None
        return (found,)

    def _branch(self) -> Branch:
        at = self.take().at
        value = self.term() if self.took(UNIFY, ASSIGN) else None
        if self.took("if"):
            body = None if self.sees("{") else (self.literal(),)
            if body is not None:
                return Branch(at, value, body)
        elif self.sees("{") and self.v1:
            raise RegoError(at, "`if` is required before the body of a rule")
        if self.took("{"):
            return Branch(at, value, self.body())
        if value is None:
            raise RegoError(at, "`else` needs a value or a body")
        return Branch(at, value, None)


def _named(function: Var | Ref) -> bool:
    return isinstance(function, Var) or isinstance(function.head, Var)
