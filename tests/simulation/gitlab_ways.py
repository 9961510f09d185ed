"""How projects at GitLab differ: how they merge, what their edition asks for, what they have.

Drawn from a stream of its own, so that everything else in a history is drawn as before.
"""

from dataclasses import dataclass
from random import Random

from bot.sandbox.records.gitlab import FREE, PREMIUM, ULTIMATE
from bot.sandbox.records.premium import ApprovalRule, StatusCheck
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.state import ForgeState
from tests.simulation.setting import MAIN, WRITERS

MERGE, SEMI_LINEAR, FAST_FORWARD = "merge", "rebase_merge", "ff"
OURS, SCANNER = "porchbot/publish", "scanner"
"""External status checks: one that the bot answers, and one that others do."""

SERVICES_BIND = "only_allow_merge_if_all_status_checks_passed"


@dataclass(frozen=True)
class Ways:
    """What one project is like.

    Attributes:
        method: How it merges.
        tier: Its edition.
        asks: Approvals that its rule asks for; 0 without a rule, which Free has not.
        of: Whose approvals count for the rule; empty for any member's.
        services: External status checks that have to pass; Ultimate.
        issues: It has issues, and so a dashboard.
    """

    method: str = MERGE
    tier: str = FREE
    asks: int = 0
    of: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    issues: bool = False

    def __str__(self) -> str:
        rule = f", its rule asks for {self.asks}" if self.asks else ""
        services = f", asks {' and '.join(self.services)}" if self.services else ""
        return f"{self.tier}, {self.method}{rule}{services}{', issues' if self.issues else ''}"


def ways(drawn: Random) -> Ways:
    """Draw them: half of the projects are as a new one of the Free tier is."""
    method = drawn.choice((MERGE, MERGE, SEMI_LINEAR, FAST_FORWARD))
    tier = drawn.choice((FREE, FREE, FREE, PREMIUM, ULTIMATE))
    asks, of = drawn.choice((0, 1, 1, 2)), drawn.choice(((), (), WRITERS))
    services = drawn.choice(((), (OURS,), (OURS,), (OURS, SCANNER)))
    return Ways(
        method=method,
        tier=tier,
        asks=asks if tier != FREE else 0,
        of=of if tier != FREE and asks else (),
        services=services if tier == ULTIMATE else (),
        issues=drawn.random() < 0.5,
    )


def make(state: ForgeState, repo: Repository, wanted: Ways) -> None:
    """Let a project be like this."""
    project = repo.gitlab
    project.tier = wanted.tier
    if wanted.method != MERGE:
        project.settings["merge_method"] = wanted.method
    if wanted.asks:
        project.approval_rules[state.next_id()] = ApprovalRule(
            id=state.data.last_id,
            name="makers",
            required=wanted.asks,
            users=[state.user(login) for login in wanted.of],
        )
    for name in wanted.services:
        url = f"https://{name.replace('/', '-')}.example/"
        check = StatusCheck(id=state.next_id(), name=name, url=url, branches=[MAIN])
        project.status_checks[check.id] = check
    if wanted.services:
        project.settings[SERVICES_BIND] = True
    repo.has_issues = wanted.issues
