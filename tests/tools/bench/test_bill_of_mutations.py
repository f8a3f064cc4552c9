"""A mutation sends the requests, and consumes the WCU and RCU, of its line in docs/costs.md."""

import pytest

from dal.dynamodb.table import Table
from dal.entities.order import purchase_key
from dal.model import Organization, OrganizationUser, ProductDetails, Roster
from dal.model.own_ids import global_id
from dal.stores import Stores
from features.loading.kind import COMMENTS
from resolvers.context import Viewer
from schema.build import build_schema
from tests.engines import ROOT
from tests.schema.conftest import ANN, BOB, MERCHANT, MODERATOR, STAFF, runner
from tools.bench.bill import PRODUCT, comment, stored
from tools.bench.capacity import Consumed, Meter

ONE, OTHER = (stored("stored", 30)[n].comment_id for n in range(2))
ID = global_id("Comment", ONE)
LINE = '{{ productId: "p{}", quantity: 1, unitPrice: {{ amount: "19.90", currencyCode: "EUR" }} }}'
LINES = ", ".join(LINE.format(n) for n in range(3))

MUTATIONS: dict[str, tuple[Viewer, str, str]] = {
    "add a comment": (
        ANN,
        "addComment",
        (
            f'productId: "{PRODUCT}", rating: 3, language: "en", title: "Good for the price", '
            f'text: "{comment("one", 3).text}"'
        ),
    ),
    "add a comment on a variant of a product that the user bought": (
        ANN,
        "addComment",
        (
            'productId: "red", rating: 3, language: "en", title: "Good for the price", '
            f'text: "{comment("one", 3).text}"'
        ),
    ),
    "edit a comment's text": (MODERATOR, "updateComment", f'id: "{ID}", text: "Loose."'),
    "reply to a comment": (MERCHANT, "replyToComment", f'id: "{ID}", text: "We will fix it."'),
    "vote for one comment": (BOB, "markHelpful", f'id: "{ID}"'),
    "report a comment": (BOB, "reportComment", f'id: "{ID}", reason: SPAM'),
    "delete a comment": (MODERATOR, "deleteComment", f'id: "{global_id("Comment", OTHER)}"'),
    "place an order of three lines": (STAFF, "placeOrder", f'username: "ann", lines: [{LINES}]'),
    "open a ticket": (
        ANN,
        "createTicket",
        'organizationName: "acme", subject: "The lid is loose", text: "It is loose."',
    ),
    "set a product's title of four words": (
        STAFF,
        "updateProduct",
        'productId: "newer", title: "Copper kettle, 1.7 l"',
    ),
}


def documented() -> dict[str, Consumed]:
    """Return the operations of docs/costs.md; the first, if several have the same name."""
    found: dict[str, Consumed] = {}
    for line in (ROOT / "docs/costs.md").read_text("utf-8").splitlines():
        name, *cells = line.strip("| ").split(" | ")
        if name in MUTATIONS and name not in found:
            found[name] = Consumed(*map(float, cells[:3]))
    return found


@pytest.mark.parametrize("name", MUTATIONS)
async def test_a_mutation_costs_what_the_page_says(table: Table, name: str) -> None:
    await COMMENTS.put(Stores(table))(stored("stored", 30))
    roster = Roster(Organization("acme", "PRO"), [OrganizationUser("acme", "ann")])
    await Stores(table).organizations.create(roster)
    variants = dict.fromkeys(("red", "blue"), ProductDetails(group="colours"))
    await Stores(table).products.put_many(variants)
    await table.put_many([purchase_key("ann", "blue")])
    meter = Meter(table.service)
    stores = Stores(Table(meter, table.name))
    await stores.maintenance.current()
    viewer, mutation, given = MUTATIONS[name]
    meter.reset()
    text = f"mutation {{ {mutation}(input: {{ {given} }}) {{ userErrors {{ message }} }} }}"
    answer = await runner(build_schema(), stores)(text, viewer)
    assert answer == {"data": {mutation: {"userErrors": []}}, "errors": []}
    assert meter.counted(1) == (documented()[name],) * 2
