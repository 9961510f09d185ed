"""Reads terms and bodies of Rego, as Open Policy Agent's parser does.

Longer than 400 lines by a little: terms and bodies hold each other, so one class reads both.

Rules:
    - A bracket or a dot belongs to what stands before it only if nothing stands between them:
      after a blank or at the beginning of a line it begins something new.
    - What begins like a comprehension and is none is read again as a list.

Source: Open Policy Agent, Policy Language, "Grammar", and its answers to modules of ours.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

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
    Object,
    Place,
    Ref,
    RegoError,
    ScalarTerm,
    Set,
    Some,
    SomeIn,
    Term,
    Test,
    Var,
    With,
)
from fnrunner.builtin.confined.rego.tokens import END, NEW_KEYWORDS, Token

# Operators from the loosest to the tightest, behind `in`, which is looser than all of them.
_LEVELS: Final = (
    ("==", "!=", "<", ">", "<=", ">="),
    ("|",),
    ("&",),
    ("+", "-"),
    ("*", "/", "%"),
)
_CONSTANTS: Final = ("true", "false", "null")
_Read = TypeVar("_Read")


class TermReader:
    """Reads terms and bodies from tokens.

    Attributes:
        keywords: The words that are keywords; imports add to them.
    """

    def __init__(self, tokens: list[Token], keywords: frozenset[str]) -> None:
        self._tokens = tokens
        self._position = 0
        self._known: dict[int, tuple[Term | RegoError, int]] = {}
        self.keywords = keywords

    # --- tokens ------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._position]

    def take(self) -> Token:
        """Return the next token, and go past it."""
        token = self.token
        self._position += token.kind != END
        return token

    def sees(self, *texts: str) -> bool:
        """Tell whether the next token is one of these signs or keywords."""
        token = self.token
        if token.kind == "word":
            return token.text in texts and token.text in self.keywords
        return token.kind == "sign" and token.text in texts

    def took(self, *texts: str) -> bool:
        """Go past the next token if it is one of these; return whether it was."""
        found = self.sees(*texts)
        if found:
            self.take()
        return found

    def want(self, text: str) -> Token:
        """Go past a sign or keyword that has to be here."""
        if not self.sees(text):
            raise self.error(f"{text} is missing before {self._seen()}")
        return self.take()

    def error(self, problem: str) -> RegoError:
        """Return an error at the next token."""
        return RegoError(self.token.at, problem)

    def _seen(self) -> str:
        return f"`{self.token.text[:40]}`" if self.token.text else "the end"

    def attempt(self, read: Callable[[], _Read]) -> _Read | None:
        """Return what is read; None, with nothing read, where that cannot be."""
        begin = self._position
        found: _Read | None = None
        with suppress(RegoError):
            found = read()
        if found is None:
            self._position = begin
        return found

    # --- bodies ------------------------------------------------------------------------------

    def body(self, end: str = "}") -> Body:
        """Read a body with what closes it."""
        found: list[Literal] = []
        while not found or not self.sees(end):
            found.append(self.literal())
            if not self.took(";") and not self.sees(end) and not self.token.first:
                raise self.error(f"a line break, ; or {end} is missing before {self._seen()}")
        self.take()
        return tuple(found)

    def literal(self) -> Literal:
        """Read one literal of a body, with its `with`."""
        at = self.token.at
        if self.sees("not"):
            self.take()
            if self.sees("some", "every"):
                raise self.error(f"{self._seen()} cannot be negated")
            return Test(at, self._expression(), negated=True, withs=self._withs())
        if self.sees("some"):
            return self._some()
        if self.sees("every"):
            return self._every()
        return Test(at, self._expression(), withs=self._withs())

    def _expression(self) -> Term:
        left = self.term()
        if self.sees(UNIFY, ASSIGN):
            sign = self.take()
            return Infix(sign.at, sign.text, left, self.term())
        if self.token.kind == "word" and self.token.text in ("and", "or") and not self.token.first:
            raise self.error(f"the operator {self._seen()} is not supported here. Write two rules")
        return left

    def _withs(self) -> tuple[With, ...]:
        found = []
        while self.took("with"):
            target = self._simple()
            if not isinstance(target, Var | Ref):
                raise self.error("`with` needs a reference to replace, such as input.review")
            self.want("as")
            found.append(With(target, self.term()))
        return tuple(found)

    def _some(self) -> Literal:
        at = self.take().at
        member = self.attempt(self._member)
        if member is not None:
            return SomeIn(at, member.key, member.left, member.right, self._withs())
        names = [self._variable()]
        while self.took(","):
            names.append(self._variable())
        return Some(at, tuple(names))

    def _every(self) -> Literal:
        at = self.take().at
        member = self._member()
        if member is None:
            raise self.error("`every` needs a domain: every x in xs { … }")
        key, value = member.key, member.left
        if not isinstance(value, Var) or not (key is None or isinstance(key, Var)):
            raise RegoError(at, "`every` needs variables before `in`")
        self.want("{")
        body = self.body()
        return Every(at, key, value, member.right, body, self._withs())

    def _member(self) -> Infix | None:
        found = self.term()
        return found if isinstance(found, Infix) and found.operator == "in" else None

    def _variable(self) -> Var:
        token = self.token
        if token.kind != "word" or token.text in self.keywords:
            raise self.error(f"a variable is missing before {self._seen()}")
        if token.text in NEW_KEYWORDS:
            raise self.error(f"`{token.text}` is a keyword now. Choose another name")
        self.take()
        return Var(token.at, token.text)

    # --- terms -------------------------------------------------------------------------------

    def term(self, *, listed: bool = False) -> Term:
        """Read a term.

        Args:
            listed: Whether a comma behind it separates it from the next one, and is not that
                of `key, value in xs`.
        """
        found = self._infix(0)
        keyed = None if listed or not self.sees(",") else self.attempt(self._second)
        if keyed is not None:
            sign, value, domain = keyed
            found = Infix(sign, "in", value, domain, key=found)
        while self.sees("in"):
            at = self.take().at
            found = Infix(at, "in", found, self._infix(0))
        return found

    def _second(self) -> tuple[Place, Term, Term]:
        self.want(",")
        value = self._infix(0)
        at = self.want("in").at
        return at, value, self._infix(0)

    def _infix(self, level: int) -> Term:
        if level == len(_LEVELS):
            return self._simple()
        found = self._infix(level + 1)
        while self.sees(*_LEVELS[level]):
            sign = self.take()
            found = Infix(sign.at, sign.text, found, self._infix(level + 1))
        return found

    def _simple(self) -> Term:
        """Read a term without operators, once for each place where one may begin."""
        begin = self._position
        if begin not in self._known:
            try:
                self._known[begin] = self._read_simple(), self._position
            except RegoError as error:
                self._known[begin] = error, begin
        found, self._position = self._known[begin]
        if isinstance(found, RegoError):
            raise RegoError(found.at, found.problem)
        return found

    def _read_simple(self) -> Term:
        token = self.token
        if token.kind == "sign" and token.text == "-":
            return self._negative()
        if token.kind in ("string", "raw"):
            self.take()
            found: Term = ScalarTerm(token.at, _text(token))
        elif token.kind == "number":
            self.take()
            found = _number(token)
        elif token.kind == "word":
            found = self._word()
        elif self.took("("):
            found = self.term()
            self.want(")")
        elif self.sees("["):
            found = self._array()
        elif self.sees("{"):
            found = self._braces()
        else:
            raise self.error(f"a term is missing before {self._seen()}")
        return self._continued(found)

    def _negative(self) -> Term:
        at = self.take().at
        if self.token.kind == "number":
            found = _number(self.take())
            return self._continued(ScalarTerm(at, f"-{found.text}"))
        if self.token.kind != "word":
            raise self.error(f"a number is missing before {self._seen()}")
        return Infix(at, "-", ScalarTerm(at, "0"), self._simple())

    def _word(self) -> Term:
        token = self.take()
        if token.text in _CONSTANTS:
            return ScalarTerm(token.at, token.text)
        if token.text in self.keywords and token.text != "contains":
            raise RegoError(token.at, f"`{token.text}` is a keyword and cannot be used as a name")
        if token.text in NEW_KEYWORDS and not self.sees_call(token.text):
            raise RegoError(
                token.at,
                f"`{token.text}` is a keyword now and cannot be used as a name here. Choose"
                " another one",
            )
        return Var(token.at, token.text)

    def sees_call(self, name: str) -> bool:
        """Tell whether `contains` is called here, as the function, and is not the keyword."""
        return name == "contains" and self.sees("(")

    def _continued(self, head: Term) -> Term:
        """Read what follows a term without a blank: brackets, dots and arguments."""
        path: list[Term] = []
        while not self.token.spaced and self.sees("[", ".", "("):
            at = self.token.at
            if isinstance(head, ScalarTerm | Infix):
                raise self.error(f"{self._seen()} cannot follow what comes before it")
            if self.took("["):
                path.append(self.term())
                self.want("]")
            elif self.took("."):
                path.append(self._field())
            else:
                head, path = self._call(_ref(head, path), at), []
        return _ref(head, path)

    def _field(self) -> Term:
        token = self.take()
        if token.kind != "word" or token.spaced:
            raise RegoError(token.at, "a name is missing after the dot")
        return ScalarTerm(token.at, json.dumps(token.text))

    def _call(self, function: Term, at: Place) -> Term:
        self.want("(")
        args = self.listed(")")
        if not isinstance(function, Var | Ref):
            raise RegoError(at, "only a function can be called")
        if not args and isinstance(function, Var) and function.name == "set":
            return Set(function.at, ())
        return FunctionCallTerm(function.at, function, args)

    def listed(self, end: str) -> tuple[Term, ...]:
        """Read terms between commas, with what closes them."""
        found = []
        while not self.sees(end):
            found.append(self.term(listed=True))
            if not self.took(",") and not self.sees(end):
                raise self.error(f", or {end} is missing before {self._seen()}")
        self.take()
        return tuple(found)

    def _array(self) -> Term:
        at = self.take().at
        if not self.took(","):
            made = self.attempt(partial(self._comprehension, at, "["))
            if made is not None:
                return made
        return Array(at, self.listed("]"))

    def _braces(self) -> Term:
        at = self.take().at
        if self.took("}"):
            return Object(at, ())
        if not self.took(","):
            made = self.attempt(partial(self._comprehension, at, "{"))
            if made is not None:
                return made
        first = self.term(listed=True)
        if not self.sees(":"):
            if not self.took(","):
                self.want("}")
                return Set(at, (first,))
            return Set(at, (first, *self.listed("}")))
        return self._object(at, first)

    def _comprehension(self, at: Place, bracket: str) -> Comprehension:
        key = self.attempt(self._key) if bracket == "{" else None
        term = self._simple()
        self.want("|")
        body = self.body("]" if bracket == "[" else "}")
        return Comprehension(at, bracket, term, body, key)

    def _key(self) -> Term:
        key = self.term(listed=True)
        self.want(":")
        return key

    def _object(self, at: Place, first: Term) -> Term:
        self.want(":")
        pairs = [(first, self.term(listed=True))]
        while not self.sees("}"):
            self.want(",")
            if not self.sees("}"):
                key = self.term(listed=True)
                self.want(":")
                pairs.append((key, self.term(listed=True)))
        self.take()
        return Object(at, tuple(pairs))


def _ref(head: Term, path: list[Term]) -> Term:
    if not path:
        return head
    if isinstance(head, Ref):
        return Ref(head.at, head.head, (*head.path, *path))
    return Ref(head.at, head, tuple(path))


def _number(token: Token) -> ScalarTerm:
    return ScalarTerm(token.at, f"0{token.text}" if token.text[0] == "." else token.text)


def _text(token: Token) -> str:
    """Return a string as JSON writes it."""
    value = token.text[1:-1]
    if token.kind == "string":
        value = json.loads(token.text, strict=False)
        # Halves of pairs that stand alone become what Go makes of them.
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json.dumps(value, ensure_ascii=False)
