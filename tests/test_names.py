"""One name has one meaning: no two public classes of our packages share theirs, except by rule."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[1]
TREES = ("bot", "cadlib", "fnrunner", "lifecycle")

TWINS = (
    frozenset({"bot/forges/github", "bot/forges/gitlab"}),
    frozenset({"bot/sandbox/github", "bot/sandbox/gitlab"}),
)
"""Folders in which two adapters do the same thing, each for its forge."""

RECORDS = "bot/sandbox/records"

SECTIONS = {
    "PathAccess": (
        {"bot/config_access.py", "lifecycle/policy.py"},
        "an entry of `access.paths`, as written, and as it is judged by",
    ),
    "Selector": (
        {"bot/config.py", "cadlib/kptfile/values.py"},
        "an entry of `selectors` of a function, and the same as a Kptfile has it",
    ),
    "UpstreamAccess": (
        {"bot/config_access.py", "lifecycle/policy.py"},
        "an entry of `access.upstreams`, as written, and as it is judged by",
    ),
    "Window": (
        {"bot/calendars.py", "lifecycle/windows.py"},
        "an entry of `publish.windows`, as written, and as the clock is held against it",
    ),
}
"""Sections of the configuration, and the values that they become: files and reason."""

KEPT_BY_THE_SANDBOX = {
    "Approval": ({"lifecycle/events.py"}, "that somebody approved"),
    "CheckRun": ({"lifecycle/facts/checks.py"}, "a check run"),
    "Comment": ({"lifecycle/facts/conversation.py"}, "a comment"),
    "Installation": ({"bot/forges/port.py"}, "an installation of the bot"),
    "Issue": ({"bot/forges/port.py"}, "an issue"),
    "QueueEntry": ({"bot/forges/port.py"}, "an entry of a merge queue"),
    "Reaction": ({"lifecycle/actions.py"}, "a reaction to a comment"),
    "Repository": ({"bot/forges/port.py"}, "a repository"),
    "Review": ({"lifecycle/facts/conversation.py"}, "a review"),
    "Role": ({"lifecycle/access.py"}, "what a person may do in a repository"),
    "Team": ({"lifecycle/access.py"}, "a team"),
}
"""Records of the sandbox forge that are of the very thing that the bot has a value of: the file of
that value, and the thing. The sandbox forge shares no code with the bot, so it has its own."""

KEPT_IN_GIT = {"Commit": {"bot/git/port.py", "bot/sandbox/git/objects.py"}}
"""What git itself has, as the bot reads it, and as the sandbox forge writes it."""


@cache
def classes() -> dict[str, list[str]]:
    """Return each public class of a module, with the files that have one of the name."""
    found: dict[str, list[str]] = {}
    for tree in TREES:
        for path in sorted((ROOT / tree).rglob("*.py")):
            if "_pb2" in path.name:
                continue
            # Reading a thousand modules as code takes a second: they begin no line of a text so.
            for name in re.findall(r"(?m)^class ([A-Za-z]\w*)", path.read_text(encoding="utf-8")):
                found.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return found


def ambiguous(found: Mapping[str, list[str]]) -> list[str]:
    """Return names that stand for more than one thing, each with its files."""
    return [
        f"{name}: {', '.join(sorted(files))}"
        for name, files in sorted(found.items())
        if len(files) > 1 and not _is_one_thing(name, files)
    ]


def _is_one_thing(name: str, files: list[str]) -> bool:
    if len(files) != 2:
        return False
    if {"/".join(PurePosixPath(file).parts[:3]) for file in files} in TWINS:
        return True
    if set(files) in (SECTIONS.get(name, ("",))[0], KEPT_IN_GIT.get(name)):
        return True
    elsewhere = {file for file in files if not file.startswith(f"{RECORDS}/")}
    return elsewhere == KEPT_BY_THE_SANDBOX.get(name, ("",))[0]


def test_no_two_classes_share_a_name() -> None:
    """The short-cut gives a class the short word that fits at its place, such as `Plan`, `Target`
    or `Known`: whoever searches for it finds another thing, and takes that for it."""
    assert ambiguous(classes()) == []


@pytest.mark.parametrize(
    ("files", "is_one_thing"),
    [
        (["bot/look/a.py"], True),
        (["bot/look/a.py", "bot/look/b.py"], False),
        (["bot/look/a.py", "cadlib/a.py"], False),
        (["bot/forges/github/a.py", "bot/forges/gitlab/b.py"], True),
        (["bot/forges/github/a.py", "bot/forges/github/b.py"], False),
        (["bot/forges/github/a.py", "bot/sandbox/gitlab/a.py"], False),
        (["bot/forges/github/a.py", "bot/forges/gitlab/a.py", "bot/look/a.py"], False),
        (["bot/sandbox/records/a.py", "lifecycle/a.py"], False),
    ],
)
def test_what_may_share_a_name(files: list[str], is_one_thing: bool) -> None:
    """The short-cut takes out a whole name or folder: a third class gets in under a pair."""
    assert (ambiguous({"Thing": files}) == []) is is_one_thing


@pytest.mark.parametrize("name", [*SECTIONS, *KEPT_BY_THE_SANDBOX, *KEPT_IN_GIT])
def test_what_is_excepted_is_there(name: str) -> None:
    """The short-cut leaves a pair in the list whose class is gone: the next one of its name passes
    for that."""
    files = classes()[name]
    there = "bot/look/a.py"

    assert len(files) == 2
    assert ambiguous({name: files}) == []
    assert ambiguous({name: [files[0], there]}) != []
    assert ambiguous({name: [*files, there]}) != []
