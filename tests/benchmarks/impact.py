"""What a change of a guardrail would do to 1,000 packages: from the push to `porchbot/impact`.

Aims: 20 s where nothing was rendered before, 1 s for the next push with the same rules. Beside it,
how long somebody waits for the checks of one package meanwhile.
"""

import time

from tests.benchmarks import many
from tests.benchmarks.stage import Stage, row, stage, table
from tests.stories.world import CONFIG, resized

PACKAGES = 1_000
NAME = "porchbot/impact"
CHANGED = CONFIG.replace("owner: network", "owner: mine")
PATIENCE = 300.0


def shown(at: Stage, head: str) -> tuple[float, str]:
    """When the check stood completed at a head, and its title."""
    state, repo = at.world.forge.state, at.world.repository
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with state.lock:
            runs = [r for r in state.checks.runs_on(repo, head) if r.name == NAME]
            if runs and runs[-1].status == "completed":
                return time.monotonic(), str(runs[-1].title)
        time.sleep(0.02)
    raise TimeoutError(f"waited {PATIENCE} s for {NAME} at {head}")


def push(at: Stage, text: str, *, opens: bool = False) -> tuple[float, float, str, int]:
    """A push to the pull request: when it was taken, when it was told, what, and for how much."""
    commit = at.world.author.pushes("guardrails", {".porchbot.yaml": text})
    if opens:
        at.world.author.opens("guardrails", "Mine")
    since = at.moments.pushed(commit)
    until, title = shown(at, commit)
    return since, until, title, len(at.calls(since, until))


def run() -> None:
    """Measure and print the tables."""
    with stage(lambda made: many.fill(made, PACKAGES, PACKAGES, 0), many.index, 300.0) as at:
        since, until, title, calls = push(at, CHANGED, opens=True)
        print(title)
        again = [push(at, f"{CHANGED}# {turn}\n") for turn in range(5)]
        commit = at.world.author.pushes(
            "guardrails", {".porchbot.yaml": CONFIG.replace("owner: network", "owner: other")}
        )
        branch = f"drafts/{many.name(7)}/w"
        beside = at.world.author.pushes(branch, resized(many.name(7), 5))
        waited = at.moments.checked(beside) - at.moments.pushed(beside)
        other = shown(at, commit)[0] - at.moments.pushed(commit)
    seconds = [told - began for began, told, _, _ in again]
    table(
        [f"a guardrail, {PACKAGES} packages", "runs", "p50 ms", "max ms", "aim"],
        [
            row("push -> impact, nothing kept", [until - since], "20 s"),
            row("push -> impact, the same rules again", seconds, "1 s"),
            row("push -> impact, another guardrail, beside a push", [other], "20 s"),
            row("push -> checks of one package meanwhile", [waited]),
        ],
    )
    print(f"forge calls: {calls} the first time, then {[each[3] for each in again]}")


if __name__ == "__main__":
    run()
