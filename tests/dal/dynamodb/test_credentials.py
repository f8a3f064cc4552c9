"""Temporary credentials are used until they expire, even while their endpoint is down."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dal.dynamodb import botocore_door
from dal.dynamodb.botocore_door import LastingCredentials
from dal.dynamodb.errors import CredentialsExpiredError
from dal.dynamodb.sdk import AwsSdk
from dal.dynamodb.table import Table, TableAddress, connect
from dal.table.errors import StoreRefusedError
from tests.aws_endpoint import AwsEndpoint, Fault, aws_endpoint, hang, refuse
from tests.dal.dynamodb.ways import ways

GET = ("get_item", {"TableName": "any", "Key": {}, "ReturnConsumedCapacity": "TOTAL"})


@pytest.fixture
async def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AwsEndpoint]:
    """Run DynamoDB and STS, with AWS settings on this machine that use them."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    token = tmp_path / "token"
    token.write_text("token")
    async with aws_endpoint() as opened:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", opened.url)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::111122223333:role/r")
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
        yield opened


@pytest.fixture
async def table(endpoint: AwsEndpoint) -> AsyncIterator[Table]:
    async with connect(TableAddress("any", endpoint.url)) as opened:
        yield opened


async def keys_by_both_ways(table: Table, endpoint: AwsEndpoint) -> list[str]:
    """Return the access keys that sign a call of the wire and a call of the SDK."""
    endpoint.signed.clear()
    for way in ways(table):
        async with asyncio.timeout(30):
            await way.call(*GET)
    asked = [one for one in endpoint.signed if one]
    return [one.partition("Credential=")[2].partition("/")[0] for one in asked]


def lasting(table: Table) -> LastingCredentials:
    _, way = ways(table)
    assert isinstance(way, AwsSdk)
    assert isinstance(way._credentials, LastingCredentials)
    return way._credentials


async def refreshed(table: Table) -> None:
    """Wait until the refresh in progress ends."""
    task = lasting(table)._refreshing
    assert task is not None
    await asyncio.wait([task], timeout=60)


@pytest.mark.parametrize("fault", [refuse, hang])
async def test_valid_credentials_are_used_while_their_endpoint_is_down(
    table: Table, endpoint: AwsEndpoint, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(botocore_door, "REFRESH_EVERY", 0)
    endpoint.seconds = 300
    await ways(table)[0].call(*GET)
    endpoint.fault = fault
    for _ in range(3):
        assert await keys_by_both_ways(table, endpoint) == ["key-1", "key-1"]


async def test_a_failed_refresh_is_one_line_in_the_log(
    table: Table, endpoint: AwsEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.seconds = 300
    await keys_by_both_ways(table, endpoint)
    endpoint.fault = refuse
    lasting(table)._next_refresh = 0
    for _ in range(3):
        await keys_by_both_ways(table, endpoint)
    await refreshed(table)
    (line,) = caplog.records
    assert (line.levelno, line.exc_info) == (logging.WARNING, None)
    assert "(An error occurred (500) when calling the AssumeRoleWithWebIdentity" in line.message


async def test_a_refresh_is_retried_and_its_credentials_are_used(
    table: Table, endpoint: AwsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(botocore_door, "REFRESH_EVERY", 0)
    endpoint.seconds = 300
    await ways(table)[0].call(*GET)
    endpoint.fault = refuse
    await keys_by_both_ways(table, endpoint)
    await refreshed(table)
    endpoint.fault, endpoint.seconds = None, 3600
    await keys_by_both_ways(table, endpoint)
    await refreshed(table)
    assert await keys_by_both_ways(table, endpoint) == ["key-2", "key-2"]


async def test_expired_credentials_fail_until_there_are_new_ones(
    table: Table, endpoint: AwsEndpoint
) -> None:
    endpoint.seconds = -1
    for way in ways(table):
        with pytest.raises(StoreRefusedError, match="refreshed credentials are still exp"):
            await way.call(*GET)
    endpoint.fault = refuse
    for way in ways(table):
        with pytest.raises(CredentialsExpiredError, match="AssumeRole"):
            await way.call(*GET)
    endpoint.fault, endpoint.seconds = None, 3600
    assert await keys_by_both_ways(table, endpoint) == ["key-3", "key-3"]


async def test_the_wire_and_the_sdk_report_a_first_refusal_of_credentials(
    table: Table, endpoint: AwsEndpoint
) -> None:
    endpoint.fault = refuse
    for way in ways(table):
        with pytest.raises(StoreRefusedError, match="AssumeRole"):
            await way.call(*GET)


async def test_requests_without_valid_credentials_wait_for_one_refresh(
    table: Table, endpoint: AwsEndpoint
) -> None:
    wire, way = ways(table)
    leaving = asyncio.create_task(wire.call(*GET))
    await asyncio.sleep(0)
    refresh = lasting(table)._refreshing
    leaving.cancel()
    await asyncio.wait([leaving])
    await asyncio.gather(*(one.call(*GET) for one in [wire, way] * 5))
    assert lasting(table)._refreshing is refresh, "a request that leaves does not end it"
    assert endpoint.keys == 1


async def test_a_containers_credentials_come_over_plain_http(
    endpoint: AwsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_WEB_IDENTITY_TOKEN_FILE")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{endpoint.url}/keys")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    async with connect(TableAddress("any", endpoint.url)) as table:
        assert await keys_by_both_ways(table, endpoint) == ["key-1", "key-1"]


async def test_an_empty_session_token_is_not_sent(
    endpoint: AwsEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_WEB_IDENTITY_TOKEN_FILE")
    profile = tmp_path / "credentials"
    profile.write_text(
        "[default]\naws_access_key_id = key\naws_secret_access_key = secret\naws_session_token =\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(profile))
    async with connect(TableAddress("any", endpoint.url)) as table:
        assert await keys_by_both_ways(table, endpoint) == ["key", "key"]
    assert not any("x-amz-security-token" in one for one in endpoint.signed)
