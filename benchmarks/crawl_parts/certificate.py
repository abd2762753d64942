"""Addresses -> a PEM file with a key and a certificate for them, and the authority to trust for it."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def write_certificate(path: Path, addresses: list[str]) -> Path:
    """Writes the server's file; returns the authority's, beside it."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "benchmark authority")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "benchmark sites")])
    names = x509.SubjectAlternativeName(
        [x509.IPAddress(ipaddress.ip_address(text)) for text in addresses]
    )
    authority = _builder(issuer, issuer, authority_key, ca=True).sign(authority_key, hashes.SHA256())
    builder = _builder(subject, issuer, key, ca=False).add_extension(names, critical=False)
    certificate = builder.sign(authority_key, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    authority_path = path.with_name("authority.pem")
    authority_path.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    return authority_path


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, ca: bool
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
