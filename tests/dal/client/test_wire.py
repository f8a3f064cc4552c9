"""The wire against its reference: what the AWS SDK answers to the same requests."""

from collections.abc import AsyncIterator

import pytest

from dal import errors
from dal.client.table import Table
from tests import proxy
from tests.conftest import Clients
from tests.dal.client.ways import ROWS, outcome, requests, ways
from tests.proxy import Fault, Proxy, always, through_proxy


@pytest.fixture
async def filled(each_table: Table) -> Table:
    await each_table.put_many(ROWS)
    return each_table


async def test_answers_and_refusals_are_the_same(filled: Table) -> None:
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
async def test_faults_are_told_the_same(spoken: tuple[Table, Proxy], fault: Fault) -> None:
    table, between = spoken
    between.choose = always(fault)
    wire, sdk = ways(table)
    for operation, arguments in requests(table.name).values():
        told = await outcome(wire, operation, arguments)
        assert told == await outcome(sdk, operation, arguments)
        assert issubclass(told[0], errors.DalError)
