"""What paid tiers of the sandbox's GitLab ask of a merge; notes before they are published."""

from __future__ import annotations

import pytest

from bot.sandbox.records.gitlab import FREE, PREMIUM, ULTIMATE
from tests.bot.sandbox.gitlab.conftest import Hub, refusal


def _word(hub: Hub) -> str:
    return str(hub.settled(1).detailed_merge_status)


def test_a_rule_asks_for_people_of_its_own(hub: Hub) -> None:
    """Fails for a rule that counts approvals, whoever gave them."""
    hub.forge.state.data.gitlab.tier = PREMIUM
    hub.merge_request()
    people = [hub.forge.state.user("mia").id]
    wish = {"name": "security", "approvals_required": 1, "user_ids": people}
    rule = hub.project("mia").approvalrules.create(wish)
    assert (rule.rule_type, [u["username"] for u in rule.users]) == ("regular", ["mia"])
    assert _word(hub) == "not_approved"

    hub.project("ben").mergerequests.get(1).approve()
    assert _word(hub) == "not_approved"
    hub.project("mia").mergerequests.get(1).approve()

    assert _word(hub) == "mergeable"
    hub.project("mia").approvalrules.update(rule.id, {"approvals_required": 2})
    assert _word(hub) == "not_approved"
    hub.project("mia").approvalrules.delete(rule.id)
    assert _word(hub) == "mergeable"


def test_a_rule_may_be_for_some_branches(hub: Hub) -> None:
    hub.merge_request()
    other = hub.project("mia").protectedbranches.create({"name": "release"})
    hub.forge.state.data.gitlab.tier = PREMIUM
    wish = {"name": "any", "approvals_required": 3, "protected_branch_ids": [other.id]}
    made = hub.project("mia").approvalrules.create(wish)

    assert made.rule_type == "any_approver"
    assert [branch["name"] for branch in made.protected_branches] == ["release"]
    assert _word(hub) == "mergeable"


def test_free_has_no_rules_and_only_ultimate_has_checks(hub: Hub) -> None:
    """Fails for a sandbox that gives away what projects have to pay for."""
    mia, checks = hub.project("mia"), f"/projects/{hub.repo.id}/external_status_checks"
    client = mia.manager.gitlab
    hub.forge.state.data.gitlab.tier = FREE
    assert refusal(lambda: mia.approvalrules.list(get_all=True))[0] == 404
    hub.forge.state.data.gitlab.tier = PREMIUM
    assert refusal(lambda: client.http_list(checks))[0] == 403
    hub.forge.state.data.gitlab.tier = ULTIMATE
    assert client.http_list(checks) == []


def test_a_check_answers_for_one_head(hub: Hub) -> None:
    """Fails where an answer for what was there before lets a later head be merged."""
    hub.forge.state.data.gitlab.tier = ULTIMATE
    hub.set(only_allow_merge_if_all_status_checks_passed=True)
    made = hub.merge_request()
    client, base = hub.project("mia").manager.gitlab, f"/projects/{hub.repo.id}"
    wish = {"name": "scanner", "external_url": "http://scanner.example/"}
    check = client.http_post(f"{base}/external_status_checks", post_data=wish)
    assert isinstance(check, dict)
    assert (
        refusal(lambda: client.http_post(f"{base}/external_status_checks", post_data=wish))[0]
        == 409
    )
    assert _word(hub) == "status_checks_must_pass"

    def answers(sha: str, status: str) -> None:
        told = {"sha": sha, "external_status_check_id": check["id"], "status": status}
        client.http_post(f"{base}/merge_requests/1/status_check_responses", post_data=told)

    answers(made.sha, "failed")
    assert _word(hub) == "status_checks_must_pass"
    answers(made.sha, "passed")
    assert _word(hub) == "mergeable"
    hub.commit("change", {"a.txt": "more\n"})
    assert refusal(lambda: answers(made.sha, "passed"))[0] == 409
    assert _word(hub) == "status_checks_must_pass"
    (shown,) = client.http_list(f"{base}/merge_requests/1/status_checks")
    assert (shown["name"], shown["status"]) == ("scanner", "pending")
    client.http_delete(f"{base}/external_status_checks/{check['id']}")
    assert _word(hub) == "mergeable"


def test_a_draft_note_is_its_authors_until_it_is_published(hub: Hub) -> None:
    """Fails where others read, or hear of, what somebody has not said yet."""
    hub.merge_request()
    ben = hub.project("ben").mergerequests.get(1)
    draft = ben.draft_notes.create({"note": "Too large.\n\n/approve"})
    heard = len(hub.heard("Note Hook"))

    assert hub.project("mia").mergerequests.get(1).draft_notes.list(get_all=True) == []
    theirs = hub.project("mia").mergerequests.get(1).draft_notes
    assert refusal(lambda: theirs.get(draft.id))[0] == 404
    assert [n.body for n in ben.notes.list(get_all=True) if not n.system] == []
    ben.draft_notes.update(draft.id, {"note": "Too wide.\n\n/approve"})
    ben.draft_notes.get(draft.id).publish()

    assert [n.body for n in ben.notes.list(get_all=True) if not n.system] == ["Too wide."]
    assert len(hub.heard("Note Hook")) == heard + 1
    given = ben.approvals.get().approved_by
    assert [each["user"]["username"] for each in given] == ["ben"]
    assert ben.draft_notes.list(get_all=True) == []


@pytest.mark.parametrize("resolve", [True, False])
def test_a_review_is_published_at_once(hub: Hub, resolve: bool) -> None:
    hub.merge_request()
    mia = hub.project("mia").mergerequests.get(1)
    thread = mia.discussions.create({"body": "Why?"})
    answer = {"note": "Because.", "in_reply_to_discussion_id": thread.id}
    mia.draft_notes.create(answer | {"resolve_discussion": resolve})
    mia.draft_notes.create({"note": "Else good."})
    gone = mia.draft_notes.create({"note": "Never mind."})
    mia.draft_notes.delete(gone.id)

    place = f"/projects/{hub.repo.id}/merge_requests/1/draft_notes"
    mia.manager.gitlab.http_post(f"{place}/bulk_publish")

    notes = [n for n in mia.notes.list(get_all=True, sort="asc") if not n.system]
    assert sorted(n.body for n in notes) == ["Because.", "Else good.", "Why?"]
    assert mia.discussions.get(thread.id).attributes["notes"][0]["resolved"] is resolve


def test_a_role_that_was_made_up_is_what_it_is_based_on(hub: Hub) -> None:
    """Fails where a name of somebody's making lets its members do more than their level."""
    state = hub.forge.state
    state.data.gitlab.tier = ULTIMATE
    state.data.gitlab.admins.add(state.user("olga").id)
    owner, mia = hub.project("olga").manager.gitlab, hub.project("mia").manager.gitlab
    wish = {"name": "Approver of everything", "base_access_level": 20, "read_code": True}
    role = owner.http_post("/member_roles", post_data=wish)
    assert isinstance(role, dict)
    zoe = {"user_id": state.user("zoe").id, "access_level": 20, "member_role_id": role["id"]}
    wrong = zoe | {"access_level": 30}
    assert refusal(lambda: hub.project("mia").members.create(wrong))[0] == 400

    made = hub.project("mia").members.create(zoe)

    assert (made.access_level, made.member_role["name"]) == (20, "Approver of everything")
    hub.merge_request()
    assert refusal(lambda: hub.project("zoe").mergerequests.get(1).approve())[0] == 401
    assert refusal(lambda: owner.http_delete(f"/member_roles/{role['id']}"))[0] == 400
    hub.project("mia").members.update(made.id, {"access_level": 20})
    owner.http_delete(f"/member_roles/{role['id']}")
    assert refusal(lambda: mia.http_list("/member_roles"))[0] == 403
