"""How upstreams are written: what is understood, and what is refused in which words."""

import pytest

from cadlib.kptfile.values import GitRef
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.references import (
    GitReference,
    Reference,
    RevisionReference,
    as_git,
    candidates,
    from_lock,
    parse,
)

GITHUB = "https://github.com/acme/blueprints"
COMMIT = "0123456789012345678901234567890123456789"

READ: dict[str, tuple[str, Reference]] = {
    "a package of a repository that is served": (
        "acme/blueprints/net/core@v3",
        RevisionReference("", "acme/blueprints/net/core", "v3"),
    ),
    "where the repository ends is told": (
        "acme/blueprints//net/core@v3",
        RevisionReference("acme/blueprints", "net/core", "v3"),
    ),
    "the root package": ("acme/blueprints//@v3", RevisionReference("acme/blueprints", "", "v3")),
    "the newest revision": ("net/core@latest", RevisionReference("", "net/core", "latest")),
    "without a ref it is the newest": ("net/core", RevisionReference("", "net/core", "latest")),
    "a branch with a slash": (
        "net/core@release/1",
        RevisionReference("", "net/core", "release/1"),
    ),
    "a commit": (f"net/core@{COMMIT}", RevisionReference("", "net/core", COMMIT)),
    "any repository": (f"{GITHUB}//net/core@main", GitReference(GITHUB, "net/core", "main")),
    "all of a repository": (f"{GITHUB}//@v1.2.3", GitReference(GITHUB, "", "v1.2.3")),
    "as kpt writes it": (f"{GITHUB}.git/net/core@v3", GitReference(GITHUB, "net/core", "v3")),
    "as kpt writes all of one": (f"{GITHUB}.git@v3", GitReference(GITHUB, "", "v3")),
    "by ssh": (
        "ssh://git@git.corp:7999/acme/x//net@v1",
        GitReference("ssh://git@git.corp:7999/acme/x", "net", "v1"),
    ),
    "as ssh has it": (
        "git@github.com:acme/x.git//net@v1",
        GitReference("git@github.com:acme/x.git", "net", "v1"),
    ),
}

FORM = "Write <owner>/<repository>/<path>@v<N>, or <git URL>//<path>@<tag, branch or commit>."
REFUSED: dict[str, tuple[str, UpstreamFault, str]] = {
    "nothing": ("", UpstreamFault.UNREADABLE, f"'' is not a reference to a package. {FORM}"),
    "two words": (
        "net/core v3",
        UpstreamFault.UNREADABLE,
        f"'net/core v3' is not a reference to a package. {FORM}",
    ),
    "a registry": (
        "oci://registry.corp/net/core:v3",
        UpstreamFault.REFUSED,
        "'oci://registry.corp/net/core:v3' is in an OCI registry, and porchbot takes packages from"
        " git only. Name the git repository that the package was published from.",
    ),
    "a file": (
        "file:///etc//passwd@v1",
        UpstreamFault.REFUSED,
        "addresses that begin with file:// are not used. Write an https or ssh address.",
    ),
    "a path that leaves the repository": (
        f"{GITHUB}//net/../../etc@v1",
        UpstreamFault.REFUSED,
        "the path 'net/../../etc' leads out of the repository."
        " Write the path from the top of the repository, without parent folders.",
    ),
    "a path that leaves it, in the short form": (
        "net/../core@v1",
        UpstreamFault.REFUSED,
        "the path 'net/../core' leads out of the repository."
        " Write the path from the top of the repository, without parent folders.",
    ),
    "a password": (
        "https://me:secret@git.corp/x//net@v1",
        UpstreamFault.REFUSED,
        "the address contains a user or a password, which everybody who can read the package"
        " would see."
        " Leave it out; credentials for a host are set by the operator of the bot.",
    ),
    "a token as user": (
        "https://secret@git.corp/x//net@v1",
        UpstreamFault.REFUSED,
        "the address contains a user or a password, which everybody who can read the package"
        " would see."
        " Leave it out; credentials for a host are set by the operator of the bot.",
    ),
    "no end of the repository": (
        f"{GITHUB}/net/core@v3",
        UpstreamFault.UNREADABLE,
        f"'{GITHUB}/net/core@v3' does not tell where the address of the repository ends."
        " Write // between the repository and the path of the package, such as"
        " https://github.com/acme/blueprints//net/core@v3.",
    ),
    "an option in place of a ref": (
        "net/core@--upload-pack=x",
        UpstreamFault.UNREADABLE,
        "'--upload-pack=x' in 'net/core@--upload-pack=x' cannot be a tag, branch or commit."
        " Write v<N>, latest, or the name of a tag, branch or commit after the @.",
    ),
    "an expression in place of a ref": (
        "net/core@main~3",
        UpstreamFault.UNREADABLE,
        "'main~3' in 'net/core@main~3' cannot be a tag, branch or commit."
        " Write v<N>, latest, or the name of a tag, branch or commit after the @.",
    ),
}


@pytest.mark.parametrize(("text", "expected"), READ.values(), ids=READ)
def test_what_is_understood(text: str, expected: Reference) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(("text", "fault", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(text: str, fault: UpstreamFault, said: str) -> None:
    """Short-cut refused: to let git find out, which follows what it is told."""
    with pytest.raises(UpstreamError) as raised:
        parse(text)

    assert (raised.value.fault, str(raised.value)) == (fault, said)


def test_a_secret_in_an_address_is_not_repeated() -> None:
    """Short-cut refused: every refusal quotes what was written."""
    with pytest.raises(UpstreamError) as raised:
        parse("https://me:hunter2@git.corp/x//net@v1")

    assert "hunter2" not in str(raised.value)


def test_a_lock_is_taken_by_its_commit() -> None:
    """Short-cut refused: by its ref, which may have moved since."""
    lock = GitRef(repo=GITHUB, directory="/net/core", ref="main", commit=COMMIT)

    assert from_lock(lock) == GitReference(GITHUB, "net/core", COMMIT)


@pytest.mark.parametrize("directory", ["net/core", "./net/core/", "/net/x/../core", "net//core"])
def test_a_folder_of_a_lock_is_cleaned_as_by_kpt(directory: str) -> None:
    """Short-cut refused: every `..` leads out of the repository."""
    lock = GitRef(repo=GITHUB, directory=directory, ref="main")

    assert from_lock(lock) == GitReference(GITHUB, "net/core", "main")


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        (
            GitRef(repo=GITHUB, directory="/net"),
            "the upstream in the Kptfile lacks a commit or a ref",
        ),
        (GitRef(directory="/net", ref="v1"), "the upstream in the Kptfile lacks a repository"),
        (GitRef(repo="/etc", ref="v1"), "'/etc' is not an address of a git repository"),
        (GitRef(repo="../x", ref="v1"), "'../x' is not an address of a git repository"),
        (GitRef(repo=GITHUB, directory="../x", ref="v1"), "the path '../x' leads out"),
    ],
)
def test_a_lock_that_names_nothing_is_refused(lock: GitRef, said: str) -> None:
    with pytest.raises(UpstreamError, match=said):
        from_lock(lock)


def test_an_upstream_is_written_as_kpt_writes_it() -> None:
    assert as_git(f"{GITHUB}.git", "net/core", "net/core/v3") == GitRef(
        repo=GITHUB, directory="/net/core", ref="net/core/v3"
    )
    assert as_git(GITHUB, "", "v3", COMMIT) == GitRef(
        repo=GITHUB, directory="/", ref="v3", commit=COMMIT
    )


def test_tags_of_the_package_come_first() -> None:
    assert candidates("net/core", "v3") == (
        "refs/tags/net/core/v3",
        "refs/tags/net/v3",
        "refs/tags/v3",
        "refs/heads/v3",
    )
