"""`porchbot secret`: kept, listed by name, never shown."""

import os
from collections.abc import Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bot import apps
from bot.cli.root import main
from bot.githubs import variable
from bot.sandbox.serve import SandboxForge
from bot.settings import Settings
from bot.vault import open_vault
from tests.app_key import keys as app_keys
from tests.bot.test_settings import APP
from tests.contract.watch import watched


def _run(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(main, ["secret", *arguments], input=given)


def test_a_secret_is_kept_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut shows the value to whoever lists, or keeps an empty one."""
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))
    missing = _run("list")
    kept = _run("put", "signing-key", given="swordfish\n")
    listed = _run("list")
    empty = _run("put", "other", given="\n")
    value = open_vault({}, tmp_path).get("signing-key")
    removed, again = _run("remove", "signing-key"), _run("remove", "signing-key")

    assert (missing.exit_code, kept.exit_code, empty.exit_code, again.exit_code) == (1, 0, 1, 1)
    assert "There is no master key" in missing.output
    assert value == "swordfish\n"
    assert listed.output == "signing-key\n"
    assert removed.output == "Removed signing-key.\n"
    assert "swordfish" not in kept.output + listed.output
    assert _run("list").output == ""


def test_a_name_that_nobody_reads_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut takes any name: a secret that was to be rotated is stored, and never used."""
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))

    for name in ("webhook-secret", "github.apps", "Signing-Key", "old-private-keys"):
        found = _run("put", name, given="swordfish\n")
        assert found.exit_code == 1
        told = "Give one of: signing-key, github-token, webhook-secrets, private-key;"
        assert told in found.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("forge", ["github", "corp"])
def test_what_setup_stored_is_replaced_and_the_old_one_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forge: str
) -> None:
    """Short-cuts refused: the secret that setup stored is accepted for good, whoever read it; the
    new key takes the old one's place, and what that signed counts no more; a second renewal loses
    the first one; another GitHub's App gets the key; a key is stored that the bot does not use,
    since a variable has another one, or that GitHub takes from nobody.
    """
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))
    end = "" if forge == "github" else f".{forge}"
    vault = open_vault({}, tmp_path, make=True)
    apps.keep(vault, replace(APP, forge=forge))
    other = replace(APP, id=8, forge="else", api_url="https://else.example/api/v3")
    apps.keep(vault, other)
    lone = _run("remove", f"setup-webhook-secret{end}")
    put = _run("put", f"webhook-secrets{end}", given="fresh\n")
    both = _known(forge)
    listed = _run("list").output.split()
    gone = _run("remove", f"setup-webhook-secret{end}")
    keys = [app_keys()[0], app_keys()[0] + "\n"]
    bad = _run("put", f"private-key{end}", given="swordfish")
    other_kind = _run("put", f"private-key{end}", given=_ed25519())
    monkeypatch.setenv(variable("PRIVATE_KEY_FILE", forge), "key.pem")
    unused = _run("put", f"private-key{end}", given=keys[0])
    monkeypatch.delenv(variable("PRIVATE_KEY_FILE", forge))
    nobodys = _run("put", "private-key.none", given=keys[0])
    renewed = [_run("put", f"private-key{end}", "--offline", given=key) for key in (*keys, keys[1])]
    now = _known(forge)
    dropped = _run("remove", f"old-private-keys{end}")
    again = _run("remove", f"old-private-keys{end}")

    assert (lone.exit_code, put.exit_code, gone.exit_code) == (1, 0, 0)
    assert f"Store a new one first: porchbot secret put webhook-secrets{end}" in lone.output
    assert both["webhook_secrets"] == (b"fresh", b"the new secret")
    assert f"setup-webhook-secret{end}" in listed
    assert now["webhook_secrets"] == (b"fresh",)
    assert (bad.exit_code, nobodys.exit_code) == (1, 1)
    assert "is not a private RSA key in PEM" in bad.output
    assert "no App of a GitHub named none" in nobodys.output
    assert other_kind.output == bad.output
    assert unused.exit_code == 1
    assert (
        f"{variable('PRIVATE_KEY_FILE', forge)} is set, and the bot uses that key" in unused.output
    )
    assert [each.exit_code for each in renewed] == [0, 0, 0]
    assert f"porchbot secret remove old-private-keys{end}" in renewed[0].output
    assert now["private_key"] == keys[1]
    assert now["older_keys"] == (keys[0], APP.private_key)
    assert (dropped.exit_code, again.exit_code) == (0, 1)
    assert _known(forge)["older_keys"] == ()
    assert other in apps.read(vault)
    monkeypatch.setenv("PORCHBOT_MASTER_KEY", "4f" * 32)  # the other one is lost
    unread, cleared = _run("list"), _run("remove", f"webhook-secrets{end}")
    assert (unread.exit_code, cleared.exit_code) == (1, 0)
    assert unread.output.startswith(f"github.apps\nwebhook-secrets{end}\n")
    said = "".join(e.output for e in (put, gone, bad, *renewed, dropped)) + " ".join(listed)
    assert not any(hidden in said for hidden in ("fresh", "the new secret", "swordfish", "BEGIN"))


@pytest.mark.parametrize("forge", ["github", "corp"])
def test_a_key_of_a_variable_takes_the_place_of_what_is_stored_of_that_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forge: str
) -> None:
    """Short-cuts refused: whoever answers a stolen key by setting a variable goes on with what the
    stolen one signs, or an earlier one; the keys of an App that was replaced count no more; or the
    same variable takes the key away that a file names.
    """
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))
    vault = open_vault({}, tmp_path, make=True)
    replaced = replace(APP, id=3, forge=forge, private_key=_pem("replaced"))
    apps.keep(vault, replaced)
    apps.keep(vault, replace(APP, forge=forge, older_keys=(_pem("earlier"),)))
    stored = _known(forge)
    new, named = tmp_path / "new.pem", tmp_path / "named.pem"
    new.write_text(_pem("new"))
    named.write_text(_pem("named"))

    def given(**more: str) -> Mapping[str, object]:
        return _known(forge, {variable(kind, forge): text for kind, text in more.items()})

    assert stored["older_keys"] == (_pem("earlier"), _pem("replaced"))
    assert given(PRIVATE_KEY=_pem("new"))["older_keys"] == (_pem("replaced"),)
    assert given(PRIVATE_KEY_FILE=str(new))["private_key"] == _pem("new")
    assert given(PRIVATE_KEY_FILE=str(new))["older_keys"] == (_pem("replaced"),)
    kept = given(PRIVATE_KEY_FILE=str(new), OLDER_KEY_FILES=str(named))
    assert kept["older_keys"] == (_pem("named"), _pem("replaced"))
    assert given(PRIVATE_KEY=_pem("new"), APP_ID="3")["older_keys"] == (
        APP.private_key,
        _pem("earlier"),
    )


def test_a_key_is_tried_at_github_before_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: the key of another App takes the place of the one that works, and the
    bot finds out at its next start; or no key can be stored where GitHub is out of reach.
    """
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path / "state"))
    vault = open_vault({}, tmp_path / "state", make=True)
    form, plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    other = rsa.generate_private_key(65537, 2048)
    others = other.private_bytes(form, plain, serialization.NoEncryption()).decode()
    ours, public = app_keys()
    with SandboxForge(tmp_path / "forge") as forge, watched(forge):
        forge.state.add_user("owner")
        app = forge.state.register_app("porchbot", public, owner="owner")
        apps.keep(vault, replace(APP, id=app.id, api_url=forge.api_url))
        wrong = _run("put", "private-key", given=others)
        after_wrong = apps.read(vault)[0].private_key
        right = _run("put", "private-key", given=ours)
        after_right = apps.read(vault)[0].private_key
    away = _run("put", "private-key", given=others)
    after_away = apps.read(vault)[0].private_key
    untried = _run("put", "private-key", "--offline", given=others)

    assert (wrong.exit_code, after_wrong) == (1, APP.private_key)
    told = f"GitHub does not accept this key for the App porchbot (number {app.id}): 401 A"
    assert told in wrong.output
    assert "Nothing was stored." in wrong.output
    assert (right.exit_code, after_right) == (0, ours)
    assert (away.exit_code, after_away) == (1, ours)
    assert "or store it untried with --offline" in away.output
    assert (untried.exit_code, apps.read(vault)[0].private_key) == (0, others)
    assert "BEGIN" not in wrong.output + right.output + away.output + untried.output


def test_a_token_is_tried_at_github_before_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: a token that was cut off, or has expired, takes the place of the one that
    works; one is stored that the bot does not use, since a variable has another one; it is sent to
    GitHub.com where nobody knows which GitHub it is for.
    """
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path / "state"))
    vault = open_vault({}, tmp_path / "state", make=True)
    with SandboxForge(tmp_path / "forge") as forge, watched(forge):
        monkeypatch.setenv("PORCHBOT_GITHUB_API_URL", forge.api_url)
        forge.state.add_user("robot")
        ours = forge.state.token("robot")
        right = _run("put", "github-token", given=f"{ours}\n")
        wrong = _run("put", "github-token", given=ours[:-1])
        odd = _run("put", "github-token", given="ghp_\u2026")
        after_wrong = vault.get("github-token").strip()
    away = _run("put", "github-token", given="ghp_other")
    elsewhere = _run("put", "github-token.corp", given="ghp_other")
    monkeypatch.setenv("PORCHBOT_GITHUB_TOKEN", "ghp_given")
    unused = _run("put", "github-token", "--offline", given="ghp_other")
    monkeypatch.delenv("PORCHBOT_GITHUB_TOKEN")
    after_all = vault.get("github-token").strip()
    untried = _run("put", "github-token", "--offline", given="ghp_other")

    assert (right.exit_code, wrong.exit_code, after_wrong) == (0, 1, ours)
    assert right.output == "The token is robot's.\nStored github-token, encrypted.\n"
    assert "GitHub does not accept this token: 401 Bad credentials. Nothing was" in wrong.output
    assert (odd.exit_code, "contains white space or characters that" in odd.output) == (1, True)
    assert (away.exit_code, elsewhere.exit_code, unused.exit_code, after_all) == (1, 1, 1, ours)
    assert "store it untried with --offline" in away.output
    assert "PORCHBOT_GITHUB_CORP_API_URL is not set, so the token cannot be tried" in (
        elsewhere.output
    )
    assert "PORCHBOT_GITHUB_TOKEN is set, and the bot uses that token" in unused.output
    assert (untried.exit_code, vault.get("github-token")) == (0, "ghp_other")
    assert ours not in right.output + wrong.output


@pytest.mark.parametrize("answer", [b"[]", b"null", b'{"id": 999}', b'{"slug": "porchbot"}'])
def test_an_answer_that_is_not_of_the_app_stores_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    """The short-cut looks at the status alone: another App's, or a proxy's, does."""
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            apps.keep(open_vault({}, tmp_path, make=True), replace(APP, api_url=url))
            found = _run("put", "private-key", given=app_keys()[0])
        finally:
            server.shutdown()
            thread.join()

    assert found.exit_code == 1
    assert "answers as no GitHub does" in found.output
    assert apps.read(open_vault({}, tmp_path))[0].private_key == APP.private_key


def _pem(name: str) -> str:
    return f"-----BEGIN RSA PRIVATE KEY-----\n{name}\n-----END RSA PRIVATE KEY-----"


def _ed25519() -> str:
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(*form, serialization.NoEncryption()).decode()


def _known(forge: str, given: Mapping[str, str] | None = None) -> Mapping[str, object]:
    """What the settings have of a GitHub's keys and secrets, beside variables that are given."""
    place = {"PORCHBOT_STATE": os.environ["PORCHBOT_STATE"]}
    settings = Settings.from_env(place | dict(given or {}))
    here: object = settings
    if forge != "github":
        (here,) = (each for each in settings.further_githubs if each.name == forge)
    return {name: getattr(here, name) for name in ("webhook_secrets", "private_key", "older_keys")}
