"""The list of delivered orders whose customers wait for a link, and the links that staff make."""

import asyncio
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from strawberry import Schema

from dal.dynamodb.table import Table
from dal.errors import NotFoundError
from dal.model import Money, Order, OrderLine, OrderStatus
from dal.model.own_ids import global_id
from dal.query.pagination import Slice
from dal.stores import Stores
from features.invitations.links import MAX_JWT, LinkGrant, LinkSigner
from features.invitations.repository import delivered_of
from resolvers.context import Context
from server.auth.authenticator import Authenticator, sign
from server.auth.claims import ClaimRules
from server.services import GRANTS
from tests.features.invitations.shop import ADD, codes, link
from tests.putting import put_orders
from tests.schema.conftest import ANN, SERVICES, STAFF, Run, runner
from tests.server.applications import SECRET, serving
from tests.server.serving import bearer
from tests.strategies import order
from tools.bench.capacity import Consumed, Meter

DELIVERED = OrderStatus.DELIVERED
DUE = """query ($first: Int, $after: String, $before: DateTime) {
  dueInvitations(first: $first, after: $after, createdBefore: $before) {
    nodes { orderId username products { productId } deliveredAt }
    pageInfo { hasNextPage endCursor } } }"""
CREATE = """mutation ($id: ID!, $days: Int, $incentive: String) {
  createInvitation(input: { orderId: $id, days: $days, incentive: $incentive }) {
    links { url products { productId } expiresAt } dueInvitationId userErrors { code field } } }"""
REVOKE = """mutation ($id: ID!, $username: String) {
  revokeInvitation(input: { orderId: $id, username: $username }) {
    dueInvitationId userErrors { code field } } }"""
DUE_ID = "RHVlSW52aXRhdGlvbjpvMQ=="


def listing(table: Table) -> Stores:
    """Return the repositories of a server with ``--invitations``."""
    return Stores(table, delivered=delivered_of(invitations=True))


def shipped(number: int, *products: str) -> Order:
    lines = tuple(
        OrderLine(one, 1, Money(Decimal(1), "EUR")) for one in products or ("p", "q", "p")
    )
    return order(f"o{number}", username="ann", status=OrderStatus.SHIPPED, lines=lines)


async def deliver(stores: Stores, number: int) -> None:
    await stores.orders.set_status(f"o{number}", DELIVERED, owner="ann")


async def due(stores: Stores) -> list[str]:
    page = await stores.invitations.due(Slice(limit=100))
    return [one.order_id for one in page.nodes]


@pytest.fixture
def stores(table: Table) -> Stores:
    return listing(table)


@pytest.fixture
def run(schema: Schema, stores: Stores) -> Run:
    return runner(schema, stores)


async def opened(url: str) -> Any:
    """Return the link at an address, as a server reads it."""
    site, _, encoded = url.partition("/review?invitation=")
    assert site == "https://shop.example"
    assert len(encoded) <= MAX_JWT
    rules = ClaimRules(grants=GRANTS)
    grant = await Authenticator(secret=lambda: SECRET, rules=rules).bearer(f"Bearer {encoded}")
    assert isinstance(grant, LinkGrant)
    return grant.link


async def test_a_delivered_order_is_listed_until_its_links_are_made(
    stores: Stores, run: Run
) -> None:
    await put_orders(stores.table, [shipped(1), shipped(2)])
    for number in (2, 1):
        await deliver(stores, number)
    answer = (await run(DUE, STAFF))["data"]["dueInvitations"]["nodes"]
    times = [one.pop("deliveredAt") for one in answer]
    assert times == sorted(times)
    products = [{"productId": "p"}, {"productId": "q"}]
    assert answer == [
        {"orderId": one, "username": "ann", "products": products} for one in ("o2", "o1")
    ]
    made = (await run(CREATE, STAFF, id="o1", incentive="5 EUR"))["data"]["createInvitation"]
    (one,) = made["links"]
    assert (made["dueInvitationId"], codes(made), one["products"]) == (DUE_ID, [], products)
    found = await opened(one["url"])
    assert (found.order_id, found.username, found.products) == ("o1", "ann", ("p", "q"))
    assert found.incentive == "5 EUR"
    assert timedelta(days=59) < found.expires_at - datetime.now(UTC) <= timedelta(days=60)
    assert await due(stores) == ["o2"]


async def test_without_the_option_a_delivery_lists_nothing(table: Table) -> None:
    stores = Stores(table)
    await put_orders(table, [shipped(1)])
    await deliver(stores, 1)
    assert await due(stores) == []


DELIVER = """mutation ($id: ID!) { setOrderStatus(input: { id: $id, status: DELIVERED }) {
  order { status } userErrors { code field } } }"""


@pytest.mark.parametrize("listed", [True, False])
async def test_a_server_lists_deliveries_only_with_the_option(table: Table, listed: bool) -> None:
    await put_orders(table, [shipped(1)])
    site = "https://shop.example"
    async with serving(table, site=site, invitations=listed, public_url=site) as client:

        async def ask(query: str, **variables: Any) -> Any:
            sent = {"query": query, "variables": variables}
            answer = await client.post("/graphql", json=sent, headers=bearer("sam", "staff"))
            return answer.json()["data"]

        await ask(DELIVER, id=global_id("Order", "o1"))
        nodes = (await ask(DUE))["dueInvitations"]["nodes"]
        assert [one["orderId"] for one in nodes] == ["o1"] * listed
        (made,) = (await ask(CREATE, id="o1"))["createInvitation"]["links"]
        assert (await opened(made["url"])).products == ("p", "q")
        assert (await ask(DUE))["dueInvitations"]["nodes"] == []


async def test_a_delivery_keeps_an_earlier_invitation(stores: Stores, run: Run) -> None:
    """The shop may invite a customer, or revoke the links, before the delivery."""
    await put_orders(stores.table, [shipped(1), shipped(2), shipped(3)])
    assert codes((await run(CREATE, STAFF, id="o1"))["data"]["createInvitation"]) == []
    assert codes((await run(REVOKE, STAFF, id="o2"))["data"]["revokeInvitation"]) == []
    for number in (1, 2, 3):
        await deliver(stores, number)
        found = await stores.orders.get(f"o{number}")
        assert found is not None
        assert found.status is DELIVERED
    assert await due(stores) == ["o3"]


async def test_a_revocation_ends_links_and_a_new_link_is_valid(
    stores: Stores, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await put_orders(stores.table, [shipped(1)])
    await deliver(stores, 1)
    old = (await run(CREATE, STAFF, id="o1"))["data"]["createInvitation"]["links"][0]["url"]
    assert (await run(REVOKE, STAFF, id="o1"))["data"]["revokeInvitation"] == {
        "dueInvitationId": DUE_ID,
        "userErrors": [],
    }
    new = (await run(CREATE, STAFF, id="o1", days=1))["data"]["createInvitation"]["links"][0]["url"]
    logged = [one.getMessage() for one in caplog.records if one.name == "audit"]
    assert ["sam" in one and "o1" in one for one in logged] == [True] * 3
    assert old.rpartition(".")[2] not in caplog.text
    for url, expected in ((old, [("INVITATION_REVOKED", None)]), (new, [])):
        added = await run(ADD, LinkGrant(await opened(url)), product="p", text="Good.")
        assert codes(added["data"]["addComment"]) == expected


@pytest.mark.parametrize(
    ("document", "given", "expected"),
    [
        (CREATE, {"id": "none"}, ("NOT_FOUND", None)),
        (CREATE, {"id": "o9"}, ("BAD_ARGUMENT", "orderId")),
        (CREATE, {"id": "o1", "days": 0}, ("BAD_ARGUMENT", "days")),
        (CREATE, {"id": "o1", "days": 401}, ("BAD_ARGUMENT", "days")),
        (CREATE, {"id": "o1", "incentive": " "}, ("BAD_ARGUMENT", "incentive")),
        (CREATE, {"id": ""}, ("BAD_ARGUMENT", "orderId")),
        (REVOKE, {"id": "none"}, ("NOT_FOUND", None)),
        (REVOKE, {"id": "none", "username": "ann"}, None),
        (REVOKE, {"id": "none", "username": ""}, ("BAD_ARGUMENT", "username")),
    ],
)
async def test_bad_input_is_a_user_error(
    stores: Stores,
    run: Run,
    document: str,
    given: dict[str, Any],
    expected: tuple[str, str | None] | None,
) -> None:
    cancelled = replace(shipped(9), status=OrderStatus.CANCELLED)
    await put_orders(stores.table, [shipped(1), cancelled])
    (payload,) = (await run(document, STAFF, **given))["data"].values()
    code, field = expected or ("", None)
    assert codes(payload) == ([(code, field and ["input", field])] if expected else [])
    assert (payload["dueInvitationId"] is None) is (expected is not None)


@pytest.mark.parametrize(
    "signer",
    [
        LinkSigner(partial(sign, SECRET), None),
        LinkSigner(lambda _: None, "https://shop.example"),
        None,
    ],
    ids=["no address", "no secret", "no signer"],
)
async def test_a_server_that_cannot_make_links_says_so(
    schema: Schema, stores: Stores, signer: LinkSigner | None
) -> None:
    await put_orders(stores.table, [shipped(1)])
    await deliver(stores, 1)
    services = {**SERVICES, LinkSigner: signer} if signer else {}
    context = Context(STAFF, stores, services=services)
    done = await schema.execute(CREATE, {"id": "o1"}, context_value=context)
    assert [one.extensions and one.extensions["code"] for one in done.errors or []] == [
        "NOT_AVAILABLE"
    ]
    assert await due(stores) == ["o1"]


@pytest.mark.parametrize(("products", "length"), [(21, 3), (90, 8), (20, 500)])
async def test_an_order_with_many_products_has_several_links(
    stores: Stores, run: Run, products: int, length: int
) -> None:
    ids = [f"p{number}".ljust(length, "-") for number in range(products)]
    await put_orders(stores.table, [shipped(1, *ids)])
    made = (await run(CREATE, STAFF, id="o1"))["data"]["createInvitation"]
    links = [await opened(one["url"]) for one in made["links"]]
    assert [product for one in links for product in one.products] == ids
    assert len(links) == -(-products // 20) if length < 9 else len(links) > 1


async def test_a_walk_of_the_list_returns_each_order_that_stays_due_once(stores: Stores) -> None:
    """Between two pages, orders are delivered, invited and revoked."""
    rng = random.Random(7)
    await put_orders(stores.table, [shipped(number) for number in range(40)])
    numbers = [*range(40)]
    rng.shuffle(numbers)
    early, late = numbers[:25], numbers[25:]
    for number in early:
        await deliver(stores, number)
    stays, seen, after = {f"o{number}" for number in early}, list[str](), None
    before = [f"o{number}" for number in early]
    while True:
        page = await stores.invitations.due(Slice(4, after=after, next_page=True))
        seen += [one.order_id for one in page.nodes]
        if not page.page_info.has_next_page:
            break
        after = page.edges[-1].position
        if late:
            await deliver(stores, late.pop())
        gone = rng.choice([*stays])
        stays.discard(gone)
        if rng.random() < 0.5:
            await stores.invitations.mark(await stores.invitations.of_order(gone))
        else:
            await stores.invitations.revoke(gone, "ann")
    assert len(seen) == len({*seen})
    assert stays <= {*seen}
    assert [one for one in seen if one in before] == [one for one in before if one in seen]
    assert {*await due(stores)} == stays | ({*seen} - {*before}) | {
        one for one in await due(stores) if one not in before
    }


async def test_orders_delivered_lately_can_be_left_out(stores: Stores, run: Run) -> None:
    await put_orders(stores.table, [shipped(1), shipped(2)])
    await deliver(stores, 1)
    between = datetime.now(UTC)
    await deliver(stores, 2)
    answer = await run(DUE, STAFF, before=between.isoformat())
    assert [one["orderId"] for one in answer["data"]["dueInvitations"]["nodes"]] == ["o1"]


async def test_concurrent_marks_and_revocations_end_as_revoked(stores: Stores) -> None:
    await put_orders(stores.table, [shipped(1)])
    await deliver(stores, 1)
    one = await stores.invitations.of_order("o1")
    await asyncio.gather(
        *(stores.invitations.mark(one) for _ in range(5)),
        *(stores.invitations.revoke("o1", None) for _ in range(5)),
    )
    found = await stores.invitations.get("ann", "o1")
    assert found is not None
    assert (found.invited_at is None, found.revoked_at is None) == (False, False)
    assert await due(stores) == []


async def test_an_invitation_whose_data_was_erased_is_not_stored_again(stores: Stores) -> None:
    await put_orders(stores.table, [shipped(1)])
    one = await stores.invitations.of_order("o1")
    await stores.invitations.mark(one, due=True)
    assert await stores.invitations.get("ann", "o1") is None
    with pytest.raises(NotFoundError):
        await stores.invitations.of_order("none")


COSTS = {
    "deliver without --invitations": Consumed(2, 12, 1),
    "deliver with --invitations": Consumed(2, 15, 1),
    "dueInvitations": Consumed(8, 0, 4),
    "createInvitation": Consumed(5, 2, 3),
    "createInvitation, not due": Consumed(5, 1, 3),
    "revokeInvitation": Consumed(4, 2, 2),
    "addComment by a buyer": Consumed(2, 10, 1.5),
    "addComment by a link": Consumed(2, 10, 2),
    "the query invitation": Consumed(1, 0, 6),
}
"""The requests, WCU and RCU for an order of three products: see docs/decisions/0098."""


async def test_operations_cost_what_the_decision_says(table: Table, schema: Schema) -> None:
    found: dict[str, Consumed] = {}
    meter = Meter(table.service)
    noted = Table(meter, table.name)
    plain, stores = Stores(noted), listing(noted)
    await plain.maintenance.current()
    await stores.maintenance.current()
    await put_orders(table, [shipped(number, "p", "q", "r") for number in range(4)])

    async def count(name: str, work: Any) -> None:
        meter.reset()
        await work
        computed, reported = meter.counted(1)
        assert computed == reported, name
        found[name] = computed

    await count("deliver without --invitations", deliver(plain, 0))
    await count("deliver with --invitations", deliver(stores, 1))
    await deliver(stores, 2)
    await count("dueInvitations", stores.invitations.due(Slice(20)))
    execute = runner(schema, stores)
    await count("createInvitation", execute(CREATE, STAFF, id="o1"))
    await count("createInvitation, not due", execute(CREATE, STAFF, id="o0"))
    await count("revokeInvitation", execute(REVOKE, STAFF, id="o2"))
    one = LinkGrant(link("p", "q", "r", order="o1"))
    await count("addComment by a buyer", execute(ADD, ANN, product="p", text="Good."))
    await count("addComment by a link", execute(ADD, one, product="q", text="Good."))
    await count("the query invitation", execute("{ invitation { id } }", one))
    assert found == COSTS
