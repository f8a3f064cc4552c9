"""Examples of every access pattern: an operation of a client, on a few items of all kinds.

The examples are in tests/fixtures/access_patterns.toml. `make docs` generates the tables of
docs/access-patterns.md from them and from the access patterns.
"""

import tomllib
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
    Photo,
    ProductDetails,
    Profile,
    Roster,
    Ticket,
    UserType,
)
from dal.model.reports import ReportReason
from dal.model.submissions import ReviewCause
from dal.query.cursors import encode_cursor
from dal.stores import Stores
from resolvers.context import Viewer
from tests.engines import ROOT
from tests.moderating import held_for
from tests.strategies import comment, order

FIXTURE = ROOT / "tests/fixtures/access_patterns.toml"
VIEWERS = {
    one.user_id: one
    for one in (
        Viewer("ana"),
        Viewer("sam", frozenset({"staff"})),
        Viewer("mo", frozenset({"moderator"})),
    )
}
DAYS = [datetime(2024, 1, day, tzinfo=UTC) for day in range(1, 11)]


@dataclass(frozen=True)
class Pattern:
    """A GraphQL operation and its user. The response must contain ``shows``."""

    operation: str
    shows: str
    viewer: Viewer | None = None


@dataclass(frozen=True)
class Reads:
    """The requests of an example to DynamoDB. "up to" in ``requests`` is a maximum."""

    indexes: Sequence[str]
    conditions: Sequence[str]
    requests: str


@dataclass(frozen=True)
class Example:
    """A client's operation of an access pattern, and the name of the test that covers it
    in detail.
    """

    pattern: Pattern
    reads: Reads
    shown_by: str


def _read() -> dict[str, Example]:
    text = FIXTURE.read_text("utf-8")
    text = text.replace(
        "<cursor>", encode_cursor(comment_position(comment("c5", created_at=DAYS[5])))
    )
    text = text.replace("<id>", to_base64("Comment", "c9"))
    return {name: _example(**given) for name, given in tomllib.loads(text).items()}


def _example(
    *,
    operation: str,
    shows: str,
    requests: str,
    shown_by: str,
    viewer: str | None = None,
    indexes: Sequence[str] = (),
    conditions: Sequence[str] = (),
) -> Example:
    pattern = Pattern(operation, shows, None if viewer is None else VIEWERS[viewer])
    return Example(pattern, Reads(indexes, conditions, requests), shown_by)


EXAMPLES = _read()
"""The examples by name: an access pattern, and after a comma the example's special case."""


def _comment(number: int) -> Comment:
    return comment(
        f"c{number}",
        rating=number % 5 + 1,
        language=("de", "en")[number % 2],
        created_at=DAYS[number],
        verified_purchase=number % 2 == 0,
        photos=(Photo("https://shop.example/kettle.jpg", "On my stove"),) if number == 4 else (),
        votes_before={3: 2, 6: 1}.get(number, 0),
    )


async def fill(stores: Stores) -> None:
    """Store the items that the examples read."""
    await stores.comments.put_many([_comment(number) for number in range(10)])
    await stores.comments.add(
        comment("held", created_at=DAYS[9]), hold=held_for(ReviewCause.SETTING)
    )
    await stores.votes.mark("c8", "mo")
    await stores.folds.finish()
    await stores.boards.finish()
    await stores.reports.report("c1", "bob", ReportReason.SPAM, "Buy", review_at=5)
    await stores.standings.block("eve", "Spam", by="mo")
    await stores.users.put_profiles({"ana": Profile(full_name="Ana", email="ana@example.org")})
    variants = {"42": ProductDetails("Kettle", group="ks"), "42b": ProductDetails(group="ks")}
    await stores.products.put_many(variants)
    await stores.orders.put_many(
        [
            order(f"o{number}", status=status, created_at=DAYS[number])
            for number, status in enumerate(OrderStatus)
        ]
    )
    users = [OrganizationUser("acme", "ana", UserType.ADMIN), OrganizationUser("acme", "bob")]
    others = [OrganizationUser("bees", "bob")]
    await stores.organizations.put_many(
        [Roster(Organization("acme", "Pro"), users), Roster(Organization("bees", "Free"), others)]
    )
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
