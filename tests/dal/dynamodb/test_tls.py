"""Every call of AWS verifies its endpoint's certificate, also through proxies and relays."""

import datetime as dt
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha1
from pathlib import Path
from re import fullmatch

import pytest
from botocore.credentials import SSOProvider

from dal.dynamodb.sdk import open_sdk
from dal.dynamodb.table import TableAddress, connect
from dal.table.errors import DalError, StoreRefusedError
from tests.aws_endpoint import AwsEndpoint, aws_endpoint
from tests.tls import Authority, Relay, relaying

Call = Callable[[], Awaitable[object]]
Opened = Callable[[str], AbstractAsyncContextManager[Call]]

GET = ("get_item", {"TableName": "any", "Key": {}, "ReturnConsumedCapacity": "TOTAL"})


@dataclass
class Machines:
    """Endpoints: a valid certificate, another host's, an unknown authority's, and no TLS."""

    authority: Authority
    good: AwsEndpoint
    wrong_name: AwsEndpoint
    unknown: AwsEndpoint
    plain: AwsEndpoint


@pytest.fixture(scope="module")
async def machines(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Machines]:
    folder = tmp_path_factory.mktemp("tls")
    known, stranger = Authority(folder, "known"), Authority(folder, "stranger")
    async with AsyncExitStack() as stack:
        good, wrong_name, unknown, plain = [
            await stack.enter_async_context(aws_endpoint(tls))
            for tls in (
                known.server("127.0.0.1"),
                known.server("dynamodb.example"),
                stranger.server("127.0.0.1"),
                None,
            )
        ]
        yield Machines(known, good, wrong_name, unknown, plain)


@pytest.fixture
async def relay() -> AsyncIterator[Relay]:
    async with relaying() as opened:
        yield opened


@pytest.fixture(autouse=True)
def settings(machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write settings with access keys; return the file of the profiles."""
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    profiles = tmp_path / "config"
    profiles.touch()
    monkeypatch.setenv("AWS_CONFIG_FILE", str(profiles))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "nothing"))
    monkeypatch.setenv("AWS_CA_BUNDLE", str(machines.authority.pem))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    return profiles


@asynccontextmanager
async def a_table(url: str) -> AsyncIterator[Call]:
    async with connect(TableAddress("any", url)) as table:
        yield partial(table.service.call, *GET)


@asynccontextmanager
async def the_sdk(url: str) -> AsyncIterator[Call]:
    async with open_sdk("dynamodb", url, embedded=False) as sdk:
        yield partial(sdk.call, *GET)


@asynccontextmanager
async def streams(url: str) -> AsyncIterator[Call]:
    async with open_sdk("dynamodbstreams", url, embedded=False) as sdk:
        yield partial(sdk.call, "list_streams", {})


@asynccontextmanager
async def credentials(_url: str) -> AsyncIterator[Call]:
    async with open_sdk("dynamodb", "http://127.0.0.1:9", embedded=False) as sdk:
        yield sdk.credentials


OPENED: dict[str, Opened] = {
    "a table": a_table,
    "the SDK": the_sdk,
    "streams": streams,
    "web identity": credentials,
    "a role": credentials,
    "SSO": credentials,
}


@pytest.fixture(params=OPENED)
def opened(
    request: pytest.FixtureRequest,
    settings: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Opened:
    """A client of one service; some settings fetch the credentials from another one."""
    kind, role = request.param, "arn:aws:iam::111122223333:role/r"
    if OPENED[kind] is credentials:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    if kind == "web identity":
        token = tmp_path / "token"
        token.write_text("token")
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
        monkeypatch.setenv("AWS_ROLE_ARN", role)
    if kind == "a role":
        settings.write_text(
            f"[default]\nrole_arn = {role}\nsource_profile = base\n[profile base]\n"
            "aws_access_key_id = key\naws_secret_access_key = secret\n"
        )
    if kind == "SSO":
        settings.write_text(
            "[default]\nsso_start_url = https://start\nsso_region = eu-west-1\n"
            "sso_account_id = 111122223333\nsso_role_name = r\n"
        )
        monkeypatch.setattr(SSOProvider, "_SSO_TOKEN_CACHE_DIR", str(tmp_path))
        end = dt.datetime.now(dt.UTC) + dt.timedelta(1)
        cached = tmp_path / f"{sha1(b'https://start').hexdigest()}.json"
        cached.write_text(json.dumps({"accessToken": "token", "expiresAt": end.isoformat()}))
    return OPENED[kind]


async def refused(call: Call, endpoint: AwsEndpoint) -> str:
    """Expect a call to fail without a request arriving."""
    before = endpoint.requests
    with pytest.raises(DalError) as raised:
        await call()
    assert endpoint.requests == before
    return str(raised.value)


@pytest.mark.parametrize("between", ["nothing", "a proxy"])
async def test_requests_are_sent_only_to_an_endpoint_with_a_valid_certificate(
    opened: Opened, machines: Machines, relay: Relay, between: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = relay.url.replace("http", "https")
    if between == "a proxy":
        url = "https://127.0.0.1:9"
        monkeypatch.setenv("HTTPS_PROXY", relay.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSO", url)
    async with opened(url) as call:
        for impostor in (machines.wrong_name, machines.unknown, machines.plain):
            relay.port = impostor.port
            await refused(call, impostor)
        relay.port, before = machines.good.port, machines.good.requests
        await call()
        assert machines.good.requests == before + 1
    assert relay.tunnels == (["127.0.0.1:9"] * 4 if between == "a proxy" else [])


BOTH_WAYS = pytest.mark.parametrize("way", [a_table, the_sdk])


@BOTH_WAYS
@pytest.mark.parametrize("setting", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
async def test_an_empty_setting_does_not_switch_verification_off(
    machines: Machines, setting: str, way: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_CA_BUNDLE")
    monkeypatch.setenv(setting, "")
    async with way(machines.unknown.url) as call:
        await refused(call, machines.unknown)


@pytest.fixture(params=["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "ca_bundle"])
def named(
    request: pytest.FixtureRequest,
    machines: Machines,
    settings: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Name the certificate authority's file by one of the settings at a time."""
    monkeypatch.delenv("AWS_CA_BUNDLE")
    if request.param == "ca_bundle":
        settings.write_text(f"[default]\nca_bundle = {machines.authority.pem}\n")
    else:
        monkeypatch.setenv(request.param, str(machines.authority.pem))


@BOTH_WAYS
async def test_the_settings_select_the_certificate_authority(
    named: None, machines: Machines, way: Opened
) -> None:
    async with way(machines.good.url) as call:
        await call()


@BOTH_WAYS
async def test_an_untrusted_certificate_is_reported_with_the_setting_to_change(
    machines: Machines, way: Opened
) -> None:
    for endpoint, reason in ((machines.wrong_name, "mismatch"), (machines.unknown, "certificate")):
        async with way(endpoint.url) as call:
            assert fullmatch(
                rf"[^(]* {endpoint.url} [^(]*\(.*{reason}.*\).* AWS_CA_BUNDLE .*\.",
                await refused(call, endpoint),
            )


async def test_a_missing_bundle_is_reported(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", "/nowhere")
    with pytest.raises(StoreRefusedError, match="No such file"):
        async with a_table(machines.good.url):
            pass
