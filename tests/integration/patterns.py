"""Each access pattern as a client asks for it, over a few items that have one of everything.

`make docs` makes the tables of docs/access-patterns.md of these and of the access patterns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from strawberry.relay.utils import to_base64

from dal.entities.comment import comment_position
from dal.model import (
    Comment,
    OrderStatus,
    Organization,
    OrganizationUser,
    Profile,
    Roster,
    Ticket,
    UserType,
)
from dal.query.cursors import encode
from dal.stores import Stores
from resolvers.request.context import Viewer
from tests.strategies import comment, order

ANA = Viewer("ana")
STAFF = Viewer("sam", frozenset({"staff"}))
DAYS = [datetime(2024, 1, day, tzinfo=UTC) for day in range(1, 11)]


@dataclass(frozen=True)
class Pattern:
    """An operation that is one access pattern, and who asks; ``shows`` is part of the answer."""

    operation: str
    shows: str
    viewer: Viewer | None = None


@dataclass(frozen=True)
class Reads:
    """What an example asks of DynamoDB: exactly, or a part of it where ``requests`` says up to."""

    indexes: Sequence[str]
    conditions: Sequence[str]
    requests: str


@dataclass(frozen=True)
class Example:
    """An access pattern as a client asks for it, and the test that shows it at length."""

    pattern: Pattern
    reads: Reads
    shown_by: str


def _product(selection: str, shows: str) -> Pattern:
    return Pattern(f'{{ product(productId: "42") {{ {selection} }} }}', shows)


def _user(selection: str, shows: str) -> Pattern:
    return Pattern(f'{{ user(username: "ana") {{ {selection} }} }}', shows, ANA)


def _comments(arguments: str, shows: str) -> Pattern:
    return _product(f"comments({arguments}) {{ nodes {{ commentId }} }}", shows)


def _orders(arguments: str, shows: str) -> Pattern:
    return _user(f"orders({arguments}) {{ nodes {{ orderId }} }}", shows)


def _organization(selection: str, shows: str) -> Pattern:
    return Pattern(f'{{ organization(organizationName: "acme") {{ {selection} }} }}', shows, ANA)


_CURSOR = encode(comment_position(comment("c5", created_at=DAYS[5])))
_COMMENT_ID = to_base64("Comment", "c9")
_CREATED = 'createdFrom: "2024-01-02T00:00:00Z"'
_BEFORE = 'createdBefore: "2024-01-06T00:00:00Z"'

_WALKS = "tests/integration/test_walks.py::test_every_selection_walks_as_the_oracle_says"
_COUNTS = "tests/schema/test_statistics.py::test_statistics"
_STATISTICS = "PK = PRODUCT#42 AND SK BETWEEN S AND S#…"
_STATISTICS_SHOWN = "PK = PRODUCT#42 AND SK BETWEEN DETAILS AND S#…"

_SECOND, _SIXTH = "2024-01-02T00:00:00.000000Z", "2024-01-06T00:00:00.000000Y…"
_STATUSES = "PK = USER#ana AND OrderStatusDate BETWEEN "

EXAMPLES = {
    "AP1": Example(
        _comments("first: 3", "c9"),
        Reads(
            ["all"],
            [
                "GSI4PK = PRODUCT#42",
            ],
            "1 Query",
        ),
        _WALKS,
    ),
    "AP2": Example(
        _comments('language: "en"', "c1"),
        Reads(
            ["byLang"],
            [
                "GSI2PK = PRODUCT#42/en",
            ],
            "1 Query",
        ),
        _WALKS,
    ),
    "AP2 (several languages)": Example(
        _comments('language: ["en", "de"]', "c0"),
        Reads(
            ["byLang", "all", "table"],
            [
                "GSI2PK = PRODUCT#42/de",
                "GSI2PK = PRODUCT#42/en",
                "GSI4PK = PRODUCT#42",
                _STATISTICS,
            ],
            "up to 4 Query",
        ),
        _WALKS,
    ),
    "AP3a": Example(
        _comments('rating: 5, language: "en"', "c9"),
        Reads(
            ["byLangAndRating"],
            [
                "GSIPK = PRODUCT#42/en/5",
            ],
            "1 Query",
        ),
        _WALKS,
    ),
    "AP3a, several ratings": Example(
        _comments('rating: [4, 5], language: "en"', "c9"),
        Reads(
            ["byLangAndRating", "byLang", "all", "table"],
            [
                "GSIPK = PRODUCT#42/en/4",
                "GSIPK = PRODUCT#42/en/5",
                "GSI2PK = PRODUCT#42/en",
                "GSI4PK = PRODUCT#42",
                _STATISTICS,
            ],
            "up to 4 Query",
        ),
        _WALKS,
    ),
    "AP3a (several languages)": Example(
        _comments('rating: [4, 5], language: ["en", "de"]', "c9"),
        Reads(
            ["byLangAndRating", "byLang", "byRating", "all", "table"],
            [
                "GSIPK = PRODUCT#42/de/4",
                "GSIPK = PRODUCT#42/de/5",
                "GSIPK = PRODUCT#42/en/4",
                "GSIPK = PRODUCT#42/en/5",
                "GSI2PK = PRODUCT#42/de",
                "GSI2PK = PRODUCT#42/en",
                "GSI3PK = PRODUCT#42/4",
                "GSI3PK = PRODUCT#42/5",
                "GSI4PK = PRODUCT#42",
                _STATISTICS,
            ],
            "up to 7 Query",
        ),
        _WALKS,
    ),
    "AP3b": Example(
        _comments("rating: 5", "c9"),
        Reads(
            ["byRating"],
            [
                "GSI3PK = PRODUCT#42/5",
            ],
            "1 Query",
        ),
        _WALKS,
    ),
    "AP3c": Example(
        _comments("rating: [1, 2]", "c1"),
        Reads(
            ["byRating", "all", "table"],
            [
                "GSI3PK = PRODUCT#42/1",
                "GSI3PK = PRODUCT#42/2",
                "GSI4PK = PRODUCT#42",
                _STATISTICS,
            ],
            "up to 4 Query",
        ),
        _WALKS,
    ),
    "AP4": Example(
        Pattern('{ comment(commentId: "c1") { text } }', "It does what it says"),
        Reads([], [], "1 GetItem"),
        "tests/schema/test_reads.py::test_a_comment_by_its_id_and_as_a_node",
    ),
    "AP6": Example(
        _product(
            f'comments(first: 2, after: "{_CURSOR}") {{ nodes {{ commentId }}'
            " pageInfo { hasNextPage hasPreviousPage } }",
            '"hasPreviousPage": true',
        ),
        Reads(
            ["all"],
            [
                "GSI4PK = PRODUCT#42 AND GSISK <= 2024-01-06T00:00:00.000000Z#c5",
            ],
            "1 Query",
        ),
        "tests/integration/test_walks.py::test_every_cursor_resumes_at_its_own_row",
    ),
    "AP6 (dates)": Example(
        _comments(f'language: "en", {_CREATED}, {_BEFORE}', "c3"),
        Reads(
            ["byLang"],
            [f"GSI2PK = PRODUCT#42/en AND GSISK BETWEEN {_SECOND} AND {_SIXTH}"],
            "1 Query",
        ),
        _WALKS,
    ),
    "AP6 (oldest first)": Example(
        _comments("orderBy: OLDEST, first: 3", "c0"),
        Reads(["all"], ["GSI4PK = PRODUCT#42"], "1 Query"),
        _WALKS,
    ),
    "AP7": Example(
        _product("statistics { histogram { count } }", '"count": 2'),
        Reads(
            ["table"],
            [
                _STATISTICS_SHOWN,
            ],
            "1 Query",
        ),
        _COUNTS,
    ),
    "AP8": Example(
        _product('statistics(language: "en") { histogram { count } }', '"count": 1'),
        Reads(
            ["table"],
            [
                _STATISTICS_SHOWN,
            ],
            "1 Query",
        ),
        _COUNTS,
    ),
    "AP9": Example(
        _product("statistics { total }", '"total": 10'),
        Reads(
            ["table"],
            [
                _STATISTICS_SHOWN,
            ],
            "1 Query",
        ),
        _COUNTS,
    ),
    "AP10": Example(
        _product('statistics(language: "en") { total }', '"total": 5'),
        Reads(
            ["table"],
            [
                _STATISTICS_SHOWN,
            ],
            "1 Query",
        ),
        _COUNTS,
    ),
    "AP11": Example(
        Pattern("{ leaderboard { nodes { count } } }", '"count": 2'),
        Reads(
            ["byLangAndRating"],
            [
                "GSIPK = LEADERS",
            ],
            "1 Query",
        ),
        "tests/schema/test_statistics.py::test_leaderboard",
    ),
    "AP11 (one language)": Example(
        Pattern('{ leaderboard(language: "en") { nodes { product { productId } } } }', "42"),
        Reads(
            ["byLangAndRating"],
            [
                "GSIPK = LEADERS#en",
            ],
            "1 Query",
        ),
        "tests/dal/repositories/test_leaderboard.py::test_boards_of_languages_are_their_own",
    ),
    "AP12": Example(
        Pattern('{ author(username: "ana") { comments(first: 3) { nodes { commentId } } } }', "c9"),
        Reads(
            ["byAuthor"],
            [
                "GSI5PK = AUTHOR#ana",
            ],
            "1 Query",
        ),
        "tests/dal/repositories/test_author_index.py::test_an_authors_pages_are_the_oracles",
    ),
    "most recent positive": Example(
        _product("mostRecentPositive { commentId }", "c9"),
        Reads(
            ["byRating", "all", "table"],
            [
                "GSI3PK = PRODUCT#42/4",
                "GSI3PK = PRODUCT#42/5",
                "GSI4PK = PRODUCT#42",
                _STATISTICS,
            ],
            "up to 4 Query",
        ),
        "tests/schema/test_reads.py::test_most_recent_comments",
    ),
    "most recent negative": Example(
        _product("mostRecentNegative { commentId }", "c6"),
        Reads(
            ["byRating", "all", "table"],
            [
                "GSI3PK = PRODUCT#42/1",
                "GSI3PK = PRODUCT#42/2",
                "GSI4PK = PRODUCT#42",
                _STATISTICS,
            ],
            "up to 4 Query",
        ),
        "tests/schema/test_reads.py::test_most_recent_comments",
    ),
    "last commented": Example(
        _product("lastCommentedAt", "2024-01-10"),
        Reads(
            ["all"],
            [
                "GSI4PK = PRODUCT#42",
            ],
            "1 Query",
        ),
        "tests/schema/test_reads.py::test_most_recent_comments",
    ),
    "product details": Example(
        _product("title pictureUrl url", "Kettle"),
        Reads([], [], "1 BatchGetItem"),
        "tests/schema/test_products.py::test_details_alone_are_one_request_for_all",
    ),
    "A1": Example(
        _user("profile { email }", "ana@example.org"),
        Reads([], [], "1 GetItem"),
        "tests/schema/test_order_writes.py::test_a_profile_is_changed_field_by_field",
    ),
    "A2": Example(
        _orders("first: 10", "o0"),
        Reads(
            ["byDate"],
            [
                "PK = USER#ana",
            ],
            "1 Query",
        ),
        "tests/schema/test_orders.py::test_the_orders_of_a_user",
    ),
    "A2 (since a date)": Example(
        _orders(_CREATED, "o2"),
        Reads(["byDate"], [f"PK = USER#ana AND OrderDate >= {_SECOND}"], "1 Query"),
        "tests/schema/test_orders.py::test_the_orders_of_a_user",
    ),
    "A2 (before a date)": Example(
        _orders(_BEFORE, "o2"),
        Reads(["byDate"], ["PK = USER#ana AND OrderDate < 2024-01-06T00:00:00.000000Z"], "1 Query"),
        "tests/schema/test_orders.py::test_the_orders_of_a_user",
    ),
    "A2 (between two dates)": Example(
        _orders(f"{_CREATED}, {_BEFORE}", "o2"),
        Reads(
            ["byDate"],
            [f"PK = USER#ana AND OrderDate BETWEEN {_SECOND} AND {_SIXTH}"],
            "1 Query",
        ),
        "tests/schema/test_orders.py::test_the_orders_of_a_user",
    ),
    "A3": Example(
        Pattern('{ order(orderId: "o1") { lines { productId } } }', "42", ANA),
        Reads(
            ["GSI1"],
            [
                "GSI1PK = ORDER#o1 AND GSI1SK BETWEEN ORDER# AND ORDER#…",
            ],
            "1 Query",
        ),
        "tests/schema/test_orders.py::test_an_order_with_its_lines_is_one_query",
    ),
    "A4": Example(
        _orders("status: SHIPPED", "o1"),
        Reads(
            ["byStatusDate"],
            [
                f"{_STATUSES}SHIPPED# AND SHIPPED#…",
            ],
            "1 Query",
        ),
        "tests/schema/test_orders.py::test_the_orders_of_a_user",
    ),
    "A4, several statuses": Example(
        _orders("status: [PLACED, SHIPPED]", "o1"),
        Reads(
            ["byStatusDate"],
            [
                f"{_STATUSES}PLACED# AND PLACED#…",
                f"{_STATUSES}SHIPPED# AND SHIPPED#…",
            ],
            "2 Query",
        ),
        "tests/dal/repositories/test_order_pages.py::test_walks_over_every_subset_of_statuses",
    ),
    "A4 (since a date)": Example(
        _orders(f"status: SHIPPED, {_CREATED}", "o1"),
        Reads(
            ["byStatusDate"],
            [f"{_STATUSES}SHIPPED#{_SECOND} AND SHIPPED#…"],
            "1 Query",
        ),
        "tests/schema/test_orders.py::test_the_orders_of_a_user",
    ),
    "A5": Example(
        Pattern("{ openOrders { nodes { orderId } } }", "o0", STAFF),
        Reads(
            ["openOrders"],
            [
                "PlacedId = PLACED#0…7",
            ],
            "8 Query",
        ),
        "tests/schema/test_orders.py::test_open_orders_are_one_query_for_each_shard",
    ),
    "A5'": Example(
        _orders(f"status: SHIPPED, {_BEFORE}", "o1"),
        Reads(
            ["byStatusDate"],
            [
                f"{_STATUSES}SHIPPED# AND SHIPPED#{_SIXTH}",
            ],
            "1 Query",
        ),
        "tests/schema/test_orders.py::test_the_orders_of_a_user",
    ),
    "A6": Example(
        _orders(f"status: SHIPPED, {_CREATED}, {_BEFORE}", "o1"),
        Reads(
            ["byStatusDate"],
            [
                f"{_STATUSES}SHIPPED#{_SECOND} AND SHIPPED#{_SIXTH}",
            ],
            "1 Query",
        ),
        "tests/schema/test_orders.py::test_the_orders_of_a_user",
    ),
    "T1": Example(
        _organization("subscriptionPlan users { nodes { username } }", "bob"),
        Reads(
            ["table"],
            [
                "PK = ORG#acme AND SK BETWEEN METADATA# AND USER#…",
            ],
            "1 Query, 1 GetItem",
        ),
        "tests/schema/test_organizations.py::test_an_organisation_with_its_users_is_one_query",
    ),
    "T2": Example(
        _organization('user(username: "bob") { type tickets { nodes { subject } } }', "Cold"),
        Reads(
            ["GSI1"],
            [
                "GSI1PK = ORG#acme#USER#bob AND GSI1SK BETWEEN TICKET# AND USER#…",
            ],
            "1 Query, 2 GetItem",
        ),
        "tests/schema/test_organizations.py::test_a_user_with_the_newest_tickets_is_one_query",
    ),
    "T2 (one status)": Example(
        _organization(
            'user(username: "bob") { tickets(status: OPEN) { nodes { subject } } }', "Cold"
        ),
        Reads(
            ["byLangAndRating"],
            [
                "GSIPK = TICKET#acme/bob/OPEN",
            ],
            "1 Query, 3 GetItem",
        ),
        "tests/schema/test_organizations.py::test_tickets_page_both_ways_under_any_status",
    ),
    "T3": Example(
        Pattern('{ ticket(ticketId: "t1") { subject } }', "Cold", STAFF),
        Reads([], [], "1 GetItem"),
        "tests/schema/test_organizations.py::test_a_ticket_by_its_id_is_one_read",
    ),
    "AP5": Example(
        Pattern(
            f'mutation {{ deleteComment(input: {{id: "{_COMMENT_ID}"}}) {{ deletedId }} }}',
            _COMMENT_ID,
            ANA,
        ),
        Reads([], [], "up to 2 GetItem, 1 TransactWriteItems"),
        "tests/schema/test_writes.py::test_delete",
    ),
}
"""By the name of the access pattern; behind a comma, what is special of an example."""


def _comment(number: int) -> Comment:
    return comment(
        f"c{number}",
        rating=number % 5 + 1,
        language=("de", "en")[number % 2],
        created_at=DAYS[number],
    )


async def fill(stores: Stores) -> None:
    """Store what the patterns ask for."""
    await stores.comments.put_many([_comment(number) for number in range(10)])
    await stores.boards.finish()
    await stores.users.put_profiles({"ana": Profile(full_name="Ana", email="ana@example.org")})
    await stores.products.update("42", {"title": "Kettle"})
    await stores.orders.put_many(
        [
            order(f"o{number}", status=status, created_at=DAYS[number])
            for number, status in enumerate(OrderStatus)
        ]
    )
    users = [OrganizationUser("acme", "ana", UserType.ADMIN), OrganizationUser("acme", "bob")]
    await stores.organizations.put_many([Roster(Organization("acme", "Pro"), users)])
    await stores.tickets.put_many(
        [
            Ticket(
                ticket_id="t1",
                organization="acme",
                username="bob",
                subject="Cold",
                text="It does not boil.",
                created_at=DAYS[0],
            )
        ]
    )
