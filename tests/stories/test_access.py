"""Who approves by the repository's own rules: teams, code owners, Apps that are named."""

import pytest

from bot.look.teams import KEPT
from bot.sandbox.records.accounts import Organization, Role, Team
from lifecycle.identity import GITHUB
from tests.stories.people import WaitedInVainError, wait_for
from tests.stories.world import CONFIG, Staging, World, package, resized, seconds_pass

RULE = 'approve: {require: 1, from: ["role:maintain"]}'
BRANCH = "drafts/net/core/w"
BOT = "porchbot[bot]"


def ruled(rule: str) -> str:
    """The configuration with other approvers."""
    assert RULE in CONFIG
    return CONFIG.replace(RULE, f"approve: {{from: [{rule}]}}")


def organize(play: World) -> None:
    """The owner becomes an organization with a team, and a team below that."""
    state = play.forge.state
    with state.lock:
        account = state.user("acme")
        account.kind = "Organization"
        state.data.organizations["acme"] = Organization(account=account)
    network = makes_team(play, "Network", "author")
    if network is not None:
        state.organizations.add_team("acme", "DNS", ("outsider",), parent=network)


def makes_team(play: World, name: str, *logins: str) -> Team | None:
    """A team of the organization; where there are groups instead, one below that of the project."""
    organizations = play.forge.state.organizations
    if play.name == GITHUB:
        return organizations.add_team("acme", name, logins)
    organizations.add(f"acme/{name.lower()}", roles=dict.fromkeys(logins, Role.WRITE))
    return None


def joins(play: World, name: str, login: str) -> None:
    """Somebody is put into a team or group."""
    state = play.forge.state
    with state.lock:
        if play.name == GITHUB:
            state.organizations.team("acme", name).members.append(state.user(login))
        else:
            state.organizations.find(f"acme/{name}").roles[login] = Role.WRITE


def leaves(play: World, name: str, login: str) -> None:
    """Somebody is taken out of a team or group."""
    state = play.forge.state
    with state.lock:
        if play.name == GITHUB:
            state.organizations.team("acme", name).members.remove(state.user(login))
        else:
            del state.organizations.find(f"acme/{name}").roles[login]


def grants(play: World, **permissions: str) -> None:
    """The owner grants the App other permissions."""
    (installation,) = play.forge.state.data.installations.values()
    installation.permissions = permissions
    for token in play.forge.state.data.installation_tokens.values():
        token.permissions = dict(permissions)


@pytest.mark.only_github("permissions of an App")
def test_a_team_approves_once_it_can_be_read(staged: Staging) -> None:
    """Fails when a team that cannot be read is one without members, or without child teams."""
    with staged(ruled('"team:network"')) as play:
        organize(play)
        play.start_bot()
        (installation,) = play.forge.state.data.installations.values()
        before = dict(installation.permissions)
        grants(play, **{name: level for name, level in before.items() if name != "members"})
        number = play.proposes(BRANCH, package("net/core"))

        # Somebody of whom nobody can tell whether they may: no yes, and no no.
        play.outsider.says(number, "/approve")
        text = play.author.waits_for_summary(number, "the team `network` cannot be read")
        assert "grant it the organization permission *Members: Read-only*" in text
        play.rests()
        assert not play.author.tags()

        grants(play, **before)
        with pytest.raises(WaitedInVainError):  # who is in a team may be a minute old
            wait_for("a minute", lambda: None, KEPT)
        play.owner.says(number, "/approve")
        refused = play.author.waits_for_answer(number, "`/approve` refused")
        assert "only members of the team `network` can do this; you have admin access" in refused
        play.author.waits_for_tag("net/core/v1")


@pytest.mark.both_forges
def test_code_owners_are_those_of_the_base_branch(staged: Staging) -> None:
    """Fails when the head's CODEOWNERS counts, or one owner approves for all."""
    with staged(ruled("codeowners")) as play:
        owners = "/net/ @owner\n/net/edge/settings.yaml @approver\n"
        play.owner.pushes("main", {"CODEOWNERS": owners})
        play.start_bot()
        play.rests()
        files = {**resized("net/edge", 2), "net/edge/more.yaml": "# nothing\n"}
        number = play.proposes("drafts/net/edge/w", files)
        play.approver.says(number, "/approve")
        text = play.author.waits_for_summary(number, "1 of 2 rules met")
        assert "`net/edge/more.yaml` (CODEOWNERS lists `@owner`): 0 of 1" in text
        play.rests()
        assert not play.author.tags()

        play.owner.reviews(number)
        play.author.waits_for_tag("net/edge/v1")


@pytest.mark.only_github("approvals of an App")
def test_an_app_that_is_named_approves(staged: Staging) -> None:
    """Fails when all machines are unheard, or all are heard."""
    with staged(ruled('"app:renovate"')) as play:
        state = play.forge.state
        with state.lock:
            for login in ("renovate[bot]", "stranger[bot]"):
                state.add_user(login).kind = "Bot"
        play.start_bot()
        number = play.proposes(BRANCH, package("net/core"))

        def says(login: str) -> None:
            seconds_pass(play.forge, 2)
            with state.lock:
                pull = state.pulls.find(play.repository, number)
                state.talk.comment(pull, state.user(login), "/approve")

        says("stranger[bot]")
        play.rests()
        assert not play.author.tags()
        assert not any("stranger" in text for text in play.author.answers(number))

        says("renovate[bot]")
        wait_for("the tag", lambda: play.author.tags() or None)


@pytest.mark.only_github("reviews that a branch requires")
def test_reviews_that_the_branch_requires_are_a_gate_of_their_own(staged: Staging) -> None:
    """Fails when `/approve` counts for the forge's rule, or the merge is tried in vain."""
    with staged(CONFIG) as play:
        play.forge.state.rules.add(play.repository, required_reviews=1)
        play.start_bot()
        number = play.proposes(BRANCH, package("net/core"))
        play.approver.says(number, "/approve")
        text = play.author.waits_for_summary(number, "**branch reviews**: 0 of 1 approving review")
        assert "`/approve` does not count as a review" in text
        play.rests()
        tried = [c for c in play.forge.faults.calls("porchbot[bot]") if "merge" in c.path]
        assert not tried

        play.owner.reviews(number)
        play.author.waits_for_tag("net/core/v1")


@pytest.mark.both_forges
def test_who_has_just_joined_a_team_approves_at_once(staged: Staging) -> None:
    """The short-cut goes by who was in the team when it last asked, and refuses for a minute."""
    with staged(ruled('"team:network"')) as play:
        organize(play)
        play.start_bot()
        play.rests()
        number = play.proposes(BRANCH, package("net/core"))
        play.approver.says(number, "/approve")
        play.author.waits_for_answer(number, "@approver")
        joins(play, "network", "approver")

        play.approver.says(number, "/approve")
        play.rests()

        assert "net/core/v1" in play.author.tags()


@pytest.mark.parametrize("forge", ["gitlab"], indirect=True)
@pytest.mark.parametrize("rule", ['"group:acme/network"', "codeowners"])
def test_a_group_has_none_of_the_members_of_the_groups_above_it(staged: Staging, rule: str) -> None:
    """The short-cut asks GitLab for all members, those of the groups above counted: whoever may
    read the project publishes by a rule that names a few people."""
    with staged(ruled(rule)) as play:
        organize(play)
        play.owner.pushes("main", {"CODEOWNERS": "* @acme/network\n"})
        above, state = play.forge.state.organizations.find("acme"), play.forge.state
        with state.lock:
            above.roles |= {"outsider": Role.READ, "approver": Role.WRITE}
        play.start_bot()
        play.rests()
        number = play.proposes(BRANCH, package("net/core"))

        for who in (play.outsider, play.approver):
            who.says(number, "/approve")
            play.rests()

        assert not play.author.tags()
        assert "0 of 1" in play.author.summary(number)

        joins(play, "network", "approver")
        play.approver.says(number, "/approve")
        play.rests()
        assert "net/core/v1" in play.author.tags()


@pytest.mark.both_forges
@pytest.mark.simulated_time("minutes pass")
def test_who_lost_the_right_since_is_seen_before_anything_is_published(staged: Staging) -> None:
    """The short-cut goes on by the roles of some minutes ago, and publishes when time is up."""
    with staged(ruled('"team:network"')) as play:
        organize(play)
        joins(play, "network", "approver")
        play.start_bot()
        play.rests()
        number = play.proposes(BRANCH, package("net/core"))
        play.owner.says(number, "/freeze for 10m fire")
        play.approver.says(number, "/approve")
        play.rests()
        assert "**freeze**" in play.author.summary(number)

        leaves(play, "network", "approver")
        with pytest.raises(WaitedInVainError):
            wait_for("the end of the freeze", lambda: None, 11 * KEPT)
        play.rests()

        assert not play.author.tags()
        assert "**approved**: 0 of 1" in play.author.summary(number)


@pytest.mark.both_forges
@pytest.mark.simulated_time("minutes pass")
def test_what_is_held_asks_for_nobody_and_for_everybody_once_it_is_not(staged: Staging) -> None:
    """The short-cut goes on by the teams of before when the hold ends."""
    with staged(ruled('"team:network"')) as play:
        organize(play)
        joins(play, "network", "approver")
        play.start_bot()
        play.rests()
        number = play.proposes(BRANCH, package("net/core"))
        play.author.says(number, "/hold until noon")
        play.rests()
        play.approver.says(number, "/approve")
        play.rests()
        with pytest.raises(WaitedInVainError):
            wait_for("two minutes", lambda: None, 2 * KEPT)
        assert _look(play)[1] == 0

        leaves(play, "network", "approver")
        play.author.says(number, "/unhold")
        play.rests()

        assert not play.author.tags()
        assert "**approved**: 0 of 1" in play.author.summary(number)


TEAM = {"github": "/teams/", "gitlab": "/groups/"}
TEAMS = ("one", "two", "three")


@pytest.mark.simulated_time("requests are counted: a busy machine looks more often")
def test_a_look_at_what_waits_for_more_approvals_asks_for_nobody(staged: Staging) -> None:
    """Short-cuts ask for each member, or for each team at each look, or before anybody approved.

    Another one goes by who was in the teams a while ago when the last approval comes.
    """
    named = ", ".join(f'"team:{team}"' for team in TEAMS)
    with staged(CONFIG.replace(RULE, f"approve: {{require: 2, from: [{named}]}}")) as play:
        organize(play)
        state, faults = play.forge.state, play.forge.faults
        for team in TEAMS:
            people = [f"{team}-{n}" for n in range(49)]
            for login in people:
                state.add_user(login)
            makes_team(play, team, *people, "approver")
        play.start_bot()
        play.rests()

        mark = faults.mark()
        play.author.pushes(BRANCH, package("net/core"))
        pull = play.author.pull_of(BRANCH)
        play.author.waits_for_check(pull.number, "porchbot/publish", None)
        play.rests()
        to_checks = faults.counts(play.caller, since=mark)
        assert not [name for name in to_checks if TEAM[play.name] in name]
        assert sum(to_checks.values()) <= 20, to_checks

        play.author.says(pull.number, "/propose")
        play.rests()
        play.approver.says(pull.number, "/approve")
        play.rests()
        at_once = _look(play)
        with pytest.raises(WaitedInVainError):
            wait_for("a minute", lambda: None, KEPT)
        later = _look(play)
        print("\nRequests of a look that changes nothing, and for teams:", at_once, later)
        assert 0 < at_once[0] <= 6
        assert 0 < later[0] <= 6
        assert (at_once[1], later[1]) == (0, 0)

        # Who has left all teams since does not count once enough people have approved.
        for team in TEAMS:
            leaves(play, team, "approver")
        joins(play, "one", "owner")
        play.owner.says(pull.number, "/approve")
        play.rests()
        assert not play.author.tags()
        assert "**approved**: 1 of 2" in play.author.summary(pull.number)


def _look(play: World) -> tuple[int, int]:
    """A look at the proposal: its requests without those for teams, and these."""
    mark = play.forge.faults.mark()
    play.wake(f"{play.name}:{play.repository.id}:proposal:{play.repository.id}:{BRANCH}")
    play.rests()
    made = play.forge.faults.counts(play.caller, since=mark)
    teams = sum(count for name, count in made.items() if TEAM[play.name] in name)
    return sum(made.values()) - teams, teams


@pytest.mark.only_github("reviews that a branch requires")
def test_missing_reviews_are_counted(staged: Staging) -> None:
    """The short-cut says that there are too few, and nobody knows how many to ask for."""
    with staged(CONFIG) as play:
        play.forge.state.rules.add(play.repository, required_reviews=2)
        play.start_bot()
        play.rests()
        number = play.proposes(BRANCH, package("net/core"))
        play.author.waits_for_summary(number, "0 of 2 approving reviews")

        play.approver.reviews(number)

        play.author.waits_for_summary(number, "1 of 2 approving reviews")


def test_a_new_package_waits_for_who_may_register_it(staged: Staging) -> None:
    """Fails when whoever may approve a change may bring in a package too, or is asked for ever."""
    with staged(CONFIG + '  register: {from: ["role:admin"]}\n') as play:
        play.start_bot()
        number = play.proposes(BRANCH, package("net/core"))
        play.approver.says(number, "/approve")
        text = play.author.waits_for_summary(number, "1 of 2 rules met")
        assert "`net/core` (first revision): 0 of 1, from people with admin access" in text
        play.rests()
        assert not play.author.tags()
        play.owner.says(number, "/approve")
        play.author.waits_for_tag("net/core/v1")

        number = play.proposes("drafts/net/core/w2", resized("net/core", 5))
        play.approver.says(number, "/approve")
        play.author.waits_for_tag("net/core/v2")
