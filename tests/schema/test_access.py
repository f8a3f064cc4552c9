"""Who may see and do what: every field and path to what is not public, for every role.

Whoever may not see something is answered, at the same cost, as if it were not there.

A new kind of object needs rows here: its root field, its global id, and each path that leads to it.
"""

import json
from dataclasses import dataclass

import pytest
from strawberry import Schema
from strawberry.relay.utils import to_base64

from dal.client.table import Table
from dal.model import OrderStatus, Profile
from dal.stores import Stores
from resolvers.context import Viewer
from tests.conftest import Clients, fresh_table
from tests.schema.conftest import ANN, BOB, MODERATOR, STAFF, Run, looks_missing, runner
from tests.schema.ordering import codes
from tests.schema.paths import asked_by, leading_to
from tests.strategies import TIES, order

ROLES: dict[str, Viewer | None] = {
    "nobody": None,
    "owner": ANN,
    "other": BOB,
    "moderator": MODERATOR,
    "staff": STAFF,
}
OWN = {"owner", "staff"}
STAFF_ONLY = {"staff"}

USER = to_base64("User", "ann")
ORDER = to_base64("Order", "secret-order")
PLACED = to_base64("Order", "secret-placed")
PRIVATE = {"User", "UserProfile", "Order", "OrderLine", "OrderConnection", "OrderEdge"}
OWN_PAYLOADS = {"PlaceOrderPayload", "UpdateProfilePayload"}
"""They show what belongs to whoever asks, by the mutation itself."""
TO_ONESELF = {("Query", "viewer"), ("OrganizationUser", "user")}
"""Fields that never lead to anybody else's, or null; the second has a test with organisations'."""
WHOLE = (
    "orderId status createdAt total { amount currencyCode } user { username }"
    " lines { productId unitPrice { amount } }"
)
MISSING = {
    '"ann"': '"none"',
    "secret-order": "none",
    **{one: to_base64("Order", "none") for one in (ORDER, PLACED)},
    USER: to_base64("User", "none"),
}
"""What stands in an operation for what is not there."""
SECRETS = ("secret-", "Ann Secret", '"12.50"', '"25.00"')


@dataclass(frozen=True)
class Row:
    """An operation and the roles that may do it; what it shows when it is done."""

    operation: str
    allowed: set[str]
    shows: str = "secret-order"


MATRIX = {
    "user": Row('{ user(username: "ann") { id username } }', OWN, "ann"),
    "user.profile": Row(
        '{ user(username: "ann") { profile { fullName email } } }', OWN, "Ann Secret"
    ),
    "user.orders.nodes": Row(
        f'{{ user(username: "ann") {{ orders {{ nodes {{ {WHOLE} }} }} }} }}', OWN
    ),
    "user.orders.edges": Row(
        f'{{ user(username: "ann") {{ orders {{ edges {{ cursor node {{ {WHOLE} }} }} }} }} }}', OWN
    ),
    "user.orders by status": Row(
        f'{{ user(username: "ann") {{ orders(status: [SHIPPED]) {{ nodes {{ {WHOLE} }} }} }} }}',
        OWN,
    ),
    "user.orders.nodes.user.profile": Row(
        '{ user(username: "ann") { orders { nodes { user { profile { fullName } } } } } }',
        OWN,
        "Ann Secret",
    ),
    "order": Row(f'{{ order(orderId: "secret-order") {{ {WHOLE} }} }}', OWN),
    "order.user.profile": Row(
        '{ order(orderId: "secret-order") { user { profile { fullName } } } }', OWN, "Ann Secret"
    ),
    "order.user.orders": Row(
        '{ order(orderId: "secret-order") { user { orders { edges { node { orderId } } } } } }', OWN
    ),
    "node(User)": Row(
        f'{{ node(id: "{USER}") {{ id ... on User {{ orders {{ nodes {{ {WHOLE} }} }} }} }} }}', OWN
    ),
    "node(User).profile": Row(
        f'{{ node(id: "{USER}") {{ ... on User {{ profile {{ fullName }} }} }} }}',
        OWN,
        "Ann Secret",
    ),
    "node(Order)": Row(f'{{ node(id: "{ORDER}") {{ id ... on Order {{ {WHOLE} }} }} }}', OWN),
    "node(Order).user.profile": Row(
        f'{{ node(id: "{ORDER}") {{ ... on Order {{ user {{ profile {{ fullName }} }} }} }} }}',
        OWN,
        "Ann Secret",
    ),
    "nodes(Order)": Row(f'{{ nodes(ids: ["{ORDER}"]) {{ ... on Order {{ {WHOLE} }} }} }}', OWN),
    "nodes(User)": Row(
        f'{{ nodes(ids: ["{USER}"]) {{ ... on User {{ orders {{ nodes {{ orderId }} }} }} }} }}',
        OWN,
    ),
    "openOrders.nodes": Row(
        f"{{ openOrders {{ nodes {{ {WHOLE} }} }} }}", STAFF_ONLY, "secret-placed"
    ),
    "openOrders.edges": Row(
        f"{{ openOrders(last: 5) {{ edges {{ cursor node {{ {WHOLE} }} }} }} }}",
        STAFF_ONLY,
        "secret-placed",
    ),
    "openOrders.nodes.user": Row(
        "{ openOrders { nodes { user { profile { fullName } orders { nodes { orderId } } } } } }",
        STAFF_ONLY,
    ),
    "openOrders.pageInfo": Row(
        "{ openOrders { pageInfo { hasNextPage startCursor } } }", STAFF_ONLY, "startCursor"
    ),
    "setOrderStatus(SHIPPED)": Row(
        f'mutation {{ setOrderStatus(input: {{ id: "{PLACED}", status: SHIPPED }}) '
        f"{{ order {{ {WHOLE} }} }} }}",
        STAFF_ONLY,
        "SHIPPED",
    ),
    "setOrderStatus(CANCELLED)": Row(
        f'mutation {{ setOrderStatus(input: {{ id: "{PLACED}", status: CANCELLED }}) '
        f"{{ orderEdge {{ node {{ {WHOLE} }} }} }} }}",
        OWN,
        "CANCELLED",
    ),
    "setOrderStatus, refused": Row(
        f'mutation {{ setOrderStatus(input: {{ id: "{ORDER}", status: CANCELLED }}) '
        "{ order { orderId } userErrors { message } } }",
        OWN,
        "cannot become CANCELLED",
    ),
}


@pytest.fixture(scope="module")
async def table(clients: Clients, dynoxide_url: str) -> Table:
    """One table for the whole matrix."""
    return await fresh_table(clients, dynoxide_url)


@pytest.fixture(scope="module")
def stores(table: Table) -> Stores:
    return Stores(table)


@pytest.fixture
async def run_matrix(schema: Schema, stores: Stores) -> Run:
    """Execute operations over what belongs to ann, put as it was."""
    await stores.users.put_profiles({"ann": Profile(full_name="Ann Secret", email="ann@b.org")})
    await stores.orders.put_many(
        [
            order("secret-order", username="ann", status=OrderStatus.SHIPPED),
            order("secret-placed", username="ann", created_at=TIES[1]),
        ]
    )
    return runner(schema, stores)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("field", MATRIX)
async def test_each_role_gets_what_it_may_and_nothing_else(
    run_matrix: Run, field: str, role: str
) -> None:
    row = MATRIX[field]
    answer = await run_matrix(row.operation, ROLES[role])
    if role in row.allowed:
        assert answer["errors"] == []
        assert row.shows in json.dumps(answer["data"])
    else:
        assert codes(answer) == refusals(row, role)
        assert not any(secret in json.dumps(answer) for secret in SECRETS)


def refusals(row: Row, role: str) -> list[str]:
    """Return the errors of a refusal; what belongs to a user is null without one."""
    if ROLES[role] is None:
        return ["UNAUTHENTICATED"]
    return ["FORBIDDEN"] if row.allowed == STAFF_ONLY else []


@pytest.mark.parametrize("role", ["nobody", "other", "moderator"])
@pytest.mark.parametrize("field", MATRIX)
async def test_what_belongs_to_another_looks_as_if_it_were_not_there(
    run_matrix: Run, schema: Schema, table: Table, field: str, role: str
) -> None:
    await looks_missing(schema, table, MATRIX[field].operation, ROLES[role], MISSING)


def test_every_field_that_leads_to_what_is_private_is_in_the_matrix(schema: Schema) -> None:
    leading = {field for field in leading_to(schema, PRIVATE) if field[0] not in OWN_PAYLOADS}
    assert len(leading) > 8
    assert leading - TO_ONESELF <= asked_by(schema, (row.operation for row in MATRIX.values()))


@pytest.mark.parametrize("role", ROLES)
async def test_the_viewer_is_whoever_asks(run_matrix: Run, role: str) -> None:
    answer = await run_matrix(
        f"{{ viewer {{ id username profile {{ fullName }} orders {{ nodes {{ {WHOLE} }} }} }} }}",
        ROLES[role],
    )
    assert answer["errors"] == []
    found, viewer = answer["data"]["viewer"], ROLES[role]
    assert (found and found["username"]) == (viewer and viewer.username)
    shown = json.dumps(answer)
    assert [secret in shown for secret in SECRETS] == [role == "owner"] * len(SECRETS)


async def test_among_many_nodes_only_the_refused_are_null(run_matrix: Run) -> None:
    ids = [to_base64("Product", "42"), ORDER, to_base64("User", "bob"), USER, "x"]
    answer = await run_matrix(
        "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", ROLES["other"], ids=ids
    )
    assert answer["data"]["nodes"] == [{"id": ids[0]}, None, {"id": ids[2]}, None, None]
    assert [(error["path"], error["extensions"]["code"]) for error in answer["errors"]] == [
        (["nodes", 4], "BAD_ARGUMENT"),
    ]


async def test_what_is_missing_is_null_without_a_fault(run_matrix: Run) -> None:
    missing = to_base64("Order", "none")
    operation = f'{{ order(orderId: "none") {{ id }} node(id: "{missing}") {{ id }} }}'
    answer = await run_matrix(operation, ROLES["other"])
    assert answer == {"data": {"order": None, "node": None}, "errors": []}


async def test_nobody_learns_whether_an_order_exists(run_matrix: Run) -> None:
    for order_id in ("none", "secret-order"):
        answer = await run_matrix(f'{{ order(orderId: "{order_id}") {{ id }} }}')
        assert [one["extensions"]["code"] for one in answer["errors"]] == ["UNAUTHENTICATED"]


async def test_a_profile_is_the_viewers_own_and_orders_are_placed_by_staff(
    run_matrix: Run,
) -> None:
    line = '{ productId: "1", quantity: 1, unitPrice: { amount: "1", currencyCode: "EUR" } }'
    place = (
        f'mutation {{ placeOrder(input: {{ username: "bob", lines: [{line}] }})'
        " { order { user { username } } } }"
    )
    update = 'mutation { updateProfile(input: { fullName: "Bob" }) { user { username } } }'
    answer = await run_matrix(place, ROLES["staff"])
    assert answer["data"] == {"placeOrder": {"order": {"user": {"username": "bob"}}}}
    answer = await run_matrix(update, ROLES["other"])
    assert answer["data"] == {"updateProfile": {"user": {"username": "bob"}}}
    assert codes(await run_matrix(place, ROLES["other"])) == ["FORBIDDEN"]
    for mutation in (place, update):
        assert codes(await run_matrix(mutation)) == ["UNAUTHENTICATED"]
