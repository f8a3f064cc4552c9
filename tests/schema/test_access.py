"""The permissions of each role, by every field and path that leads to private objects.

An object that a role may not see looks missing, at the same cost. A new type of object needs rows
in ``tests/fixtures/access.toml``: its root field, its global id, and each path that leads to it.
"""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from string import Template
from typing import Any

import pytest
from strawberry import Schema
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.entities.organization import organization_key, user_key
from dal.entities.standing import STANDING, Standing
from dal.entities.submission import SUBMISSION
from dal.model import OrderStatus, Profile
from dal.model.submissions import ReviewCause, SubmissionState, pending
from dal.stores import Stores
from dal.table.key_parts import escape
from resolvers.authorization import ROLES as RIGHTS
from resolvers.context import Viewer
from tests.conftest import Clients, fresh_table
from tests.engines import ROOT
from tests.feature_lists import added, files, merged
from tests.items import all_items
from tests.organizations import ACME, ADMIN, COLLEAGUE, MEMBER, OUTSIDER, TICKETS, fill
from tests.putting import put_comments, put_orders, put_profiles
from tests.schema.conftest import (
    ANN,
    BOB,
    MODERATOR,
    STAFF,
    Answer,
    Run,
    Who,
    looks_missing,
    runner,
)
from tests.schema.ordering import codes
from tests.schema.paths import asked_by, leading_to
from tests.strategies import TIES, comment, order

_ROLES: dict[str, dict[str, Who]] = {
    "orders": {"nobody": None, "owner": ANN, "other": BOB, "moderator": MODERATOR, "staff": STAFF},
    "submissions": {
        "nobody": None,
        "owner": ANN,
        "other": BOB,
        "moderator": MODERATOR,
        "staff": STAFF,
    },
    "organizations": {
        "nobody": None,
        "stranger": Viewer("zed"),
        "outsider": Viewer(OUTSIDER),
        "moderator": MODERATOR,
        "colleague": Viewer(COLLEAGUE),
        "member": Viewer(MEMBER),
        "admin": Viewer(ADMIN),
        "staff": STAFF,
    },
}
GRANTS = merged(dict[str, Who](), "WHO")
"""Visitors with grants. Their reads are those of an anonymous visitor."""
ROLES = {world: roles | GRANTS for world, roles in _ROLES.items()}
"""The sender in each role. The owner has the orders and submissions, the member the tickets."""
STRANGERS = {
    "orders": ("nobody", "other", "moderator", *GRANTS),
    "submissions": ("nobody", "other", "staff", *GRANTS),
    "organizations": ("nobody", "stranger", "outsider", "moderator", *GRANTS),
}

PRIVATE = {
    *("User", "UserProfile", "Order", "OrderLine", "OrderConnection", "OrderEdge"),
    *("Organization", "OrganizationUser", "OrganizationUserConnection", "OrganizationUserEdge"),
    *("Ticket", "TicketConnection", "TicketEdge"),
    *chain.from_iterable(added("PRIVATE")),
}
OWN_PAYLOADS = {"PlaceOrderPayload", "UpdateProfilePayload", "AddCommentPayload"}
"""Payloads with only what the mutation itself has written."""
TO_ONESELF = {
    ("Query", "viewer"),
    ("OrganizationUser", "user"),
    *chain.from_iterable(added("TO_ONESELF")),
}
"""Fields that return the viewer's own data or null. Each has its own test."""

TICKET = TICKETS[0]
IDS = {
    "USER_ID": to_base64("User", "ann"),
    "ORDER_ID": to_base64("Order", "secret-order"),
    "PLACED_ID": to_base64("Order", "secret-placed"),
    "ORGANIZATION_ID": to_base64("Organization", ACME.name),
    "MEMBER_ID": to_base64("OrganizationUser", f"{escape(ACME.name)}/{MEMBER}"),
    "TICKET_ID": to_base64("Ticket", TICKET.ticket_id),
    "HELD_ID": to_base64("Submission", "held"),
    "REJECTED_ID": to_base64("Submission", "rejected"),
    "COMMENT_ID": to_base64("Comment", "reported"),
}
ORDER_FIELDS = (
    "orderId status createdAt customerName total { amount currencyCode } user { username }"
    " lines { productId unitPrice { amount } }"
)
SUBMISSION_FIELDS = (
    "id commentId title text username authorName author { name } rating language createdAt"
    " updatedAt verifiedPurchase source incentivized incentive state cause queuedAt reason"
    " decidedAt reply { text createdAt } photos { url alt } aspects { name rating }"
    " product { productId }"
)
_HIDDEN = comment("held", username="ann", text="secret-text " * 800)
HELD = pending(_HIDDEN, ReviewCause.REPORTS, TIES[0])
REJECTED = replace(
    HELD,
    comment_id="rejected",
    state=SubmissionState.REJECTED,
    reason="secret-reason",
    decided_at=TIES[1],
)
"""Both items are larger than 4 KB, so reading them costs more than reading a missing item.

Costs must not show this.
"""
MISSING = {
    "submissions": {
        IDS["REJECTED_ID"]: to_base64("Submission", "none"),
        '"ann"': '"none"',
        IDS["HELD_ID"]: to_base64("Submission", "none"),
    },
    "orders": {
        '"ann"': '"none"',
        "secret-order": "none",
        **{IDS[name]: to_base64("Order", "none") for name in ("ORDER_ID", "PLACED_ID")},
        IDS["USER_ID"]: to_base64("User", "none"),
    },
    "organizations": {
        ACME.name: "gone",
        TICKET.ticket_id: "gone",
        IDS["ORGANIZATION_ID"]: to_base64("Organization", "gone"),
        IDS["MEMBER_ID"]: to_base64("OrganizationUser", "gone/gone"),
        IDS["TICKET_ID"]: to_base64("Ticket", "gone"),
    },
}
"""Ids of hidden objects, and the ids of missing objects that replace them."""
SECRETS = ("secret-", "Ann Secret", '"12.50"', '"25.00"', TICKET.subject)


@dataclass(frozen=True)
class Row:
    """An operation, its permitted roles, and a text in its result that no refusal may contain."""

    world: str
    path: str
    operation: str
    shows: str
    allowed: frozenset[str]
    forbidden: frozenset[str]

    def refusal(self, role: str) -> list[str]:
        """Return the error codes of a refusal. There are none if the object looks missing."""
        if ROLES[self.world][role] is None:
            return ["UNAUTHENTICATED"]
        if role in GRANTS:  # an edit of another comment says NOT_FOUND in its payload
            return [] if self.path.startswith("updateComment") else ["FORBIDDEN"]
        return ["FORBIDDEN"] if role in self.forbidden else []


def rows() -> Iterator[Row]:
    paths = [ROOT / "tests/fixtures/access.toml", *files("access.toml")]
    worlds = chain.from_iterable(tomllib.loads(path.read_text()).items() for path in paths)
    for world, groups in worlds:
        for group in groups:
            roles = (frozenset(group.get(key, "").split()) for key in ("allowed", "forbidden"))
            allowed, forbidden = roles
            for path, (template, shown) in group["operations"].items():
                shows = Template(shown).substitute(IDS)
                operation = Template(template).substitute(
                    IDS, ORDER_FIELDS=ORDER_FIELDS, SUBMISSION_FIELDS=SUBMISSION_FIELDS
                )
                yield Row(world, path, operation, shows, allowed, forbidden)


ROWS = {row.path: row for row in rows()}
NAME = f'organizationName: "{ACME.name}"'


@dataclass
class World:
    """A table with the same items for each test. Changes are undone before the next test."""

    table: Table
    intact: bool = False

    async def restore(self) -> None:
        if self.intact:
            return
        stores = Stores(self.table)
        profile = Profile(full_name="Ann Secret", email="ann@b.org")
        await put_profiles(self.table, {"ann": profile})
        ann = {"username": "ann", "name": "Ann Secret"}
        shipped = order("secret-order", status=OrderStatus.SHIPPED, **ann)
        placed = order("secret-placed", created_at=TIES[1], **ann)
        await put_orders(stores.table, [shipped, placed])
        await fill(stores)
        await self.table.put_many([SUBMISSION.encode(one) for one in (HELD, REJECTED)])
        await put_comments(stores.comments, [comment("reported", username="ann", product_id="9")])
        for restore in added("restore_for_access"):
            await restore(stores, self.table)
        made = (organization_key("new"), user_key(ACME.name, "new"))
        await self.table.write([{"Delete": {"Key": key}} for key in made])
        self.intact = True


@pytest.fixture(scope="module")
async def world(clients: Clients, dynoxide_url: str) -> World:
    return World(await fresh_table(clients, dynoxide_url))


@pytest.fixture
async def run(schema: Schema, world: World) -> Run:
    """Restore the items, and return a function that executes an operation."""
    await world.restore()
    execute = runner(schema, Stores(world.table))

    async def run(operation: str, *arguments: Any, **variables: Any) -> Answer:
        if operation.startswith("mutation"):
            world.intact = False
        return await execute(operation, *arguments, **variables)

    return run


@pytest.mark.parametrize("world_name", ROLES)
async def test_each_role_may_do_only_what_its_row_allows(
    run: Run, world: World, world_name: str
) -> None:
    for path, row in ROWS.items():
        for role, viewer in ROLES[row.world].items() if row.world == world_name else ():
            await world.restore()
            answer = await run(row.operation, viewer)
            if role in row.allowed:
                assert answer["errors"] == [], (path, role)
                assert row.shows in json.dumps(answer["data"]), (path, role)
            else:
                assert codes(answer) == row.refusal(role), (path, role)
                shown = json.dumps(answer)
                assert not any(secret in shown for secret in (*SECRETS, row.shows)), (path, role)


@pytest.mark.parametrize("world_name", ROLES)
async def test_an_object_that_a_role_may_not_see_looks_missing(
    schema: Schema, world: World, world_name: str
) -> None:
    for path, row in ROWS.items():
        if row.world != world_name or path == "createOrganization":
            continue
        for role in set(STRANGERS[world_name]) - row.allowed:
            await world.restore()
            world.intact = not row.operation.startswith("mutation")
            viewer, missing = ROLES[world_name][role], MISSING[world_name]
            await looks_missing(schema, world.table, row.operation, viewer, missing)


def test_the_table_of_access_has_a_row_for_every_field_that_returns_a_private_type(
    schema: Schema,
) -> None:
    leading = {field for field in leading_to(schema, PRIVATE) if field[0] not in OWN_PAYLOADS}
    assert len(leading) > 23
    assert leading - TO_ONESELF <= asked_by(schema, (row.operation for row in ROWS.values()))


PUBLIC_READS = {
    "comment": '{ comment(commentId: "held") { text } }',
    "node": '{ node(id: "$ID") { ... on Comment { text } } }',
    "nodes": '{ nodes(ids: ["$ID"]) { ... on Comment { text } } }',
    "list": '{ product(productId: "42") { comments { nodes { text } totalCount } } }',
    "counts": '{ product(productId: "42") { statistics { total facets { total } } } }',
    "newest": '{ product(productId: "42") { lastCommentedAt mostRecentPositive { text } } }',
    "author": '{ author(username: "ann") { name comments { nodes { text } } } }',
    "leaderboard": "{ leaderboard { nodes { product { comments { nodes { text } } } } } }",
}
"""Reads of comments, which must not return a submission."""


@pytest.mark.parametrize("path", PUBLIC_READS)
async def test_no_public_read_returns_a_submission(
    run: Run, schema: Schema, world: World, path: str
) -> None:
    operation = PUBLIC_READS[path].replace("$ID", to_base64("Comment", "held"))
    missing = {
        to_base64("Comment", "held"): to_base64("Comment", "none"),
        '"held"': '"none"',
        '"42"': '"43"',
    }
    for viewer in ROLES["submissions"].values():
        answer = await run(operation, viewer)
        assert answer["errors"] == []
        assert "secret" not in json.dumps(answer)
        await looks_missing(schema, world.table, operation, viewer, missing)


HIDDEN_WRITES = merged(dict[str, str](), "HIDDEN_WRITES")
"""Writes by the id of a comment, which must not find a submission."""


@pytest.mark.parametrize("write", HIDDEN_WRITES)
async def test_a_write_to_a_submission_costs_as_much_as_to_a_missing_comment(
    run: Run, schema: Schema, world: World, write: str
) -> None:
    held, none = (to_base64("Comment", comment_id) for comment_id in ("held", "none"))
    operation = f"mutation {{ {HIDDEN_WRITES[write].replace('$ID', held)} }}"
    (payload,) = (await run(operation, BOB))["data"].values()
    assert payload == {"userErrors": [{"code": "NOT_FOUND"}]}
    for viewer in (BOB, STAFF):
        await looks_missing(schema, world.table, operation, viewer, {held: none})


@pytest.mark.parametrize("role", ROLES["orders"])
async def test_the_viewer_is_the_user_of_the_request(run: Run, role: str) -> None:
    who = ROLES["orders"][role]
    viewer = who if isinstance(who, Viewer) else None
    selected = f"id username profile {{ fullName }} orders {{ nodes {{ {ORDER_FIELDS} }} }}"
    answer = await run(f"{{ viewer {{ {selected} }} }}", who)
    assert answer["errors"] == []
    found = answer["data"]["viewer"]
    assert (found and found["username"]) == (viewer and viewer.user_id)
    shown = json.dumps(answer)
    assert [secret in shown for secret in SECRETS[:4]] == [role == "owner"] * 4


async def test_in_an_organisation_only_the_user_and_staff_see_the_users_profile(run: Run) -> None:
    seeing = set()
    for role, viewer in ROLES["organizations"].items():
        answer = await run(
            f'{{ organization({NAME}) {{ user(username: "{MEMBER}") {{'
            " username user { id profile { email } } } } }",
            viewer,
        )
        found = (answer["data"]["organization"] or {}).get("user")
        if found and found["user"]:
            seeing.add(role)
    assert seeing == {"member", "staff"}


async def test_a_user_who_has_left_no_longer_sees_the_tickets(run: Run, world: World) -> None:
    world.intact = False
    await world.table.write([{"Delete": {"Key": user_key(ACME.name, MEMBER)}}])
    for path in ("ticket", "node(Ticket)", "organization", "createTicket"):
        answer = await run(ROWS[path].operation, ROLES["organizations"]["member"])
        (shown,) = answer["data"].values()
        assert answer["errors"] == []
        assert shown in (None, {"ticket": None, "ticketEdge": None})


@pytest.mark.parametrize(
    ("viewer", "ids", "seen"),
    [
        (
            BOB,
            [to_base64("Product", "42"), IDS["ORDER_ID"], to_base64("User", "bob"), IDS["USER_ID"]],
            [True, False, True, False],
        ),
        (
            Viewer(COLLEAGUE),
            [IDS["ORGANIZATION_ID"], IDS["TICKET_ID"], IDS["MEMBER_ID"], to_base64("Ticket", "-")],
            [True, False, True, False],
        ),
    ],
    ids=["orders", "organizations"],
)
async def test_among_many_nodes_only_those_the_user_may_not_see_are_null(
    run: Run, viewer: Viewer, ids: list[str], seen: list[bool]
) -> None:
    operation = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"
    answer = await run(operation, viewer, ids=[*ids, "x"])
    expected = [{"id": one} if shown else None for one, shown in zip(ids, seen, strict=True)]
    assert answer["data"]["nodes"] == [*expected, None]
    assert [(error["path"], error["extensions"]["code"]) for error in answer["errors"]] == [
        (["nodes", 4], "BAD_ARGUMENT"),
    ]


async def test_a_missing_object_is_null_without_an_error(run: Run) -> None:
    missing = to_base64("Order", "none")
    operation = f'{{ order(orderId: "none") {{ id }} node(id: "{missing}") {{ id }} }}'
    assert await run(operation, BOB) == {"data": {"order": None, "node": None}, "errors": []}


async def test_without_a_user_no_response_shows_whether_an_order_exists(run: Run) -> None:
    for order_id in ("none", "secret-order"):
        assert codes(await run(f'{{ order(orderId: "{order_id}") {{ id }} }}')) == [
            "UNAUTHENTICATED"
        ]


async def test_users_change_only_their_own_profile_and_only_staff_place_orders(run: Run) -> None:
    line = '{ productId: "1", quantity: 1, unitPrice: { amount: "1", currencyCode: "EUR" } }'
    place = (
        f'mutation {{ placeOrder(input: {{ username: "bob", lines: [{line}] }})'
        " { order { user { username } } } }"
    )
    update = 'mutation { updateProfile(input: { fullName: "Bob" }) { user { username } } }'
    answer = await run(place, STAFF)
    assert answer["data"] == {"placeOrder": {"order": {"user": {"username": "bob"}}}}
    answer = await run(update, BOB)
    assert answer["data"] == {"updateProfile": {"user": {"username": "bob"}}}
    assert codes(await run(place, BOB)) == ["FORBIDDEN"]
    for mutation in (place, update):
        assert codes(await run(mutation)) == ["UNAUTHENTICATED"]


LINE = '{ productId: "1", quantity: 1, unitPrice: { amount: "1", currencyCode: "EUR" } }'
PUBLISHED = 'id: "$COMMENT_ID"'
_MUTATIONS = {
    "addComment": 'productId: "1", rating: 5, language: "en", text: "Good"',
    "addOrganizationUser": f'{NAME}, username: "new"',
    "closeTicket": f'id: "{IDS["TICKET_ID"]}"',
    "createOrganization": 'name: "new", subscriptionPlan: "Pro"',
    "createTicket": f'{NAME}, subject: "S", text: "T"',
    "deleteComment": PUBLISHED,
    "placeOrder": f'username: "bob", lines: [{LINE}]',
    "removeOrganizationUser": f'{NAME}, username: "{MEMBER}"',
    "removeReply": PUBLISHED,
    "replyToComment": f'{PUBLISHED}, text: "Thanks"',
    "setOrderStatus": f'id: "{IDS["PLACED_ID"]}", status: SHIPPED',
    "setOrganizationUserType": f'{NAME}, username: "{MEMBER}", type: ADMIN',
    "setSubscriptionPlan": f'{NAME}, subscriptionPlan: "Free"',
    "updateComment": f"{PUBLISHED}, rating: 2",
    "updateProduct": 'productId: "1", title: "Kettle"',
    "updateProfile": 'fullName: "Gone"',
}
MUTATIONS = merged(_MUTATIONS, "MUTATIONS")
"""A template of a valid input of each mutation, for ``IDS``."""


async def test_every_mutation_refuses_a_user_whose_data_is_being_erased(
    schema: Schema, run: Run, world: World
) -> None:
    root = schema._schema.mutation_type
    assert root is not None
    assert root.fields.keys() == MUTATIONS.keys()
    gone = Viewer("gone", frozenset(RIGHTS))
    await world.table.put_many([STANDING.encode(Standing("gone", erasing={"comments": "delete"}))])
    before = await all_items(world.table)
    for name, template in MUTATIONS.items():
        given = Template(template).substitute(IDS)
        operation = f"mutation {{ {name}(input: {{ {given} }}) {{ userErrors {{ message }} }} }}"
        assert codes(await run(operation, gone)) == ["FORBIDDEN"], name
    assert await all_items(world.table) == before
