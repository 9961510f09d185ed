"""What a GitLab needs so that the bot can work there, made with an owner's token, once.

Every step looks first, and makes only what is missing; nothing that is there is weakened or taken
away. The token is used for these requests and forgotten.

Source: https://docs.gitlab.com/api/service_accounts/,
https://docs.gitlab.com/api/project_access_tokens/, https://docs.gitlab.com/api/project_webhooks/,
https://docs.gitlab.com/api/protected_branches/, https://docs.gitlab.com/api/protected_tags/
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Final
from urllib.parse import quote

from bot.forges.gitlab import hooks
from bot.forges.gitlab.http import Clients, ask, failure, send
from bot.forges.gitlab.renewing import LIFE
from bot.forges.gitlab.setting_key import KeySetup
from bot.forges.gitlab.setting_projects import (
    MAINTAINER,
    PlaceSetup,
    ProjectOrGroup,
    SetupRequest,
    entries,
)
from bot.forges.port import ForgeBusyError, ForgeRefusedError, ForgeUntrustedError
from bot.gitlabs import GitLabInstance, Making, Marked

SCOPES: Final = ("api", "write_repository")
"""What the bot's token may do: the API, and git over HTTP."""

_LEAN: Final = {"with_projects": False}
"""Of a group without the list of its projects, which is cut off at a hundred."""

_REFUSED = {401, 403, 404, 405}
"""Statuses of what this tier, this version or this owner does not have."""


class SetupRefusedError(Exception):
    """Setting up cannot go on; the text says what a person has to do."""


class GitLabSetup:
    """Sets up one instance.

    Args:
        owner: Asks with the owner's token.
        wanted: What.
        today: The day.
        say: Is told each thing that is, was or would be made.
        as_bot: Makes clients with a token of the bot's.
        making: Where the mark of a token stands that is being made; None where nothing is kept.
    """

    def __init__(
        self,
        owner: Clients,
        wanted: SetupRequest,
        today: date,
        say: Callable[[str], None],
        as_bot: Callable[[str], Clients],
        making: Making | None = None,
    ) -> None:
        self._owner = owner
        self._wanted = wanted
        self._today = today
        self._say = say
        self._as_bot = as_bot
        self._making = making
        self._places = PlaceSetup(owner, wanted, say)

    def run(self, known: GitLabInstance, keep: Callable[[GitLabInstance], None]) -> None:
        """Make what is missing.

        Args:
            known: The instance; without token and secrets where it is new.
            keep: Is given it with them, before GitLab is told of any secret.

        Raises:
            SetupRefusedError: A person has to do something first.
            ForgeBusyError, ForgeRefusedError: GitLab said no to what every owner may.
        """
        owner = self._signed_in()
        self._say(f"Signed in as {owner}.")
        groups = [self._found("groups", path) for path in self._wanted.groups]
        projects = [self._found("projects", path) for path in self._wanted.projects]
        projects += [each for group in groups for each in self._projects_of(group)]
        given = self._given(owner) if self._wanted.given else 0
        known = self._serving(known)
        if given:
            instance, account = replace(known, token=self._wanted.given, stored=True), given
        else:
            instance, account = self._account(known, groups, projects)
        if self._wanted.new_secrets or not instance.webhook_secrets:
            fresh = (secrets.token_urlsafe(32),)
            instance = replace(instance, webhook_secrets=fresh, signing_tokens=())
        if not self._wanted.dry_run:
            keep(instance)
            if self._making is not None:
                if given and (lost := self._making.marked):
                    self._say(_left(lost.mark))
                self._making.begin(None)
        for place in (*groups, *(p for p in projects if p.name in self._wanted.projects)):
            self._member(place, account)
        ours = hooks.of_instance(instance)
        if self._wanted.system_hook:
            self._places.system(ours)
        heard = {g.name for g in groups if self._places.hears(g, ours)}
        before = set(instance.group_hooks or ()) - {each.name for each in groups}
        if not self._wanted.dry_run:
            keep(replace(instance, group_hooks=tuple(sorted(before | heard))))
        for project in projects:
            of_group = any(project.name.startswith(f"{name}/") for name in heard)
            self._places.project(project, ours, account, heard=of_group)
        if self._wanted.by_key and instance.token:
            self._by_key(instance.token, projects)

    def _by_key(self, token: str, projects: Sequence[ProjectOrGroup]) -> None:
        """Leave default branches to the bot's deploy keys."""
        bot = self._as_bot(token)
        try:
            keys = KeySetup(self._owner, bot, self._say, dry_run=self._wanted.dry_run)
            for project in projects:
                keys.project(project)
        finally:
            bot.close()

    def _serving(self, known: GitLabInstance) -> GitLabInstance:
        """The instance, served where this and earlier runs set it up; one that serves all stays."""
        if known.token and not known.projects:
            return known
        wanted = (*known.projects, *self._wanted.groups, *self._wanted.projects)
        found = tuple(dict.fromkeys(wanted))
        self._say(f"Served: {', '.join(found)}, and no other project.")
        return replace(known, projects=found)

    def _signed_in(self) -> str:
        """Login of the owner; the first request tells whether address and token are right."""
        url = self._owner.url
        try:
            answer = ask(self._owner, "read whose token it is", "GET", "/user")
        except ForgeUntrustedError as error:
            raise SetupRefusedError(
                f"The certificate of {url} is not trusted. Name the file with the certificates"
                " of its authority with --ca."
            ) from error
        except ForgeBusyError as error:
            raise SetupRefusedError(
                f"{url} does not answer ({error.reason}). Check the address in --gitlab, and that"
                " this machine reaches it."
            ) from error
        if answer.status == 401:
            raise SetupRefusedError(
                f"{url} does not take the owner's token: {answer.reason}. Give one that has not"
                " ended and has the scope api."
            )
        name = answer.data.get("username") if isinstance(answer.data, Mapping) else None
        if not answer.ok or not name:
            raise SetupRefusedError(
                f"{url} does not answer as a GitLab does ({answer.status}). Give --gitlab the"
                " address of the instance, such as https://gitlab.com, without group or project."
            )
        return str(name)

    def _found(self, kind: str, path: str) -> ProjectOrGroup:
        answer = ask(
            self._owner, f"find {path}", "GET", f"/{kind}/{quote(path, safe='')}", query=_LEAN
        )
        if answer.status == 404:
            raise SetupRefusedError(
                f"There is no {kind[:-1]} {path}, or your token does not see it. Give its full"
                " path, as in its address."
            )
        if not answer.ok:
            raise failure(f"find {path}", answer)
        return ProjectOrGroup(kind, answer.data)

    def _projects_of(self, group: ProjectOrGroup) -> list[ProjectOrGroup]:
        wanted = {"include_subgroups": True, "archived": False, "with_shared": False}
        what = f"list the projects of {group.name}"
        listed = entries(self._owner, what, f"{group.path}/projects", wanted)
        return [ProjectOrGroup("projects", each) for each in listed]

    # Who the bot is.

    def _given(self, owner: str) -> int:
        """Number of the account whose token is given."""
        bot = self._as_bot(self._wanted.given)
        try:
            about = ask(bot, "read who the bot is", "GET", "/user")
        finally:
            bot.close()
        if not about.ok:
            raise SetupRefusedError(
                f"{self._owner.url} does not take the token in PORCHBOT_BOT_TOKEN: {about.reason}."
                " Give one that has not expired and has the scopes api and write_repository."
            )
        name = str(about.data["username"])
        if name == owner:
            raise SetupRefusedError(
                f"The token in PORCHBOT_BOT_TOKEN belongs to {name}, who sets the bot up. The bot"
                " needs an account of its own: create one, and give its token."
            )
        self._say(f"Kept: the bot is {name}, by the token in PORCHBOT_BOT_TOKEN.")
        return int(about.data["id"])

    def _account(
        self,
        known: GitLabInstance,
        groups: Sequence[ProjectOrGroup],
        projects: Sequence[ProjectOrGroup],
    ) -> tuple[GitLabInstance, int]:
        """The instance with a token that works, and the number of the bot's account."""
        if known.token:
            bot = self._as_bot(known.token)
            try:
                about = ask(bot, "read who the bot is", "GET", "/user")
            finally:
                bot.close()
            if about.ok:
                self._say(f"Kept: the bot is {about.data['username']}, by the token we have.")
                return known, int(about.data["id"])
            if about.status != 401:
                raise failure("read who the bot is", about)
            self._say("The token we have does not work any more.")
        if self._wanted.dry_run:
            self._say("Would create: an account for the bot, with a token for a year.")
            return known, 0
        for place in (*groups, None):
            if made := self._service_account(place):
                return replace(known, token=made[0], stored=True), made[1]
        if len(projects) == 1 and not groups:
            token, number = self._project_token(projects[0])
            return replace(known, token=token, stored=True), number
        raise SetupRefusedError(
            "You may not create a service account here. Either name one --group that you own, or"
            " one --project; or make an account for the bot, and run this with its token in"
            " PORCHBOT_BOT_TOKEN."
        )

    def _service_account(self, group: ProjectOrGroup | None) -> tuple[str, int] | None:
        """Token and number of a service account of a group, or of the instance; None if refused."""
        where = group.path if group else ""
        called = {"name": "porchbot", "username": self._wanted.login}
        known = self._existing(where)
        if known is None:
            made = ask(
                self._owner, "create its account", "POST", f"{where}/service_accounts", body=called
            )
            if made.status in _REFUSED:
                return None
            if not made.ok:
                raise failure("create its account", made)
            known = int(made.data["id"])
            of = f"of the group {group.name}" if group else "of the instance"
            self._say(f"Created: the service account {made.data['username']} {of}.")
        if group:
            at = f"{where}/service_accounts/{known}/personal_access_tokens"
            return self._token(at, Marked(at)), known
        of_user = f"/users/{known}/personal_access_tokens"
        return self._token(of_user, Marked("/personal_access_tokens", of=known)), known

    def _existing(self, where: str) -> int | None:
        """The account that an earlier run made; None where there is none."""
        listed = entries(self._owner, "list service accounts", f"{where}/service_accounts")
        with suppress(ForgeRefusedError):
            for each in listed:
                if each["username"] == self._wanted.login:
                    self._say(f"Kept: the service account {each['username']}.")
                    return int(each["id"])
        return None

    def _project_token(self, project: ProjectOrGroup) -> tuple[str, int]:
        """The token of a project, whose bot reaches nothing else."""
        at = f"{project.path}/access_tokens"
        token = self._token(at, Marked(at), access_level=MAINTAINER)
        bot = self._as_bot(token)
        try:
            about = send(bot, "read who the bot is", "GET", "/user").data
        finally:
            bot.close()
        self._say(f"The bot is {about['username']}, which reaches {project.name} only.")
        return token, int(about["id"])

    def _token(self, path: str, listed: Marked, **more: object) -> str:
        """A new token; one that a run before made and could not keep goes first.

        Args:
            path: Where it is made.
            listed: Where it is listed then.
            more: What is told of it as well.
        """
        until, mark = (self._today + LIFE).isoformat(), ""
        if self._making is not None:
            if lost := self._making.marked:
                # Wherever that run made it: this one may be told of another group or project.
                self._revoke(lost if lost.path else replace(listed, mark=lost.mark))
            mark = f"Made by porchbot setup, {secrets.token_hex(6)}"
            self._making.begin(replace(listed, mark=mark))
        body = {"name": "porchbot", "scopes": list(SCOPES), "expires_at": until, **more}
        body |= {"description": mark} if mark else {}
        try:
            made = send(self._owner, "create its token", "POST", path, body=body)
        except ForgeRefusedError:  # none was made
            if self._making is not None:
                self._making.begin(None)
            raise
        self._say(f"Created: a token ({', '.join(SCOPES)}) until {until}.")
        return str(made.data["token"])

    def _revoke(self, lost: Marked) -> None:
        """Revoke the token with a mark, which nobody has."""
        whose = {"user_id": lost.of} if lost.of else {}
        hidden = False
        try:
            for each in entries(self._owner, "list its tokens", lost.path, whose):
                hidden = hidden or "description" not in each
                if each.get("description") == lost.mark and not each.get("revoked"):
                    send(self._owner, "revoke a token", "DELETE", f"{lost.path}/{each['id']}")
                    self._say("Revoked: a token of the bot that an earlier run could not store.")
                    return
        except ForgeRefusedError:
            hidden = True
        if hidden:
            self._say(_left(lost.mark))

    def _member(self, place: ProjectOrGroup, account: int) -> None:
        """The bot merges and tags, and sees webhooks: it is a Maintainer."""
        what = f"the bot as a Maintainer of {place.name}"
        wanted = f"make {what}"
        path = f"{place.path}/members"
        there = ask(self._owner, wanted, "GET", f"{path}/all/{account}") if account else None
        if there is not None and there.ok and int(there.data["access_level"]) >= MAINTAINER:
            self._say(f"Kept: {what}.")
            return
        if not self._places.changes("Created", what):
            return
        body = {"user_id": account, "access_level": MAINTAINER}
        made = ask(self._owner, wanted, "POST", path, body=body)
        if made.status == 409:  # it is one, of a lower level
            made = ask(self._owner, wanted, "PUT", f"{path}/{account}", body=body)
        if not made.ok:
            raise failure(wanted, made)


def _left(mark: str) -> str:
    """What is said of a token that nobody may find."""
    return (
        "Check: an earlier run ended early, and may have left a token of the bot at GitLab. Revoke"
        f" the one named porchbot that is not in use; its description is {mark!r}."
    )
