"""Random operations send, read and return at most what the server predicted."""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from typing import Any

import pytest
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.model import (
    AspectRating,
    Organization,
    OrganizationUser,
    Photo,
    ProductDetails,
    Profile,
    Reply,
    Roster,
    UserType,
)
from dal.model.submissions import ReviewCause
from dal.stores import Stores
from resolvers.context import Context, Viewer
from schema.build import build_schema
from schema.execution.cost import Cost
from tests.calls import calls_of
from tests.conftest import Tables
from tests.feature_lists import added, merged
from tests.moderating import held_for
from tests.oracle import make_comments, voted, with_photos
from tests.organizations import ticket
from tests.putting import put_comments, put_orders, put_profiles, put_rosters, put_tickets
from tests.schema.execution.test_answer_size import values_of
from tests.strategies import TWO_MUGS, comment, order
from tools.trials.fuzz.documents import Draw, document

SCHEMAS = build_schema(explain=True), build_schema(explain=True, compiles=False)
READING = sorted(SCHEMAS[0].facts.reads)
OF_ALL = Viewer("user1", frozenset({"staff", "moderator", "merchant"}))
OWN, MODERATOR = Viewer("user1"), Viewer("user2", frozenset({"moderator"}))
START = datetime(2023, 1, 1, tzinfo=UTC)
USERS = (*(f"user{number}" for number in range(7)), "nobody")
TAGS = ["".join(tag) for tag in islice(product("abcdefghijklmnopqrstuvwxyz", repeat=3), 1_100)]
"""More languages than one response of DynamoDB has counts of."""

Ids = Mapping[str, Sequence[str]]
World = tuple[Table, Ids]


async def filled(table: Table) -> Ids:
    """Store objects of every kind, and return some of their ids by type."""
    stores = Stores(table)
    published = [
        one._replace(
            text="long " * 1_500 if number % 30 == 0 else one.text,
            language="en-GB" if number % 9 == 0 else one.language,
            verified_purchase=number % 40 == 7,
        )
        for product_id, count in (("p0", 200), ("p1", 20), ("p2", 3))
        for number, one in enumerate(
            voted(with_photos(make_comments(product_id, count, seed=count)))
        )
    ]
    largest = [
        comment(
            f"big{number}",
            product_id="big",
            username="user3",
            rating=number % 5 + 1,
            text="🦊" * 10_000,
            reply=Reply("🦊" * 2_000, START),
            photos=(Photo(f"https://a.example/{'x' * 2_000}", "🦊" * 200),) * 10,
            aspects=tuple([AspectRating(f"{n}".rjust(20, "x"), 5) for n in range(6)]),
        )
        for number in range(30)
    ]
    crowded = [
        one._replace(comment_id=f"{one.comment_id}-{number}", product_id=f"c{number}")
        for number in range(12)
        for one in largest[:13]
    ]
    many = [comment(tag, product_id="many", username="u", language=tag) for tag in TAGS]
    own = comment("voted", username="user1")
    await put_comments(stores.comments, [*published, *largest, *crowded, *many, own])
    for number, one in enumerate(published[:60]):
        await stores.comments.add(
            one._replace(comment_id=f"h{number}"), hold=held_for(ReviewCause.WORDS)
        )
    groups = {"p0": "group", "p1": "group", "p2": "group"} | {f"g{n}": "large" for n in range(60)}
    groups |= {f"c{n}": "crowded" for n in range(12)}
    await stores.products.put_many(
        {name: ProductDetails(f"Kettle {name}", group=of) for name, of in groups.items()}
    )
    for fill_more in added("fill_for_costs"):
        await fill_more(stores)
    orders = [
        order(
            f"o{number}",
            username=USERS[number % 3],
            lines=TWO_MUGS * (45 if number % 20 == 0 else 1),
            created_at=START + timedelta(hours=number),
        )
        for number in range(60)
    ]
    await put_orders(stores.table, orders)
    members = {f"org{n}": USERS[:7] if n < 3 else ["user1"] for n in range(25)}
    members["crowd"] = ["user1", *(f"u{number:02}" for number in range(60))]
    types = {"user1": UserType.ADMIN}
    rosters = [
        Roster(
            Organization(name, "Pro"),
            [OrganizationUser(name, one, types.get(one, UserType.MEMBER)) for one in of],
        )
        for name, of in members.items()
    ]
    await put_rosters(stores.table, rosters)
    tickets = [ticket(number, USERS[number % 3], f"org{number % 25}") for number in range(80)]
    await put_tickets(stores.table, tickets)
    await put_profiles(stores.table, {"user1": Profile(full_name="Ann", email="a@example.org")})
    return {
        "Comment": [one.comment_id for one in published[::10]],
        "Submission": [f"h{number}" for number in range(60)],
        "Product": ["p0", "p1", "p2", "many", "big", "unknown"],
        "ProductGroup": ["group", "large", "none"],
        "Order": [one.order_id for one in orders],
        "Ticket": [one.ticket_id for one in tickets],
        "User": USERS,
        "Author": USERS,
        "Organization": [*members],
        "OrganizationUser": [f"org{n}/{name}" for n in range(3) for name in USERS],
    }


@pytest.fixture(scope="module")
async def world(tables: Tables, dynoxide_url: str) -> World:
    table = await tables.fresh(dynoxide_url)
    return table, await filled(table)


def draws(ids: Ids, cursors: Sequence[str]) -> Mapping[str, Draw]:
    """Return functions that draw values of arguments, most of which exist in the table."""

    def own(kind: str) -> Draw:
        return lambda rng: rng.choice(ids[kind])

    def node_id(rng: random.Random) -> str:
        kind = rng.choice([*ids, "Comment", "Submission"])
        return to_base64(kind, rng.choice(ids[kind]))

    def instant(rng: random.Random) -> str:
        return (START + timedelta(hours=rng.randrange(200))).isoformat()

    def cursor(rng: random.Random) -> str | None:
        return rng.choice((None, None, *cursors[-20:]))

    return {
        **dict.fromkeys(("id", "ids"), node_id),
        **dict.fromkeys(("productId", "productIds"), own("Product")),
        **dict.fromkeys(("seen", "DateTime"), instant),
        **dict.fromkeys(("after", "before"), cursor),
        **dict.fromkeys(("from", "to"), lambda rng: None),
        "commentId": own("Comment"),
        "orderId": own("Order"),
        "ticketId": own("Ticket"),
        "username": own("User"),
        "organizationName": own("Organization"),
        "rating": lambda rng: rng.randint(1, 5),
        "language": lambda rng: rng.choice(["en", "en-GB", "de", "ja", "no-NO", "xx"]),
        "title": lambda rng: rng.choice(["K", "Kettle", "none"]),
        "first": lambda rng: rng.choice((0, 1, 2, 7, 20, 100)),
        "last": lambda rng: rng.choice((None, None, None, 1, 3, 100)),
        "contentTypes": lambda rng: "image/png",
    }


def cursors_of(data: object) -> list[str]:
    """Return the cursors of rows in a result."""
    match data:
        case dict():
            own = [one for key, one in data.items() if one and key.startswith(("cursor", "endC"))]
            return own + [cursor for one in data.values() for cursor in cursors_of(one)]
        case list():
            return [cursor for one in data for cursor in cursors_of(one)]
    return []


@pytest.fixture(autouse=True)
def costs_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all users see the cost of each operation, as staff do."""
    for schema in SCHEMAS:
        monkeypatch.setattr(schema, "host", replace(schema.host, sees_costs=lambda *_, **__: True))


async def executed(
    number: int, table: Table, stores: Stores | None, viewer: Viewer, text: str, **given: Any
) -> Any:
    """Return the result of an operation. Without ``stores``, nothing was read before."""
    context = Context(viewer, stores or Stores(Table(table.service, table.name)), explain=True)
    return await SCHEMAS[number % 2].execute(
        text, given, context_value=context, operation_extensions={"cost": True}
    )


def exceeds(answer: Any, basis: str) -> dict[str, tuple[float, float]]:
    """Return the maximum and the actual cost by name, where the actual cost is higher."""
    most, actual = answer.extensions["cost"][basis], answer.extensions["cost"]["actual"]
    return {name: (most[name], actual[name]) for name in most if actual.get(name, 0) > most[name]}


@pytest.fixture
def caches_do_not_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an operation that has just run find its statistics in the caches."""
    for module in ("dal.counts.mode", "dal.counts.reader"):
        monkeypatch.setattr(f"{module}.KEPT_SECONDS", math.inf)


@pytest.mark.usefixtures("caches_do_not_expire")
@pytest.mark.parametrize("operations", [len(READING), pytest.param(10_000, marks=pytest.mark.soak)])
async def test_random_operations_cost_at_most_what_is_predicted(
    world: World, operations: int
) -> None:
    """The operations together select each field that reads.

    Each operation runs twice. First, its process has read nothing, or other objects. Then it has
    run the operation, and its caches are warm.
    """
    table, ids = world
    cursors, seen = list[str](), Counter[str]()
    shared = Stores(Table(table.service, table.name))
    calls_of_shared = calls_of(shared.table)
    known = draws(ids, cursors)
    for number in range(operations):
        rng = random.Random(number)
        field = READING[number % len(READING)]
        text, given = document(rng, SCHEMAS[0]._schema, 0.0, known, field)
        viewer, fresh = rng.choice((OF_ALL, OWN, MODERATOR)), rng.random() < 0.5
        stores = Stores(Table(table.service, table.name)) if fresh else shared
        calls = calls_of(stores.table) if fresh else calls_of_shared
        for basis in ("predictedCold", "predicted"):
            calls.clear()
            answer = await executed(number, table, stores, viewer, text, **given)
            codes = {error.extensions["code"] for error in answer.errors or []}
            assert "INTERNAL" not in codes, (text, given)
            if not answer.extensions:  # the document has too many aliases
                break
            actual = answer.extensions["cost"]["actual"]
            # After a write, the process also works in the background.
            background = text.startswith("mutation")
            assert background or len(calls) == actual["requests"], (basis, text, given)
            # The budget of an operation that ends is the cold prediction, in each state.
            ended = "QUERY_TOO_COSTLY" in codes and not exceeds(answer, "predictedCold")
            assert ended or not exceeds(answer, basis), (exceeds(answer, basis), text, given)
            returned = values_of(answer.data)
            assert returned <= actual["values"], (text, given)
            assert answer.errors or returned == actual["values"], (text, given)
            seen["reads" if actual["requests"] else "none"] += 1
            seen["ended"] += ended
            cursors += cursors_of(answer.data)
    assert seen["reads"] > operations


_RARE = {
    "a user without data": (OF_ALL, '{ user(username: "nobody") { isKnown } }'),
    "own tickets": (
        OWN,
        "{ viewer { organizations { nodes { tickets(first: 1) { nodes { id } } } } } }",
    ),
    "many languages": (OWN, '{ product(productId: "many") { statistics { total } } }'),
}
RARE = merged(_RARE, "RARE")


def costs_at_most_what_is_predicted(answer: Any) -> None:
    """Check the cost of an operation that reads."""
    assert answer.errors is None
    assert answer.extensions["cost"]["actual"]["requests"] > 0
    assert exceeds(answer, "predictedCold") == {}


@pytest.mark.parametrize("rare", RARE)
async def test_rare_operations_cost_at_most_what_is_predicted(world: World, rare: str) -> None:
    table, _ = world
    viewer, text = RARE[rare]
    costs_at_most_what_is_predicted(await executed(0, table, None, viewer, text))


async def test_a_process_reads_the_maintenance_item_again_after_five_seconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, _ = world
    now, seen = 1_000.0, []
    monkeypatch.setattr("dal.counts.mode.monotonic", lambda: now)
    text = '{ product(productId: "p1") { statistics { total } comments { totalCount } } }'
    stores = Stores(Table(table.service, table.name))
    calls = calls_of(stores.table)
    for now in (1_000.0, 1_001.0, 1_007.0):  # noqa: B007 - the clock
        calls.clear()
        answer = await executed(0, table, stores, OWN, text)
        costs_at_most_what_is_predicted(answer)
        assert answer.extensions["cost"]["actual"]["requests"] == len(calls)
        seen.append((calls.operations.get("GetItem", 0), calls.operations.get("DescribeTable", 0)))
    assert seen == [(1, 1), (0, 0), (1, 0)]


async def test_the_search_for_another_admin_ends(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each Query of the search returns one user, as if the organisation had 60,000."""
    monkeypatch.setattr("dal.repositories.organizations._ADMINS_AMONG", 1)
    leave = 'removeOrganizationUser(input: {organizationName: "crowd", username: "user1"})'
    answer = await executed(0, world[0], None, OWN, f"mutation {{ {leave} {{ deletedId }} }}")
    (error,) = answer.errors
    predicted, cold, actual = answer.extensions["cost"].values()
    assert error.extensions["code"] == "QUERY_TOO_COSTLY"
    assert answer.data == {"removeOrganizationUser": None}
    assert predicted["requests"] < actual["requests"] <= cold["requests"]
    assert actual["wcu"] == 0


async def test_a_write_does_not_end_at_the_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cost, "limit", lambda _: (0, 0))
    write = 'updateProduct(input: {productId: "c0", title: "T"}) { userErrors { code } }'
    answer = await executed(0, world[0], None, OF_ALL, f"mutation {{ {write} }}")
    assert (answer.errors, answer.data) == (None, {"updateProduct": {"userErrors": []}})
    assert answer.extensions["cost"]["actual"]["rcu"] > 0
