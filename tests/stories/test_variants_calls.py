"""What a package of a variant costs: calls of the forge, and what is created there."""

from collections import Counter

from lifecycle.identity import GITHUB
from tests.stories.test_upstreams import publishes
from tests.stories.test_variants_set import SET, TABLE, branch, two_repositories
from tests.stories.world import CONFIG, CONFIGMAP, World, package, resized

NAMES = [f"p{number:02}" for number in range(10)]
CREATES = ("/pulls", "/merge_requests", "/comments", "/notes")
"""How calls end that create what a forge lets a bot create a number of in a time: GitHub 500 things
in an hour."""

EACH = {
    "github": {
        "POST /repos/{owner}/{repo}/pulls": 1,
        "POST /{owner}/{repo}.git/git-receive-pack": 1,
        "GET /repos/{owner}/{repo}/commits/{ref}/check-runs": 1,
        "POST /repos/{owner}/{repo}/check-runs": 3,
        "POST /repos/{owner}/{repo}/issues/{issue_number}/labels": 1,
    },
    "gitlab": {
        "POST /projects/{id}/merge_requests": 1,
        "POST /projects/{id}/merge_requests/{iid}/notes": 1,  # a status is one line
        "GET /projects/{id}/merge_requests/{iid}/versions": 1,
        "POST /projects/{id}/statuses/{sha}": 3,
        "PUT /projects/{id}/merge_requests/{iid}": 1,
    },
}
"""Calls that each new package takes, beside those that are asked for several together."""

LISTS = {"github": 2, "gitlab": 4}
"""Lists of pull requests for each new package: what was closed is not asked for each."""

ALL = {"github": (18, 23), "gitlab": (32, 44)}
"""All calls for each package: for a new one, and for a new revision of its upstream.

With room for three more sweeps of the repository: how many come by hangs on the order of tasks.
"""


def spent(play: World, mark: int) -> Counter[str]:
    """The calls of the bot since then, those about the rules' own repository among them."""
    play.rests()
    return play.forge.faults.counts(play.caller, since=mark)


def created(calls: Counter[str]) -> int:
    """How many pull requests and comments were made."""
    return sum(n for name, n in calls.items() if name[:4] == "POST" and name.endswith(CREATES))


def test_a_package_takes_few_calls_and_creates_its_pull_request_alone(play: World) -> None:
    """Short-cuts refused: each look is followed by another; a comment in each of a thousand; none
    either where a person has pushed, since nobody asks who wrote a draft."""
    live, at = two_repositories(play), play.name
    each = EACH[at]
    play.sweep()
    play.rests()
    publishes(play, "net/base", package("net/base"), 1)
    every = ", ".join(f"edge/{name}" for name in NAMES)
    rule = SET.replace("    - {name: here, packageNames: [HERE]}\n", "").replace("LIVE", every)
    mark = play.forge.faults.mark()
    play.owner.pushes("main", {".porchbot.yaml": CONFIG + TABLE, "variants/edges.yaml": rule})
    first = spent(play, mark)
    assert len(live.pulls()) == len(NAMES)
    assert created(first) == len(NAMES) * (1 if play.checks_hold_text else 2)
    assert {name: first[name] for name in each} == {n: len(NAMES) * k for n, k in each.items()}
    tags = (
        "GET /repos/{owner}/{repo}/git/ref/{ref}",
        "GET /projects/{id}/repository/tags/{tag_name}",
    )
    assert sum(first[name] for name in tags) <= 2, "tags that stand in the way"
    lists = first["GET /repos/{owner}/{repo}/pulls"] + first["GET /projects/{id}/merge_requests"]
    assert lists < LISTS[at] * len(NAMES), "what was closed, for each"
    assert first["POST /graphql"] == (len(NAMES) + 1 if at == GITHUB else 0)
    assert sum(first.values()) <= ALL[at][0] * len(NAMES), first
    pull = live.pull_of(branch(NAMES[0])).number
    shown = live.checks(live.pull(pull).head)["porchbot/publish"]
    assert "**Packages**" in shown.text
    assert ("no summary comment yet" in shown.text) == play.checks_hold_text

    proposal = play.proposes("drafts/net/base/w2", resized("net/base", 9))
    play.rests()
    mark = play.forge.faults.mark()
    play.approver.says(proposal, "/approve")
    again = spent(play, mark)
    assert created(again) == 1, "the answer to the approval"
    assert sum(again.values()) <= ALL[at][1] * len(NAMES), again
    for name in NAMES:
        assert "ref: net/base/v2" in live.reads(f"edge/{name}/Kptfile", branch(name))

    touched = live.pull_of(branch(NAMES[1])).number
    note = CONFIGMAP.replace("NAME", "note")
    live.pushes(branch(NAMES[1]), {f"edge/{NAMES[1]}/note.yaml": note})
    play.rests()
    assert f"edge/{NAMES[1]}" in live.waits_for_summary(touched, "**Packages**")

    live.says(pull, "/propose")
    play.rests()
    assert "is proposed" in live.summary(pull)
