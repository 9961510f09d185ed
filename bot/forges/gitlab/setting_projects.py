"""What each project and group gets that a GitLab is set up for: a webhook, protections, settings.

Every step looks first, and makes only what is missing; nothing that is there is weakened or taken
away, unless whoever runs it asks for that.

Source: https://docs.gitlab.com/api/project_webhooks/, https://docs.gitlab.com/api/group_webhooks/,
https://docs.gitlab.com/api/protected_branches/, https://docs.gitlab.com/api/protected_tags/
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from bot.forges.gitlab.hooks import GROUP, INSTANCE, PROJECT, HookOwner, OurHooks
from bot.forges.gitlab.http import Clients, ask, failure, send

MAINTAINER: Final = 40
"""Access level of who may merge to protected branches, tag, and see webhooks."""

TAGS: Final = "*/v*"
"""The pattern of the tags that stand for revisions."""

GATES: Final = {
    "only_allow_merge_if_pipeline_succeeds": "Pipelines must succeed",
    "only_allow_merge_if_all_discussions_are_resolved": "All threads must be resolved",
}
"""Settings of a project that keep people from merging what the bot has not let through."""

_ACTS: Final = ("push", "merge")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupRequest:
    """What is to be set up.

    Attributes:
        projects: Full paths, such as "acme/blueprints".
        groups: Likewise; all of their projects are meant.
        login: What the bot's account is to be called.
        gates: Turn on the settings of `GATES`, too.
        only_bot: Let nobody but the bot push and merge to the default branch; Premium.
        by_key: Likewise, by a deploy key of the bot's; see `setting_key`.
        system_hook: Give the instance a system hook, too; the owner is an administrator.
        new_secrets: Make the secrets of all webhooks anew.
        dry_run: Ask only; say what would be made.
        given: Token of an account that is there already, in place of one that is made; "" for none.
    """

    projects: tuple[str, ...]
    groups: tuple[str, ...]
    login: str
    gates: bool = False
    only_bot: bool = False
    by_key: bool = False
    system_hook: bool = False
    new_secrets: bool = False
    dry_run: bool = False
    given: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ProjectOrGroup:
    """A project or group, with what GitLab says of it."""

    kind: str
    about: Mapping[str, Any]

    @property
    def path(self) -> str:
        """Its address in the API."""
        return f"/{self.kind}/{self.about['id']}"

    @property
    def name(self) -> str:
        """Its full path."""
        return str(self.about.get("path_with_namespace") or self.about["full_path"])

    @property
    def speaker(self) -> HookOwner:
        """What its webhook is of."""
        return HookOwner(PROJECT if self.kind == "projects" else GROUP, int(self.about["id"]))


def entries(
    owner: Clients, wanted: str, path: str, query: Mapping[str, object] | None = None
) -> Iterator[Mapping[str, Any]]:
    """Each entry of a list, a hundred a request.

    Raises:
        ForgeBusyError, ForgeRefusedError: GitLab does not list them.
    """
    page = "1"
    while page:
        asked = {**(query or {}), "per_page": 100, "page": page}
        answer = send(owner, wanted, "GET", path, query=asked)
        yield from answer.data
        page = answer.headers.get("x-next-page", "")


class PlaceSetup:
    """Sets up projects and groups.

    Args:
        owner: Asks with the owner's token.
        wanted: What.
        say: Is told each thing that is, was or would be made.
    """

    def __init__(self, owner: Clients, wanted: SetupRequest, say: Callable[[str], None]) -> None:
        self._owner = owner
        self._wanted = wanted
        self._say = say

    def project(
        self, project: ProjectOrGroup, ours: OurHooks, account: int, *, heard: bool
    ) -> None:
        """Make what a project is missing.

        Args:
            project: Which one.
            ours: Our webhooks.
            account: Number of the bot's; 0 where it is not made yet.
            heard: A webhook of its group tells of it.
        """
        if not heard:
            self._hook(project.name, f"{project.path}/hooks", ours, project.speaker)
        self._branch(project)
        name = str(project.about.get("default_branch") or "")
        if name and account and self._wanted.only_bot:
            what = f"the protected branch {name} of {project.name}"
            self._alone(what, f"{project.path}/protected_branches", name, account)
        self._tags(project)
        self._gates(project)

    def hears(self, group: ProjectOrGroup, ours: OurHooks) -> bool:
        """Give a group a webhook for all of its projects, those to come too; needs Premium."""
        path = f"{group.path}/hooks"
        if not ask(self._owner, "look for webhooks of a group", "GET", path).ok:
            return False
        self._hook(group.name, path, ours, group.speaker)
        return True

    def system(self, ours: OurHooks) -> None:
        """Give the instance a system hook, for pushes of more than three branches or tags."""
        self._hook(self._owner.url, "/hooks", ours, INSTANCE)

    def _hook(self, name: str, path: str, ours: OurHooks, speaker: HookOwner) -> None:
        what = f"the webhook of {name} to {ours.url}"
        listed = entries(self._owner, f"read {what}", path)
        there = next((each for each in listed if ours.is_ours(each)), None)
        if there is None:
            if self.changes("Created", what):
                send(self._owner, f"create {what}", "POST", path, body=ours.settings(speaker))
            return
        otherwise = ours.otherwise(there, speaker)
        if not otherwise:
            self._say(f"Kept: {what}.")
            return
        why = ", ".join("its secret" if name == "url" else name for name in otherwise)
        if self.changes("Changed", f"{what} ({why})"):
            at = f"{path}/{there['id']}"
            send(self._owner, f"change {what}", "PUT", at, body=ours.settings(speaker))

    def _branch(self, project: ProjectOrGroup) -> None:
        name = str(project.about.get("default_branch") or "")
        if not name:
            self._say(f"Left: {project.name} has no branch yet. Run this again once it has.")
            return
        what = f"the protected branch {name} of {project.name}"
        path = f"{project.path}/protected_branches"
        rule = self._rule(what, path, name)
        if rule is None:
            if self.changes("Created", f"{what}: Maintainers push and merge"):
                levels = {"push_access_level": MAINTAINER, "merge_access_level": MAINTAINER}
                send(self._owner, f"create {what}", "POST", path, body={"name": name, **levels})
            return
        lower = [
            act
            for act in ("push", "merge")
            if any(_is_low(each) for each in rule.get(f"{act}_access_levels", ()))
        ]
        if lower:
            self._say(
                f"Left: {what} lets Developers {' and '.join(lower)}. Change it to Maintainers."
            )
        else:
            self._say(f"Kept: {what}.")

    def _alone(self, what: str, path: str, name: str, account: int) -> None:
        """Let the bot alone push and merge: people's names in a rule need Premium."""
        rule = self._rule(what, path, name)
        if _is_alone(rule, account):
            self._say(f"Kept: {what}, to which only the bot pushes and merges.")
            return
        done = f"{what}: only the bot pushes and merges"
        if self._wanted.dry_run:
            self.changes("Changed", done)
            return
        body: dict[str, object] = {}
        for act in _ACTS:
            had = (rule or {}).get(f"{act}_access_levels") or ()
            gone = [{"id": each["id"], "_destroy": True} for each in had]
            body[f"allowed_to_{act}"] = [*gone, {"user_id": account}]
        at = f"{path}/{quote(name, safe='')}"
        made = ask(self._owner, f"change {what}", "PATCH", at, body=body)
        if made.ok and _is_alone(made.data, account):
            self.changes("Changed", done)
        else:
            self._say(
                f"Left: {what} lets Maintainers push and merge too. Naming one account there needs"
                " Premium; --merge-by-deploy-key works on every tier. The bot tags nothing that its"
                " gates do not let through."
            )

    def _tags(self, project: ProjectOrGroup) -> None:
        what = f"the protected tags {TAGS} of {project.name}"
        path = f"{project.path}/protected_tags"
        rule = self._rule(what, path, TAGS)
        if rule is None:
            if self.changes("Created", f"{what}: Maintainers create them"):
                body = {"name": TAGS, "create_access_level": MAINTAINER}
                send(self._owner, f"create {what}", "POST", path, body=body)
        elif any(_is_low(each) for each in rule.get("create_access_levels", ())):
            self._say(f"Left: {what}: Developers create them. Change it to Maintainers.")
        else:
            self._say(f"Kept: {what}.")

    def _rule(self, what: str, path: str, name: str) -> Mapping[str, Any] | None:
        answer = ask(self._owner, f"read {what}", "GET", f"{path}/{quote(name, safe='')}")
        if answer.status == 404:
            return None
        if not answer.ok:
            raise failure(f"read {what}", answer)
        found: Mapping[str, Any] = answer.data
        return found

    def _gates(self, project: ProjectOrGroup) -> None:
        off = [name for name in GATES if not project.about.get(name)]
        called = " and ".join(f"'{GATES[name]}'" for name in off)
        if not off:
            self._say(f"Kept: {project.name} holds merges until pipelines and threads are done.")
        elif not self._wanted.gates:
            self._say(f"Proposed: turn on {called} in {project.name}, or run this with --gates.")
        elif self.changes("Changed", f"{called} is on in {project.name}"):
            body = dict.fromkeys(off, True)
            send(self._owner, f"turn on {called}", "PUT", project.path, body=body)

    def changes(self, done: str, what: str) -> bool:
        """Say a change; whether it is to be made."""
        if self._wanted.dry_run:
            self._say(f"Would have {done.lower()}: {what}.")
            return False
        self._say(f"{done}: {what}.")
        return True


def _is_low(allowed: Mapping[str, Any]) -> bool:
    """Whether an entry of a rule lets people in who are no Maintainers."""
    level = allowed.get("access_level")
    return level is not None and 0 < int(level) < MAINTAINER


def _is_alone(rule: Mapping[str, Any] | None, account: int) -> bool:
    """Whether a rule lets one account push and merge, and nobody else."""
    levels = [(rule or {}).get(f"{act}_access_levels") or () for act in _ACTS]
    return all([each.get("user_id") for each in allowed] == [account] for allowed in levels)
