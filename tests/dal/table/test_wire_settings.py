"""Where and how the wire connects: as the settings of the AWS SDK say."""

import asyncio
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dal import errors
from dal.table.client import TableAddress, connect
from dal.table.sdk import AwsSdk
from dal.table.wire import Wire
from tests.dal.table.ways import KEYS, outcome, ways


async def test_a_machine_without_credentials_or_with_a_proxy_speaks_through_the_sdk(
    dynoxide_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    address = TableAddress(endpoint_url=dynoxide_url)
    async with connect(address) as table:
        assert isinstance(table._client, AwsSdk)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    async with connect(address) as table:
        assert isinstance(table._client, Wire)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with connect(address) as table:
        assert isinstance(table._client, AwsSdk)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with connect(address) as table:
        assert isinstance(table._client, Wire)
    async with connect(TableAddress(endpoint_url=f"{dynoxide_url}/under/a/path")) as table:
        assert isinstance(table._client, AwsSdk)


async def test_the_address_and_the_region_are_those_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    async with connect(TableAddress()) as table:
        wire, sdk = ways(table)
        assert (wire._host, sdk.region) == ("dynamodb.eu-west-1.amazonaws.com", "eu-west-1")
        assert wire._connections._origin.port == 443
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
    async with connect(TableAddress()) as table:
        assert ways(table)[0]._host == "127.0.0.1:9"


async def test_a_session_token_is_sent_and_credentials_are_taken_anew(
    dynoxide_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "first")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    async with connect(TableAddress(endpoint_url=dynoxide_url)) as table:
        wire, sdk = ways(table)
        sent = (await wire._request("Query", b"{}")).decode()
        assert "\r\nx-amz-security-token: token\r\n" in sent
        assert "Credential=first/" in sent
        assert "x-amz-date;x-amz-security-token;x-amz-target" in sent
        assert isinstance(sdk, AwsSdk)
        sdk._credentials.access_key = "second"  # as a refresh does
        assert "Credential=second/" in (await wire._request("Query", b"{}")).decode()


# --- TLS ---


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for this machine, which nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(1))
        .not_valid_after(now + dt.timedelta(1))
        .add_extension(here, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
async def secure_url(certificate: Path, dynoxide_url: str) -> AsyncIterator[str]:
    """The engine behind TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    port = int(dynoxide_url.rpartition(":")[2])

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, on = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pipe(reader, on), pipe(back, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.mark.parametrize("setting", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
async def test_tls_with_an_authority_from_the_settings(
    keys: None, secure_url: str, certificate: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    monkeypatch.setenv(setting, str(certificate))
    async with connect(TableAddress("nowhere", secure_url)) as table:
        for way in ways(table):
            told = await outcome(way, "get_item", {"TableName": "nowhere", "Key": KEYS[0]})
            assert "marginalia table create" in told[1]


async def test_tls_without_an_authority_is_refused(keys: None, secure_url: str) -> None:
    async with connect(TableAddress("nowhere", secure_url)) as table:
        for way in ways(table):
            told = await outcome(way, "get_item", {"TableName": "nowhere", "Key": KEYS[0]})
            assert told[0] is errors.StoreUnavailableError


async def test_a_bundle_that_is_not_there_is_told(
    keys: None, secure_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", "/nowhere")
    with pytest.raises(errors.StoreRefusedError, match="AWS settings do not work"):
        async with connect(TableAddress("nowhere", secure_url)):
            pass
