"""``connect`` with different endpoints, settings and environments."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from dal.dynamodb import retries
from dal.dynamodb.errors import CredentialsExpiredError, StoreUnavailableError
from dal.dynamodb.sdk import open_sdk
from dal.dynamodb.table import Table, TableAddress, connect
from dal.table.errors import StoreRefusedError
from server.local_engine.engine_process import free_port

KEY = {"PK": {"S": "a"}, "SK": {"S": "a"}}


@pytest.fixture
def brief_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "DEADLINE", 1.5)


@pytest.fixture
async def silent_url() -> AsyncIterator[str]:
    """An endpoint that accepts connections and never answers."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.usefixtures("brief_deadline")
async def test_an_unreachable_engine_fails_by_the_deadline() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    async with connect(TableAddress("gone", url, embedded=True)) as table:
        with pytest.raises(StoreUnavailableError, match=url):
            await table.get(KEY)


@pytest.mark.usefixtures("brief_deadline")
async def test_a_silent_engine_fails_by_the_deadline(silent_url: str) -> None:
    async with connect(TableAddress("silent", silent_url, embedded=True)) as table:
        with pytest.raises(StoreUnavailableError):
            await table.get(KEY)


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")


@pytest.mark.usefixtures("no_settings")
@pytest.mark.parametrize("endpoint_url", [None, "http://127.0.0.1:9"])
async def test_a_missing_region_is_reported_with_the_variable_to_set(
    endpoint_url: str | None,
) -> None:
    with pytest.raises(StoreRefusedError, match=r"No AWS region .* AWS_DEFAULT_REGION"):
        async with connect(TableAddress(endpoint_url=endpoint_url)):
            pass


@pytest.mark.usefixtures("no_settings")
async def test_missing_credentials_are_reported(
    dynoxide_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    async with connect(TableAddress(endpoint_url=dynoxide_url)) as table:
        with pytest.raises(StoreRefusedError, match="credentials"):
            await table.get(KEY)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, no_settings: None) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.mark.usefixtures("keys")
async def test_credentials_that_have_expired_in_the_environment_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2020-01-01T00:00:00Z")
    async with open_sdk("dynamodb", None, embedded=False) as sdk:
        with pytest.raises(CredentialsExpiredError):
            await sdk.credentials()


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("endpoint_url", [None, "http://127.0.0.1:9"])
@pytest.mark.parametrize("name", ["fips-us-east-1", "us-east-1-fips"])
async def test_requests_to_a_fips_endpoint_are_signed_for_its_region(
    monkeypatch: pytest.MonkeyPatch, endpoint_url: str | None, name: str
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", name)
    async with open_sdk("dynamodb", endpoint_url, embedded=False) as sdk:
        assert sdk.region == "us-east-1"


WRONG = {
    "AWS_DEFAULT_REGION": ("eu_west_1", "eu_west_1"),
    "AWS_PROFILE": ("nobody", "nobody"),
    "AWS_SECRET_ACCESS_KEY": ("", "AWS_SECRET_ACCESS_KEY"),
    "AWS_CONFIG_FILE": (__file__, "test_connect"),
}


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("endpoint_url", [None, "http://127.0.0.1:9"])
@pytest.mark.parametrize(("name", "value", "reason"), [(n, *w) for n, w in WRONG.items()])
async def test_wrong_settings_are_refused_before_the_first_operation(
    monkeypatch: pytest.MonkeyPatch, endpoint_url: str | None, name: str, value: str, reason: str
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", "/nowhere")
    monkeypatch.setenv(name, value)
    with pytest.raises(StoreRefusedError, match=reason):
        async with connect(TableAddress(endpoint_url=endpoint_url)):
            pass


@pytest.mark.parametrize("url", ["nonsense", "127.0.0.1:8000", "http://", "http://a b/c"])
async def test_an_invalid_endpoint_is_refused_before_the_first_operation(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with pytest.raises(StoreRefusedError):
        async with connect(TableAddress("any", url)):
            pass


@pytest.mark.parametrize("url", ["nonsense", "127.0.0.1:8000", "http://"])
async def test_an_invalid_endpoint_is_refused(url: str) -> None:
    with pytest.raises(StoreRefusedError):
        async with connect(TableAddress("any", url, embedded=True)) as table:
            await table.get(KEY)


SURROUNDINGS = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "AWS_PROFILE": "nobody",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    "AWS_SESSION_TOKEN": "stale",
    "AWS_CONFIG_FILE": __file__,  # not a configuration file
    "AWS_SHARED_CREDENTIALS_FILE": __file__,
}


@pytest.mark.parametrize(("name", "value"), SURROUNDINGS.items(), ids=SURROUNDINGS)
async def test_no_setting_of_the_machine_reaches_the_embedded_engine(
    table: Table, dynoxide_url: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    async with connect(TableAddress(table.name, dynoxide_url, embedded=True)) as opened:
        assert await opened.get(KEY) is None


async def test_an_error_of_the_caller_is_not_reported_as_a_bad_endpoint(dynoxide_url: str) -> None:
    with pytest.raises(ValueError, match="the caller's own endpoint"):
        async with connect(TableAddress("any", dynoxide_url, embedded=True)):
            raise ValueError("the caller's own endpoint")
