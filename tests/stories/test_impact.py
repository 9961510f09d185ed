"""What a change would do to packages that it does not touch is told before it is merged.

Longer than 400 lines: one story for each kind of change that others feel.
"""

import pytest

from bot.cli import dryrun
from bot.cli.dropin import CommandFailure
from bot.cli.fn.options import RunnerOptions
from lifecycle.facts.checks import PUBLISH
from lifecycle.messages import impact as texts
from tests.memory.pipeline import PipelineMaker
from tests.stories.calls import CHECK, CHECKS, PROPOSALS, TALK
from tests.stories.conftest import TWO_BASES
from tests.stories.killing import killed_at_one_call_more
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.rendering import Rendering
from tests.stories.seen import Check
from tests.stories.simulated import SimulatedWorld, simulated
from tests.stories.test_dryrun import Command
from tests.stories.world import CONFIG, Staging, World, minutes_pass, package, resized

IMPACT = "porchbot/impact"
BREAKS = ("neutral", "success")
"""GitLab has no third colour: there it is green, and its line tells."""
STRICTER = CONFIG.replace("owner: network", "owner: mine")
BLOCKING = CONFIG + "impact: block\n"
DENIES = """    - image: starlark:v0.5
      configMap:
        source: |
          for r in ctx.resource_list["items"]:
            if r.get("data", {}).get("size") == "7":
              fail("size 7 is not for sale")
"""
LOCK = """\
upstream:
  type: git
  git: {repo: REPO, directory: /net/core, ref: main}
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git: {repo: REPO, directory: /net/core, ref: main, commit: COMMIT}
"""


def denying(config: str) -> str:
    """A configuration with one guardrail more."""
    return config.replace("access:\n", f"{DENIES}access:\n")


def made_from_core(play: World, path: str, size: int) -> dict[str, str]:
    """A package that was made from net/core as it is on the main branch."""
    commit = play.author.branches()["main"]
    lock = LOCK.replace("REPO", play.forge.clone_url("acme", "blueprints"))
    files = {**package(path), **resized(path, size)}
    name = path.rsplit("/", 1)[-1]
    as_core = files[f"{path}/settings.yaml"].replace(f"name: {name}", "name: core")
    kptfile = files[f"{path}/Kptfile"] + lock.replace("COMMIT", commit)
    return {f"{path}/Kptfile": kptfile, f"{path}/settings.yaml": as_core}


def proposes(play: World, branch: str, files: dict[str, str], *, draft: bool = False) -> int:
    """A pull request."""
    play.author.pushes(branch, files)
    return play.author.opens(branch, "Change", draft=draft).number


def says(play: World, number: int, *conclusions: str) -> tuple[str, str]:
    """Title and text of the check, wherever the forge has room for the text."""

    def find() -> Check | None:
        run = play.author.checks(play.author.pull(number).head, number).get(IMPACT)
        return run if run and run.conclusion else None

    run = wait_for("the impact", find)
    assert run.conclusion in (conclusions or ("success",))
    play.rests()
    run = find() or run  # what stands there by now: a line comes before the summary
    return run.title, run.text or play.author.summary(number)


def is_quiet(play: World, number: int) -> bool:
    """Whether a head has no such check."""
    play.rests()
    return IMPACT not in play.author.checks(play.author.pull(number).head)


@pytest.mark.both_forges
def test_a_guardrail_is_tried_on_every_package(play: World) -> None:
    """Short-cuts refused: only open proposals are tried; a package is named without its fields."""
    play.owner.pushes("main", {**package("net/core"), **resized("net/core", 7)})
    play.rests()
    number = proposes(play, "guardrails", {".porchbot.yaml": denying(STRICTER)})

    title, text = says(play, number, *BREAKS)

    assert title == "2 of 2 packages would change; 1 would fail"
    assert "The changed rules were tried on 2 packages, compared with `main` at" in text
    assert "- 1 package would fail to render or to pass validation\n" in text
    assert "- 2 packages would render differently, or hold other values" in text
    core = text.index("### `net/core`\n\nWould fail, 1 difference, 1 new finding:\n")
    assert core < text.index("### `net/edge`\n\n1 difference:\n")
    field = "`settings.yaml: ConfigMap core: metadata.labels.owner: network -> mine`"
    assert field in text
    assert "size 7 is not for sale" in text


@pytest.mark.both_forges
def test_packages_made_from_a_changed_one_are_upgraded_on_trial(play: World) -> None:
    """Short-cuts refused: only who uses it is told; what conflicts shows after the tag."""
    play.owner.pushes("main", package("net/core"))
    play.rests()
    play.owner.pushes(
        "main", {**made_from_core(play, "apps/one", 1), **made_from_core(play, "apps/two", 4)}
    )
    play.rests()
    number = proposes(play, "drafts/net/core/w", resized("net/core", 9))

    title, text = says(play, number, *BREAKS)

    assert title == "2 of 2 packages would change; 1 would conflict"
    assert "An upgrade to `net/core` as changed here was tried on 2 packages" in text
    assert "### `apps/two` (made from `main`)\n\n1 conflict" in text
    assert "data.size: base 1, here 4, upstream 9" in text
    one = text[text.index("### `apps/one` (made from `main`)") :]
    assert '`settings.yaml: ConfigMap core: data.size: "1" -> "9"`' in one
    assert "upstreamLock" not in text
    assert play.author.reads("apps/one/settings.yaml").count('"1"') == 1


def test_other_branches_that_are_published_from_are_tried(two_bases: World) -> None:
    """The short-cut tries the base branch alone: what is maintained on others breaks unseen."""
    play = two_bases
    play.owner.pushes("main", package("net/core"))
    play.rests()
    play.owner.pushes("release", made_from_core(play, "apps/one", 4))
    play.owner.pushes("unpublished", made_from_core(play, "apps/two", 4))
    play.rests()
    number = proposes(play, "drafts/net/core/w", resized("net/core", 9))

    title, text = says(play, number, *BREAKS)

    assert title == "1 of 1 package would change; 1 would conflict"
    assert "### `apps/one` on `release` (made from `main`)\n\n1 conflict" in text


def test_other_repositories_are_named_where_everybody_can_read_them(play: World) -> None:
    """Short-cuts refused: everybody's packages are named; what is private is merged on trial."""
    play.owner.pushes("main", package("net/core"))
    play.rests()
    for name, private in (("open", False), ("secret", True)):
        files = made_from_core(play, f"{name}/shop", 4)
        play.serves(name, files, private=private, people={"author": "read"})
        play.rests()
        play.sweep()
        play.rests()
    number = proposes(play, "drafts/net/core/w", resized("net/core", 9))

    title, text = says(play, number)

    assert title == "1 of 1 package of other repositories would change; 1 would conflict"
    assert "### `acme/open: open/shop` (made from `main`)\n\n1 conflict" in text
    assert UNSEEN in text
    assert "secret" not in text


UNSEEN = (
    "- 1 package in repositories that not everybody here can read, or that this one does not list"
    " in `upstreams.share`: neither tried nor named"
)


def test_what_is_private_is_tried_where_its_own_repository_says_so(stage: World) -> None:
    """The short-cut asks who may read the other repository, and not who may have this one's: its
    people and their functions get what nobody published yet, and they may not read."""
    play = stage
    play.repository.private = True
    play.start_bot()
    play.rests()
    play.owner.pushes("main", package("net/core"))
    play.rests()
    play.serves("open", made_from_core(play, "apps/shop", 4))
    play.rests()
    play.sweep()
    play.rests()
    number = proposes(play, "drafts/net/core/w", resized("net/core", 9))

    title, text = says(play, number)

    assert (title, "apps/shop" in text) == ("Not tried: 1 package of other repositories", False)
    assert UNSEEN in text

    shares = f"{CONFIG}upstreams: {{share: [acme/open]}}\n"
    play.owner.pushes("main", {".porchbot.yaml": shares})
    play.rests()
    play.author.says(number, "/check")
    play.rests()
    title, text = says(play, number)
    assert title == "1 of 1 package of other repositories would change; 1 would conflict"


def asked_for_one_package(play: World) -> list[str]:
    """What the forge is asked while somebody proposes one package, and pushes again."""
    play.start_bot()
    play.rests()
    mark = play.forge.faults.mark()
    number = proposes(play, "drafts/net/edge/w", resized("net/edge", 2))
    play.rests()
    play.author.pushes("drafts/net/edge/w", resized("net/edge", 3))
    assert is_quiet(play, number)
    return [call.name for call in play.forge.faults.calls(play.caller, since=mark)]


@pytest.mark.simulated_time("two worlds are compared, request by request")
def test_a_look_at_one_package_asks_nothing_more(staged: Staging) -> None:
    """The short-cut looks for an impact in each look: every push then costs requests more."""
    with staged(CONFIG + "impact: skip\n") as play:
        without = asked_for_one_package(play)
    with staged(CONFIG) as play:
        assert asked_for_one_package(play) == without
    assert without


def test_a_strangers_rules_are_not_tried(play: World) -> None:
    """Short-cut: every change of the rules is tried, so that anybody has anything run on all."""
    url = play.forks()
    play.outsider.pushes("stricter", {".porchbot.yaml": denying(STRICTER)}, url=url)
    pull = play.outsider.opens("outsider:stricter", "Mine")
    assert is_quiet(play, pull.number)


@pytest.mark.both_forges
def test_where_the_rules_say_so_nothing_is_published_that_breaks_others(staged: Staging) -> None:
    """Short-cuts refused: a red check that keeps nothing back; a gate that never opens again."""
    with staged(BLOCKING) as play:
        play.start_bot()
        play.rests()
        play.owner.pushes("main", package("net/core"))
        play.rests()
        play.owner.pushes("main", made_from_core(play, "apps/two", 4))
        play.rests()
        number = proposes(play, "drafts/net/core/w", resized("net/core", 9))
        play.approver.says(number, "/approve")
        title, text = says(play, number, "failure")
        assert title == "1 of 1 package would change; 1 would conflict"
        assert "`impact: block` is set" in text
        assert not play.author.pull(number).merged
        waiting = play.author.waits_for_summary(number, "conflict with their upstream")
        assert "**impact**: other packages would fail" in waiting

        play.author.pushes("drafts/net/core/w", resized("net/core", 4))
        play.rests()
        play.approver.says(number, "/approve")
        play.author.waits_for_tag("net/core/v1")


def runs_of(play: World, head: str) -> int:
    """How often the check was made at a head."""
    return sum(check.name == IMPACT for check in play.author.every_check(head))


def test_what_was_worked_out_is_not_made_again(play: World) -> None:
    """Short-cuts refused: one check for each look, for each start, for each push to the base."""
    number = proposes(play, "guardrails", {".porchbot.yaml": STRICTER})
    says(play, number)
    head = play.author.pull(number).head
    play.author.says(number, "Nice.")
    play.owner.pushes("main", {"README.md": "more"})
    minutes_pass(play, 2)
    play.rests()
    play.stop_bot()
    play.loses_database()
    play.start_bot()
    play.rests()
    play.sweep()
    play.wake(f"{play.name}:{play.repository.id}:impact:guardrails")
    play.rests()
    assert runs_of(play, head) == 1


@pytest.mark.both_forges
@pytest.mark.simulated_time("minutes pass")
def test_a_base_that_moves_has_it_tried_again(play: World) -> None:
    """Short-cuts refused: the first result for ever; what was shown is taken back meanwhile."""
    number = proposes(play, "guardrails", {".porchbot.yaml": denying(CONFIG)})
    harmless, _ = says(play, number, *BREAKS)
    play.owner.pushes("main", {**package("net/more"), **resized("net/more", 7)})
    play.rests()
    minutes_pass(play, 2)
    play.rests()

    assert "net/more" not in harmless
    title, text = says(play, number, *BREAKS)
    assert title != harmless
    assert "net/more" in text


@pytest.mark.both_forges
@pytest.mark.simulated_time("bots are killed at calls")
def test_it_is_shown_once_though_the_bot_is_killed_at_every_call(stage: World) -> None:
    """Short-cuts refused: a run that was begun counts as made; a check for each bot that began."""
    play = stage
    assert isinstance(play, SimulatedWorld)
    play.start_bot()
    play.rests()
    with killed_at_one_call_more(play) as killing:
        number = proposes(play, "guardrails", {".porchbot.yaml": STRICTER})
        head = play.author.pull(number).head

        def shown() -> bool:
            run = play.author.checks(head, number).get(IMPACT)
            return run is not None and run.conclusion is not None

        wait_for("the impact", shown, 7200)
    title, _ = says(play, number)
    play.sweep()
    play.rests()

    assert title == "1 of 1 package would change"
    assert runs_of(play, head) == 1
    assert killing.killed.total() > 12
    assert play.failing() == []


CALLED = [(PROPOSALS, False), (CHECKS, False), (CHECK, False), (CHECK, True)]
"""What an impact asks the forge, and whether it is done all the same."""


@pytest.mark.parametrize(("purpose", "done"), CALLED)
def test_it_is_shown_once_whichever_call_fails(stage: World, purpose: str, done: bool) -> None:
    """Short-cuts refused: an answer that is lost gives a second check; a call that fails, none."""
    play = stage
    play.start_bot()
    play.rests()
    play.forge.faults.fail(play.call(purpose), 502, times=5, caller=play.caller, carried_out=done)
    number = proposes(play, "guardrails", {".porchbot.yaml": STRICTER})
    head = play.author.pull(number).head
    says(play, number)
    play.sweep()
    play.rests()
    assert runs_of(play, head) == 1


def test_it_tells_how_far_it_came_and_merges_do_not_wait(rendering: Rendering) -> None:
    """Short-cuts refused: nothing is shown for minutes; a second run for each wave; one look."""
    with simulated(rendering, BLOCKING) as play:
        play.start_bot()
        play.rests()
        for count in range(4):
            play.owner.pushes("main", package(f"many/p{count}"))
        ready = play.proposes("drafts/net/core/w", package("net/core"))
        play.rests()
        play.renders_slowly(9)
        changed = STRICTER + "impact: block\n"
        number = proposes(play, "guardrails", {".porchbot.yaml": changed})

        begun = play.author.waits_for_check(number, IMPACT, None)
        assert begun.title.startswith("Tried ")
        assert begun.title.endswith(" of 5 packages")
        play.approver.says(ready, "/approve")
        play.author.waits_for_tag("net/core/v1")
        assert play.author.checks(play.author.pull(number).head)[IMPACT].conclusion is None

        title, _ = says(play, number)
        assert title == "6 of 6 packages would change"  # the base moved meanwhile


@pytest.mark.only_github("buttons of checks")
def test_re_run_tries_it_again(play: World) -> None:
    """The short-cut takes a completed check for the last word: what was broken stays so."""
    number = proposes(play, "guardrails", {".porchbot.yaml": STRICTER})
    says(play, number)
    head = play.author.pull(number).head
    state = play.forge.state
    with state.lock:
        runs = state.checks.runs_on(play.repository, head)
        run = next(each for each in runs if each.name == IMPACT)
        state.checks.rerequest(run, state.user("author"))
    play.rests()
    assert runs_of(play, head) == 2


@pytest.mark.both_forges
def test_who_asks_to_look_again_has_it_tried_again(play: World) -> None:
    """The short-cut has a button alone, which statuses have not."""
    number = proposes(play, "guardrails", {".porchbot.yaml": STRICTER})
    says(play, number)
    head = play.author.pull(number).head
    before = play.author.checks(head)[IMPACT].id
    play.author.says(number, "/check")
    play.rests()
    run = play.author.checks(head)[IMPACT]
    assert run.conclusion == "success"
    assert run.id > before


def test_it_can_be_left_out(staged: Staging) -> None:
    """The short-cut goes by the file of the change, which could turn it off for itself."""
    with staged(CONFIG + "impact: skip\n") as play:
        play.start_bot()
        play.rests()
        assert is_quiet(play, number := proposes(play, "guardrails", {".porchbot.yaml": STRICTER}))
        play.wake(f"{play.name}:{play.repository.id}:impact:guardrails")
        assert is_quiet(play, number)


SECRET = """\
apiVersion: v1
kind: Secret
metadata:
  name: key
stringData:
  password: VALUE
"""


def test_values_of_secrets_are_not_told(play: World) -> None:
    """Short-cuts refused: a conflict shows both values; a function's words are passed on."""
    old, ours, theirs = "hunter2-was-it", "correct-horse", "battery-staple"
    play.owner.pushes(
        "main", {**package("net/core"), "net/core/key.yaml": SECRET.replace("VALUE", old)}
    )
    play.rests()
    made = made_from_core(play, "apps/two", 4)
    play.owner.pushes("main", {**made, "apps/two/key.yaml": SECRET.replace("VALUE", ours)})
    play.rests()
    changed = {"net/core/key.yaml": SECRET.replace("VALUE", theirs)}
    number = proposes(play, "drafts/net/core/w", {**changed, **resized("net/core", 9)})

    title, text = says(play, number, *BREAKS)

    assert title == "1 of 1 package would change; 1 would conflict"
    assert "2 conflicts" in text
    assert "stringData.password" in text
    assert not [value for value in (old, ours, theirs) if value in f"{title}{text}"]


def test_what_cannot_be_tried_is_said(play: World) -> None:
    """Bad input: rules that cannot be read, and a lock that names nothing; nothing is half done."""
    number = proposes(play, "guardrails", {".porchbot.yaml": STRICTER + "nonsense: 1\n"})
    assert is_quiet(play, number)
    play.owner.pushes("main", package("net/core"))
    play.rests()
    made = made_from_core(play, "apps/two", 4)
    kptfile = made["apps/two/Kptfile"]
    commit = play.author.branches()["main"]
    play.owner.pushes(
        "main",
        {**made, "apps/two/Kptfile": kptfile.replace(f"commit: {commit}", f"commit: {'0' * 40}")},
    )
    play.rests()
    other = proposes(play, "drafts/net/core/w", resized("net/core", 9))

    title, text = says(play, other)

    assert title == "Not tried: 1 package"
    assert "not tried: its upstreamLock names no commit, or none that is in this repository" in text


@pytest.mark.real_parts
def test_the_command_line_says_what_the_check_says(
    play: RealWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: a look of its own that drifts from the bot's, such as at the base branch
    alone; a command that writes."""
    play.owner.pushes("main", {".porchbot.yaml": TWO_BASES, **package("net/core")})
    play.rests()
    play.owner.pushes("main", made_from_core(play, "apps/two", 4))
    play.owner.pushes("release", made_from_core(play, "apps/one", 5))
    play.rests()
    stricter = TWO_BASES.replace("owner: network", "owner: mine")
    changes = {".porchbot.yaml": stricter, **resized("net/core", 9)}
    number = proposes(play, "people/both", changes)
    title, text = says(play, number, *BREAKS)
    assert title == "6 of 6 packages would change; 3 would conflict"
    Command(play, capsys, monkeypatch)
    before = len(play.forge.faults.calls(play.caller))

    found, _ = dryrun.impact(f"acme/blueprints#{number}", RunnerOptions(), maker=PipelineMaker)

    assert found is not None
    assert texts.title(found) == title
    if play.checks_hold_text:  # elsewhere it stands within the summary
        assert texts.summary(found, most=10) == text
    asked = play.forge.faults.calls(play.caller)[before:]
    reads = ("access_tokens", "upload-pack", "graphql")
    assert not [c for c in asked if c.method != "GET" and not c.path.endswith(reads)]
    broken = proposes(play, "people/broken", {".porchbot.yaml": "nonsense: 1\n"})
    with pytest.raises(CommandFailure, match=r"rules of its head cannot be read: .*nonsense"):
        dryrun.impact(f"acme/blueprints#{broken}", RunnerOptions(), maker=PipelineMaker)


@pytest.mark.parametrize("forge", ["gitlab"], indirect=True)
def test_it_is_put_into_no_pipeline_before_what_holds_a_merge_back(play: World) -> None:
    """Fails when it goes out as soon as it is known: alone in its pipeline it lets GitLab merge,
    where somebody set auto-merge before the look at the proposal came through."""
    number = proposes(play, "guardrails", {".porchbot.yaml": denying(STRICTER)})
    says(play, number)
    play.rests()

    play.forge.faults.fail(play.call(TALK), 502, times=None, caller=play.caller)
    head = play.author.pushes("guardrails", {".porchbot.yaml": STRICTER})
    play.wake(f"{play.name}:{play.repository.id}:impact:guardrails")
    play.rests()
    assert play.author.checks(head, number) == {}

    play.forge.faults.clear()
    says(play, number)
    assert play.author.checks(head, number)[PUBLISH].conclusion is None
