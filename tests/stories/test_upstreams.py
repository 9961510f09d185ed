"""Packages made from others: cloned, brought up to a newer upstream, put onto another one."""

import re

import pytest

from tests.stories.world import World, package, resized, seconds_pass


def publishes(play: World, path: str, files: dict[str, str], number: int) -> None:
    """A revision of a package, from draft to tag."""
    proposal = play.proposes(f"drafts/{path}/w{number}", files)
    play.approver.says(proposal, "/approve")
    play.author.waits_for_tag(f"{path}/v{number}")
    play.rests()


def test_a_package_is_cloned_and_upgraded_with_what_was_changed_here(play: World) -> None:
    """Short-cuts refused: a copy without its origin; an upgrade that takes back what is ours."""
    publishes(play, "net/base", package("net/base"), 1)
    other = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(other, "/clone net/base@v1 apps/shop-net")
    pull = play.author.pull_of("drafts/apps/shop-net/clone")
    play.rests()
    assert pull.title.removeprefix("Draft: ") == "Clone apps/shop-net from net/base v1"
    kptfile = play.author.reads("apps/shop-net/Kptfile", "drafts/apps/shop-net/clone")
    assert "name: shop-net" in kptfile
    assert "ref: net/base/v1" in kptfile
    assert "commit: " in kptfile
    play.author.says(pull.number, "/set data.colour=red")
    assert "refused" in play.author.waits_for_answer(pull.number, "/set")
    play.author.says(pull.number, "/set ConfigMap/base data.colour=red\n/propose")
    play.author.waits_for_answer(pull.number, "data.colour to red")
    play.rests()
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_tag("apps/shop-net/v1")
    play.rests()

    publishes(play, "net/base", resized("net/base", 9), 2)
    play.author.says(other, "/upgrade apps/shop-net")
    upgrade = play.author.pull_of("drafts/apps/shop-net/upgrade")
    play.rests()
    assert upgrade.title.removeprefix("Draft: ") == "Upgrade apps/shop-net to v2"
    text = play.author.reads("apps/shop-net/settings.yaml", "drafts/apps/shop-net/upgrade")
    assert 'size: "9"' in text
    assert "colour: red" in text
    lock = play.author.reads("apps/shop-net/Kptfile", "drafts/apps/shop-net/upgrade")
    assert lock.count("ref: net/base/v2") == 2
    play.author.says(upgrade.number, "/upgrade latest")
    assert "nothing to change" in play.author.waits_for_answer(upgrade.number, "/upgrade")
    play.author.says(upgrade.number, "/why data.size")
    told = play.author.waits_for_answer(upgrade.number, "About `data.size`")
    assert "settings.yaml: data.size`: the upgrade to" in told
    assert "//net/base@net/base/v2`, with its rendering, in commit `" in told
    assert " by `author`" in told


def test_a_tag_that_somebody_pushed_is_no_newest_revision_and_has_no_number(play: World) -> None:
    """Short-cuts refused: the highest number of a package's tags; only `latest` is judged, and a
    number gives what nobody approved; a tag that was moved counts by its name."""
    publishes(play, "net/base", package("net/base"), 1)
    other = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(other, "/clone net/base@v1 net/mine --propose")
    pull = play.author.pull_of("drafts/net/mine/clone")
    play.rests()
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_tag("net/mine/v1")
    play.rests()
    publishes(play, "net/base", resized("net/base", 3), 2)
    mine = play.author.pushes("mine", resized("net/base", 9))
    play.author.makes_ref("tags/net/base/v9", mine)

    play.author.says(other, "/clone net/base@latest net/other")
    play.author.pull_of("drafts/net/other/clone")
    play.author.says(other, "/upgrade net/mine")
    play.author.pull_of("drafts/net/mine/upgrade")
    play.rests()
    cloned = play.author.reads("net/other/Kptfile", "drafts/net/other/clone")
    upgraded = play.author.reads("net/mine/Kptfile", "drafts/net/mine/upgrade")
    assert "ref: net/base/v2" in cloned
    assert "ref: net/base/v2" in upgraded

    play.author.says(other, "/clone net/base@v9 net/third")
    said = play.author.waits_for_answer(other, "is not what was published")
    assert "somebody pushed its tag past porchbot, so no approval is known" in said
    assert "Name latest or a revision that was published" in said
    assert "drafts/net/third/clone" not in play.author.branches()


@pytest.mark.both_forges
def test_a_conflict_of_an_upgrade_is_told_field_by_field(
    play: World, sent: list[str], forge: str
) -> None:
    """Short-cuts refused: kpt's, by which upstream's value is taken, and nobody is told; one
    spelling of commands in what quotes packages, for both forges."""
    publishes(play, "net/base", package("net/base"), 1)
    other = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(other, "/clone net/base@v1 net/mine --propose")
    pull = play.author.pull_of("drafts/net/mine/clone")
    play.rests()
    assert not pull.draft
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_tag("net/mine/v1")
    play.rests()
    publishes(play, "net/base", resized("net/base", 9), 2)
    seconds_pass(play.forge, 1)
    changed = play.author.reads("net/mine/settings.yaml").replace('"1"', '"4"')
    play.author.pushes("drafts/net/mine/w2", {"net/mine/settings.yaml": changed})
    draft = play.author.pull_of("drafts/net/mine/w2")
    play.rests()

    play.author.says(draft.number, "/upgrade v2")
    answer = play.author.waits_for_answer(draft.number, "Upgrade net/mine to v2")
    play.rests()
    assert "Committed to this branch" in answer
    branch = "drafts/net/mine/w2"
    assert 'size: "9"' in play.author.reads("net/mine/settings.yaml", branch)
    told = play.author.waits_for_summary(draft.number, "upgrade conflict 1 of 1")
    assert "data.size: base 1, here 4, upstream 9; upstream is taken" in told
    spelled = "@porchbot " if forge == "gitlab" else "/"
    advice = f"Decide it with `{spelled}resolve 1 local`, `upstream` or a value."
    assert any(f"upstream 9; upstream is taken. {advice}" in text for text in (told, *sent))
    play.author.waits_for_check(draft.number, "porchbot/validate", "success")

    play.author.says(draft.number, "/resolve 1 local")
    play.author.waits_for_answer(draft.number, "Resolve conflict 1 of net/mine with local")
    play.rests()
    assert 'size: "4"' in play.author.reads("net/mine/settings.yaml", branch)
    assert "upgrade conflict" not in play.author.summary(draft.number)
    play.author.says(draft.number, "/set data.none=1")
    told = play.author.waits_for_answer(draft.number, "no field data.none")
    advice = f"or name the resource: `{spelled}set Kind/name path=value`."
    assert any(advice in text for text in (told, *sent))
    play.author.says(draft.number, "/resolve 2 upstream")
    assert "has 1 conflict" in play.author.waits_for_answer(draft.number, "`/resolve` refused")
    commits = play.author.commits_of(draft.number)
    play.author.says(draft.number, "/resolve 1 local")
    play.author.waits_for_answer(draft.number, "`/resolve`: nothing to change")
    play.rests()
    assert len(play.author.commits_of(draft.number)) == len(commits)
    play.author.says(draft.number, "/resolve 1 7\n/propose")
    play.author.waits_for_answer(draft.number, "with 7")
    play.rests()
    assert 'size: "7"' in play.author.reads("net/mine/settings.yaml", branch)
    assert len(play.author.commits_of(draft.number)) == len(commits) + 1
    play.approver.says(draft.number, "/approve")
    play.author.waits_for_tag("net/mine/v2")


@pytest.mark.both_forges
def test_a_lock_whose_commit_is_not_there_is_told_and_keeps_nobody_from_publishing(
    play: World,
) -> None:
    """Short-cuts refused: nobody hears of it before the next upgrade fails; publishing depends on
    what another forge holds."""
    publishes(play, "net/base", package("net/base"), 1)
    other = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(other, "/clone net/base@v1 net/mine --propose")
    pull = play.author.pull_of("drafts/net/mine/clone")
    play.rests()
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_tag("net/mine/v1")
    play.rests()
    kptfile = play.author.reads("net/mine/Kptfile")
    locked = re.sub("commit: .*", f"commit: {'1' * 40}", kptfile)
    assert locked != kptfile
    number = play.proposes("drafts/net/mine/w2", {"net/mine/Kptfile": locked})
    told = play.author.waits_for_summary(number, "the conflicts of this upgrade are not known. ")
    assert "net/mine/Kptfile" in told
    assert "has no commit 111111111111 any more: " in told
    play.author.waits_for_check(number, "porchbot/validate", "success")
    play.rests()
    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/mine/v2")


def test_what_cannot_be_cloned_is_said(play: World) -> None:
    """The short-cut fails the look: nobody hears why nothing comes."""
    other = play.proposes("drafts/net/core/w", package("net/core"))
    for written, said in (
        ("net/nowhere@v1", "net/nowhere"),
        ("net/edge@v7", "v7"),
        ("oci://ghcr.io/acme/x", "oci"),
        ("../../etc@v1", "etc"),
        ("http://169.254.169.254/x.git//a@v1", "169.254.169.254"),
    ):
        number = len(play.author.answers(other))
        play.author.says(other, f"/clone {written} net/new")
        play.author.waits_for_answer(other, "`/clone` refused")
        play.rests()
        answers = play.author.answers(other)
        assert len(answers) == number + 1, written
        assert said in answers[-1]
    assert "drafts/net/new/clone" not in play.author.branches()


def test_several_packages_are_upgraded_in_one_pull_request(play: World) -> None:
    """Short-cuts refused: a pull request each; what one lacks leaves the others half done."""
    publishes(play, "net/base", package("net/base"), 1)
    for each in ("net/a", "net/b"):
        other = play.proposes(f"drafts/{each}-x/w", package(f"{each}-x"))
        play.author.says(other, f"/clone net/base@v1 {each} --propose")
        pull = play.author.pull_of(f"drafts/{each}/clone")
        play.rests()
        play.approver.says(pull.number, "/approve")
        play.author.waits_for_tag(f"{each}/v1")
        play.rests()
    publishes(play, "net/base", resized("net/base", 9), 2)
    before = len(play.author.pulls(every=True))

    play.author.says(other, "/upgrade net/a net/b")
    assert "Add `--together`" in play.author.waits_for_answer(other, "several packages are named")
    play.author.says(other, "/upgrade --together net/a net/edge")
    said = play.author.waits_for_answer(other, "net/edge: ")
    assert "has no upstream" in said
    play.author.says(other, "/upgrade --together net/a net/none")
    said = play.author.waits_for_answer(other, "there is no package in this folder")
    assert "refused: net/none/Kptfile: there" in said
    play.rests()
    assert len(play.author.pulls(every=True)) == before

    play.author.says(other, "/upgrade --together --propose net/a net/b latest")
    upgrade = play.author.pull_of("drafts/net/a/upgrade-together")
    play.rests()
    assert upgrade.title == "Upgrade net/a and 1 more package to v2"
    assert len(play.author.commits_of(upgrade.number)) == 1
    for each in ("net/a", "net/b"):
        text = play.author.reads(f"{each}/settings.yaml", "drafts/net/a/upgrade-together")
        assert 'size: "9"' in text
    play.approver.says(upgrade.number, "/approve")
    for each in ("net/a", "net/b"):
        play.author.waits_for_tag(f"{each}/v2")
    play.rests()
    assert len(play.author.pulls(every=True)) == before + 1


def test_a_package_is_moved_to_another_upstream_in_a_draft_that_changes_nothing_yet(
    play: World,
) -> None:
    """Short-cuts refused: a draft is about what it changes, so one of `/edit` is about nothing and
    its commands go elsewhere, or to nobody; what was changed here is lost with the old upstream."""
    publishes(play, "net/base", package("net/base"), 1)
    other = package("net/other")
    other["net/other/settings.yaml"] = other["net/other/settings.yaml"].replace(
        "name: other", "name: base"
    )
    publishes(play, "net/other", other, 1)
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(number, "/clone net/base@v1 net/mine")
    cloned = play.author.pull_of("drafts/net/mine/clone")
    play.rests()
    play.author.says(cloned.number, "/set ConfigMap/base data.colour=red\n/propose")
    play.author.waits_for_answer(cloned.number, "data.colour to red")
    play.rests()
    play.approver.says(cloned.number, "/approve")
    play.author.waits_for_tag("net/mine/v1")
    play.rests()

    play.author.says(number, "/edit net/mine")
    draft = play.author.pull_of("drafts/net/mine/edit")
    play.rests()
    play.author.says(draft.number, "/propose")
    play.author.waits_for_answer(draft.number, "this draft changes no package yet")
    play.author.says(draft.number, "/diff")
    play.author.waits_for_answer(draft.number, "No resources or fields changed")
    play.outsider.says(draft.number, "/rebase onto net/other@v1")
    play.author.waits_for_answer(draft.number, "only people with write access")
    play.author.says(draft.number, "/rebase net/edge onto net/other@v1")
    play.author.waits_for_answer(draft.number, "this discussion is about")
    play.author.says(draft.number, "/rebase net/mine onto net/other@v1")
    play.author.waits_for_answer(draft.number, "Committed to this branch: Rebase net/mine onto")
    play.rests()
    branch = "drafts/net/mine/edit"
    text = play.author.reads("net/mine/settings.yaml", branch)
    assert "colour: red" in text
    assert play.author.reads("net/mine/Kptfile", branch).count("ref: net/other/v1") == 2
    assert "drafts/net/mine/rebase" not in play.author.branches()


def test_the_title_of_a_draft_that_is_changed_again_says_what_it_holds(play: World) -> None:
    """Short-cuts refused: the title says for ever what was asked for first; a title that somebody
    wrote is replaced; the summary of what the base branch holds by now tells old conflicts."""
    publishes(play, "net/base", package("net/base"), 1)
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(number, "/clone net/base@v1 net/mine --propose")
    cloned = play.author.pull_of("drafts/net/mine/clone")
    play.rests()
    play.approver.says(cloned.number, "/approve")
    play.author.waits_for_tag("net/mine/v1")
    play.rests()

    for field, title in (
        ("size=7", "Set data.size to 7 in net/mine"),
        ("size=8", "Set data.size to 8 in net/mine"),
        ("colour=red", "Set several fields in net/mine"),
    ):
        play.author.says(number, f"/set --package net/mine ConfigMap/base data.{field}")
        play.rests()
        pull = play.author.pull_of("drafts/net/mine/set")
        assert pull.title.removeprefix("Draft: ").replace("ConfigMap/base ", "") == title
        assert pull.draft

    for revision in (2, 3):
        publishes(play, "net/base", resized("net/base", revision), revision)
        play.author.says(number, "/upgrade net/mine")
        play.rests()
        upgrade = play.author.pull_of("drafts/net/mine/upgrade")
        assert upgrade.title.removeprefix("Draft: ") == f"Upgrade net/mine to v{revision}"

    files = {
        path: play.author.reads(path, "drafts/net/mine/upgrade")
        for path in ("net/mine/Kptfile", "net/mine/settings.yaml")
    }
    publishes(play, "net/mine", files, 2)
    play.author.says(upgrade.number, "/rebase")
    play.author.waits_for_summary(upgrade.number, "changes no packages any more")
    play.author.waits_for_check(upgrade.number, "porchbot/publish", "success")
