"""The sentences of ``dal`` that no folder below has: errors of writes, of DynamoDB, of "
"analytics."""

import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from dal import sorted_lists
from dal.analytics.clickhouse_store import REPLACED
from dal.analytics.duckdb_store import _converting_errors
from dal.analytics.errors import NOT_FILLED, AnalyticsFailedError
from dal.analytics.questions import Interval, Span
from dal.counts.mode import Maintenance, check_alone
from dal.dynamodb.responses import dal_error, unreachable, unusable
from dal.entities import INDEXES, idempotency
from dal.errors import AlreadyCommentedError, IdempotencyKeyReusedError
from dal.repositories import moderation, organizations
from dal.stream.lambda_handler import handler
from dal.table.definition import refuse_outdated, table_definition
from dal.table.errors import InvalidArgumentError, StoreRefusedError
from tests.dal.entities.test_idempotency import keyed
from tests.strategies import ORDINARY, comment

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError()
    error.verify_message = "self-signed certificate"
    return error


def refused_by(code: str) -> str:
    return str(dal_error({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": 400}}))


SENTENCES = [
    (
        refused_by("ThrottlingException"),
        "DynamoDB is busy: try again in a moment.",
    ),
    (
        refused_by("ResourceNotFoundException"),
        "The table does not exist: run `marginalia table create`.",
    ),
    (str(unusable(ValueError("no keys"))), "The AWS settings do not work: no keys"),
    (
        str(unreachable("http://a.example")),
        "DynamoDB does not answer at http://a.example: check that it runs and can be reached.",
    ),
    (
        str(unreachable("https://a.example", untrusted())),
        (
            "The certificate of https://a.example is not trusted (self-signed certificate): check "
            "the endpoint and the proxy, or set AWS_CA_BUNDLE to the file of your own certificate "
            "authority."
        ),
    ),
    (
        str(AlreadyCommentedError(None)),
        "You have another comment on this product: edit or delete it.",
    ),
    (
        moderation._EDITED,
        "The comment was edited since you read it: read it again, then decide.",
    ),
    (
        organizations._NO_ADMIN,
        "You are not an admin of this organisation any more: reload it.",
    ),
    (
        sorted_lists._TOO_MANY,
        (
            "To sort these comments by helpful votes, the server would have to read more than "
            "2,000 comments: choose other filters or dates, or another order."
        ),
    ),
    (
        NOT_FILLED,
        "Analytics has no data yet: run `marginalia analytics refresh`.",
    ),
    (
        REPLACED,
        "Another refresh has replaced this one: run `marginalia analytics refresh` again.",
    ),
]


@pytest.mark.parametrize(("said", "sentence"), SENTENCES)
def test_an_error_has_a_sentence(said: str, sentence: str) -> None:
    assert said == sentence


def fail(error: Exception) -> Callable[[object], object]:
    def work(_: object) -> object:
        raise error

    return work


def outdated() -> None:
    definition = table_definition("t", INDEXES)
    del definition["LocalSecondaryIndexes"][:1]
    refuse_outdated(definition, INDEXES)


REFUSALS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: _converting_errors(fail(OSError("No space left on device")), cast("Any", None)),
        AnalyticsFailedError,
        (
            "The disk of the analytics files is full (No space left on device): free some space "
            "and try again. The previous data is still in use."
        ),
    ),
    (
        lambda: _converting_errors(fail(OSError("gone")), cast("Any", None)),
        AnalyticsFailedError,
        (
            "The analytics files cannot be read or written (gone): run `marginalia analytics "
            "refresh` to create them again."
        ),
    ),
    (
        lambda: Span.of(Interval.DAY, NOON, NOON),
        InvalidArgumentError,
        "`from` must be earlier than `to`.",
    ),
    (
        lambda: check_alone(Maintenance(rebuilding=True), Maintenance(upgrading=True)),
        StoreRefusedError,
        (
            "An upgrade of the table and a rebuild of the statistics cannot run at the same time, "
            "and a rebuild of the statistics has not ended: wait for its end, or complete it with "
            "`marginalia stats rebuild`. Then run this command again."
        ),
    ),
    (
        lambda: idempotency.check_same(idempotency.tombstone(keyed(ORDINARY)), comment(rating=4)),
        IdempotencyKeyReusedError,
        "This idempotency key was used for another comment: choose a new key for a new comment.",
    ),
    (
        lambda: handler({}, None),
        StoreRefusedError,
        (
            "The event has no records of a table's stream: invoke the function through an event "
            "source mapping."
        ),
    ),
    (
        outdated,
        StoreRefusedError,
        (
            "The table t lacks the index byDate, which this version reads: run `marginalia table "
            "upgrade`."
        ),
    ),
]


@pytest.mark.parametrize(("refusal", "kind", "sentence"), REFUSALS)
def test_a_refusal_has_a_sentence(
    refusal: Callable[[], object], kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind) as caught:
        refusal()
    assert str(caught.value) == sentence
