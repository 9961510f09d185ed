"""One function runner for all stories; a world for each, on the stage that it takes."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from bot.sandbox.api import Exchange
from tests.contract.watch import watched
from tests.stories.people import wait_for
from tests.stories.real import RealWorld, world
from tests.stories.real_gitlab import gitlab_world
from tests.stories.rendering import Rendering
from tests.stories.simulated import simulated
from tests.stories.simulated_gitlab import simulated_gitlab
from tests.stories.world import CONFIG, Staging, World, seconds_pass


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A function runner on a socket."""
    socket = tmp_path_factory.mktemp("runner") / "runner.sock"
    address = f"unix:{socket}"
    command = [sys.executable, "-m", "bot.cli", "runner", "--listen", address]
    command += ["--allow", "ghcr.io/kptdev/*", "--until-stdin-closes"]  # as the bot starts its own
    with subprocess.Popen(command, stdin=subprocess.PIPE):
        wait_for("the runner", socket.exists)
        yield address


@pytest.fixture(scope="session")
def rendering(runner: str) -> Iterator[Rendering]:
    """What renders for stories in simulated time."""
    with Rendering(runner) as made:
        yield made


@pytest.fixture
def is_real(request: pytest.FixtureRequest) -> bool:
    """Whether the story is told with everything that the bot has in operation."""
    node = request.node
    if node.get_closest_marker("simulated_time") is not None:
        return False
    every = request.config.getoption("--real-stories")
    return bool(every) or node.get_closest_marker("real_parts") is not None


@pytest.fixture
def forge(request: pytest.FixtureRequest) -> str:
    """At which forge the story is told."""
    return str(getattr(request, "param", request.config.getoption("--forge") or "github"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tell at both forges what is marked so; `--forge` tells every story at the one it names."""
    named = metafunc.config.getoption("--forge")
    marked = metafunc.definition.get_closest_marker("both_forges") is not None
    if "forge" in metafunc.fixturenames and named is None and marked:
        metafunc.parametrize("forge", ["github", "gitlab"], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out at GitLab what only GitHub has."""
    if config.getoption("--forge") == "gitlab":
        for item in items:
            for mark in item.iter_markers("only_github"):
                item.add_marker(pytest.mark.skip(reason=f"only GitHub has {mark.args[0]}"))


@pytest.fixture
def staged(is_real: bool, forge: str, request: pytest.FixtureRequest) -> Staging:
    """Makes a world, given a configuration; every answer of its forge is validated."""

    @contextmanager
    def make(config: str) -> Iterator[World]:
        needed = request.getfixturevalue
        made: AbstractContextManager[World]
        if is_real:
            folder, database, runner = map(needed, ("tmp_path", "database_url", "runner"))
            begun = gitlab_world if forge == "gitlab" else world
            made = begun(folder, database, runner, config=config)
        else:
            begins = simulated_gitlab if forge == "gitlab" else simulated
            made = begins(needed("rendering"), config)
        with made as stage, watched(stage.forge, forge):
            if not isinstance(stage, RealWorld):
                yield stage
                return
            stage.render_workers = request.node.get_closest_marker("render_workers") is not None
            with stage.waits():
                yield stage

    return make


@pytest.fixture
def stage(staged: Staging) -> Iterator[World]:
    """A world whose bot is not started yet."""
    with staged(CONFIG) as made:
        yield made


@pytest.fixture
def play(stage: World) -> World:
    """A world with its bot running.

    Forges tell whole seconds: what is opened within the second of the bot's arrival counts as
    opened before it, and one more approval is asked for.
    """
    stage.start_bot()
    # Before that, what people do may be heard of twice: when it is told, and when it is adopted.
    wait_for("the repository to be adopted", lambda: stage.is_adopted() or None)
    stage.rests()
    seconds_pass(stage.forge, 1)
    return stage


@pytest.fixture
def sent(play: World) -> list[str]:
    """Every text that the bot sends to GitLab, without what only machines read.

    What people of the stories read there is put back into their own words; at GitHub nothing is.
    """
    found: list[str] = []

    def observe(exchange: Exchange) -> None:
        if exchange.caller.startswith("porchbot") and exchange.method in {"POST", "PUT"}:
            found.extend(re.sub(r"<!-- porchbot.*?-->", "", text) for text in _texts(exchange))

    play.forge.observers.append(observe)
    return found


def _texts(exchange: Exchange) -> Iterator[str]:
    body = exchange.request_body
    if isinstance(body, dict):
        names = ("body", "title", "description", "message", "merge_commit_message", "tag_message")
        yield from (str(body[name]) for name in names if body.get(name))


TWO_BASES = CONFIG.replace(
    "guardrails:",
    "packages:\n  - {directory: ., branch: main}\n  - {directory: ., branch: release}\nguardrails:",
)


@pytest.fixture
def two_bases(staged: Staging) -> Iterator[World]:
    """A running world that publishes from `main` and from `release`."""
    with staged(TWO_BASES) as stage:
        stage.owner.pushes("release", {"words.md": "Releases stand here.\n"})
        stage.start_bot()
        stage.rests()
        yield stage
