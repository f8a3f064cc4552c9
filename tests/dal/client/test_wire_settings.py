"""Where and how the wire connects: as the settings of the AWS SDK say."""

import pytest

from dal.client.sdk import AwsSdk
from dal.client.table import TableAddress, connect
from dal.client.wire import Wire
from tests.dal.client.ways import ways


async def test_a_machine_without_credentials_or_with_a_proxy_speaks_through_the_sdk(
    dynoxide_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    address = TableAddress(endpoint_url=dynoxide_url)
    async with connect(address) as table:
        assert isinstance(table.service, AwsSdk)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    async with connect(address) as table:
        assert isinstance(table.service, Wire)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with connect(address) as table:
        assert isinstance(table.service, AwsSdk)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with connect(address) as table:
        assert isinstance(table.service, Wire)
    async with connect(TableAddress(endpoint_url=f"{dynoxide_url}/under/a/path")) as table:
        assert isinstance(table.service, AwsSdk)


async def test_the_address_and_the_region_are_those_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    async with connect(TableAddress()) as table:
        wire, sdk = ways(table)
        assert (wire._host, sdk.region) == ("dynamodb.eu-west-1.amazonaws.com", "eu-west-1")
        assert wire._pool._origin.port == 443
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
