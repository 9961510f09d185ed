"""`/why <field>`: what set a field that a pull request changes."""

import pytest

from tests.stories.world import CONFIG, Staging, World, package, resized

TWO = """\
pipeline:
  mutators:
    - image: set-annotations:v0.1
      configMap: {site: north}
    - image: set-namespace:v0.4
      configMap: {namespace: here}
"""


def asks(play: World, number: int, field: str) -> str:
    """The answer to a question about a field."""
    play.author.says(number, f"/why {field}")
    return play.author.waits_for_answer(number, f"About `{field}`").partition("**Set by**")[2]


@pytest.mark.both_forges
def test_a_field_is_traced_to_a_function_or_a_commit(staged: Staging) -> None:
    """Short-cuts refused: whoever pushed last; all functions of the package; the render commit."""
    with staged(CONFIG + "render: commit\n") as play:
        play.start_bot()
        play.rests()
        play.owner.pushes("main", package("net/core"))
        play.rests()
        files = package("net/core")
        files["net/core/Kptfile"] += TWO
        files["net/core/settings.yaml"] = files["net/core/settings.yaml"].replace("network", "mine")
        play.author.pushes("drafts/net/core/w", files)
        play.author.pushes("drafts/net/core/w", resized("net/core", 7))
        number = play.author.opens("drafts/net/core/w", "Change").number
        play.rests()

        told = {
            field: asks(play, number, field)
            for field in ("data.size", "annotations", "metadata.namespace", "pipeline")
        }

    assert "data.size`: commit `" in told["data.size"]
    assert "by `author`" in told["data.size"]
    assert "set-annotations:v0.1` of the package's pipeline, rendered in" in told["annotations"]
    assert "set-namespace:v0.4` of the package's pipeline" in told["metadata.namespace"]
    assert "function" not in told["pipeline"]


def test_a_guardrail_is_named(staged: Staging) -> None:
    """The short-cut looks for functions in the Kptfile alone."""
    with staged(CONFIG.replace("owner: network", "owner: mine") + "render: commit\n") as play:
        play.start_bot()
        play.rests()
        play.owner.pushes("main", package("net/core"))
        play.rests()
        number = play.proposes("drafts/net/core/w", resized("net/core", 7))
        play.rests()
        told = asks(play, number, "labels.owner")
    assert "set-labels:v0.2` of the guardrails, rendered in commit `" in told


@pytest.mark.both_forges
def test_fields_of_a_new_package_are_traced_too(staged: Staging) -> None:
    """Short-cuts refused: a package that is added is told as a whole, so "this pull request does
    not change it"; the commit that added the resource, where a later one set the field; a field
    that is not there, put down to that commit."""
    with staged(CONFIG + "render: commit\n") as play:
        play.start_bot()
        play.rests()
        play.author.pushes("drafts/net/core/w", package("net/core"))
        number = play.author.opens("drafts/net/core/w", "Begin").number
        play.rests()
        play.author.says(number, "/set ConfigMap/core data.size=4")
        play.author.waits_for_answer(number, "Committed to this branch")
        play.rests()
        size = asks(play, number, "data.size")
        name = asks(play, number, "labels.owner")
        play.author.says(number, "/why data.none")
        play.author.waits_for_answer(number, "Nothing found about `data.none`")

    assert "data.size`: commit `" in size
    assert "by `author`: Set ConfigMap/core data.size to 4 in net/core" in size
    assert "labels.owner`: commit `" in name
    assert "by `author`" in name
