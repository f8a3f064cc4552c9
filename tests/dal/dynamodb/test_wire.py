"""The wire against its reference: the AWS SDK's responses, settings and signatures."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from unittest.mock import patch

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb.connection_pool import HttpResponse
from dal.dynamodb.errors import StoreUnavailableError
from dal.dynamodb.sdk import AwsSdk
from dal.dynamodb.table import Table, TableAddress, connect
from dal.dynamodb.wire import Credentials, Signer, Wire
from dal.table.errors import DalError
from tests import proxy
from tests.conftest import Clients
from tests.dal.dynamodb.ways import ROWS, outcome, requests, ways
from tests.proxy import Fault, Proxy, always, through_proxy


@pytest.fixture
async def filled(each_table: Table) -> Table:
    await each_table.put_many(ROWS)
    return each_table


async def test_the_wire_and_the_sdk_return_the_same_responses_and_errors(filled: Table) -> None:
    wire, sdk = ways(filled)
    for kind, (operation, arguments) in requests(filled.name).items():
        one, other = [await outcome(way, operation, arguments) for way in (wire, sdk)]
        if operation == "batch_get_item":
            for answer in (one, other):
                answer["Responses"][filled.name].sort(key=lambda row: row["PK"]["S"])
        assert one == other, kind


_REASONS = [{"Code": "None"}, {"Code": "TransactionConflict", "Message": "It is."}]

FAULTS: dict[str, Fault] = {
    "throttled": proxy.refuse(400, "ProvisionedThroughputExceededException"),
    "throttled by the account": proxy.refuse(400, "RequestLimitExceeded"),
    "a wrong key": proxy.refuse(400, "UnrecognizedClientException"),
    "a wrong signature": proxy.refuse(403, "InvalidSignatureException"),
    "a clock that is off": proxy.refuse(
        400, "InvalidSignatureException", message="Signature expired: 20261122T000000Z is now ..."
    ),
    "expired credentials": proxy.refuse(400, "ExpiredTokenException"),
    "no permission": proxy.refuse(400, "AccessDeniedException"),
    "a conflict": proxy.refuse(400, "TransactionCanceledException", CancellationReasons=_REASONS),
    "a failure": proxy.refuse(500, "InternalServerError"),
    "no place": proxy.refuse(503, "ServiceUnavailable"),
    "a failure in HTML": proxy.answer(
        503, b"<html><body>Service Unavailable</body></html>", "text/html"
    ),
    "a failure in no words": proxy.answer(502, b""),
    "a refusal in HTML": proxy.answer(403, b"<html>Sign in to the network</html>", "text/html"),
    "a refusal in no words": proxy.answer(413, b""),
    "an error of another": proxy.refuse(400, "QuotaOfTheProxyException"),
    "an error that is cut off": proxy.answer(400, proxy.error_body("ValidationException")[:-9]),
    "an error of another kind": proxy.answer(
        400, proxy.error_body("ValidationException"), "text/html"
    ),
    "an error that has changed": proxy.answer(
        400, proxy.error_body("ValidationException"), **{"x-amz-crc32": "1"}
    ),
    "an error in a list": proxy.answer(400, b"[]"),
    "cancelled for no reason": proxy.refuse(400, "TransactionCanceledException"),
    "a damaged file": proxy.refuse(500, "InternalServerError", message="file is not a database"),
    "an answer of another": proxy.spoilt(b'{"hello": "world"}'),
    "HTML": proxy.spoilt(b"<html>Sign in to the network</html>"),
    "half": proxy.half,
    "a reset": proxy.reset_after,
}


@pytest.fixture(scope="module")
async def spoken(clients: Clients, dynoxide_url: str) -> AsyncIterator[tuple[Table, Proxy]]:
    table = Table(await clients.of(dynoxide_url), "spoken")
    async with through_proxy(table) as both:
        yield both


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_the_wire_and_the_sdk_raise_the_same_errors_for_the_same_faults(
    spoken: tuple[Table, Proxy], fault: Fault
) -> None:
    table, between = spoken
    between.choose = always(fault)
    wire, sdk = ways(table)
    for operation, arguments in requests(table.name).values():
        response = await outcome(wire, operation, arguments)
        assert response == await outcome(sdk, operation, arguments)
        assert issubclass(response[0], DalError)


async def test_the_sdk_sends_everything_without_credentials_behind_a_proxy_or_below_a_path(
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


async def test_the_wire_uses_the_endpoint_and_the_region_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    async with connect(TableAddress()) as table:
        wire, sdk = ways(table)
        assert (wire._host, sdk.region) == ("dynamodb.eu-west-1.amazonaws.com", "eu-west-1")
        assert wire._pool._port == 443
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
    async with connect(TableAddress()) as table:
        assert ways(table)[0]._host == "127.0.0.1:9"


async def test_the_wire_sends_a_session_token_and_uses_refreshed_credentials(
    dynoxide_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "first")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    async with connect(TableAddress(endpoint_url=dynoxide_url)) as table:
        wire, sdk = ways(table)
        heads: list[str] = []

        async def send(request: bytes) -> HttpResponse:
            heads.append(request.decode())
            raise ConnectionError

        monkeypatch.setattr(wire._pool, "send", send)
        with pytest.raises(StoreUnavailableError):
            await wire.call("query", {})
        (sent,) = heads
        assert "\r\nx-amz-security-token: token\r\n" in sent
        assert "Credential=first/" in sent
        assert "x-amz-date;x-amz-security-token;x-amz-target" in sent
        assert isinstance(sdk, AwsSdk)
        sdk._credentials.access_key = "second"  # as a refresh does
        with pytest.raises(StoreUnavailableError):
            await wire.call("query", {})
        assert "Credential=second/" in heads[1]


KEYS = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=16, max_size=32)
SECRETS = st.text("abcdefghijklmnopqrstuvwxyz+/ABCDEFGHIJ0123456789", min_size=20, max_size=60)


@given(
    st.builds(Credentials, KEYS, SECRETS, st.none() | SECRETS),
    st.sampled_from(["eu-west-1", "us-east-1", "local"]),
    st.datetimes(datetime(2015, 1, 1), datetime(2099, 1, 1)),  # noqa: DTZ001 - naive, as it asks
    st.sampled_from(["dynamodb.eu-west-1.amazonaws.com", "127.0.0.1:8000"]),
    st.binary(max_size=300),
)
def test_signatures_equal_those_of_botocore(
    credentials: Credentials, region: str, moment: datetime, host: str, body: bytes
) -> None:
    headers = [
        ("content-type", "application/x-amz-json-1.0"),
        ("host", host),
        ("x-amz-date", f"{moment:%Y%m%dT%H%M%SZ}"),
        *([("x-amz-security-token", credentials.token)] if credentials.token else []),
        ("x-amz-target", "DynamoDB_20120810.Query"),
    ]
    ours = Signer(credentials, region, headers).authorization(body)
    theirs = AWSRequest(
        "POST",
        f"https://{host}/",
        headers={
            name: value for name, value in headers if name in {"content-type", "x-amz-target"}
        },
        data=body,
    )
    with patch("botocore.auth.get_current_datetime", lambda: moment.replace(tzinfo=UTC)):
        SigV4Auth(BotocoreCredentials(*credentials), "dynamodb", region).add_auth(theirs)
    assert ours == theirs.headers["Authorization"]
