"""What people read: the summary, the answer to an approval, `/help` and `/why`, word for word."""

import re
from dataclasses import replace

import pytest

from cadlib.diff.values import Change, ChangeKind
from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from lifecycle import limits, memory
from lifecycle.access import Person, Role, RoleSource
from lifecycle.actions import Reply, Say, SetCheck, Tag
from lifecycle.commands.table import TABLE
from lifecycle.decide import decide
from lifecycle.facts.checks import PUBLISH, CheckState, Required
from lifecycle.facts.packages import Unpublished
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.verdicts import Verdict
from lifecycle.gates import judge
from lifecycle.ledger import LedgerEntry, ListedState
from lifecycle.messages import findings, forges, markdown, release, summary
from lifecycle.policy import AccessRule, Policy
from lifecycle.tags import Tagging
from lifecycle.terms import AS_WRITTEN
from tests.lifecycle.samples import (
    APPROVER,
    AUTHOR,
    BLOCKING,
    FACTS,
    MERGE,
    OUTSIDER,
    PROPOSAL,
    changed,
    facts,
    said,
)

BAD = replace(PROPOSAL, verdicts=(Verdict(package="net/core", findings=(BLOCKING,) * 3),))


def _said(proposal: Proposal) -> str:
    (one,) = [a for a in decide(facts(proposal)) if isinstance(a, Say)]
    return one.body


def _answer(proposal: Proposal, person: Person, words: str) -> str:
    asked = changed(proposal, comments=(said(person, words),))
    (one,) = [a for a in decide(facts(asked)) if isinstance(a, Reply)]
    return one.body


@pytest.mark.parametrize("there", [True, False])
def test_what_became_of_the_branch_of_a_closed_pull_request_is_told(there: bool) -> None:
    """The short-cut says that it is kept, also where whoever closed it deleted the branch, as
    the bot does with drafts of variants that nobody asks for any more."""
    closed = changed(PROPOSAL, closed=True)
    of = facts(closed) if there else facts(closed, head=None)
    known = memory.read(closed)
    text = summary.summary(of, closed, judge(of, closed, known), known)
    assert ("is kept. Reopen this" in text) is there
    assert ("is gone. Restore it to reopen this." in text) is not there


def test_what_is_missing_comes_first_and_what_holds_is_folded() -> None:
    """The short-cut is one table of everything, in which the two rows that matter are the third
    and the fifth, and whose last column no phone shows."""
    text = _said(BAD)

    assert text.startswith(
        "### net/core v5 is proposed\n\n**Missing**\n\n"
        "- ❌ **valid**: 3 errors. **Needed:** no errors: fix them at their lines and push."
        " **Who:** the author.\n"
        "- ⏳ **approved**: 0 of 1. **Needed:** 1 more approval of this content: `/approve`."
        " **Who:** people with write access, except `author` (the author).\n\n"
        "**Findings**"
    )
    assert text.endswith(
        "<details><summary>✅ 5 gates hold</summary>\n\n"
        "- ✅ **proposed**: it is proposed\n"
        "- ✅ **rendered**: Rendered output is up to date\n"
        "- ✅ **up to date**: `main` has no newer change of these packages\n"
        "- ✅ **no objection**: nobody requested changes\n"
        "- ✅ **no hold**: nobody holds it\n\n</details>"
    )


NOTE = "⚠️ `main` does not require the check `porchbot/publish`, so *Merge* also works while"


def test_a_base_that_does_not_require_the_check_is_told_once_with_the_setting() -> None:
    """The short-cut relies on a check that binds nobody."""
    text = _said(changed(BAD, enforced=False))

    assert text.count(NOTE) == 1
    assert "*Settings → Rules → Rulesets → New branch ruleset*, target `main`" in text
    for other in (
        changed(BAD, enforced=True),
        changed(BAD, enforced=None),
        changed(BAD, enforced=False, draft=True),
    ):
        assert NOTE not in _said(other)


def test_nothing_people_read_on_a_phone_is_a_table() -> None:
    everything = changed(BAD, required=(Required("ci|x", CheckState.MISSING),))
    texts = [_said(everything), *(_answer(everything, APPROVER, w) for w in ("/why", "/help"))]

    assert not [text for text in texts if re.search(r"^\|", text, re.MULTILINE)]


BLOCKED = {
    "errors": (BAD, "Approved. Still blocked: 3 errors."),
    "errors, and one more person": (
        changed(BAD, policy=Policy(approve=AccessRule(require=2))),
        "Approved. Still blocked: 3 errors; approved by 1 of 2 (`approver`).",
    ),
    "a check of others": (
        changed(PROPOSAL, required=(Required("scan", CheckState.PENDING),)),
        "Approved. Still blocked: check scan: still running.",
    ),
    "nothing": (PROPOSAL, "Approved.\n"),
}


@pytest.mark.parametrize(("proposal", "text"), BLOCKED.values(), ids=BLOCKED)
def test_the_answer_to_an_approval_says_what_still_blocks(proposal: Proposal, text: str) -> None:
    """The short-cut says "approved" and leaves the approver waiting for a tag."""
    answer = _answer(proposal, APPROVER, "/approve")

    assert answer.startswith(f"@approver {text}")
    assert answer.endswith("You approved head `aaaaaaaaaa`: net/core v5.")


def test_help_lists_what_this_person_can_do_here() -> None:
    """The short-cut is one list for everybody, whose first command most are then refused."""
    rules = Policy(approve=AccessRule(sources=(RoleSource(Role.MAINTAIN),)))
    here = changed(PROPOSAL, policy=rules)

    assert _answer(here, AUTHOR, "/help") == (
        "@author You can use these commands here, each at the start of a line:\n\n"
        "- `/propose [<commit>]`: propose this draft for publishing; if you name a commit, only"
        " that commit\n"
        "- `/unapprove`, `/remove-approve`: remove your own approval\n"
        "- `/reject [reason]`: turn this proposal back into a draft\n"
        "- `/render`, `/rerender`: render again, and commit the result where the bot may push\n"
        "- `/rebase [<package>] [onto <upstream>]`: merge the base branch into the branch of this"
        " pull request, or of a package's open draft, field by field in packages; or move a package"
        " to another upstream\n"
        "- `/check`, `/recheck`: check again from scratch\n"
        "- `/hold [reason]`: keep this proposal from being published\n"
        "- `/unhold`, `/remove-hold`: end the hold\n"
        "- `/init <path>`: open a draft with a new package\n"
        "- `/clone [--strategy <name>] [--propose] <upstream> <path>`: open a draft with a package"
        " from an upstream, `<repository>/<path>@v<N>` or `<git URL>//<path>@<ref>`\n"
        "- `/edit <package>[@v<N>]`: open a draft to edit a package, as it is now or as it was in"
        " a revision\n"
        "- `/upgrade [--strategy <name>] [--propose] [--together <package> ...] [<package>]"
        " [v<N> | latest]`: open a draft that merges a newer revision of the upstream into the"
        " package, field by field; `--together` upgrades several packages in one pull request\n"
        "- `/set [--package <path>] [--propose] [<Kind>/<name>] <field>=<value>`: change one field"
        " or setter of a package\n"
        "- `/eval [--package <path>] [--propose] <function> [<key>=<value> ...]`: run a function"
        " once on a package\n"
        "- `/resolve <n> <value>`: resolve conflict number <n> of an upgrade: `upstream`, `local`"
        " or a value\n"
        "- `/rollback [<package>@]v<N> [reason]`: propose to go back to a revision, and hold the"
        " package there until it is resumed\n"
        "- `/resume <path> [reason]`: propose to end the hold after a rollback\n"
        "- `/diff [<package>] [v<N>]`: list the changes field by field, here or since a revision;"
        " on the dashboard issue, those of a package\n"
        "- `/why [field]`: list what is still missing; with one of these, such as `approved`, tell"
        " that alone; with a field, tell what set it\n"
        "- `/help`: show this list\n\n"
        "You cannot use these here:\n\n"
        "- `/approve [<commit>]`: approve the content as it is now; if you name a commit, only that"
        " commit (only for people with maintain access)\n"
        "- `/freeze [path/] [until <date> <time> | for <2h>] <reason>`: stop publishing for"
        " the whole repository, or for one folder (only for people with maintain access)\n"
        "- `/thaw [path]`: end a freeze (only for people with maintain access)\n"
        "- `/override <gate> <reason>`: publish despite `window`, `freeze` or `check:<name>`"
        " (only for people with maintain access)\n"
        "- `/delete [<package>][@v<N>] [reason]`: open a pull request that withdraws a revision and"
        " deletes its tag; in a pull request that removes a package: withdraw its revisions as well"
        " (only for people with maintain access)\n"
        "- `/deprecate [<package>@]v<N> <reason>`: open a pull request that deprecates a revision"
        " (only for people with maintain access)"
    )
    outsider = _answer(here, OUTSIDER, "/help").partition("You cannot use these here")
    assert "/why" in outsider[0]
    assert "/hold" in outsider[2]
    assert "`/approve [<commit>]`" in _answer(here, APPROVER, "/help").partition("These need")[0]


def test_help_leaves_out_what_means_nothing_here() -> None:
    merged = changed(PROPOSAL, merged=True, closed=True, merge_commit=MERGE, touched=())
    fork = replace(FACTS, same_repository=False, head_ref="w1")
    asked = changed(PROPOSAL, comments=(said(AUTHOR, "/help"),))

    assert re.findall(r"`/(\w+)", _answer(merged, APPROVER, "/help")) == [
        *(
            "freeze",
            "thaw",
            "init",
            "clone",
            "edit",
            "upgrade",
            "set",
            "eval",
            "rollback",
            "resume",
            "delete",
            "deprecate",
            "why",
            "help",
        )
    ]
    (reply,) = [a for a in decide(replace(fork, proposals=(asked,))) if isinstance(a, Reply)]
    assert set(TABLE.words) - set(re.findall(r"`/(\w+)", reply.body)) == {
        "continue",
        "render",
        "rebase",
        "resolve",
    }


def test_why_about_a_field_tells_what_is_said_about_it() -> None:
    """The short-cut says that this is not supported yet."""
    assert _answer(BAD, AUTHOR, "/why spec.ports").startswith(
        "@author About `spec.ports`:\n\n**Findings**\n\n- **error** `net/core/router.yaml:12,"
    )
    assert "Nothing found about `spec.other`" in _answer(BAD, AUTHOR, "/why spec.other")


HARMLESS = {
    "@team please": "@<!-- -->team please",
    "see #12 and GH-3": "see #<!-- -->12 and GH-<!-- -->3",
    "ghcr.io/acme/fn:v1": "ghcr.io/acme/fn:v1",
    "a|b <b> [x](y)": r"a\|b \<b\> \[x\](y)",
    "&#64;team": r"\&#<!-- -->64;team",
    "two\nlines": "two lines",
}


@pytest.mark.parametrize("text", HARMLESS)
def test_text_of_others_is_harmless_and_can_be_copied(text: str) -> None:
    """The short-cut is a character that nobody sees, and that is then in the copied command."""
    shown = markdown.quote(text)

    assert shown == HARMLESS[text]
    assert shown.isprintable()


REASONS = {
    "Use `git tag --list` or `/rebase <package> onto <upstream>`, `a`": None,
    "a`b @x `@y` `c\n#1`": r"a\`b @<!-- -->x \`@<!-- -->y\` \`c #<!-- -->1\`",
    "` [x](y) ` ``a`` `<!--`": r"\` \[x\](y) \` \``a`\` \`\<!--\`",
    "fixes #1 in `x`": "fixes #<!-- -->1 in `x`",
}
"""Reasons, and how they are shown if not as they are."""


@pytest.mark.parametrize("text", REASONS)
def test_a_reason_keeps_its_code_spans_alone(text: str) -> None:
    """Short-cuts refused: its backticks are shown escaped; whatever stands between two is kept."""
    assert AS_WRITTEN.said(markdown.reason(text)) == (REASONS[text] or text)
    gitlab = forges.gitlab("porchbot", "https://gitlab.example")
    assert gitlab.said(markdown.reason("Use `/clone`")) == "Use `@porchbot clone`"
    for terms in (AS_WRITTEN, gitlab):
        assert terms.said(markdown.remark(text)) == (REASONS[text] or text)
        assert terms.said(markdown.remark("see `/bin/sh`")) == "see `/bin/sh`"


def test_findings_and_notes_of_the_ledger_keep_their_code_spans() -> None:
    """The short-cut escapes backticks in all that others wrote: people read them as a mistake."""
    said = Finding(
        message="use `net/base`, not `x|`",
        severity=Severity.WARNING,
        place=Place("a.yaml"),
        fix="Run `kpt`",
    )
    note = LedgerEntry(ListedState.DEPRECATED, "use `v3`")

    assert r": use `net/base`, not \`x\|\`. Run `kpt`." in findings.finding(said)
    assert release.listed(note).startswith("**Deprecated:** use `v3`\n")


def test_no_message_holds_a_character_that_cannot_be_seen() -> None:
    odd = Finding(
        message="allow ghcr.io/a/b for @all, #1",
        severity=Severity.ERROR,
        place=Place("net/core/a b.yaml", 3, 'metadata.annotations["x/y"]'),
        fix="Run `kpt fn render net/core`",
        proposed="/etc/x",
    )
    proposal = replace(PROPOSAL, verdicts=(Verdict(package="net/core", findings=(odd,)),))
    judgement = judge(facts(proposal), proposal, memory.Memory())
    texts = [_said(proposal), summary.gate_list(judgement), findings.annotation(odd)]

    assert all(char.isprintable() or char == "\n" for text in texts for char in text)


def test_every_package_that_is_approved_is_named() -> None:
    """The short-cut counts what has no room in a list: nobody can see what else is published."""
    (core,) = PROPOSAL.content.touched
    many = tuple(replace(core, package=f"net/p{n:03}") for n in range(302))
    proposal = changed(PROPOSAL, touched=many, verdicts=(), base_ref="main")

    actions = decide(facts(proposal))
    shown = [_answer(proposal, APPROVER, "/approve"), _said(proposal)]
    shown += [a.summary for a in actions if isinstance(a, SetCheck) and a.name == PUBLISH]

    assert len(shown) == 3
    for text in shown:
        assert len(text) <= limits.TEXT
    for text in shown[:2]:
        assert [t.package for t in many if f"`{t.package}`" not in text] == []
    assert "`net/p301` v5" in shown[2]


STRAY = Unpublished(revision=4, published="3" * 40, base="2" * 40, sources=("#3", "abcdef0123"))

UNPUBLISHED: dict[str, tuple[Unpublished, str]] = {
    "after a revision": (STRAY, "- `net/core` differs from `net/core/v4` (#3, `abcdef0123`)"),
    "since the bot came": (
        replace(STRAY, revision=0),
        "- `net/core` was changed after porchbot was installed, and porchbot has not published"
        " it yet (#3, `abcdef0123`)",
    ),
    "never published": (
        replace(STRAY, revision=0, published="", sources=()),
        "- `net/core` was not published by porchbot yet",
    ),
    "the baseline": (
        replace(STRAY, revision=0, adopted=True, files=4),
        "The first revision also publishes 4 files that were in `main` before porchbot was"
        " installed.",
    ),
}


@pytest.mark.parametrize("told", [True, False])
def test_what_cannot_be_told_of_it_is_not_told_as_nothing(told: bool) -> None:
    """Short-cut refused: no difference is listed where comparing took too much, as if none were."""
    (core,) = PROPOSAL.content.touched
    found = (Change(path="a.yaml", kind=ChangeKind.ADDED),) if told else ()
    there = replace(core, unpublished=replace(STRAY, changes=found))

    lines = _said(changed(PROPOSAL, touched=(there,))).splitlines()

    diff = f"`git diff {'3' * 40} {'2' * 40}`"
    assert (f"- What differs in `net/core` cannot be shown here: {diff}" in lines) != told


@pytest.mark.parametrize(("there", "expected"), UNPUBLISHED.values(), ids=UNPUBLISHED)
def test_what_stands_unpublished_in_the_base_is_said(there: Unpublished, expected: str) -> None:
    """The short-cut shows the difference to the merge base alone."""
    (core,) = PROPOSAL.content.touched
    proposal = changed(PROPOSAL, touched=(replace(core, unpublished=there),))
    actions = decide(facts(proposal))
    shown = [a.body for a in actions if isinstance(a, Say)]
    shown += [a.summary for a in actions if isinstance(a, SetCheck) and a.name == PUBLISH]
    told = [a.body for a in actions if isinstance(a, Reply)]

    assert len(shown) == 2
    assert all(expected in text.splitlines() for text in shown)
    assert [expected in text.splitlines() for text in told] == [True] * (not there.adopted)


def test_a_merge_that_another_one_published_says_so_and_names_the_right_revision() -> None:
    """The short-cut names the next number, which another proposal has taken."""
    (core,) = PROPOSAL.content.touched
    within = replace(core, tagging=Tagging(6, tagged=True, within="#9"))
    merged = changed(PROPOSAL, touched=(within,), merged=True, closed=True, merge_commit=MERGE)

    actions = decide(facts(merged), publishing=True)

    assert not [a for a in actions if isinstance(a, Tag)]
    (text,) = [a.body for a in actions if isinstance(a, Say)]
    assert text.startswith(
        "### Merged, but not published by itself: its content is in net/core v6\n\n"
    )
    assert "- The content of `net/core` here was published with `net/core/v6` by #9." in text
    assert "Tagged" not in text
