"""`python -m bot.sandbox`: the forge as a process of its own.

It reads a file that says what the forge begins with, serves, and prints one JSON line with the
addresses and tokens when it is ready. SIGTERM or SIGINT ends it.

The file: `{"users": [{"login", "name"?}], "organizations"?: [{"login", "admins"?: [login]}],
"repositories": [{"owner", "name", "source"?, "default_branch"?, "private"?,
"members"?: {login: role}, "protect"?: {branch or "~DEFAULT_BRANCH": {…}},
"rulesets"?: [{"include"?: [pattern], …}]}],
"app"?: {"id", "slug", "public_key", "webhook_url", "webhook_secret", "permissions", "events"}}`.
Organizations are GitLab's groups. Owners that are neither become accounts. The App is installed on
every repository.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    gc.disable()  # what is imported stays: to look for cycles in it takes a third of the start

from bot.sandbox.records.accounts import App
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.state import ForgeState
from bot.sandbox.serve import SandboxForge


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the forge until a signal, or until standard input closes where that is asked."""
    options = _parser().parse_args(arguments)
    wanted = json.loads(options.state.read_text()) if options.state else {}
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    with SandboxForge(options.folder, dialect=options.dialect, port=options.port) as forge:
        print(json.dumps(prepare(forge, wanted)), flush=True)  # noqa: T201 - its one line of output
        if options.until_stdin_closes:
            threading.Thread(target=_await_close, args=[ending], daemon=True).start()
        ending.wait()
    return 0


def prepare(forge: SandboxForge, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Make what a state file wants.

    Returns:
        What is printed: `api_url`, `web_url`, `users` (`login`, `token`), `repositories`
        (`id`, `full_name`, `clone_url`, `default_branch`) and `app` (`id`, `slug`,
        `installations`) or None.
    """
    state = forge.state
    users = [state.add_user(u["login"], u.get("name")) for u in wanted.get("users", ())]
    for given in wanted.get("organizations", ()):
        state.organizations.add(given["login"], admins=tuple(given.get("admins", ())))
    made = [_repository(state, given) for given in wanted.get("repositories", ())]
    app = _app(state, wanted["app"], made) if wanted.get("app") and made else None
    installed = state.data.installations.values()
    return {
        "api_url": forge.api_url,
        "web_url": forge.web_url,
        "users": [{"login": u.login, "token": forge.token(u.login)} for u in users],
        "repositories": [
            {
                "id": repo.id,
                "full_name": repo.full_name,
                "clone_url": forge.clone_url(repo.owner.login, repo.name),
                "default_branch": repo.default_branch,
            }
            for repo in made
        ],
        "app": app and {"id": app.id, "slug": app.slug, "installations": [i.id for i in installed]},
    }


def _repository(state: ForgeState, given: Mapping[str, Any]) -> Repository:
    owner = given["owner"]
    if owner.lower() not in state.data.users:
        state.add_user(owner)
    source = Path(given["source"]) if given.get("source") else None
    branch, private = given.get("default_branch"), given.get("private", False)
    repo = state.add_repository(owner, given["name"], source, branch, private)
    for login, role in given.get("members", {}).items():
        state.add_member(repo, login, role)
    for branch, rules in given.get("protect", {}).items():
        name = repo.default_branch if branch == "~DEFAULT_BRANCH" else branch
        state.protect(repo, name, **_with_checks(rules))
    for rules in given.get("rulesets", ()):
        state.rules.add(repo, **_with_checks(rules))
    return repo


def _with_checks(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Rules whose required checks are pairs of context and App."""
    checks = [(c["context"], c.get("app_id")) for c in rules.get("required_checks", ())]
    return {**rules, "required_checks": checks}


def _app(state: ForgeState, given: Mapping[str, Any], repositories: Sequence[Repository]) -> App:
    app = state.register_app(
        given["slug"],
        given["public_key"],
        owner=repositories[0].owner.login,
        permissions=given.get("permissions"),
        events=given.get("events"),
        webhook_url=given.get("webhook_url"),
        webhook_secret=given.get("webhook_secret", ""),
        app_id=given.get("id"),
    )
    for repo in repositories:
        state.install(app, repo)
    return app


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bot.sandbox", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where repositories are kept")
    parser.add_argument("--port", type=int, default=0, help="0 for any that is free")
    parser.add_argument("--dialect", choices=("github", "gitlab"), default="github")
    parser.add_argument("--state", type=Path, help="JSON file to begin with")
    parser.add_argument(
        "--until-stdin-closes",
        action="store_true",
        help="end when standard input closes, so that it does not outlive its parent",
    )
    return parser


def _await_close(ending: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        continue
    ending.set()


if __name__ == "__main__":
    gc.freeze()
    gc.enable()
    sys.exit(main())
