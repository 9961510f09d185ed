"""The main job, end to end: from a pushed draft to tagged revisions."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from bot.cli.root import main
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.world import World, package, resized

BAD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: router
spec:
  replicas: two # a word where a number belongs
  selector:
    matchLabels: {app: router}
  template:
    metadata:
      labels: {app: router}
    spec:
      containers:
        - name: router
          image: router
"""


@pytest.mark.real_parts
@pytest.mark.render_workers
def test_from_a_pushed_draft_to_v2(play: RealWorld, tmp_path: Path) -> None:
    """The demo's story; fails on any fixed result, since each step is caused by a person."""
    author, approver = play.author, play.approver
    author.pushes("drafts/net/core/first", {**package("net/core"), "net/core/router.yaml": BAD})

    pull = author.pull_of("drafts/net/core/first")
    failed = author.waits_for_check(pull.number, "porchbot/validate", "failure")

    assert pull.draft
    assert len(author.commits_of(pull.number)) == 2  # one render commit
    notes = [(n.path, n.line) for n in author.remarks(pull.number, failed.name)]
    assert ("net/core/router.yaml", 8) in notes  # two lines further: a label was added above
    router = author.reads("net/core/router.yaml", "drafts/net/core/first")
    assert "owner: network" in router
    assert "replicas: two # a word where a number belongs" in router

    author.pushes(
        "drafts/net/core/first",
        {"net/core/router.yaml": router.replace("replicas: two", "replicas: 2")},
    )
    author.waits_for_check(pull.number, "porchbot/validate", "success")
    author.says(pull.number, "/propose")
    wait_for("the proposal", lambda: not author.pull(pull.number).draft or None)

    play.outsider.says(pull.number, "/approve")
    refusal = author.waits_for_answer(pull.number, "@outsider")
    assert "`/approve` refused: only people with maintain access can do this" in refusal
    assert "; you have read access. Ask one of them." in refusal
    assert author.tags() == {}

    waiting = "SELECT gate FROM wait"
    wait_for("its wait", lambda: play.database(waiting) == [("approved",)] or None)

    said = approver.says(pull.number, "/approve")
    target = author.waits_for_tag("net/core/v1")
    play.rests()

    assert play.database(waiting) == []
    merged = author.pull(pull.number)
    assert merged.merged
    assert target == merged.merge_commit
    assert approver.reactions(pull.number, said) == {"rocket"}
    assert "Published net/core v1" in author.summary(pull.number)
    assert not [name for name in author.branches() if name.startswith("drafts/")]
    message = author.commit(target).message
    assert 'kpt:{"package":"net/core","workspaceName":"first","revision":"1"}' in message
    assert "Approved-by: approver" in author.tag_text("net/core/v1")
    _verifies(play, tmp_path, target)
    entries = play.database(
        "SELECT action, detail->>'outcome', detail->'asked' FROM audit"
        " WHERE action IN ('Merge', 'Tag') ORDER BY id"
    )  # though the base branch's look did it, which only our own look woke
    approver_id = play.forge.state.user("approver").id
    who = [{"by": "person", "forge": play.name, "id": approver_id, "login": "approver"}]
    assert entries == [("Merge", "DONE", who), ("Tag", "DONE", who)]

    figures = httpx.get(f"http://127.0.0.1:{play.port}/metrics", timeout=60).text
    for counted in (
        "porchbot_first_check_seconds_count",
        'porchbot_forge_requests_total{kind="read",status="200"}',
        'porchbot_decisions_total{outcome="settled"}',
        'porchbot_actions_total{kind="Tag",outcome="done"}',
    ):
        assert re.search(rf"(?m)^{re.escape(counted)} [1-9]", figures), counted

    second = play.proposes("drafts/net/core/second", resized("net/core", 2))
    approver.says(second, "/approve")

    assert author.waits_for_tag("net/core/v2") != target


def test_a_pull_request_without_packages_has_one_check_and_no_comment(play: World) -> None:
    """Fails when every check is required to say something: others would wait for ever."""
    play.author.pushes("topic", {"README.md": "words\n"})
    pull = play.author.opens("topic", "Words")

    run = play.author.waits_for_check(pull.number, "porchbot/publish", "success")
    play.rests()

    assert run.title == "No packages changed"
    assert set(play.author.checks(pull.head)) == {"porchbot/publish"}
    assert play.author.comments(pull.number) == []


def test_several_packages_in_one_proposal_are_tagged_each(play: World) -> None:
    """Fails when a branch name decides which package is published."""
    number = play.proposes("drafts/net/core/w", {**package("net/core"), **package("apps/shop")})
    play.approver.says(number, "/approve")

    core, shop = (play.author.waits_for_tag(t) for t in ("net/core/v1", "apps/shop/v1"))
    assert core == shop == play.author.pull(number).merge_commit


@pytest.mark.real_parts
def test_a_look_that_changes_nothing_makes_few_calls(play: RealWorld) -> None:
    """Fails when a look asks for everything: rate limits are what bots die of."""
    number = play.opens("topic", package("net/core"))
    play.author.says(number, "/hold")
    play.rests()
    play.approver.says(number, "/approve")
    play.author.waits_for_answer(number, "@approver")
    play.rests()
    mark = play.forge.faults.mark()

    me = play.repository.id
    play.wake(f"{play.name}:{me}:proposal:{me}:topic")
    counts = wait_for("the look", lambda: play.forge.faults.counts(play.caller, since=mark) or None)
    play.rests()

    counts = play.forge.faults.counts(play.caller, since=mark)
    print("\nA look that changes nothing:", sum(counts.values()), dict(counts))
    assert 0 < sum(counts.values()) <= {"github": 7, "gitlab": 8}[play.name]


@pytest.mark.real_parts
def test_from_push_to_checks_takes_at_most_twenty_calls(play: RealWorld) -> None:
    """Fails when each step looks at everything again."""
    files = {
        **package("net/core"),
        "net/core/extra.yaml": "kind: A\napiVersion: v1\nmetadata:\n  name: a\n",
    }
    mark = play.forge.faults.mark()
    began = time.monotonic()
    play.author.pushes("drafts/net/core/w", files)
    pushed = time.monotonic()
    pull = play.author.pull_of("drafts/net/core/w")
    play.author.waits_for_check(pull.number, "porchbot/publish", None)
    play.author.waits_for_check(pull.number, "porchbot/render", "success")
    done = time.monotonic()

    calls = play.forge.faults.calls(play.caller, since=mark)
    shown = {"github": "check-runs", "gitlab": "/statuses/"}[play.name]
    last = max(i for i, call in enumerate(calls) if shown in call.template and call.method != "GET")
    counts = [call.name for call in calls[: last + 1]]
    print(
        f"\nPush to checks: {len(counts)} calls, {done - pushed:.2f} s after a push of "
        f"{pushed - began:.2f} s"
    )
    for name in sorted(set(counts)):
        print(f"  {counts.count(name)} {name}")
    assert len(counts) <= 20


def _verifies(play: RealWorld, folder: Path, target: str) -> None:
    """The tag in a clone verifies, with the file that the bot publishes, and says what held."""
    signers = folder / "signers"
    published = httpx.get(f"http://127.0.0.1:{play.port}/allowed_signers", timeout=60)
    signers.write_text(published.raise_for_status().text)
    clone = play.author.checks_out("main")
    given = ["verify", "net/core@v1", "--repo", str(clone), "--allowed-signers", str(signers)]
    done = CliRunner().invoke(main, [*given, "--json"])
    assert done.exit_code == 0, done.output
    stated = json.loads(done.output)
    assert (stated["commit"], stated["base"]["ref"]) == (target, "main")
    assert [each["login"] for each in stated["approvers"]] == ["approver"]
    assert stated["functions"], "the guardrail ran"
    gates = {gate["name"]: gate for gate in stated["gates"]}
    assert all(gate["holds"] and gate["wanted"] and gate["actual"] for gate in gates.values())
    assert {"rendered", "valid", "approved", "no objection", "no hold"} <= gates.keys()
    assert gates["approved"]["wanted"] == "1 from role:maintain"
    if shutil.which("ssh-keygen"):
        git = ["git", "-c", f"gpg.ssh.allowedSignersFile={signers}", "tag", "-v", "net/core/v1"]
        said = subprocess.run(git, cwd=clone, capture_output=True, text=True, check=False)
        assert 'Good "git" signature for porchbot' in said.stderr, said.stderr
