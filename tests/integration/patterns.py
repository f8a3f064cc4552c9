"""Each access pattern as a client asks for it, over a few items that have one of everything."""

from dataclasses import dataclass
from datetime import UTC, datetime

from strawberry.relay.utils import to_base64

from dal.cursors import encode
from dal.items import comment_position
from dal.model import Comment, OrderStatus, Profile
from dal.organization_model import Organization, OrganizationUser, Roster, Ticket, UserType
from dal.stores import Stores
from resolvers.context import Viewer
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


def _product(selection: str, shows: str) -> Pattern:
    return Pattern(f'{{ product(productId: "42") {{ {selection} }} }}', shows)


def _user(selection: str, shows: str) -> Pattern:
    return Pattern(f'{{ user(username: "ana") {{ {selection} }} }}', shows, ANA)


def _comments(arguments: str, shows: str) -> Pattern:
    return _product(f"comments({arguments}) {{ nodes {{ commentId }} }}", shows)


def _orders(arguments: str, shows: str) -> Pattern:
    return _user(f"orders({arguments}) {{ nodes {{ orderId }} }}", shows)


def _organization(selection: str, shows: str) -> Pattern:
    return Pattern(f'{{ organization(name: "acme") {{ {selection} }} }}', shows, ANA)


_CURSOR = encode(comment_position(comment("c5", created_at=DAYS[5])))
_COMMENT_ID = to_base64("Comment", "c9")
_CREATED = 'createdFrom: "2024-01-02T00:00:00Z"'
_BEFORE = 'createdBefore: "2024-01-06T00:00:00Z"'

PATTERNS = {
    "AP1": _comments("first: 3", "c9"),
    "AP2": _comments('language: "en"', "c1"),
    "AP2, several languages": _comments('language: ["en", "de"]', "c0"),
    "AP3a": _comments('rating: 5, language: "en"', "c9"),
    "AP3a, several ratings": _comments('rating: [4, 5], language: "en"', "c9"),
    "AP3b": _comments("rating: 5", "c9"),
    "AP3c": _comments("rating: [1, 2]", "c1"),
    "AP4": Pattern('{ comment(commentId: "c1") { text } }', "It does what it says"),
    "AP6": _product(
        f'comments(first: 2, after: "{_CURSOR}") {{ nodes {{ commentId }}'
        " pageInfo { hasNextPage hasPreviousPage } }",
        '"hasPreviousPage": true',
    ),
    "AP7": _product("statistics { histogram { count } }", '"count": 2'),
    "AP8": _product('statistics(language: "en") { histogram { count } }', '"count": 1'),
    "AP9": _product("statistics { total }", '"total": 10'),
    "AP10": _product('statistics(language: "en") { total }', '"total": 5'),
    "AP11": Pattern("{ leaderboard { nodes { count } } }", '"count": 2'),
    "AP11, one language": Pattern(
        '{ leaderboard(language: "en") { nodes { product { productId } } } }', "42"
    ),
    "most recent positive": _product("mostRecentPositive { commentId }", "c9"),
    "most recent negative": _product("mostRecentNegative { commentId }", "c6"),
    "last commented": _product("lastCommentedAt", "2024-01-10"),
    "A1": _user("profile { email }", "ana@example.org"),
    "A2": _orders("first: 10", "o0"),
    "A3": Pattern('{ order(orderId: "o1") { lines { productId } } }', "42", ANA),
    "A4": _orders("status: SHIPPED", "o1"),
    "A4, several statuses": _orders("status: [PLACED, SHIPPED]", "o1"),
    "A5": Pattern("{ openOrders { nodes { orderId } } }", "o0", STAFF),
    "A5'": _orders(f"status: SHIPPED, {_BEFORE}", "o1"),
    "A6": _orders(f"status: SHIPPED, {_CREATED}, {_BEFORE}", "o1"),
    "T1": _organization("plan users { nodes { username } }", "bob"),
    "T2": _organization('user(username: "bob") { type tickets { nodes { subject } } }', "Cold"),
    "T2, one status": _organization(
        'user(username: "bob") { tickets(status: OPEN) { nodes { subject } } }', "Cold"
    ),
    "T3": Pattern('{ ticket(ticketId: "t1") { subject } }', "Cold", STAFF),
    "AP5": Pattern(
        f'mutation {{ deleteComment(input: {{id: "{_COMMENT_ID}"}}) {{ deletedId }} }}',
        _COMMENT_ID,
        ANA,
    ),
}


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
    await stores.users.put_profiles({"ana": Profile(full_name="Ana", email="ana@example.org")})
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
