"""One text for all forges: what the bot says reads as its forge is spoken to and of."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, Severity
from lifecycle.commands.parse import parse
from lifecycle.commands.table import TABLE
from lifecycle.decide import conclude, decide
from lifecycle.facts.head import Facts
from lifecycle.facts.overview import ListedChange, ListedStage, ListedWait, Overview
from lifecycle.messages import answers, dashboard, drafts, findings, forges, making
from lifecycle.messages.markdown import (
    code,
    committed,
    fenced,
    one_line,
    place,
    plain,
    plain_line,
    quote,
    typed,
)
from lifecycle.terms import AS_WRITTEN, KEEP, kept
from tests.lifecycle.samples import AUTHOR, NOW, PROPOSAL, changed, facts, said
from tests.lifecycle.settling import settled
from tests.lifecycle.test_decide import RULES, situations

MESSAGES = Path(__file__).parents[2] / "lifecycle" / "messages"
ADDRESS = "https://gitlab.example.org/acme/blueprints/-/merge_requests"
GITLAB = forges.gitlab("porchbot", ADDRESS)

WRONG = re.compile(
    r"[Pp]ull request|GitHub|check run|#\d|\bApp\b|[Rr]uleset|bypass list|Ready for review|`/[a-z]"
    r"|\b(?:read|triage|write|maintain|admin) access\b"
    rf"|(?<![\w<`/.-])/(?:{'|'.join(TABLE.words)})\b|^/|{KEEP}",
    re.MULTILINE,
)
"""What nobody is told on GitLab."""

OTHERS = "see pull request #12 on GitHub: `/check`, /approve, write access, the App `x`"


def literals() -> Iterator[tuple[str, int, str]]:
    """Every text of the messages, with what is put into it as "7", and as code what is code."""
    for path in sorted(MESSAGES.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        todo: list[ast.AST] = [tree]
        while todo:
            node = todo.pop()
            match node:
                case ast.Expr(value=ast.Constant()):
                    continue  # a docstring
                case ast.Constant(value=str(text)):
                    yield path.name, node.lineno, text
                case ast.JoinedStr(values=parts):
                    yield path.name, node.lineno, "".join(map(_part, parts))
                case _:
                    todo += ast.iter_child_nodes(node)


def _part(part: ast.expr) -> str:
    match part:
        case ast.Constant(value=value):
            return str(value)
        case ast.FormattedValue(
            value=ast.Call(func=ast.Name(id="code"), args=[ast.Constant(value=str(value))])
        ):
            return f"`{value}`"
        case ast.FormattedValue(value=ast.Call(func=ast.Name(id="code"))):
            return "`7`"
        case ast.FormattedValue(value=ast.Call(func=ast.Name(id="typed"))):
            return "`/check`"
        case _:
            return "7"


SELF = "forges.py"
RARE = {"is not an App", "is an App", "Name an App of your own"}
"""About `app:` in the configuration, which is a key there whatever the forge."""


def test_no_message_speaks_of_github_on_gitlab() -> None:
    """The short-cut puts `Terms` into today's messages; the next one then says "pull request"."""
    wrong = [
        (name, line, said)
        for name, line, text in literals()
        if name != SELF
        and " " in text
        and WRONG.search(said := GITLAB.said(text))
        and not any(rare in text for rare in RARE)
    ]
    assert wrong == [], "\n".join(map(str, wrong))


BARE = re.compile(rf"(?<![\w<`/.*-])/(?:{'|'.join(TABLE.words)})\b(?!/)")


def test_every_command_that_is_suggested_stands_in_a_code_span() -> None:
    """The short-cut writes "/set Kind/name" in a reason, which quotes packages and so is kept."""
    wrong = [
        (name, line, text)
        for name, line, text in literals()
        if BARE.search(re.sub(r"`[^`]*`", "", text)) and not text.startswith("/")
    ]
    assert wrong == []


QUOTES = Finding(
    message="data.text: base `/check`, here /approve, upstream #12",
    severity=Severity.ERROR,
    place=Place("net/a.yaml", 3, "data.text"),
    fix="Decide it with `/resolve 1 local`, `upstream` or a value",
)


def test_advice_of_a_finding_is_spelled_as_it_is_written_there_and_what_it_quotes_is_kept() -> None:
    """Short-cuts: the whole finding is somebody else's text; the whole finding is put into words of
    the forge, with the package's; a guardrail's advice, which operators wrote, is ours as well."""
    quoted = "data.text: base `/check`, here /approve, upstream #<!-- -->12. "
    ours = "Decide it with `@porchbot resolve 1 local`, `upstream` or a value."
    for told in (findings.finding(QUOTES), findings.thread(QUOTES)):
        assert GITLAB.said(told).endswith(f": {quoted}{ours}")
        assert AS_WRITTEN.said(told).endswith(f": {quoted}{QUOTES.fix}.")
    operators = replace(QUOTES, function="ghcr.io/x/y", fix="See `/etc/rules` and `/check`")
    for told in (findings.finding(operators), findings.thread(operators)):
        assert f"{quoted}{operators.fix}." in GITLAB.said(told)


@pytest.mark.parametrize(
    ("made", "advice"),
    [
        (making.no_place("a.b", ""), "name the resource: `@porchbot set Kind/name path=value`"),
        (making.several_places("a", ["x", "y"]), "`@porchbot set Kind/name path=value`"),
        (
            making.held("net/my_core", 2, "slow"),
            "End that first with `@porchbot resume net/my_core`",
        ),
        (making.held("", 2, "see `/check`"), "`/check`). End that first with `@porchbot resume .`"),
    ],
)
def test_what_a_refusal_advises_is_spelled_as_it_is_written_there(
    made: PackageError | str, advice: str
) -> None:
    """The short-cut: it is told where files are made, so it counts as a text of packages."""
    why = made if isinstance(made, str) else making.problem(made)
    assert advice in GITLAB.said(drafts.not_made("set", why))


def test_each_phrase_is_one_that_is_said() -> None:
    """The short-cut leaves a phrase in the list when its message is worded anew."""
    every = "\n".join(text for name, _, text in literals() if name != SELF)
    assert [phrase for phrase in forges.GITLAB_PHRASES if phrase not in every] == []


def texts(value: object) -> Iterator[str]:
    """What an action or a gate says; not what machines read in it."""
    for each in fields(value) if is_dataclass(value) and not isinstance(value, type) else ():
        found = getattr(value, each.name)
        if each.name in {"title", "body", "summary", "text", "actual", "wanted", "who"}:
            yield found
        elif each.name == "leaves":
            yield from (text for leaf in found for text in texts(leaf))


@pytest.mark.parametrize(("start", "publishing"), [r[:2] for r in RULES.values()], ids=RULES)
def test_every_decision_is_told_in_its_forges_terms(start: Facts, publishing: bool) -> None:
    """The short-cut forgets a kind of action, or the gates that the status page shows."""
    found = conclude(replace(start, terms=GITLAB), publishing=publishing)
    told = [*found.actions, *(gate for gates in found.waits.values() for gate in gates)]
    wrong = [(text, bad[0]) for each in told for text in texts(each) if (bad := WRONG.search(text))]
    assert wrong == []


@settings(max_examples=100)
@given(start=situations(), publishing=st.booleans())
def test_every_state_settles_in_other_terms(start: Facts, publishing: bool) -> None:
    """The short-cut says it in other words after comparing: the summary is edited for ever."""
    end = settled(replace(start, terms=GITLAB), publishing=publishing)
    assert decide(end, publishing=publishing) == []


def test_a_summary_with_words_of_others_settles_and_leaves_them_alone() -> None:
    """The short-cut says what it reads back once more, and so changes what people wrote."""
    held = changed(PROPOSAL, comments=(said(AUTHOR, f"/hold {OTHERS}"),))
    end = settled(facts(held, terms=GITLAB))
    shown = [c.body for c in end.proposals[0].talk.answers if c.summary]
    assert decide(end) == []
    assert len(shown) == 1
    assert AS_WRITTEN.said(quote(OTHERS)) in shown[0]
    assert "`@porchbot unhold`" in shown[0]


OF_OTHERS: list[Callable[[str], str]] = [
    quote,
    code,
    committed,
    plain_line,
    one_line,
    fenced,
    lambda text: plain(quote(text)),
    lambda text: plain(code(text)),
]

pieces = st.sampled_from(
    [
        *("pull request", "Pull requests", "#12", "GitHub", "/check", "`/check`", " ", "\n", "("),
        *("../pull/7", "[a](../pull/7)", "/a/b/pull/7/files)", "x", "`", "\\", "/", "#", "1", KEEP),
    ]
)


@given(st.lists(pieces, max_size=8).map("".join))
def test_what_others_wrote_is_never_put_into_other_terms(text: str) -> None:
    """The short-cut replaces in the whole text, a reason or a patch included."""
    for shown in OF_OTHERS:
        assert GITLAB.said(f"Said: {shown(text)}") == AS_WRITTEN.said(f"Said: {shown(text)}")


@given(st.lists(pieces, max_size=8).map("".join))
def test_a_text_that_was_said_is_kept(text: str) -> None:
    once = GITLAB.said(text)
    assert GITLAB.said(kept(once)) == once


def test_what_is_written_is_what_github_is_told() -> None:
    """Byte for byte: these terms are the ones in which the messages are written."""
    text = "Merge #12, or comment `/rebase`: see [it](../pull/12) on GitHub."
    assert AS_WRITTEN.said(text) == text


def test_a_link_leads_to_the_proposal() -> None:
    changes = (
        ListedChange(
            number=12,
            title="Fix #3",
            stage=ListedStage.PROPOSED,
            waits=(ListedWait(gate="hold", actual="see pull request #9", since=NOW),),
        ),
    )
    text = GITLAB.said(dashboard.dashboard(Overview(packages=(), changes=changes), 10_000))
    assert f"[!12]({ADDRESS}/12) Fix #<!-- -->3" in text
    assert "(see pull request #9)" in text, "it was said when it was kept"
    assert GITLAB.said("see [them](/acme/x/pull/7/files)") == f"see [them]({ADDRESS}/7/diffs)"


def test_an_issue_is_no_proposal() -> None:
    """The short-cut calls the dashboard, which counts below zero, a merge request."""
    assert GITLAB.said(f"in {place(12)} and {place(-5)}") == "in !12 and #5"
    assert [GITLAB.numbered(each) for each in (12, -5)] == ["!12", "#5"]


def test_help_is_spelled_as_it_is_written_there() -> None:
    rows = [(("hold [reason]", "h"), "prevent this from being published", "")]
    assert GITLAB.said(answers.help_text(rows)).splitlines()[-1] == (
        "- `@porchbot hold [reason]`, `@porchbot h`: prevent this from being published"
    )
    assert GITLAB.said(typed("freeze . a/b #1")) == "`@porchbot freeze . a/b #1`"


def test_a_title_is_spelled_without_marks() -> None:
    assert GITLAB.said(plain("nobody commented `/approve`; then `/check`.")) == (
        "nobody commented @porchbot approve; then @porchbot check."
    )


def test_the_bot_is_addressed_by_its_own_login_or_by_its_name() -> None:
    """The short-cut reads `@porchbot` alone, and messages name the account of a token."""
    terms = forges.gitlab("project_7_bot_0a", ADDRESS)
    assert terms.said("`/check`") == "`@project_7_bot_0a check`"
    for text in ("@project_7_bot_0a check", "@Project_7_Bot_0a check", "@porchbot check"):
        assert parse(terms.addressed(text)).commands == parse("/check").commands
    for other in ("@project_7_bot_0ab check", "a@project_7_bot_0a", "@project_7_bot_0a.b check"):
        assert terms.addressed(other) == other
    assert AS_WRITTEN.addressed("@porchbot check") == "@porchbot check"
