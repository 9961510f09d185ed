"""One key of an App for all tests of a process: to make one takes a tenth of a second."""

from functools import cache

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa


@cache
def made() -> rsa.RSAPrivateKey:
    """The key itself."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def keys() -> tuple[str, str]:
    """Its private half, as GitHub hands it out, and its public half, as PEM."""
    private = made().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = (
        made()
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return private.decode(), public.decode()
