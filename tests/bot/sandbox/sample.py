"""A small forge with something of everything that its pages show."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.sandbox.git.bare import BareStore
from bot.sandbox.records.checks import Annotation
from bot.sandbox.records.repository import Pull
from bot.sandbox.rules.checks import CheckRunFields
from bot.sandbox.rules.context import FileChange
from bot.sandbox.rules.state import ForgeState

README = (
    b"# Network packages\n\nWhat runs at the *edge*.\n\n"
    b"| package | owner |\n| - | - |\n| `net/core` | ann |\n"
)
BEFORE = b"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: core\nspec:\n  replicas: 1\n"
AFTER = (
    b"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: core\n  labels:\n    team: net\n"
    b'spec:\n  replicas: "three"\n  strategy: <b>fast</b>\n'
)
SUMMARY = """<!-- porchbot:record aGVsbG8 -->
### Publishing `net/core` v1

| gate | is | wanted | who |
| --- | --- | --- | --- |
| ✓ rendered | The packages equal their own rendering | | |
| ✗ valid | 1 finding of severity error | no findings of severity error | the author |
| ✗ approvals | 0 of 1 | 1 more approval of this content: `/approve` | role:write, not @author |

- **error** `net/core/deployment.yaml:8 spec.replicas`: wants an integer, has a string.

<details><summary>2 changes</summary>

- `Deployment core` spec.replicas: 1 → "three"

</details>

Next: mend the finding, then ask for an approval.
"""


class Clock:
    """A clock that a minute passes on at each look."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=20)
        return self.time


def sample(store: BareStore) -> tuple[ForgeState, Pull]:
    """Make a forge with one repository and a proposal in the middle of its life."""
    state = ForgeState(store, Clock())
    for login in ("author", "approver", "outsider", "owner"):
        state.add_user(login)
    repo = state.add_repository("owner", "packages")
    state.add_member(repo, "author", "write")
    state.add_member(repo, "approver", "maintain")
    private = state.add_repository("owner", "secret", private=True)
    app = state.register_app("porchbot", "key", owner="owner")
    state.install(app, repo)
    bot, author, owner = state.app_user(app), state.user("author"), state.user("owner")
    start = [
        FileChange(path="README.md", content=README),
        FileChange(path="net/core/Kptfile", content=b"apiVersion: kpt.dev/v1\nkind: Kptfile\n"),
        FileChange(path="net/core/deployment.yaml", content=BEFORE),
        FileChange(path="logo.png", content=b"\x89PNG\0"),
    ]
    state.commit_files(repo, "main", start, "Start", actor=owner)
    state.commit_files(private, "main", start[:1], "Start", actor=owner)
    state.protect(repo, "main", [("porchbot/publish", app.id)], required_reviews=1)
    branch = "drafts/net/core/replicas"
    change = FileChange(path="net/core/deployment.yaml", content=AFTER)
    state.commit_files(repo, branch, [change], "Run <three> replicas", actor=author)
    pull = state.pulls.open(
        repo,
        author,
        title="net/core: run <three> replicas",
        head=branch,
        base="main",
        body="Load doubled, so run **three**.\n\n<script>alert(1)</script>",
        draft=True,
    )
    state.talk.add_labels(pull, bot, ["proposed"])
    state.pulls.set_draft(pull, author, False)
    state.talk.comment(pull, bot, SUMMARY)
    comment = state.talk.comment(pull, author, "/approve")
    state.talk.react(comment, bot, "-1")
    state.talk.comment(pull, bot, "@author `/approve` refused: authors do not approve their own.")
    sha = pull.head_sha
    state.checks.create(
        repo,
        app,
        sha,
        CheckRunFields(name="porchbot/render", conclusion="success", title="Rendered"),
    )
    state.checks.create(
        repo,
        app,
        sha,
        CheckRunFields(
            name="porchbot/validate",
            conclusion="failure",
            title="1 finding of severity error",
            summary="Run with `kubeconform`.\n\n- **error** `deployment.yaml:8`",
            annotations=[
                Annotation(
                    path="net/core/deployment.yaml",
                    start_line=8,
                    end_line=8,
                    annotation_level="failure",
                    title="kubeconform",
                    message="spec.replicas: wants an integer, has a string <three>. Write 3.",
                ),
                Annotation(
                    path="net/core/deployment.yaml",
                    start_line=90,
                    end_line=90,
                    annotation_level="warning",
                    message="far away",
                ),
            ],
        ),
    )
    state.checks.create(
        repo,
        app,
        sha,
        CheckRunFields(
            name="porchbot/publish", status="in_progress", title="net/core v1 waits: not valid"
        ),
    )
    state.update_ref(repo, "refs/tags/net/core/v1", repo.refs["refs/heads/main"], owner)
    return state, pull
