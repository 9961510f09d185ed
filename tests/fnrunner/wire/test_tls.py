"""TLS: who may call, whom a caller believes, and certificates that are renewed."""

import datetime
import os
import subprocess
import sys
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fnrunner.contract.errors import CertificateError, RunnerBusyError
from fnrunner.contract.run import CallLimits, FunctionOutcome
from fnrunner.wire.client import Client
from fnrunner.wire.server import listening
from fnrunner.wire.tls import ClientTls, ServerTls
from tests.fnrunner.wire.test_service import Fixed
from tests.ports import free_port

LIMITS = CallLimits()
DONE = FunctionOutcome(b"done")
NOW = datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True)
class Signed:
    """A certificate with its key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates, into a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        own = self._certificate(self._name, self._key.public_key(), authority=True)
        self.path = folder / f"{name}.pem"
        self.path.write_bytes(own.public_bytes(serialization.Encoding.PEM))

    def sign(self, name: str, password: bytes = b"") -> Signed:
        """A certificate for 127.0.0.1 and for `runner.test`."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = Signed(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        certificate = self._certificate(subject, key.public_key())
        replace(made.certificate, certificate.public_bytes(serialization.Encoding.PEM))
        replace(
            made.key,
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.BestAvailableEncryption(password)
                if password
                else serialization.NoEncryption(),
            ),
        )
        return made

    def _certificate(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, authority: bool = False
    ) -> x509.Certificate:
        names = [x509.DNSName("runner.test"), x509.IPAddress(IPv4Address("127.0.0.1"))]
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - datetime.timedelta(days=1))
            .not_valid_after(NOW + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def replace(path: Path, data: bytes) -> None:
    """Write a file at once, as who renews certificates does."""
    new = path.with_suffix(".new")
    new.write_bytes(data)
    new.replace(path)


def shown(signed: Signed, client_ca: Path | None = None) -> ServerTls:
    return ServerTls(certificate=signed.certificate, key=signed.key, client_ca=client_ca)


async def runs(address: str, tls: ClientTls | None, *, patience: float = 0) -> bool:
    """Whether a function runs for a caller."""
    async with Client(address, patience=patience, tls=tls) as client:
        try:
            return await client.run("f", b"") == DONE
        except RunnerBusyError:
            return False


async def test_only_who_knows_the_authority_calls(tmp_path: Path) -> None:
    """Short-cut: encrypt, and believe any certificate."""
    ours, other = Authority(tmp_path, "ours"), Authority(tmp_path, "other")
    tls = shown(ours.sign("runner"))
    async with listening("127.0.0.1:0", Fixed(DONE), LIMITS, tls=tls) as address:
        assert await runs(address, ClientTls(ca=ours.path), patience=60)
        assert not await runs(address, ClientTls(ca=other.path))
        assert not await runs(address, None)
    async with listening("127.0.0.1:0", Fixed(DONE), LIMITS) as address:
        assert not await runs(address, ClientTls(ca=ours.path))


async def test_callers_must_show_a_certificate_that_is_known(tmp_path: Path) -> None:
    """Short-cut: ask for a certificate, and take any."""
    ours, other = Authority(tmp_path, "ours"), Authority(tmp_path, "other")
    known, unknown = ours.sign("caller"), other.sign("stranger")
    tls = shown(ours.sign("runner"), client_ca=ours.path)
    async with listening("127.0.0.1:0", Fixed(DONE), LIMITS, tls=tls) as address:
        for who, welcome in ((known, True), (unknown, False)):
            caller = ClientTls(ca=ours.path, certificate=who.certificate, key=who.key)
            assert await runs(address, caller, patience=60 * welcome) is welcome
        assert not await runs(address, ClientTls(ca=ours.path))


async def test_what_may_be_wrong_is_said(tmp_path: Path) -> None:
    """Short-cut: say that the socket was closed."""
    ours, other = Authority(tmp_path, "ours"), Authority(tmp_path, "other")
    tls = shown(ours.sign("runner"), client_ca=ours.path)

    async def said(address: str, tls: ClientTls | None) -> str:
        async with Client(address, patience=0, tls=tls) as client:
            with pytest.raises(RunnerBusyError) as caught:
                await client.run("f", b"")
        return str(caught.value)

    async with listening("127.0.0.1:0", Fixed(DONE), LIMITS, tls=tls) as address:
        assert "give the authorities that signed its certificate: --runner-ca" in await said(
            address, None
        )
        assert "give yours: --runner-cert" in await said(address, ClientTls(ca=ours.path))
        stranger = await said(address, ClientTls(ca=other.path))
        assert "not signed by any authority in --runner-ca" in stranger
    async with listening("127.0.0.1:0", Fixed(DONE), LIMITS) as address:
        assert "it does not seem to use TLS" in await said(address, ClientTls(ca=ours.path))
    assert "(" not in await said(f"127.0.0.1:{free_port()}", None)


async def test_the_name_in_the_certificate_counts(tmp_path: Path) -> None:
    ours = Authority(tmp_path, "ours")
    async with listening(
        f"unix:{tmp_path}/s", Fixed(DONE), LIMITS, tls=shown(ours.sign("runner"))
    ) as address:
        assert await runs(address, ClientTls(ca=ours.path, name="runner.test"), patience=60)
        assert not await runs(address, ClientTls(ca=ours.path, name="other.test"))


async def test_a_renewed_certificate_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Short-cut: read the files once; the runner then stops a year later."""
    before = Authority(tmp_path, "before")
    signed = before.sign("runner")
    async with listening("127.0.0.1:0", Fixed(DONE), LIMITS, tls=shown(signed)) as address:
        assert await runs(address, ClientTls(ca=before.path), patience=60)
        after = Authority(tmp_path, "after")
        after.sign("runner")  # in place of the other
        assert await runs(address, ClientTls(ca=after.path), patience=60)
        assert not await runs(address, ClientTls(ca=before.path))

        replace(signed.certificate, b"half a certif")
        assert await runs(address, ClientTls(ca=after.path), patience=60)
    assert "the certificates from before stay in use" in caplog.text


async def test_a_caller_follows_its_own_files(tmp_path: Path) -> None:
    """Short-cut: make the channel once, with what the files had then."""
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    trusted = tmp_path / "trusted.pem"
    replace(trusted, old.path.read_bytes())
    signed = old.sign("runner")
    async with (
        listening("127.0.0.1:0", Fixed(DONE), LIMITS, tls=shown(signed)) as address,
        Client(address, patience=0, tls=ClientTls(ca=trusted)) as client,
    ):
        assert await client.is_ready(60)  # connected
        assert await client.run("f", b"") == DONE
        replace(trusted, new.path.read_bytes())
        with pytest.raises(RunnerBusyError, match="CERTIFICATE_VERIFY_FAILED"):
            await client.run("f", b"")
        new.sign("runner")
        replace(trusted, b"")  # what was good stays in use
        assert await client.is_ready(60)
        assert await client.run("f", b"") == DONE


CASES = {
    "no file": ("none.pem", "ours.key", "it cannot be read: No such file or directory"),
    "no certificate": ("text", "ours.key", "it has no certificate"),
    "no key": ("ours.pem", "text", "it has no private key"),
    "a key with a password": ("locked.pem", "locked.key", "its key is encrypted"),
    "a key of another": ("ours.pem", "theirs.key", "it is not the private key of "),
}


@pytest.mark.parametrize(("certificate", "key", "problem"), CASES.values(), ids=CASES)
async def test_files_that_cannot_be_used(
    tmp_path: Path, certificate: str, key: str, problem: str
) -> None:
    """Short-cut: hand them to gRPC, which fails every handshake and says nothing."""
    authority = Authority(tmp_path, "authority")
    for name, password in (("ours", b""), ("theirs", b""), ("locked", b"secret")):
        authority.sign(name, password)
    (tmp_path / "text").write_text("no PEM")
    given = tmp_path / certificate, tmp_path / key
    with pytest.raises(CertificateError, match=problem):
        async with listening(
            "127.0.0.1:0", Fixed(DONE), LIMITS, tls=ServerTls(certificate=given[0], key=given[1])
        ):
            pass
    with pytest.raises(CertificateError, match=problem):
        Client("127.0.0.1:1", tls=ClientTls(certificate=given[0], key=given[1]))


@pytest.mark.parametrize("text", ["", "no PEM"])
def test_authorities_that_cannot_be_used(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ca.pem"
    path.write_text(text)
    with pytest.raises(CertificateError) as caught:
        ClientTls(ca=path).credentials()
    assert str(caught.value) == f"{path}: it has no certificate. Give a PEM file with one."


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_key_that_may_not_be_read(tmp_path: Path) -> None:
    signed = Authority(tmp_path, "authority").sign("runner")
    signed.key.chmod(0)
    with pytest.raises(CertificateError, match="Permission denied"):
        shown(signed).credentials()


def test_no_files_are_no_tls() -> None:
    assert ClientTls.of("", "", "") is None
    assert ClientTls.of("ca.pem", "", "") == ClientTls(ca=Path("ca.pem"))
    both = ClientTls(certificate=Path("a.pem"), key=Path("a.key"))
    assert ClientTls.of("", "a.pem", "a.key") == both


def test_a_runner_without_certificates_imports_nothing_that_reads_them() -> None:
    """The short-cut imports it at the top: each start takes a tenth longer, and 5 MB more."""
    code = (
        "import gc, sys; gc.disable(); import fnrunner.serve, fnrunner.settings\n"
        "print([name for name in sys.modules if 'cryptography' in name])"
    )

    said = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)

    assert (said.stdout, said.stderr) == ("[]\n", "")
