"""What guards a project on GitLab: each thing that is lacking, with the change."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.forges.gitlab.guarding import Guarded, lacking
from bot.forges.gitlab.guards import Guards
from bot.forges.gitlab.hooks import GROUP, INSTANCE, HookOwner, HookSecrets, OurHooks
from bot.forges.gitlab.hooks import PROJECT as KIND
from bot.forges.gitlab.setting_key import TITLE
from bot.forges.gitlab.setting_projects import GATES
from bot.forges.gitlab.user import GitLabUser
from bot.forges.port import ForgeRefusedError, Mend, Repository
from lifecycle.identity import RepositoryId
from tests.bot.forges.gitlab.wire import URL, Wire
from tests.in_process import session

TO = "https://bot.example/webhooks/gitlab"
OURS = OurHooks(TO, HookSecrets("gitlab", (b"root",)))
WHOLE = OURS.settings(HookOwner(KIND, 7))
ABOUT: Mapping[str, object] = {
    "id": 7,
    "path_with_namespace": "acme/net",
    "default_branch": "main",
    **dict.fromkeys(GATES, True),
}
HOOK: Mapping[str, object] = {
    "id": 5,
    **OURS.shown(HookOwner(KIND, 7)),
    "alert_status": "executable",
    "disabled_until": None,
    "token_present": True,
    "custom_webhook_template": None,
}
BRANCH: Mapping[str, object] = {
    "name": "main",
    "push_access_levels": [{"access_level": 40}, {"access_level": None, "deploy_key_id": 3}],
}
GOOD = Guarded(
    about=dict(ABOUT),
    level=40,
    ours=OURS,
    hooks=[dict(HOOK)],
    branches=[dict(BRANCH)],
    tags=[{"name": "*/v*"}],
)
MERGE = {"merge_access_levels": [{"access_level": 40}]}
KEY_ONLY: dict[str, object] = {
    "name": "main",
    "push_access_levels": [{"access_level": 40, "deploy_key_id": 3}],
    "merge_access_levels": [{"access_level": 0}],
}
ALONE: dict[str, Any] = {
    "branches": [KEY_ONLY],
    "keys": [{"id": 3, "title": TITLE}],
    "may_push": True,
}
NOBODY = (
    "The protected branch main of acme/net: nobody may merge to it, the bot neither: no deploy key"
    " of the bot's is let in"
)
OTHERS = (
    "The protected branch main of acme/net: others may push or merge to it beside the bot's deploy"
    " key"
)
LEVELS = {"push_access_level": 40, "merge_access_level": 40}
GATE = "only_allow_merge_if_pipeline_succeeds"

NO_TAGS = (
    "The protected tags */v* of acme/net: the bot may not create them, so it publishes nothing"
)


def _tags(level: int, **named: object) -> dict[str, object]:
    return {"name": "*/v*", "create_access_levels": [{"access_level": level, **named}]}


CASES: dict[str, tuple[Guarded, list[tuple[str, bool, Mend | None]]]] = {
    "all is well": (GOOD, []),
    "a pattern protects the branch": (replace(GOOD, branches=[{**BRANCH, "name": "m*"}]), []),
    "a role that may not push": (
        replace(GOOD, level=20),
        [("The bot's role in acme/net: less than Developer", True, None)],
    ),
    "nobody but Maintainers is told": (
        replace(GOOD, hooks=None, branches=None, tags=None),
        [
            (
                "The webhook of acme/net: not shown to the bot, which is no Maintainer",
                False,
                None,
            )
        ],
    ),
    "a webhook of others is not ours": (
        replace(GOOD, hooks=[{**HOOK, "url": "https://elsewhere.example"}]),
        [("The webhook of acme/net: missing", False, None)],
    ),
    "a webhook from before projects had secrets of their own": (
        replace(GOOD, hooks=[{**HOOK, "url": TO}]),
        [
            (
                "The webhook of acme/net: with a secret that is not its own, or an old one, so what"
                " it tells counts for little",
                True,
                Mend("PUT", "/projects/7/hooks/5", WHOLE),
            )
        ],
    ),
    "a webhook of another project": (
        replace(GOOD, hooks=[{**HOOK, **OURS.shown(HookOwner(KIND, 8))}]),
        [
            (
                "The webhook of acme/net: with a secret that is not its own, or an old one, so what"
                " it tells counts for little",
                True,
                Mend("PUT", "/projects/7/hooks/5", WHOLE),
            )
        ],
    ),
    **{
        f"a webhook with {name} set otherwise": (
            replace(GOOD, hooks=[{**HOOK, name: value}]),
            [
                (
                    f"The webhook of acme/net: set otherwise: {name}",
                    True,
                    Mend("PUT", "/projects/7/hooks/5", WHOLE),
                )
            ],
        )
        for name, value in (
            ("note_events", False),
            ("enable_ssl_verification", False),
            ("custom_webhook_template", '{"object_kind": "push"}'),
            ("push_events_branch_filter", "main"),
            ("token_present", False),
            ("signing_token_set", False),
        )
    },
    "GitLab turned the webhook off for a while": (
        replace(
            GOOD,
            hooks=[{**HOOK, "alert_status": "temporarily_disabled", "disabled_until": "later"}],
        ),
        [
            (
                "The webhook of acme/net: temporarily disabled until later",
                True,
                Mend("POST", "/projects/7/hooks/5/test/push_events", {}),
            )
        ],
    ),
    "the branch is open": (
        replace(GOOD, branches=[]),
        [
            (
                "The branch main of acme/net: not protected, so Developers can push to it past the"
                " bot",
                True,
                Mend("POST", "/projects/7/protected_branches", {"name": "main", **LEVELS}),
            )
        ],
    ),
    "Developers push to the protected branch": (
        replace(GOOD, branches=[{"name": "main", "push_access_levels": [{"access_level": 30}]}]),
        [
            (
                "The protected branch main of acme/net: Developers may push to it past the bot",
                True,
                None,
            )
        ],
    ),
    "only the bot's deploy key is let in, whatever the settings are": (
        replace(GOOD, about={**ABOUT, GATE: False}, **ALONE),
        [],
    ),
    "a deploy key that does not let the bot in": (
        replace(GOOD, **{**ALONE, "may_push": False}),
        [(NOBODY, True, None)],
    ),
    "the deploy key is gone": (
        replace(GOOD, branches=[{**KEY_ONLY, "push_access_levels": []}], keys=[], may_push=False),
        [(NOBODY, True, None)],
    ),
    "Maintainers are let in beside the bot's deploy key": (
        replace(GOOD, **{**ALONE, "branches": [{**KEY_ONLY, **MERGE}]}),
        [(OTHERS, False, None)],
    ),
    "another rule lets Maintainers in beside the bot's deploy key": (
        replace(GOOD, **{**ALONE, "branches": [KEY_ONLY, {"name": "m*", **MERGE}]}),
        [(OTHERS, False, None)],
    ),
    "anybody makes tags": (
        replace(GOOD, tags=[{"name": "release-*"}]),
        [
            (
                "The tags of acme/net: */v* is not protected, so Developers can make tags that look"
                " published",
                False,
                Mend(
                    "POST",
                    "/projects/7/protected_tags",
                    {"name": "*/v*", "create_access_level": 40},
                ),
            )
        ],
    ),
    "Developers make tags, by one of two rules": (
        replace(GOOD, tags=[_tags(40), {**_tags(30), "name": "*"}]),
        [
            (
                "The protected tags */v* of acme/net: Developers may create them, and so make tags"
                " that look published",
                False,
                None,
            )
        ],
    ),
    "the bot may make no tags": (
        replace(GOOD, level=30, tags=[_tags(40)]),
        [(NO_TAGS, True, None)],
    ),
    "nobody may make tags": (replace(GOOD, tags=[_tags(0)]), [(NO_TAGS, True, None)]),
    "somebody is named who makes tags, perhaps the bot": (
        replace(GOOD, level=30, tags=[_tags(40, user_id=5)]),
        [],
    ),
    "people merge what is red": (
        replace(GOOD, about={**ABOUT, GATE: False}),
        [
            (
                'The setting "Pipelines must succeed" of acme/net: off, so people can merge what'
                " the bot does not publish",
                False,
                Mend("PUT", "/projects/7", {GATE: True}),
            )
        ],
    ),
}


@pytest.mark.parametrize(("given", "expected"), CASES.values(), ids=CASES)
def test_what_a_project_lacks(
    given: Guarded, expected: list[tuple[str, bool, Mend | None]]
) -> None:
    """Fails when only what is there is compared: what is missing altogether is never told."""
    found = [(f"{each.place}: {each.found}", each.harmful, each.mend) for each in lacking(given)]

    assert found == expected


PROJECT = Repository(
    id=RepositoryId("gitlab", 7),
    full_name="acme/net",
    default_branch="main",
    clone_url="",
    installation=99,
    installed_at=datetime(2026, 1, 1, tzinfo=UTC),
)


async def test_what_is_lacking_is_asked_for_and_mended() -> None:
    """Fails when a list that is refused counts as empty: then all rules would be missing."""
    wire = Wire()
    access = {"project_access": {"access_level": 40}, "group_access": None}
    wire.has("GET /projects/7", {**ABOUT, GATE: False, "permissions": access})
    wire.has("GET /projects/7/hooks", [HOOK])
    wire.has("GET /projects/7/protected_branches", {"message": "403 Forbidden"}, 403)
    wire.has("GET /projects/7/protected_tags", [{"name": "*"}])
    wire.has("PUT /projects/7", {})
    guards = Guards(
        GitLabUser("gitlab", URL, lambda: "t", session=lambda: session(wire.answer)), OURS
    )

    (found,) = await guards.drift(PROJECT)
    assert found.mend is not None
    await guards.mend(found.mend)

    assert wire.asked[-1] == "PUT /projects/7"
    assert wire.bodies[-1] == {GATE: True}
    with pytest.raises(ForgeRefusedError, match="404"):
        await guards.mend(Mend("POST", "/nowhere", {}))


async def test_webhooks_of_groups_and_of_the_instance_are_named_once() -> None:
    """Short-cuts refused: an old webhook of a group or of the instance stands in the log alone, of
    which nobody knows; it is told with each of a thousand projects; those that the token is not
    shown are called missing; it is gone from what is told once something else was mended."""
    wire = Wire()
    access = {"project_access": {"access_level": 40}, "group_access": None}
    wire.has("GET /projects/7", {**ABOUT, "permissions": access})
    wire.has("GET /projects/7/hooks", [HOOK])
    wire.has("GET /projects/7/protected_branches", [BRANCH])
    wire.has("GET /projects/7/protected_tags", [{"name": "*/v*"}])
    right = OURS.shown(HookOwner(GROUP, 5))
    old = {"id": 1, "group_id": 5, **right, "url": TO}
    cut = {"id": 2, "group_id": 5, **right, "push_events_branch_filter": "main"}
    others = {"id": 3, "group_id": 5, "url": "https://ci.example"}
    wire.has("GET /groups/acme/hooks", [old, cut, others, {"id": 4, "group_id": 5, **right}])
    wire.has("GET /hooks", [{"id": 9, **OURS.shown(INSTANCE), "url": TO}])
    user = GitLabUser("gitlab", URL, lambda: "t", session=lambda: session(wire.answer))
    guards = Guards(user, OURS)

    found = await guards.drift(PROJECT)
    again = await guards.drift(PROJECT)
    for at in ("", "/hooks", "/protected_branches", "/protected_tags"):
        wire.paths[f"GET /projects/8{at}"] = wire.paths[f"GET /projects/7{at}"]
    other = await guards.drift(replace(PROJECT, id=RepositoryId("gitlab", 8)))
    wire.paths.pop("GET /hooks")
    wire.paths.pop("GET /groups/acme/hooks")
    unseen = await Guards(user, OURS).drift(PROJECT)

    little, owner = "so what it tells counts for little", "with the token of an Owner of the group"
    assert [(each.place, each.found, each.fix) for each in found] == [
        (
            "The webhook of the whole instance",
            f"with a secret that is not its own, or an old one, {little}",
            "Run `porchbot setup gitlab --system-hook` again with the token of an administrator",
        ),
        (
            "The webhook of the group acme",
            f"with a secret that is not its own, or an old one, {little}",
            f"Run `porchbot setup gitlab --group acme` again {owner}",
        ),
        (
            "The webhook of the group acme",
            f"set otherwise: push_events_branch_filter, {little}",
            f"Run `porchbot setup gitlab --group acme` again {owner}",
        ),
    ]
    assert [each.mend for each in found] == [
        None,
        *(
            Mend("PUT", f"/groups/acme/hooks/{number}", OURS.settings(HookOwner(GROUP, 5)))
            for number in (1, 2)
        ),
    ]
    assert (again, other, unseen) == (found, (), ())


async def test_an_owner_asks_and_mends_with_a_token_of_their_own() -> None:
    """Fails when the bot's token makes the change: it may not be a Maintainer."""
    wire = Wire()
    wire.has("PUT /projects/7", {})
    user = GitLabUser("gitlab", URL, lambda: "t", session=lambda: session(wire.answer))
    guards = Guards(user, OURS, user.clients.with_token("owners"))

    await guards.mend(Mend("PUT", "/projects/7", {GATE: True}))
    guards.close()

    assert wire.tokens == ["owners"]
