"""A wish -> a server's TLS context with a certificate to match it: good, wrong name, expired, self-signed.

All made on the spot; `authority_pem` is what a client must trust for the good one to be good.
"""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_TODAY = datetime.datetime.now(datetime.UTC)
_DAY = datetime.timedelta(days=1)


class _Signer(NamedTuple):
    key: ec.EllipticCurvePrivateKey
    name: x509.Name


class Authority:
    """A certificate authority for one test, with its files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._signer = _Signer(ec.generate_private_key(ec.SECP256R1()), _name("test authority"))
        certificate = _certificate(self._signer.key, self._signer, "test authority", 30, authority=True)
        self.pem = folder / "authority.pem"
        self.pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def context(
        self, *names: str, days_left: int = 30, self_signed: bool = False, alpn: tuple[str, ...] = ()
    ) -> ssl.SSLContext:
        """A server's context for these names or addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        signer = _Signer(key, _name(names[0])) if self_signed else self._signer
        certificate = _certificate(key, signer, names[0], days_left, names)
        file = self._folder / f"{names[0].strip(':')}-{days_left}-{self_signed}.pem"
        file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + _pem(key))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        if alpn:
            context.set_alpn_protocols(list(alpn))
        return context


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _certificate(
    key: ec.EllipticCurvePrivateKey,
    signer: _Signer,
    subject: str,
    days_left: int,
    names: tuple[str, ...] = (),
    authority: bool = False,
) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(signer.name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_TODAY - 90 * _DAY)
        .not_valid_after(_TODAY + days_left * _DAY)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    )
    if names:
        alternatives = [_alternative(name) for name in names]
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(signer.key, hashes.SHA256())


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
