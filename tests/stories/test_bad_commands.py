"""Commands for drafts with bad input, by both doors: each says why, and nothing is begun."""

import pytest

from tests.stories.test_dashboard import shows
from tests.stories.test_upstreams import publishes
from tests.stories.world import World, package, resized, seconds_pass

REFUSED = (
    ("/clone", "takes an upstream after it"),
    ("/clone net/core", "takes a path after it"),
    ("/clone net/none@v1 a/b", "has no tag, branch or commit 'v1'"),
    ("/clone net/core@v9 a/b", "has no tag, branch or commit 'v9'"),
    ("/clone net/core@v1 ../x", "takes the folder of a package"),
    ("/clone net/core@v1 net/edge", "there is a package in this folder already"),
    ("/clone net/core@v1 net", "net holds packages already: net/core, net/edge"),
    ("/clone oci://r.example/x:v1 a/b", "porchbot takes packages from git only"),
    ("/clone https://127.0.0.1/x//y@v1 a/b", "does not allow 127.0.0.1/x"),
    ("/clone https://127.0.0.1/\u00fcn\u00ef//y@v1 a/b", "not an address of a git repository"),
    ("/clone net/core/../core@v1 a/b", "leads out of the repository"),
    ("/init", "takes a path after it"),
    ("/init ../x", "takes the folder of a package"),
    ("/init net/edge", "there is a package in this folder already"),
    ("/init net", "net holds packages already: net/core, net/edge"),
    ("/init .", "the top folder holds packages already: net/core, net/edge"),
    ("/edit net/none", "there is no package in this folder"),
    ("/edit net/core@v9", "net/core has no revision v9"),
    ("/edit net/core v9", "net/core has no revision v9"),
    ("/upgrade net/none", "there is no package in this folder"),
    ("/Upgrade  net/none v2", "there is no package in this folder"),
    ("/upgrade net/edge v9", "the package has no upstream"),
    ("/rollback net/core", "takes a revision such as `net/core@v3`"),
    ("/rollback net/core v9 slow", "net/core has no revision v9"),
    ("/rollback net/none@v1", "net/none has no revision v1"),
    ("/rebase onto", "takes an upstream after it"),
    ("/rebase net/edge net/none@v1", "or `onto` and an upstream"),
    ("/set --package net/edge", "takes a field and a value"),
    ("/set --package net/edge ConfigMap/none data.a=1", "no resource ConfigMap/none"),
    ("/set --package net/none data.a=1", "there is no package in this folder"),
    ("/eval --package net/edge", "takes a function after it"),
    ("/eval --package net/edge set-labels:v0.2 x", "takes each value once"),
    ("/eval --package net/none set-labels:v0.2 a=b", "there is no package in this folder"),
    ("/resume net/core", "net/core is not held at any revision"),
)
"""What is asked for, and what the answer says."""


def test_what_cannot_be_begun_says_why_by_both_doors(stage: World) -> None:
    """Short-cuts refused: a draft of nothing; a rollback to v0; silence; a look that breaks."""
    play = stage
    play.repository.has_issues = True
    play.start_bot()
    shows(play, "Packages")
    play.rests()
    seconds_pass(play.forge, 1)
    publishes(play, "net/core", package("net/core"), 1)
    number = play.proposes("drafts/net/other/w", package("net/other"))
    play.rests()
    (board,) = [each.number for each in play.owner.issues()]
    before = sorted(play.author.branches()), len(play.author.pulls(every=True))

    wrong: list[tuple[str, str, list[str]]] = []
    at_a_time = 5  # no more drafts are begun at once
    for first in range(0, len(REFUSED), at_a_time):
        some = REFUSED[first : first + at_a_time]
        seen = len(play.author.answers(number)), len(play.owner.comments_on_issue(board))
        for asked, _ in some:
            play.approver.says(number, asked)
            play.approver.says_on_issue(board, asked)
        play.rests()
        here = play.author.answers(number)[seen[0] :]
        there = [c.body for c in play.owner.comments_on_issue(board)[seen[1] :]]
        there = [text for text in there if not text.startswith("/")]
        assert (len(here), len(there)) == (len(some), len(some))
        for (asked, why), *answers in zip(some, here, there, strict=True):
            said = [text.replace("\\", "") for text in answers]
            if not all(why in text for text in said):
                wrong.append((asked, why, said))

    assert wrong == []
    assert (sorted(play.author.branches()), len(play.author.pulls(every=True))) == before
    assert play.failing() == []


ORIGIN = """\
upstream:
  type: git
  git: {repo: REPO, directory: DIRECTORY, ref: net/core/v1}
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git: {repo: REPO, directory: DIRECTORY, ref: net/core/v1, commit: COMMIT}
"""
GONE = "1" * 40
WRONG_ORIGINS = {
    "rewritten": ("REPO", "/net/core", GONE, "its branch was rewritten, or is gone"),
    "nowhere": ("REPO", "/net/nowhere", "HERE", "has no revision that is published"),
    "elsewhere": ("https://gone.invalid/x", "/net/core", "HERE", "does not allow gone.invalid/x"),
    "outside": ("REPO", "/net/../../core", "HERE", "leads out of the repository"),
    "unlocked": ("REPO", "/net/core", "''", "the lock names main and no commit"),
    "broken": ("[", "/net/core", "HERE", "the file is not YAML"),
}
"""Package to the address, folder and commit of its origin, and what the answer says."""


def test_an_origin_that_leads_nowhere_is_told(play: World) -> None:
    """Short-cuts refused: an upgrade from nothing; a Kptfile that names the new ref already."""
    publishes(play, "net/core", package("net/core"), 1)
    here, repo = play.author.tags()["net/core/v1"], play.owner.clone_url
    files: dict[str, str] = {}
    for name, (address, directory, commit, _) in WRONG_ORIGINS.items():
        origin = ORIGIN.replace("DIRECTORY", directory).replace("COMMIT", commit)
        origin = origin.replace("REPO", address).replace("REPO", repo).replace("HERE", here)
        if name == "unlocked":  # a tag of ours says enough
            origin = origin.replace("net/core/v1", "main")
        files |= package(f"apps/{name}")
        files[f"apps/{name}/Kptfile"] += origin
    play.owner.pushes("main", files)
    number = play.proposes("drafts/net/other/w", package("net/other"))
    play.rests()
    before = sorted(play.author.branches())

    for name, (*_, why) in WRONG_ORIGINS.items():
        seen = len(play.author.answers(number))
        play.approver.says(number, f"/upgrade apps/{name}")
        play.rests()
        (said,) = play.author.answers(number)[seen:]
        assert "`/upgrade` refused" in said
        assert why in said

    assert sorted(play.author.branches()) == before
    assert play.failing() == []


@pytest.mark.both_forges
@pytest.mark.parametrize("strategy", ["force-delete-replace", "copy-merge"])
def test_an_upgrade_from_what_is_gone_goes_on_by_the_command_that_is_named(
    play: World, forge: str, sent: list[str], strategy: str
) -> None:
    """Short-cuts refused: a person has to edit the lock by hand; every strategy wants to see what
    the package was made from, as kpt's do; what is nowhere else is taken away by a copy."""
    publishes(play, "net/core", package("net/core"), 1)
    origin = ORIGIN.replace("DIRECTORY", "/net/core").replace("COMMIT", GONE)
    files = package("apps/mine")
    files["apps/mine/Kptfile"] += origin.replace("REPO", play.owner.clone_url)
    files["apps/mine/own.yaml"] = files["apps/mine/settings.yaml"].replace("mine", "own")
    play.owner.pushes("main", files)
    publishes(play, "net/core", resized("net/core", 9), 2)
    number = play.proposes("drafts/net/other/w", package("net/other"))
    play.approver.says(number, "/upgrade apps/mine")
    answer = play.author.waits_for_answer(number, "`/upgrade` refused")
    spelled = "@porchbot " if forge == "gitlab" else "/"
    command = f"upgrade --strategy {strategy} apps/mine"
    assert any(f"`{spelled}{command}`" in text for text in (answer, *sent))
    play.approver.says(number, f"/{command}")
    draft = play.author.pull_of("drafts/apps/mine/upgrade")
    play.rests()
    branch = "drafts/apps/mine/upgrade"
    assert 'size: "9"' in play.author.reads("apps/mine/settings.yaml", branch)
    kptfile = play.author.reads("apps/mine/Kptfile", branch)
    assert GONE not in kptfile
    assert play.author.tags()["net/core/v2"] in kptfile
    own = "own.yaml: ConfigMap own: removed" in play.author.summary(draft.number)
    assert own == (strategy == "force-delete-replace")
