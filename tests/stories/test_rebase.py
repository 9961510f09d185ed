"""Merge order: a second proposal of one package is brought up to date, by resource and field."""

from collections.abc import Iterator

import pytest

from tests.stories.world import CONFIG, Staging, World, package


@pytest.fixture
def by_itself(staged: Staging) -> Iterator[World]:
    """A running world where the bot brings proposals up to date unasked."""
    with staged(f"{CONFIG}publish:\n  update: auto\n") as stage:
        stage.start_bot()
        stage.rests()
        yield stage


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1 # by hand
  minReadySeconds: 5
  template:
    spec:
      containers:
        - name: web
          image: web:1
"""


def web(old: str = "", new: str = "") -> dict[str, str]:
    """The deployment, with a text exchanged."""
    assert old in DEPLOYMENT
    return {"net/core/web.yaml": DEPLOYMENT.replace(old, new) if old else DEPLOYMENT}


def begun(play: World) -> None:
    """Publish the package once."""
    first = play.proposes("drafts/net/core/a", {**package("net/core"), **web()})
    play.approver.says(first, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.rests()


def test_the_second_of_two_proposals_is_brought_up_to_date_and_published(play: World) -> None:
    """Fails with git's merge of lines, which conflicts: the two changed neighbouring lines."""
    begun(play)
    author, approver = play.author, play.approver
    more = "replicas: 3 # by hand, for Friday"
    one = play.proposes("drafts/net/core/b", web("replicas: 1 # by hand", more))
    other = play.proposes("drafts/net/core/c", web("minReadySeconds: 5", "minReadySeconds: 9"))
    approver.says(one, "/approve")
    author.waits_for_tag("net/core/v2")
    play.rests()
    assert "comment `/rebase`" in author.summary(other)
    before = author.pull(other).head

    author.says(other, "/rebase")
    author.waits_for_answer(other, "into this branch, and `net/core` merged by resource and field")
    play.rests()
    author.says(other, "/rebase")
    author.waits_for_answer(other, "Already up to date")
    play.rests()
    head = author.pull(other).head
    assert author.commit(head).parents == (before, author.tags()["net/core/v2"])
    assert sum("merged by resource" in text for text in author.answers(other)) == 1

    approver.says(other, "/approve")
    target = author.waits_for_tag("net/core/v3")
    merged = author.reads("net/core/web.yaml", ref=target)
    assert more in merged
    assert "minReadySeconds: 9" in merged


def test_conflicts_are_told_field_by_field_and_nothing_is_pushed(by_itself: World) -> None:
    """Fails where one side's value is taken, and where only the file is named.

    And where an approval of the tree survives a merge that throws away what was published since.
    """
    play = by_itself
    begun(play)
    author, approver = play.author, play.approver
    one = play.proposes("drafts/net/core/b", web("replicas: 1", "replicas: 3"))
    other = play.proposes("drafts/net/core/c", web("replicas: 1", "replicas: 7"))
    merges = play.proposes("drafts/net/core/d", web("image: web:1", "image: web:2"))
    approver.says(one, "/approve")
    author.waits_for_tag("net/core/v2")
    play.rests()
    told = "`spec.replicas`: was `1`, here `7`, in `main` `3`"
    assert told in author.summary(other)
    head = author.pull(other).head

    author.says(other, "/rebase")
    assert told in author.waits_for_answer(other, "1 conflict with `main`")
    assert author.pull(other).head == head
    # What conflicts with nothing was merged unasked.
    assert len(author.commit(author.pull(merges).head).parents) == 2

    approver.says(other, "/approve")
    author.waits_for_summary(other, "1 of 1")
    play.rests()
    author.merges_base("drafts/net/core/c", takes_nothing=True)
    author.waits_for_summary(other, "the base branch has changed the package since, and this")
    assert not author.pull(other).merged
