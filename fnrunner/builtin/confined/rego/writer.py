"""Writes modules of Rego for the engine, and knows where each piece of them came from.

Rules:
    - All are written in the first stable version of the language, whatever they came in.
    - A literal is a line of its own, and operations within others stand in parentheses, so that
      nothing is left to be read in two ways.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

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
    Place,
    Ref,
    Rule,
    ScalarTerm,
    Set,
    Some,
    SomeIn,
    Term,
    Test,
    Var,
    With,
    key,
)
from fnrunner.builtin.confined.rego.tokens import KEYWORDS, NEW_KEYWORDS

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS: Final = KEYWORDS | NEW_KEYWORDS


class Writer:
    """Writes one module.

    Attributes:
        text: What was written so far.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._line, self._column = 1, 1
        self._places: list[tuple[Place, Place]] = []  # where it is written, where it came from

    @property
    def text(self) -> str:
        """What was written."""
        return "".join(self._pieces)

    def origin(self, at: Place) -> Place:
        """Return where in the module that was read something of the written one came from."""
        number = bisect_right(self._places, (at, (1 << 30, 0))) - 1
        return self._places[number][1] if number >= 0 else at

    def module(self, module: Module) -> None:
        """Write a module."""
        self._put("package ")
        self._put(path_text(module.package))
        for each in module.imports:
            self._put("\nimport ", each.at)
            self._put(path_text(each.path))
            self._put(f" as {each.alias}" if each.alias else "")
        for rule in module.rules:
            self._put("\n")
            self._rule(rule)
        self._put("\n")

    def _put(self, text: str, at: Place | None = None) -> None:
        if at is not None:
            self._places.append(((self._line, self._column), at))
        self._pieces.append(text)
        lines = text.count("\n")
        self._line += lines
        self._column = len(text) - text.rindex("\n") if lines else self._column + len(text)

    def _listed(self, terms: Sequence[Term]) -> None:
        for number, term in enumerate(terms):
            self._put(", " if number else "")
            self._term(term)

    # --- rules -------------------------------------------------------------------------------

    def _rule(self, rule: Rule) -> None:
        head = rule.head
        self._put("default " if rule.default else "", rule.at)
        self._term(head.name)
        if head.args is not None:
            self._put("(")
            self._listed(head.args)
            self._put(")")
        if head.element is not None:
            self._put(" contains ")
            self._term(head.element)
        elif head.value is not None:
            # Unification in a head is assignment; the first version has no more to say.
            self._put(f" {ASSIGN} ")
            self._term(head.value)
        elif rule.body is None:
            self._put(f" {ASSIGN} true")
        if rule.body is not None:
            self._put(" if ")
            self._body(rule.body)
        for branch in rule.branches:
            self._put(" else", branch.at)
            if branch.value is not None:
                self._put(f" {ASSIGN} ")
                self._term(branch.value)
            if branch.body is not None:
                self._put(" if ")
                self._body(branch.body)

    def _body(self, body: Body) -> None:
        self._put("{")
        for literal in body:
            self._put("\n")
            self._literal(literal)
        self._put("\n}")

    def _literal(self, literal: Literal) -> None:
        self._put("", literal.at)
        match literal:
            case Some(names=names):
                self._put("some ")
                self._listed(names)
            case SomeIn(key=first, value=value, domain=domain, withs=withs):
                self._put("some ")
                self._listed((value,) if first is None else (first, value))
                self._put(" in ")
                self._term(domain)
                self._withs(withs)
            case Every(key=first, value=value, domain=domain, body=body, withs=withs):
                self._put("every ")
                self._listed((value,) if first is None else (first, value))
                self._put(" in ")
                self._term(domain)
                self._put(" ")
                self._body(body)
                self._withs(withs)
            case Test(term=term, negated=negated, withs=withs):
                self._put("not " if negated else "")
                self._statement(term)
                self._withs(withs)

    def _withs(self, withs: Sequence[With]) -> None:
        for each in withs:
            self._put(" with ")
            self._term(each.target)
            self._put(" as ")
            self._term(each.value)

    # --- terms -------------------------------------------------------------------------------

    def _statement(self, term: Term) -> None:
        if isinstance(term, Infix):
            self._infix(term)
        else:
            self._term(term)

    def _infix(self, term: Infix) -> None:
        if term.key is not None:
            self._term(term.key)
            self._put(", ")
        self._term(term.left)
        self._put(f" {term.operator} ", term.at)
        if isinstance(term.right, Infix) and term.operator in (UNIFY, ASSIGN):
            self._infix(term.right)
        else:
            self._term(term.right)

    def _term(self, term: Term) -> None:
        match term:
            case ScalarTerm(at=at, text=text):
                self._put(text, at)
            case Var(at=at, name=name):
                self._put(name, at)
            case Ref():
                self._ref(term)
            case FunctionCallTerm(function=function, args=args):
                self._term(function)
                self._put("(")
                self._listed(args)
                self._put(")")
            case Infix():
                self._put("(")
                self._infix(term)
                self._put(")")
            case _:
                self._bracketed(term)

    def _ref(self, term: Ref) -> None:
        self._term(term.head)
        for each in term.path:
            name = key(each)
            if name is not None and _NAME.fullmatch(name) and name not in _WORDS:
                self._put(f".{name}", each.at)
            else:
                self._put("[")
                self._term(each)
                self._put("]")

    def _bracketed(self, term: Array | Set | Object | Comprehension) -> None:
        match term:
            case Set(at=at, items=()):
                self._put("set()", at)
            case Array(at=at, items=items):
                self._put("[", at)
                self._listed(items)
                self._put("]")
            case Set(at=at, items=items):
                self._put("{", at)
                self._listed(items)
                self._put("}")
            case Object(at=at, pairs=pairs):
                self._put("{", at)
                for number, (first, value) in enumerate(pairs):
                    self._put(", " if number else "")
                    self._pair(first, value)
                self._put("}")
            case Comprehension(at=at, bracket=bracket, term=inner, body=body, key=first):
                self._put(bracket, at)
                if first is None:
                    self._term(inner)
                else:
                    self._pair(first, inner)
                self._put(" | ")
                for number, literal in enumerate(body):
                    self._put("\n" if number else "")
                    self._literal(literal)
                self._put("]" if bracket == "[" else "}")

    def _pair(self, first: Term, value: Term) -> None:
        self._term(first)
        self._put(": ")
        self._term(value)


def path_text(parts: Sequence[str]) -> str:
    """Return a path as Rego writes it, such as `lib["a-b"]`."""
    first, *rest = parts
    return first + "".join(
        f".{each}" if _NAME.fullmatch(each) else f"[{json.dumps(each, ensure_ascii=False)}]"
        for each in rest
    )
