"""What guards a project, held against what the bot needs; each with the change. Pure.

What is missing here lets people merge or tag past the bot, or lets events go unheard. Nothing is
published by that: the bot compares again at the tag.

Source: https://docs.gitlab.com/api/projects/, https://docs.gitlab.com/api/protected_branches/,
https://docs.gitlab.com/api/protected_tags/, https://docs.gitlab.com/api/project_webhooks/
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.forges.gitlab.hooks import GROUP, INSTANCE, PROJECT, HookOwner, OurHooks
from bot.forges.gitlab.http import JSONObject
from bot.forges.gitlab.levels import DEVELOPER
from bot.forges.gitlab.setting_key import TITLE, holding, let_in, only_key
from bot.forges.gitlab.setting_projects import GATES, MAINTAINER, TAGS
from bot.forges.port import Drift, Mend

EXECUTABLE = "executable"

_NAMED = ("user_id", "group_id", "deploy_key_id")
"""Fields of an entry of a rule that is about somebody by name, and about no role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What GitLab tells of a project.

    Attributes:
        about: The project.
        level: The bot's access level there.
        ours: Our webhooks; None where nobody said where they go.
        hooks: Its webhooks; None where only its maintainers are told.
        branches: Its protected branches; None likewise.
        tags: Its protected tags; None likewise.
        keys: Its deploy keys; None likewise.
        may_push: GitLab lets the bot push to the default branch, and so merge; None without one.
    """

    about: JSONObject
    level: int
    ours: OurHooks | None
    hooks: Sequence[JSONObject] | None
    branches: Sequence[JSONObject] | None
    tags: Sequence[JSONObject] | None
    keys: Sequence[JSONObject] | None = None
    may_push: bool | None = None

    @property
    def name(self) -> str:
        """The project's path."""
        return str(self.about["path_with_namespace"])

    @property
    def path(self) -> str:
        """Its address in the API."""
        return f"/projects/{self.about['id']}"


def lacking(given: Guarded) -> Iterator[Drift]:
    """What a project leaves open, or keeps the bot from."""
    if given.level < DEVELOPER:
        yield Drift(
            place=f"The bot's role in {given.name}",
            found="less than Developer",
            wanted="Developer, or Maintainer where Developers may not merge",
            fix="Raise its role under Manage > Members",
        )
    if given.hooks is None:
        yield Drift(
            place=f"The webhook of {given.name}",
            found="not shown to the bot, which is no Maintainer",
            wanted="a look at it by a Maintainer",
            fix="Set PORCHBOT_OWNER_TOKEN to a Maintainer's token for `porchbot doctor`",
            harmful=False,
        )
    yield from _hooks(given)
    yield from _branches(given)
    yield from _key(given)
    yield from _tags(given)
    alone = only_key(given.branches or (), str(given.about.get("default_branch") or ""))
    for setting, shown in GATES.items():
        if alone is None and setting in given.about and not given.about[setting]:
            yield Drift(
                place=f'The setting "{shown}" of {given.name}',
                found="off, so people can merge what the bot does not publish",
                wanted="on",
                fix="Turn it on under Settings > Merge requests",
                harmful=False,
                mend=Mend("PUT", given.path, {setting: True}),
            )


def _hooks(given: Guarded) -> Iterator[Drift]:
    ours, speaker = given.ours, HookOwner(PROJECT, int(given.about["id"]))
    if given.hooks is None or ours is None or not ours.url:
        return
    found = [hook for hook in given.hooks if ours.is_ours(hook)]
    if not found:
        yield Drift(
            place=f"The webhook of {given.name}",
            found="missing",
            wanted=f"one to {ours.url}",
            fix="Run `porchbot setup gitlab` again, or rely on a webhook of the group or instance",
            harmful=False,
        )
    for hook in found:
        yield from _hook(given, hook, ours, speaker)


def of_many(
    name: str, path: str, hooks: Sequence[JSONObject], ours: OurHooks | None
) -> Iterator[Drift]:
    """What is wrong with our webhooks of a group, or of the whole instance.

    Args:
        name: Full path of the group; "" for the instance.
        path: Of these webhooks in the API.
        hooks: All that stand there.
        ours: Our webhooks; None where nobody said where they go.
    """
    for hook in hooks if ours is not None and ours.url else ():
        if ours is None or not ours.is_ours(hook):
            continue
        speaker = HookOwner(GROUP, int(hook["group_id"])) if name else INSTANCE
        if otherwise := ours.otherwise(hook, speaker):
            whose = f"the group {name}" if name else "the whole instance"
            old = "with a secret that is not its own, or an old one" if "url" in otherwise else ""
            owner = "an Owner of the group" if name else "an administrator"
            command = f"setup gitlab --group {name}" if name else "setup gitlab --system-hook"
            yield Drift(
                place=f"The webhook of {whose}",
                found=(old or f"set otherwise: {', '.join(otherwise)}")
                + ", so what it tells counts for little",
                wanted="a secret of its own, and all events, whole and unfiltered",
                fix=f"Run `porchbot {command}` again with the token of {owner}",
                mend=Mend("PUT", f"{path}/{hook['id']}", ours.settings(speaker)) if name else None,
            )


def _hook(given: Guarded, hook: JSONObject, ours: OurHooks, speaker: HookOwner) -> Iterator[Drift]:
    place, path = f"The webhook of {given.name}", f"{given.path}/hooks/{hook['id']}"
    mend = Mend("PUT", path, ours.settings(speaker))
    otherwise = ours.otherwise(hook, speaker)
    if "url" in otherwise:
        yield Drift(
            place=place,
            found="with a secret that is not its own, or an old one, so what it tells counts for"
            " little",
            wanted="a secret of its own",
            fix="Make the bot a Maintainer, which then sets it itself, or run `porchbot setup"
            " gitlab` again",
            mend=mend,
        )
    elif otherwise:
        yield Drift(
            place=place,
            found=f"set otherwise: {', '.join(otherwise)}",
            wanted="all events, whole and unfiltered, over connections that are verified",
            fix="Make the bot a Maintainer, which then sets it again itself, or change it under"
            " Settings > Webhooks",
            mend=mend,
        )
    status = str(hook.get("alert_status") or EXECUTABLE)
    if status != EXECUTABLE:
        until = hook.get("disabled_until")
        yield Drift(
            place=place,
            found=f"{status.replace('_', ' ')}{f' until {until}' if until else ''}",
            wanted="enabled: GitLab turns it off after failures",
            fix="Press Test > Push events under Settings > Webhooks once the bot can be reached",
            mend=Mend("POST", f"{path}/test/push_events", {}),
        )


def _branches(given: Guarded) -> Iterator[Drift]:
    branch = given.about.get("default_branch")
    if given.branches is None or not branch:
        return
    ours = holding(given.branches, str(branch))
    if not ours:
        levels = {"push_access_level": MAINTAINER, "merge_access_level": MAINTAINER}
        yield Drift(
            place=f"The branch {branch} of {given.name}",
            found="not protected, so Developers can push to it past the bot",
            wanted="protected",
            fix="Protect it under Settings > Repository > Protected branches",
            mend=Mend("POST", f"{given.path}/protected_branches", {"name": branch, **levels}),
        )
    for each in ours:
        if _least(each.get("push_access_levels")) == DEVELOPER:
            yield Drift(
                place=f"The protected branch {each['name']} of {given.name}",
                found="Developers may push to it past the bot",
                wanted="Maintainers or nobody",
                fix='Change "Allowed to push" under Settings > Repository > Protected branches',
            )


def _key(given: Guarded) -> Iterator[Drift]:
    """Whom the default branch lets in beside the bot's deploy key, and whether that lets it in."""
    branch = str(given.about.get("default_branch") or "")
    rules = holding(given.branches or (), branch)
    entries = [each for rule in rules for each in let_in(rule)]
    place = f"The protected branch {branch} of {given.name}"
    titles = [key["title"] for key in given.keys or () if key["title"].startswith(TITLE)]
    if rules and given.may_push is False and all(each.get("deploy_key_id") for each in entries):
        yield Drift(
            place=place,
            found="nobody may merge to it, the bot neither: no deploy key of the bot's is let in",
            wanted="a deploy key that the bot added and that may push, or Maintainers",
            fix="Run `porchbot setup gitlab --merge-by-deploy-key` again, or let Maintainers merge"
            " under Settings > Repository > Protected branches",
        )
    elif titles and len(entries) > 1:
        yield Drift(
            place=place,
            found="others may push or merge to it beside the bot's deploy key",
            wanted="nobody else",
            fix="Run `porchbot setup gitlab --merge-by-deploy-key` again, or remove the deploy key"
            f" {titles[0]!r} if that is wanted",
            harmful=False,
        )


def _tags(given: Guarded) -> Iterator[Drift]:
    """Whom the rules for tags of revisions let in: whom one of them lets in is in."""
    if given.tags is None:
        return
    rules = [each for each in given.tags if str(each["name"]) in {TAGS, "*"}]
    entries = [entry for each in rules for entry in each.get("create_access_levels") or ()]
    roles = [int(e.get("access_level") or 0) for e in entries if not any(map(e.get, _NAMED))]
    place = f"The protected tags {TAGS} of {given.name}"
    if entries and len(roles) == len(entries) and not any(0 < r <= given.level for r in roles):
        yield Drift(
            place=place,
            found="the bot may not create them, so it publishes nothing",
            wanted="the bot's role among those who may",
            fix='Change "Allowed to create" under Settings > Repository > Protected tags',
        )
    if DEVELOPER in roles:
        yield Drift(
            place=place,
            found="Developers may create them, and so make tags that look published",
            wanted="Maintainers or the bot",
            fix='Change "Allowed to create" under Settings > Repository > Protected tags',
            harmful=False,
        )
    if rules:
        return
    wanted = {"name": TAGS, "create_access_level": MAINTAINER}
    yield Drift(
        place=f"The tags of {given.name}",
        found=f"{TAGS} is not protected, so Developers can make tags that look published",
        wanted="protected",
        fix="Protect them under Settings > Repository > Protected tags",
        harmful=False,
        mend=Mend("POST", f"{given.path}/protected_tags", wanted),
    )


def _least(levels: Sequence[Mapping[str, object]] | None) -> int:
    """The lowest role that may, nobody left out; 0 for nobody."""
    found = [level for each in levels or () if isinstance(level := each.get("access_level"), int)]
    return min((level for level in found if level), default=0)
