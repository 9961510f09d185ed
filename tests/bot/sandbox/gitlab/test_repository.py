"""Branches, tags, commits and files, driven with python-gitlab."""

from __future__ import annotations

import base64

from tests.bot.sandbox.gitlab.conftest import refusal
from tests.bot.sandbox.gitlab.lab import Lab


def test_a_commit_of_actions_changes_all_files_at_once(lab: Lab) -> None:
    """The short-cut makes a commit of each action, or leaves the moved file where it was."""
    project = lab.project("author")
    before = project.branches.get("main").commit["id"]
    made = project.commits.create(
        {
            "branch": "draft",
            "start_branch": "main",
            "commit_message": "Change\n\nSigned-off-by: A <a@b>\n",
            "author_name": "Somebody",
            "author_email": "somebody@example.com",
            "actions": [
                {"action": "create", "file_path": "new/a.txt", "content": "one\n"},
                {"action": "move", "previous_path": "README.md", "file_path": "docs/README.md"},
                {
                    "action": "update",
                    "file_path": "net/values.yaml",
                    "content": base64.b64encode(b"a: 2\n").decode(),
                    "encoding": "base64",
                },
            ],
        }
    )

    assert made.parent_ids == [before]
    assert (made.author_name, made.committer_name) == ("Somebody", "Author")
    assert made.trailers == {"Signed-off-by": "A <a@b>"}
    tree = project.repository_tree(ref="draft", recursive=True, get_all=True)
    blobs = [e["path"] for e in tree if e["type"] == "blob"]
    assert blobs == ["docs/README.md", "net/values.yaml", "new/a.txt"]
    diffs = {d["new_path"]: d for d in made.diff()}
    assert diffs["net/values.yaml"]["diff"] == "@@ -1 +1 @@\n-a: 1\n+a: 2\n"
    assert diffs["docs/README.md"]["renamed_file"] is True
    compared = project.repository_compare("main", "draft")
    assert [c["id"] for c in compared["commits"]] == [made.id]
    assert project.repository_merge_base(["main", "draft"])["id"] == before


def test_an_action_that_cannot_be_done_leaves_all_as_it_was(lab: Lab) -> None:
    """The short-cut writes the actions before the one that fails."""
    project = lab.project("author")
    data = {
        "branch": "main",
        "commit_message": "x",
        "actions": [
            {"action": "create", "file_path": "b", "content": ""},
            {"action": "create", "file_path": "README.md", "content": ""},
        ],
    }

    assert refusal(lambda: project.commits.create(data)) == (
        400,
        "A file with this name already exists",
    )
    assert refusal(lambda: project.files.get("b", "main")) == (404, "404 File Not Found")
    assert refusal(lambda: project.branches.get("nope")) == (404, "404 Branch Not Found")
    assert refusal(lambda: project.tags.get("nope")) == (404, "404 Tag Not Found")


def test_an_annotated_tag_keeps_its_message(lab: Lab) -> None:
    """The short-cut answers the commit as the target of both kinds, or "" as the message."""
    project = lab.project("author")
    head = str(lab.repo.branch("main"))
    plain = project.tags.create({"tag_name": "net/v1", "ref": "main"})
    noted = project.tags.create({"tag_name": "net/v2", "ref": head, "message": "Two\nlines"})

    assert (plain.message, plain.target) == ("", head)
    assert noted.message == "Two\nlines"
    assert noted.target != head
    assert noted.commit["id"] == head
    assert [t.name for t in project.tags.list(search="^net/", order_by="name", sort="asc")] == [
        "net/v1",
        "net/v2",
    ]
    again = {"tag_name": "net/v1", "ref": "main"}
    assert refusal(lambda: project.tags.create(again)) == (400, "Tag net/v1 already exists")


def test_files_are_read_and_written_one_by_one(lab: Lab) -> None:
    """The short-cut forgets which commit changed the file last."""
    project, head = lab.project("author"), str(lab.repo.branch("main"))
    project.files.create(
        {"file_path": "x/y.txt", "branch": "main", "content": "1", "commit_message": "Add"}
    )
    file = project.files.get("net/values.yaml", "main")

    assert file.decode() == b"a: 1\n"
    assert file.last_commit_id == head
    assert file.commit_id == lab.repo.branch("main") != head
    assert project.files.raw("x/y.txt", "main") == b"1"
    file.content = "a: 3\n"
    file.save(branch="main", commit_message="Three")
    assert project.files.raw("net/values.yaml", "main") == b"a: 3\n"
    file.delete(branch="main", commit_message="Gone")
    assert refusal(lambda: project.files.get("net/values.yaml", "main"))[0] == 404
    of_file = {"path": "net/values.yaml"}
    found = project.commits.list(query_parameters=of_file, get_all=True)
    assert [c.title for c in found] == ["Gone", "Three", "Change main"]


def test_protection_binds_the_api(lab: Lab) -> None:
    """The short-cut protects in name only: files, branches and tags go around it."""
    boss, author = lab.project("maintainer"), lab.project("author")
    boss.protectedbranches.create({"name": "main", "push_access_level": 0})
    boss.protectedbranches.create({"name": "drafts/*", "push_access_level": 30})
    boss.protectedtags.create({"name": "net/*", "create_access_level": 40})
    write = {"file_path": "z", "branch": "main", "content": "", "commit_message": "z"}

    told = "403 Forbidden - You are not allowed to push code to protected branches on this project."
    assert refusal(lambda: author.files.create(write)) == (403, told)
    assert refusal(lambda: boss.files.create(write)) == (403, told)
    assert author.branches.create({"branch": "drafts/net", "ref": "main"}).protected is True
    assert author.branches.get("main").can_push is False
    tag = {"tag_name": "net/v1", "ref": "main"}
    assert refusal(lambda: author.tags.create(tag))[0] == 403
    assert boss.tags.create(tag).protected is True
    assert refusal(lambda: boss.protectedbranches.create({"name": "main"})) == (
        409,
        "Protected branch 'main' already exists",
    )
    assert refusal(lambda: author.protectedbranches.list())[0] == 403
    named = {"name": "x", "allowed_to_push": [{"user_id": 1}]}
    assert refusal(lambda: boss.protectedbranches.create(named))[0] == 422
    assert boss.branches.get("main").commit["id"] == lab.repo.branch("main")
