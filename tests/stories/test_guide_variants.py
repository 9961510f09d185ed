"""The guide to variants: its files are pushed as they are printed, and do what it says."""

import re
from pathlib import Path

from tests.stories.test_upstreams import publishes
from tests.stories.world import CONFIG, World, package, resized

PAGE = Path(__file__).parents[2] / "docs/guide/variants.md"


def test_its_files_do_what_it_says(play: World) -> None:
    """The short-cut prints files that nobody has tried."""
    text = PAGE.read_text(encoding="utf-8")
    rules, sites = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    drafts = re.findall(r"^\| `(drafts/.*?)` \| (.*?) \|$", text, re.MULTILINE)
    assert len(drafts) == 2
    publishes(play, "net/core", package("net/core"), 1)
    play.author.pushes("sites", {".porchbot.yaml": CONFIG + rules, "variants/sites.yaml": sites})
    change = play.author.opens("sites").number
    play.approver.says(change, "/approve")
    play.rests()
    play.approver.merges(change)

    for branch, title in drafts:
        pull = play.author.pull_of(branch)
        play.rests()
        assert play.author.pull(pull.number).title.removeprefix("Draft: ") == title
        play.author.says(pull.number, "/propose")
        play.rests()
        play.approver.says(pull.number, "/approve")
        play.rests()
    assert {"sites/north/v1", "sites/south/v1"} <= set(play.author.tags())

    publishes(play, "net/core", resized("net/core", 9), 2)
    newer = play.author.pull_of("drafts/sites/north/packagevariant-2")
    play.rests()
    assert newer.title.removeprefix("Draft: ") in re.sub(r"\s+", " ", text)
    assert "tier: edge" in play.author.reads("sites/north/Kptfile")
