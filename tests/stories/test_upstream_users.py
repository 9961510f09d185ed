"""What is used in other repositories: not deleted, and told only to whom it concerns."""

from typing import Any

from tests.stories.test_dashboard import shows
from tests.stories.test_withdrawal import UPSTREAM, WITHDRAWN, lists, publishes
from tests.stories.world import minutes_pass, package, resized


def uses(play: Any, name: str, *people: str) -> None:
    """A repository that the bot serves too, with a package made from net/core@v1."""
    used = UPSTREAM.replace("REPO", play.forge.clone_url("acme", "blueprints"))
    kptfile = package("edge")["edge/Kptfile"] + used
    roles = dict.fromkeys(people, "triage" if play.name == "gitlab" else "read")
    play.serves(name, {"edge/Kptfile": kptfile}, private=True, people=roles)
    play.rests()
    play.sweep()
    play.rests()


def test_a_revision_that_another_repository_uses_stays(play: Any) -> None:
    """The short-cut looks into its own repository, or tells everybody who uses what."""
    play.repository.private = True
    publishes(play)
    uses(play, "clusters", "approver")
    uses(play, "secret")
    number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))

    play.approver.says(number, "/delete net/core@v1 it was broken")

    said = play.author.waits_for_answer(number, "`net/core/v1` is the upstream of")
    assert "`acme/clusters: edge` and 1 package in repositories that you may not see" in said
    assert "secret" not in said

    by_hand = lists(play, WITHDRAWN)
    play.approver.says(by_hand, "/approve")
    told = play.author.waits_for_summary(by_hand, "is the upstream of")
    assert "secret" not in told
    play.rests()
    assert set(play.author.tags()) == {"net/core/v1"}


def test_whoever_pushes_to_a_pull_request_learns_nothing_that_its_author_may_see(
    play: Any,
) -> None:
    """The short-cut asks what the author may read: a push to the branch then names anything."""
    play.repository.private = True
    publishes(play)
    uses(play, "clusters", "author")
    number = lists(play, WITHDRAWN)
    assert "`acme/clusters: edge`" in play.author.waits_for_summary(number, "is the upstream of")

    branch = play.author.pull(number).head_ref
    play.approver.pushes(branch, {"words.md": "Words.\n"})
    play.rests()

    told = play.author.summary(number)
    assert "1 package in repositories that" in told
    assert "clusters" not in told


def test_the_dashboard_tells_what_is_behind(play: Any) -> None:
    """The short-cut tells of each package, or asks repositories that others may not see."""
    play.repository.has_issues = True
    publishes(play)
    used = UPSTREAM.replace("REPO", play.forge.clone_url("acme", "blueprints"))
    kptfile = package("net/mine")["net/mine/Kptfile"] + used
    play.owner.pushes("main", {**package("net/mine"), "net/mine/Kptfile": kptfile})
    play.rests()
    publishes(play, 2)
    minutes_pass(play, 10)
    play.sweep()

    shows(
        play,
        "### Behind their upstream (1)\n\n"
        "- [ ] `/upgrade net/mine v2`: `net/mine` is made from `net/core@v1`;"
        " v2 is 1 revision ahead",
    )


def test_an_upstream_elsewhere_that_is_deprecated_is_said(play: Any) -> None:
    """The short-cut reads the ledger of its own repository alone."""
    said = "revisions: {1: {state: deprecated, reason: it leaks}}\n"
    ledger = {".porchbot/ledger/net/base.yaml": said}
    play.serves("base", {"net/base/Kptfile": package("x")["x/Kptfile"], **ledger})
    play.rests()
    play.sweep()
    play.rests()
    used = UPSTREAM.replace("REPO", play.forge.clone_url("acme", "base"))
    used = used.replace("net/core", "net/base")
    kptfile = package("net/mine")["net/mine/Kptfile"] + used

    number = play.proposes(
        "drafts/net/mine/w", {**package("net/mine"), "net/mine/Kptfile": kptfile}
    )

    play.author.waits_for_summary(number, "//net/base/v1 is deprecated: it leaks")
