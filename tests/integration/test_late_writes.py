"""A delayed first attempt at a write changes nothing after its retry and the opposite write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import pytest
from graphql import build_schema as parsed
from strawberry.relay.utils import to_base64

from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb.table import Table
from dal.model import Organization, OrganizationUser, Roster, TicketStatus, UserType
from dal.stores import Stores
from dal.table.items import Item
from resolvers.context import Context, Viewer
from schema.build import build_schema
from tests.fakes import anybody
from tests.feature_lists import added, merged
from tests.items import all_items
from tests.organizations import ticket
from tests.proxy import LateNetwork, refuse, through_proxy
from tests.putting import put_comments, put_orders, put_tickets
from tests.strategies import comment, order

BOB = Viewer("bob", frozenset({"merchant", "moderator", "staff"}))
ONE = comment("one", product_id="p", username="ann")
OWN = comment("own", product_id="p", username="bob")
ACME = Roster(
    Organization("Acme", "Pro"),
    [
        OrganizationUser("Acme", "bob", UserType.ADMIN),
        OrganizationUser("Acme", "eve", UserType.MEMBER),
    ],
)
LINE = 'lines: [{ productId: "p", quantity: 1, unitPrice: { amount: "1.00", currencyCode: EUR } }]'

THE_ONE = f'id: "{to_base64("Comment", "one")}"'
EVE = 'organizationName: "Acme", username: "eve"'
ADD = 'productId: "q", rating: 5, language: "en", text: "Good"'


@dataclass(frozen=True)
class Write:
    """A mutation with its input, the mutations before it, and the mutations that undo it.

    ``$id`` stands for the id that the previous mutation returned. ``context`` has arguments of the
    mutations' ``Context``.
    """

    name: str
    given: str
    undone: Sequence[tuple[str, str]] = ()
    before: Sequence[tuple[str, str]] = ()
    context: Mapping[str, Any] = field(default_factory=dict)

    def depends_on(self, mode: MaintenanceMode) -> bool:
        """Return whether the write is tested in a mode: only comments have counters."""
        return mode is MaintenanceMode.TRANSACTIONAL or self.name.endswith("Comment")


def pair(one: tuple[str, str], other: tuple[str, str]) -> list[Write]:
    """Return the rows of two opposite mutations."""
    return [
        Write(*one, undone=[other]),
        Write(*other, undone=[one], before=[one]),
        Write(*one, undone=[other], before=[one, other]),
    ]


def typed(kind: str) -> tuple[str, str]:
    return ("setOrganizationUserType", f"{EVE}, type: {kind}")


def profile(name: str) -> tuple[str, str]:
    return ("updateProfile", f'fullName: "{name}"')


def plan(name: str) -> tuple[str, str]:
    return ("setSubscriptionPlan", f'organizationName: "Acme", subscriptionPlan: "{name}"')


def titled(title: str) -> tuple[str, str]:
    return ("updateProduct", f'productId: "p", title: "{title}"')


def edited(text: str) -> tuple[str, str]:
    return ("updateComment", f'id: "{to_base64("Comment", "own")}", text: "{text}"')


ROWS = [
    *pair(("replyToComment", f'{THE_ONE}, text: "Thanks"'), ("removeReply", THE_ONE)),
    *pair(("removeOrganizationUser", EVE), ("addOrganizationUser", EVE)),
    Write(*typed("ADMIN"), undone=[typed("MEMBER")]),
    Write(*plan("Free"), undone=[plan("Pro")]),
    Write(*profile("Bob"), undone=[profile("Rob")], before=[profile("Rob")]),
    Write(*titled("Kettle"), undone=[titled("Pot")], before=[titled("Pot")]),
    Write(*edited("Bad"), undone=[edited("Good")], before=[edited("Good")]),
    Write("addComment", ADD, undone=[("deleteComment", 'id: "$id"')]),
    Write("addComment", f'{ADD}, idempotencyKey: "k"', undone=[("deleteComment", 'id: "$id"')]),
    Write("deleteComment", f'id: "{to_base64("Comment", "own")}"'),
    Write("createOrganization", 'name: "New", subscriptionPlan: "Pro"'),
    Write("createTicket", 'organizationName: "Acme", subject: "Help", text: "Please"'),
    Write("closeTicket", f'id: "{to_base64("Ticket", "t1")}"'),
    Write(
        "placeOrder",
        f'username: "ann", {LINE}',
        undone=[("setOrderStatus", 'id: "$id", status: CANCELLED')],
    ),
    Write("setOrderStatus", f'id: "{to_base64("Order", "o1")}", status: SHIPPED'),
    *chain.from_iterable(pair(*one) for one in chain.from_iterable(added("OPPOSITES"))),
    *(Write(**one) for one in chain.from_iterable(added("LATE_WRITES"))),
]
_RETURNS = {
    "addComment": "comment { id }",
    "placeOrder": "order { id }",
}
RETURNS = merged(_RETURNS, "RETURNS")
"""The fields of the payloads that contain the id of a new object."""

SCHEMA = build_schema()
CREATE = {"addComment", "addOrganizationUser", "placeOrder"}
"""Mutations that create an object. If no attempt got a response, the client that sends such a
mutation again may create two objects, or create an object that it has removed."""
NO_WRITES = {*chain.from_iterable(added("NO_WRITES"))}
"""Mutations that write nothing to the table."""


def test_every_mutation_has_a_row() -> None:
    mutation = parsed(SCHEMA.as_str()).mutation_type
    assert mutation is not None
    undone = {name for row in ROWS for name, _ in row.undone}
    assert {row.name for row in ROWS} | NO_WRITES == set(mutation.fields)
    assert undone <= set(mutation.fields)


class Shop:
    """Executes mutations on a table."""

    def __init__(self, table: Table, context: Mapping[str, Any]) -> None:
        self._stores = Stores(table)
        self._context = Context(BOB, self._stores, **context)
        self._id = ""

    async def run(self, name: str, given: str) -> list[str]:
        """Execute a mutation, and return the codes of its errors."""
        returned = RETURNS.get(name, "")
        given = given.replace("$id", self._id)
        text = f"mutation {{ {name}(input: {{ {given} }}) {{ {returned} userErrors {{ code }} }} }}"
        answer = await SCHEMA.execute(text, context_value=replace(self._context, parts={}))
        codes = [(error.extensions or {})["code"] for error in answer.errors or []]
        payload = (answer.data or {}).get(name) or {}
        self._id = next((one["id"] for one in payload.values() if isinstance(one, dict)), self._id)
        return codes + [error["code"] for error in payload.get("userErrors", [])]


async def filled(table: Table, mode: MaintenanceMode) -> None:
    stores = Stores(table)
    for one in (ONE, OWN):
        await stores.comments.add(one)
    await stores.organizations.create(ACME)
    await put_tickets(
        stores.table, [replace(ticket(1, "bob", "Acme"), ticket_id="t1", status=TicketStatus.OPEN)]
    )
    await put_orders(stores.table, [order("o1", username="ann")])
    store = MaintenanceStore(table)
    await store.announce(await store.read(), mode=mode, complete=False)


async def stored(table: Table) -> dict[tuple[str, str], Item]:
    return {(item["PK"]["S"], item["SK"]["S"]): item for item in await all_items(table)}


CASES = [(row, mode) for row in ROWS for mode in MaintenanceMode if row.depends_on(mode)]


@pytest.mark.parametrize(("row", "mode"), CASES, ids=lambda one: getattr(one, "name", str(one)))
async def test_a_delayed_first_attempt_changes_nothing(
    table: Table, row: Write, mode: MaintenanceMode
) -> None:
    await filled(table, mode)
    network = LateNetwork()
    async with through_proxy(table) as (beyond, proxy):
        shop = Shop(beyond, row.context)
        for one in row.before:
            assert await shop.run(*one) == []
        proxy.choose = network.choose
        assert await shop.run(row.name, row.given) == []
        proxy.pass_all()
        for one in row.undone:
            assert await shop.run(*one) == []
        before = await stored(table)
        assert await network.deliver() > 0
        assert await stored(table) == before


REPEATABLE = [row for row in ROWS if row.undone and row.name not in CREATE]


@pytest.mark.parametrize("row", REPEATABLE, ids=lambda row: row.name)
async def test_a_write_without_a_response_changes_nothing_later(table: Table, row: Write) -> None:
    """The client sends the mutation again, and then undoes it."""
    await filled(table, MaintenanceMode.TRANSACTIONAL)
    network = LateNetwork()
    network.retried = refuse(400, "AccessDeniedException")
    async with through_proxy(table) as (beyond, proxy):
        shop = Shop(beyond, row.context)
        for one in row.before:
            assert await shop.run(*one) == []
        proxy.choose = network.choose
        assert await shop.run(row.name, row.given) == ["UNAVAILABLE"]
        proxy.pass_all()
        for one in ((row.name, row.given), *row.undone):
            assert await shop.run(*one) == []
        before = await stored(table)
        assert await network.deliver() > 0
        assert await stored(table) == before


@pytest.mark.parametrize("mode", MaintenanceMode)
async def test_a_delayed_load_does_not_restore_a_deleted_comment(
    table: Table, mode: MaintenanceMode
) -> None:
    await filled(table, mode)
    network = LateNetwork()
    async with through_proxy(table) as (beyond, proxy):
        comments = Stores(beyond).comments
        await comments.delete("own", anybody)
        proxy.choose = network.choose
        await put_comments(comments, [OWN])
        proxy.pass_all()
        await comments.delete("own", anybody)
        before = await stored(table)
        assert await network.deliver() > 0
        assert await stored(table) == before
