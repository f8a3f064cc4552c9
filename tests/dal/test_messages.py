"""The sentences of ``dal`` that no folder below has: errors of writes and of DynamoDB."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from dal import sorted_lists
from dal.counts.mode import Maintenance, MaintenanceStore
from dal.dynamodb import gate
from dal.dynamodb.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    ConflictError,
    StoreUnavailableError,
)
from dal.dynamodb.gate import Gate
from dal.dynamodb.responses import dal_error, unreachable, unusable
from dal.dynamodb.table import Table
from dal.entities import INDEXES, idempotency
from dal.entities.order import ORDER
from dal.errors import AlreadyCommentedError, IdempotencyKeyReusedError, NotFoundError
from dal.model import OrderStatus, Organization, OrganizationUser, Roster, Ticket
from dal.repositories import organizations
from dal.stores import Stores
from dal.table.definition import refuse_outdated, table_definition
from dal.table.errors import StoreRefusedError
from dal.table.items import Item
from tests.dal.entities.test_idempotency import keyed
from tests.strategies import ORDINARY, comment, order

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
]


@pytest.mark.parametrize(("said", "sentence"), SENTENCES)
def test_an_error_has_a_sentence(said: str, sentence: str) -> None:
    assert said == sentence


def outdated() -> None:
    definition = table_definition("t", INDEXES)
    del definition["LocalSecondaryIndexes"][:1]
    refuse_outdated(definition, INDEXES)


REFUSALS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: MaintenanceStore(Refusing()).check_alone(
            Maintenance(rebuilding=True), Maintenance(upgrading=True)
        ),
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


class Refusing(Table):
    """A table with at most one item, in which the conditions of all writes fail."""

    def __init__(self, failed: int = 0, item: Item | None = None) -> None:
        super().__init__(cast("Any", None), "t")
        self._failed, self._item = failed, item

    async def get(self, *_: object, **__: object) -> Item | None:
        return self._item

    async def write(self, *_: object, **__: object) -> None:
        raise ConditionFailedError([self._failed])


def stores(failed: int = 0, item: Item | None = None) -> Stores:
    return Stores(Refusing(failed, item))


USER = OrganizationUser("acme", "ann")
TICKET = Ticket(
    ticket_id="7",
    organization="acme",
    username="ann",
    subject="Broken",
    text="It leaks.",
    created_at=NOON,
)


async def silent(*_: object, **__: object) -> Any:
    await asyncio.Event().wait()


WRITES: list[tuple[Callable[[], Awaitable[object]], type[Exception], str]] = [
    (
        lambda: stores().organizations.create(Roster(Organization("acme", "basic"))),
        AlreadyExistsError,
        "An organisation 'acme' exists already: choose another name.",
    ),
    (
        lambda: stores().organizations.add_user(USER, by="ann"),
        AlreadyExistsError,
        "'ann' is a user of this organisation already.",
    ),
    (
        lambda: stores().organizations.change_user("acme", "bob", None, by=None),
        NotFoundError,
        "The organisation has no such user.",
    ),
    (
        lambda: stores(1).tickets.create(TICKET),
        IdempotencyKeyReusedError,
        "This idempotency key was used for another ticket: choose a new key for a new ticket.",
    ),
    (
        lambda: stores().orders.place(order("7")),
        IdempotencyKeyReusedError,
        "This idempotency key was used for another order: choose a new key for a new order.",
    ),
    (
        lambda: stores(item=ORDER.encode(order("7"))).orders.set_status(
            "7", OrderStatus.SHIPPED, owner="ana"
        ),
        ConflictError,
        "Another request has changed this order: reload it and try again.",
    ),
    (
        lambda: MaintenanceStore(Refusing(item={"shards": {"N": "4"}})).read(),
        StoreRefusedError,
        (
            "This table spreads its comments or counters over shards, which this version cannot "
            "read: export its rows with the version that wrote them, and load them into a new "
            "table."
        ),
    ),
    (
        lambda: Gate(silent).call("query"),
        StoreUnavailableError,
        "DynamoDB did not answer within 0 seconds: try again in a moment.",
    ),
]


@pytest.mark.parametrize(("write", "kind", "sentence"), WRITES)
async def test_a_failed_request_has_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[], Awaitable[object]],
    kind: type[Exception],
    sentence: str,
) -> None:
    monkeypatch.setattr(gate, "ATTEMPT_SECONDS", 0)
    with pytest.raises(kind) as caught:
        await write()
    assert str(caught.value) == sentence
