"""Compiles Rego modules for the engine, so that it decides as Open Policy Agent does.

Each module is read (`tokens`, `terms`, `rules` into the tree of `syntax`), what it names is looked
up (`names`, `functions`), what Open Policy Agent's compiler rewrites is rewritten (`rewrite`), and
it is written again (`writer`). What is not available is refused with its place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fnrunner.builtin.confined.rego import rules
from fnrunner.builtin.confined.rego.names import ModuleNames
from fnrunner.builtin.confined.rego.rewrite import Rewriter
from fnrunner.builtin.confined.rego.syntax import Module, RegoError, Rule, Term, rebuilt_name
from fnrunner.builtin.confined.rego.writer import Writer, path_text


class UnreadableError(Exception):
    """A module cannot be used; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A module as the engine reads it.

    Attributes:
        file: Its name in errors.
        package: Its package, such as "lib.names".
        writer: What wrote it for the engine, and knows where each piece of it came from.
        used: Names of the stand-ins that it needs.
    """

    file: str
    package: str
    writer: Writer
    used: frozenset[str]


def compiled(modules: Sequence[Mapping[str, Any]]) -> list[Compiled]:
    """Return the modules of a template as the engine reads them.

    Args:
        modules: Each with `text`, `file` and `v1`, as `rego_engine` takes them.

    Raises:
        UnreadableError: One cannot be used.
    """
    read: list[Module] = []
    for each in modules:
        try:
            read.append(rules.read(each["text"], v1=each["v1"]))
        except RegoError as error:
            raise _unreadable(each["file"], error) from error
    found = []
    for each, module in zip(modules, read, strict=True):
        try:
            writer = Writer()
            names = ModuleNames(module, read)
            writer.module(_rewritten(module, names, v1=each["v1"]))
        except RegoError as error:
            raise _unreadable(each["file"], error) from error
        except RecursionError:
            deep = RegoError((1, 1), "it is nested too deeply. Split it into several rules")
            raise _unreadable(each["file"], deep) from None
        found.append(
            Compiled(each["file"], path_text(module.package), writer, frozenset(names.used))
        )
    return found


def _unreadable(file: str, error: RegoError) -> UnreadableError:
    line, column = error.at
    return UnreadableError(f"{file}:{line}:{column}: {error.problem}")


def _rewritten(module: Module, names: ModuleNames, *, v1: bool) -> Module:
    names.check(v1=v1)
    module = Rewriter(names.known, names.arity).module(module)
    return replace(module, rules=tuple(_with_stand_ins(rule, names) for rule in module.rules))


def _with_stand_ins(rule: Rule, names: ModuleNames) -> Rule:
    def maybe(term: Term | None) -> Term | None:
        return None if term is None else names.with_stand_ins(term)

    head = rule.head
    head = replace(
        head,
        name=rebuilt_name(head.name, names.with_stand_ins),
        args=None if head.args is None else tuple(map(names.with_stand_ins, head.args)),
        element=maybe(head.element),
        value=maybe(head.value),
    )
    branches = tuple(
        replace(
            each,
            value=maybe(each.value),
            body=None if each.body is None else names.body(each.body),
        )
        for each in rule.branches
    )
    body = None if rule.body is None else names.body(rule.body)
    return replace(rule, head=head, body=body, branches=branches)
