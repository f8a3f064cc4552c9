"""Authorities and certificates for servers of tests, and relays in front of them."""

import asyncio
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates. ``pem`` is the file with its own certificate."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        public = self._key.public_key()
        builder = self._builder(self._name, public).add_extension(usage, critical=True)
        builder = builder.add_extension(x509.BasicConstraints(True, 0), critical=True)
        self.pem = folder / f"{name}.pem"
        self.pem.write_bytes(self._signed(builder))

    def server(self, host: str) -> ssl.SSLContext:
        """Return the TLS of a server with a certificate for ``host``, a name or an address."""
        key = ec.generate_private_key(ec.SECP256R1())
        try:
            san: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            san = x509.DNSName(host)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        builder = self._builder(subject, key.public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName([san]), critical=False)
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path = self._folder / f"{self.pem.stem}-{host}.pem"
        path.write_bytes(secret + self._signed(builder))
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(path)
        return context

    def _builder(
        self, subject: x509.Name, public: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder(self._name, subject, public, x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(1))
            .not_valid_after(now + dt.timedelta(1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(issuer, critical=False)
        )

    def _signed(self, builder: x509.CertificateBuilder) -> bytes:
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@dataclass
class Relay:
    """Passes all connections on to a port of this machine, for any host in CONNECT."""

    url: str = ""
    port: int = 0
    tunnels: list[str] = field(default_factory=list)
    """The hosts of CONNECT requests."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, on = await asyncio.open_connection("127.0.0.1", self.port)
        begun = await reader.read(65_536)
        if begun.startswith(b"CONNECT "):
            self.tunnels.append(begun.split()[1].decode())
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            on.write(begun)
        await asyncio.gather(_pipe(reader, on), _pipe(back, writer))


@asynccontextmanager
async def relaying() -> AsyncIterator[Relay]:
    """Open a relay on a free port of this machine."""
    relay = Relay()
    async with await asyncio.start_server(relay.serve, "127.0.0.1", 0) as server:
        relay.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield relay


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()
