"""`porchbot verify`: what the bot published verifies, and each kind of forgery is told by name.

Longer than 400 lines: one signed repository, and each way to forge what it says.
"""

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli.root import main
from bot.signing import dsse
from bot.signing.tags import BEGIN, END
from tests.bot.signing.signed import KEY, OTHER, SignedRepository, repository

Forge = Callable[[SignedRepository], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SignedRepository:
    """A repository; each test makes the tag anew."""
    return repository(tmp_path_factory.mktemp("signed") / "blueprints")


def verified(made: SignedRepository, *args: str, revision: str = "net/core@v5") -> Result:
    given = args or ("--allowed-signers", str(made.signers()))
    return CliRunner().invoke(
        main, ["verify", revision, "--repo", str(made.folder), *given], prog_name="porchbot"
    )


def test_what_the_bot_published_verifies_and_says_why(made: SignedRepository) -> None:
    """The short-cut prints that all is well, and nobody learns who approved what."""
    made.tag(made.data())
    done = verified(made)

    assert done.exit_code == 0, done.output
    assert done.output == (
        "net/core@v5 is verified: porchbot published it in acme/blueprints"
        " (github:42) at forge.example.\n"
        f"  signed by   porchbot ({KEY.public.fingerprint})\n"
        f"  commit      {made.commit}\n"
        f"  tree        {made.tree}\n"
        f"  base        main at {'b' * 40}\n"
        "  proposal    acme/blueprints#7\n"
        "  approved by ann\n"
        "  function    set-labels:v0.2 (pipeline) sha256:1\n"
        "  gate        approved: 1 of 1 (required: 1 from role:write)\n"
        "  ledger      not withdrawn (HEAD, main)\n"
    )
    stated = verified(made, "--json", "--allowed-signers", str(made.signers()))
    assert json.loads(stated.output) == made.predicate()


def _payload(made: SignedRepository, statement: object) -> bytes:
    """A tag whose envelope holds another statement than the one that was signed."""
    text = made.data(key=None).decode()
    head, envelope = text.split(f"{BEGIN}\n")
    sealed = json.loads(envelope.split(f"\n{END}")[0])
    sealed["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()
    unsigned = f"{head}{BEGIN}\n{json.dumps(sealed)}\n{END}\n".encode()
    return unsigned + KEY.sign(unsigned).encode()


def _signed(text: bytes) -> bytes:
    return text + KEY.sign(text).encode()


def _stated(made: SignedRepository, statement: object) -> bytes:
    head = made.data(key=None).split(BEGIN.encode())[0]
    return _signed(head + f"{BEGIN}\n{dsse.seal(statement, KEY)}\n{END}\n".encode())


FORGERIES: dict[str, tuple[Forge, str]] = {
    "no such tag": (
        lambda m: m.git("update-ref", "-d", "refs/tags/net/core/v5"),
        "no tag net/core/v5 in",
    ),
    "a mere name": (
        lambda m: m.git("update-ref", "refs/tags/net/core/v5", m.commit),
        "is a lightweight tag of a commit",
    ),
    "not signed": (lambda m: m.tag(m.data(key=None)), "is not signed"),
    "signed with another program": (
        lambda m: m.tag(
            m.data(key=None) + b"-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n"
        ),
        "is signed with PGP",
    ),
    "signed by somebody else": (
        lambda m: m.tag(m.data(key=OTHER, states=OTHER)),
        f"is signed with {OTHER.public.fingerprint}, which is not among the allowed signers",
    ),
    "its text was changed": (
        lambda m: m.tag(m.data().replace(b"net/core v5\n", b"net/core v5, approved by eve\n")),
        "does not fit: what it signed was changed since",
    ),
    "of another commit": (
        lambda m: m.tag(
            m.data().replace(
                m.commit.encode(), m.git("commit-tree", "-m", "x", "HEAD^{tree}").encode()
            )
        ),
        "does not fit: what it signed was changed since",
    ),
    "another tag under its name": (
        lambda m: m.tag(m.data(name="net/core/v4", revision=4)),
        "is the tag net/core/v4 under another name",
    ),
    "cut off": (
        lambda m: m.tag(m.data()[:-120] + b"-----END SSH SIGNATURE-----\n"),
        "the signature ",
    ),
    "without provenance": (
        lambda m: m.tag(_signed(m.data(key=None).split(BEGIN.encode())[0])),
        "has no provenance",
    ),
    "with two provenances": (
        lambda m: m.tag(_signed(m.data(key=None) + m.data(key=None).split(b"\n\n")[-1])),
        "has 2 provenances",
    ),
    "provenance signed by somebody else": (
        lambda m: m.tag(m.data(states=OTHER)),
        "none of the keys that are allowed signed it",
    ),
    "provenance that was changed": (
        lambda m: m.tag(_payload(m, {"predicate": {}})),
        "none of the keys that are allowed signed it",
    ),
    "no envelope": (
        lambda m: m.tag(
            _signed(m.data(key=None).split(BEGIN.encode())[0] + f"{BEGIN}\n{{}}\n{END}\n".encode())
        ),
        "it is not written as a DSSE envelope",
    ),
    "another kind of statement": (
        lambda m: m.tag(_stated(m, {"_type": "x", "predicate": m.predicate()})),
        "it is no statement of porchbot's",
    ),
    "provenance of another package": (
        lambda m: m.tag(m.data(package="net/edge")),
        "its package is net/edge, and the tag's is net/core",
    ),
    "provenance of another revision": (
        lambda m: m.tag(m.data(revision=4)),
        "its revision is 4, and the tag's is 5",
    ),
    "a revision that is no number": (
        lambda m: m.tag(m.data(revision=True)),
        "its revision is True",
    ),
    "provenance of another commit": (
        lambda m: m.tag(m.data(commit="c" * 40)),
        f"its commit is {'c' * 40}",
    ),
    "provenance of a fork's revision": (
        lambda m: m.tag(m.data(repository={"name": "evil/blueprints", "id": "github:66"})),
        "tag net/core/v5 was published in evil/blueprints, and not in acme/blueprints",
    ),
    "provenance of no repository": (
        lambda m: m.tag(m.data(repository="acme/blueprints")),
        "was published in a repository that it does not name, and not in acme/blueprints",
    ),
    "provenance of another tree": (lambda m: m.tag(m.data(tree=m.other_tree)), "its tree is"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_each_forgery_is_told_by_what_is_wrong(made: SignedRepository, forgery: str) -> None:
    """The short-cut checks the signature alone: provenance of another revision passes."""
    made.tag(made.data())
    forge, wanted = FORGERIES[forgery]
    forge(made)
    done = verified(made)

    assert done.exit_code == 1, done.output
    assert wanted in done.output
    assert done.output.startswith("error: ")


def test_keys_count_from_the_file_that_git_knows_and_at_their_time(made: SignedRepository) -> None:
    """Short-cut refused: any key in the file counts at any time, and for anything."""
    made.tag(made.data())
    file, line = made.signers(), KEY.public.line
    assert (
        "no file of trusted keys is given or configured"
        in verified(made, "--json", "--repo", str(made.folder)).output
    )
    made.git("config", "gpg.ssh.allowedSignersFile", str(file))
    try:
        assert verified(made, "--json").exit_code == 0
    finally:
        made.git("config", "--unset", "gpg.ssh.allowedSignersFile")

    for text, counts in (
        (f"porchbot {line}\n", True),
        (f'porchbot namespaces="git,file" {line} a comment\n', True),
        (f'porchbot valid-after="20260101Z",valid-before="20270101Z" {line}\n', True),
        (f'porchbot valid-after="20260401Z" {line}\n', False),
        (f'porchbot valid-before="20260101120000Z" {line}\n', False),
        (f'porchbot namespaces="file" {line}\n', False),
        (f'porchbot namespaces="*,!git" {line}\n', False),
        (f"porchbot cert-authority {line}\n", False),
        (f"porchbot unknown-option {line}\n", False),
        (f"# porchbot {line}\n", False),
        (f"{line}\n", False),
    ):
        file.write_text(text)
        done = verified(made, "--allowed-signers", str(file))
        assert (done.exit_code == 0) is counts, (text, done.output)


def test_a_file_without_keys_is_told_in_words(made: SignedRepository, tmp_path: Path) -> None:
    """Short-cut refused: "no ed25519 key", and numbers of the system's."""
    made.tag(made.data())
    for name, data, said in (
        ("none", None, "No such file or directory. Name a file you can read"),
        (
            "empty",
            b" \n",
            "is empty, as a bot publishes it that has no signing key. Its tags are not",
        ),
        ("other", b"\xff\xfe", "it is not text. Name a file you can read"),
    ):
        if data is not None:
            (tmp_path / name).write_bytes(data)
        done = verified(made, "--allowed-signers", str(tmp_path / name))
        assert (done.exit_code, said in done.output, "Errno" in done.output) == (1, True, False)


def test_a_revision_may_be_named_by_its_tag(made: SignedRepository) -> None:
    """The short-cut refuses the name that `git tag --list` and the bot's answers show."""
    made.tag(made.data())

    by_tag = verified(made, revision="net/core/v5")

    assert by_tag.exit_code == 0, by_tag.output
    assert by_tag.output == verified(made).output


def test_only_revisions_can_be_verified(made: SignedRepository) -> None:
    wrong = "net/core", "net/core@5", "net/core@v05", "net/../core@v1", "../x@v1"
    for revision in (*wrong, "net/core/v05", "net/../core/v1", "net/core/5", "v5/v1", "/v1"):
        done = verified(made, revision=revision)
        assert done.exit_code == 1, revision
        assert "is not a revision. Write PACKAGE@vN, such as net/core@v5, or its tag" in done.output


def test_the_repository_is_told_or_that_of_the_remote(made: SignedRepository) -> None:
    """The short-cut asks of which repository nobody: the revision of a fork, where its owner alone
    approves, is "what porchbot published" in a clone of the original.
    """
    made.tag(made.data())
    signers = ("--allowed-signers", str(made.signers()))
    for told, passes in (
        ("acme/blueprints", True),
        ("Acme/Blueprints", True),
        ("github:42", True),
        ("evil/blueprints", False),
        ("github:66", False),
        ("blueprints", False),
        ("https://forge.example/acme/blueprints", True),
        ("https://other.example/acme/blueprints", False),
        ("victims/acme/blueprints", False),
    ):
        done = verified(made, *signers, "--repository", told)
        assert (done.exit_code == 0) is passes, (told, done.output)
        if told == "blueprints":
            assert "Write its id, such as github:42, its address, or OWNER/NAME" in done.output

    for address, passes in (
        ("git@forge.example:acme/blueprints.git", True),
        ("ssh://git@forge.example:22/acme/blueprints", True),
        ("https://forge.example/acme/blueprints/", True),
        ("https://user:x@Forge.example:8443/acme/blueprints.git", True),
        ("forge.example:/acme/blueprints", True),
        ("https://forge.example/evil/blueprints", False),
        ("https://gitlab.example/acme/blueprints.git", False),
        ("git@gitlab.example:acme/blueprints.git", False),
        ("https://forge.example@gitlab.example/acme/blueprints.git", False),
        ("https://forge.example/victims/acme/blueprints.git", False),
        ("git@forge.example:victims/acme/blueprints", False),
        ("https://forge.example/acme/blueprints/evil/other", False),
        ("/srv/acme/blueprints", False),
        ("file:///srv/acme/blueprints", False),
        ("file://disk/acme/blueprints", False),
        ("../acme/blueprints", False),
    ):
        made.git("remote", "set-url", "origin", address)
        try:
            done = verified(made, *signers)
        finally:
            made.git("remote", "set-url", "origin", "https://forge.example/acme/blueprints.git")
        assert (done.exit_code == 0) is passes, (address, done.output)
        if ":" not in address or address.startswith("file:"):
            assert "has no remote that names its repository" in done.output, address
    assert "Give the repository where the revision was published: --repository OWNER/NAME" in (
        done.output
    )


def test_a_repository_is_its_host_and_whole_path(made: SignedRepository) -> None:
    """The short-cut takes the last two parts of an address: what is nested cannot be verified, and
    a tag of another forge's repository of that name can. Older tags do not name their forge.
    """
    signers = ("--allowed-signers", str(made.signers()))
    nested = {"name": "grp/acme/net", "id": "gitlab:9", "host": "gitlab.com"}
    older = {"name": "acme/blueprints", "id": "github:42"}
    for of, address, said in (
        (nested, "git@gitlab.com:grp/acme/net.git", "grp/acme/net (gitlab:9) at gitlab.com."),
        (nested, "ssh://git@altssh.gitlab.com:443/grp/acme/net.git", "is verified"),
        (nested, "https://gitlab.com/acme/net.git", "and not in acme/net at gitlab.com. Do not"),
        (
            nested,
            "https://github.com/grp/acme/net.git",
            "published in grp/acme/net at gitlab.com, and not in grp/acme/net at github.com. Do",
        ),
        (
            older,
            "https://forge.example/acme/blueprints",
            "(github:42) at a forge that it does not name, so compare the id.",
        ),
        (older, "https://forge.example/a/acme/blueprints", "and not in a/acme/blueprints at"),
    ):
        made.tag(made.data(repository=of))
        made.git("remote", "set-url", "origin", address)
        try:
            done = verified(made, *signers)
        finally:
            made.git("remote", "set-url", "origin", "https://forge.example/acme/blueprints.git")
        assert said in done.output, (address, done.output)
        assert (done.exit_code == 0) is ("not in" not in said), (address, done.output)
    made.tag(made.data(repository=nested))
    for told in ("grp/acme/net", "gitlab:9", "https://gitlab.com/grp/acme/net"):
        assert verified(made, *signers, "--repository", told).exit_code == 0, told


def _from(made: SignedRepository, address: str) -> Result:
    """What is said in a clone of an address."""
    made.git("remote", "set-url", "origin", address)
    try:
        return verified(made)
    finally:
        made.git("remote", "set-url", "origin", "https://forge.example/acme/blueprints.git")


def test_a_forge_below_a_path_of_its_host(made: SignedRepository) -> None:
    """Short-cut: the end of the path is compared, and a tag of group/project, pushed to a group of
    somebody's own, verifies as one of evil/group/project. The provenance tells what is below the
    host; addresses of SSH have no such path.
    """
    below = {"name": "grp/net", "id": "gitlab:7", "host": "git.example", "path": "gitlab/grp/net"}
    made.tag(made.data(repository=below))
    for address, passes in (
        ("https://git.example/gitlab/grp/net.git", True),
        ("HTTPS://user:x@Git.example.:8443/GitLab/grp/net", True),
        ("git@git.example:grp/net.git", True),
        ("ssh://git@git.example:2222/grp/net.git", True),
        ("https://git.example/gitlab/evil/grp/net.git", False),
        ("https://git.example/grp/net.git", False),
        ("https://other.example/gitlab/grp/net.git", False),
        ("git@git.example:gitlab/grp/net.git", False),
        ("ssh://git@git.example/evil/grp/net.git", False),
    ):
        done = _from(made, address)
        assert (done.exit_code == 0) is passes, (address, done.output)
    made.tag(made.data(repository={"name": "grp/net", "id": "gitlab:7"}))
    assert (
        "or whose forge is below a path of its host: give the id that you know it by with"
        " --repository" in _from(made, "https://git.example/gitlab/grp/net.git").output
    )


def test_hosts_of_ssh_addresses_are_told_as_such(made: SignedRepository) -> None:
    """Short-cuts: an alias that its owner chose is told as forged; any host passes by SSH."""
    made.tag(made.data())
    for address, host in (
        ("git@github-work:acme/blueprints.git", "github-work"),
        ("ssh://git@ssh.forge.example:2222/acme/blueprints.git", "ssh.forge.example"),
        ("GIT+SSH://git@evil.example/acme/blueprints", "evil.example"),
    ):
        done = _from(made, address)
        assert (done.exit_code, done.output) == (
            1,
            "error: tag net/core/v5 was published in acme/blueprints at forge.example, and not in"
            f" acme/blueprints at {host}. If {host} is an alias in your SSH configuration or where"
            " that forge takes SSH, give --repository https://forge.example/acme/blueprints;"
            " otherwise do not use the tag\n",
        )
    told = "https://forge.example/acme/blueprints"
    signers = ("--allowed-signers", str(made.signers()))
    assert verified(made, *signers, "--repository", told).exit_code == 0
    for address in ("https://evil.example/acme/blueprints", "git@github-work:evil/blueprints"):
        assert "Do not use it, unless you know" in _from(made, address).output


def test_addresses_by_number(made: SignedRepository) -> None:
    """Short-cut: a colon ends the host, so that an IPv6 address names no repository."""
    made.tag(made.data(repository={"name": "acme/x", "id": "gitlab:7", "host": "2001:db8::1"}))
    for address, passes in (
        ("https://[2001:DB8::1]:8443/acme/x.git", True),
        ("ssh://git@[2001:db8::1]/acme/x.git", True),
        ("git@[2001:db8::1]:acme/x.git", True),
        ("https://[2001:db8::2]/acme/x.git", False),
    ):
        done = _from(made, address)
        assert (done.exit_code == 0) is passes, (address, done.output)


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [
        ("99999999999999999", "has a time that is none: 99999999999999999"),
        ("9" * 5000, f"has a time that is none: {'9' * 100}. Do not use it"),
        ("-99999999999999", "has a time that is none: -99999999999999"),
        ("-5", ""),
        ("later", "is not written as git writes tags"),
    ],
)
def test_a_time_that_is_none_is_told_in_words(
    made: SignedRepository, seconds: str, wanted: str
) -> None:
    """The short-cut takes any number for a time, and ends in a traceback."""
    made.tag(made.data(seconds=seconds))
    done = verified(made)

    assert (done.exit_code == 0) is not bool(wanted)
    assert wanted in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)


LEDGERS = {
    "nothing of it": ("revisions: {v4: {state: withdrawn, reason: wrong}}", True, "not withdrawn"),
    "withdrawn": (
        "revisions: {v5: {state: withdrawn, reason: leaks a password}}",
        False,
        "net/core@v5 was published and later withdrawn: leaks a password. Use another revision",
    ),
    "deprecated": (
        "revisions: {v5: {state: deprecated, reason: use v6}}",
        True,
        "  ledger      deprecated: use v6",
    ),
    "broken": ("revisions: {v5: yes}", False, ".porchbot/ledger/net/core.yaml"),
}


@pytest.mark.parametrize("told", LEDGERS)
def test_the_ledger_of_the_publish_branches_is_read(tmp_path: Path, told: str) -> None:
    """The short-cut reads the tag alone: one that was withdrawn, and pushed again, verifies.

    Each place counts: the older ledger, that of the package, the branch it was merged to, the
    default branch of the remote.
    """
    text, passes, wanted = LEDGERS[told]
    older = "revisions: {net/core: " + text.removeprefix("revisions: ") + "}"
    for ref, path, said in (
        ("refs/heads/main", ".porchbot/ledger/net/core.yaml", text),
        ("refs/remotes/origin/main", ".porchbot/ledger/net/core.yaml", text),
        ("refs/remotes/origin/HEAD", ".porchbot/ledger.yaml", older),
    ):
        clone = repository(tmp_path / ref.replace("/", "-"))
        clone.tag(clone.data())
        (clone.folder / path).parent.mkdir(parents=True)
        (clone.folder / path).write_text(said)
        clone.git("add", ".porchbot")
        clone.git("commit", "--quiet", "-m", "ledger")
        if ref != "refs/heads/main":
            clone.git("update-ref", "refs/remotes/origin/main", clone.commit)
            clone.git("update-ref", ref, "HEAD")
            clone.git("reset", "--quiet", "--hard", clone.commit)
        done = verified(clone)

        assert (done.exit_code == 0) is passes, (ref, done.output)
        expected = path if told == "broken" else wanted
        assert expected in done.output, ref


def test_without_a_branch_nobody_knows_of_the_ledger(tmp_path: Path) -> None:
    """The short-cut says nothing: who took the tag alone believes that it was not withdrawn."""
    clone = repository(tmp_path / "tags-only")
    clone.tag(clone.data())
    clone.git("symbolic-ref", "HEAD", "refs/heads/none")
    clone.git("update-ref", "-d", "refs/heads/main")

    assert "ledger      unknown: no publish branch was fetched" in verified(clone).output


ORDERS = "\x1b]0;owned\x07\x1b[2K\x1b[8m\r\x9b1A\u202enet/core@v5 is verified"
"""What a terminal obeys: CSI, OSC, a return, C1, and text turned around."""


def test_nothing_that_a_tag_says_is_obeyed_by_a_terminal(made: SignedRepository) -> None:
    """Short-cuts: only CSI is taken out; what is refused goes out raw, and hides the refusal."""
    gates = [{"name": ORDERS, "actual": ORDERS, "wanted": f"1\n{ORDERS}"}]
    for data, status in (
        (made.data(name=f"net/core/v5{ORDERS}"), 1),
        (made.data(gates=gates, base={"ref": ORDERS, "commit": "b" * 40}), 0),
        (made.data(repository={"name": ORDERS, "id": "github:66"}), 1),
    ):
        made.tag(data)
        done = verified(made)
        assert done.exit_code == status, done.output
        assert not [c for c in done.output if not c.isprintable() and c != "\n"]
        assert "<U+001B>" in done.output
    assert len(done.output.splitlines()) == 1


@pytest.mark.parametrize("detached", [True, False], ids=["the tag", "a branch at the tag"])
def test_a_clone_of_the_tag_cannot_tell_that_it_was_not_withdrawn(
    tmp_path: Path, *, detached: bool
) -> None:
    """Short-cut: HEAD stands in for a publish branch. It is the tag, which is never listed there.

    Where HEAD says that it was withdrawn all the same, that counts.
    """
    clone = repository(tmp_path / "clone")
    clone.tag(clone.data())
    away = ["--detach"] if detached else ["-c", "mine"]
    clone.git("switch", "--quiet", *away, clone.commit)
    clone.git("update-ref", "-d", "refs/heads/main")

    assert "ledger      unknown: no publish branch was fetched" in verified(clone).output

    ledger = clone.folder / ".porchbot/ledger/net/core.yaml"
    ledger.parent.mkdir(parents=True)
    ledger.write_text("revisions: {v5: {state: withdrawn, reason: leaks}}")
    clone.git("add", ".porchbot")
    clone.git("commit", "--quiet", "-m", "ledger")
    assert "later withdrawn: leaks" in verified(clone).output


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="git verifies with ssh-keygen")
def test_git_verifies_what_we_sign_and_we_what_git_signs(
    made: SignedRepository, tmp_path: Path
) -> None:
    """The short-cut signs in a form of our own that only we can read."""
    made.tag(made.data())
    made.git("config", "gpg.ssh.allowedSignersFile", str(made.signers()))
    try:
        said = made.git("tag", "-v", "net/core/v5")
    finally:
        made.git("config", "--unset", "gpg.ssh.allowedSignersFile")
    assert f'Good "git" signature for porchbot with ED25519 key {KEY.public.fingerprint}' in said
