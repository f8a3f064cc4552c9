"""Examples of every access pattern: an operation of a client, on a few items of all kinds.

The examples of the core are in tests/fixtures/access_patterns.toml. A feature adds examples by
``access_patterns.toml`` in its tests, and the items that they read by ``fill`` in ``lists.py``.
`make docs` generates the tables of docs/access-patterns.md from the examples and from the access
patterns.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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
from dal.query.cursors import encode_cursor
from dal.stores import Stores
from resolvers.context import Viewer
from tests.engines import ROOT
from tests.feature_lists import added, files, merged
from tests.putting import put_comments, put_orders, put_profiles, put_rosters, put_tickets
from tests.schema.conftest import Who
from tests.strategies import comment, order

FIXTURE = ROOT / "tests/fixtures/access_patterns.toml"
_VIEWERS: dict[str, Who] = {
    one.user_id: one
    for one in (
        Viewer("ana"),
        Viewer("sam", frozenset({"staff"})),
        Viewer("mo", frozenset({"moderator"})),
    )
}
VIEWERS = merged(_VIEWERS, "WHO")
REQUESTS = re.compile(r"(up to )?(\d+) (\w+)")
DAYS = [datetime(2024, 1, day, tzinfo=UTC) for day in range(1, 11)]


@dataclass(frozen=True)
class Pattern:
    """A GraphQL operation and its user. The response must contain ``shows``."""

    operation: str
    shows: str
    viewer: Who = None


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


def _read(path: Path) -> tuple[dict[str, Example], Mapping[str, Any]]:
    """Return the examples of a file, and what further reads it states of examples of the core."""
    text = path.read_text("utf-8")
    text = text.replace(
        "<cursor>", encode_cursor(comment_position(comment("c5", created_at=DAYS[5])))
    )
    text = text.replace("<id>", to_base64("Comment", "c9"))
    tables = tomllib.loads(text)
    more = tables.pop("more", {})
    return {name: _example(**given) for name, given in tables.items()}, more


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


def _and(
    example: Example, *, requests: str, indexes: Sequence[str] = (), conditions: Sequence[str] = ()
) -> Example:
    """Return an example of the core that also sends the requests of a feature."""
    reads = example.reads
    sent = Counter[tuple[str, str]]()
    for text in (reads.requests, requests):
        for few, number, operation in REQUESTS.findall(text):
            sent[few, operation] += int(number)
    summed = ", ".join(f"{few}{number} {operation}" for (few, operation), number in sent.items())
    both = Reads(
        [*dict.fromkeys([*reads.indexes, *indexes])], [*reads.conditions, *conditions], summed
    )
    return replace(example, reads=both)


CORE, _ = _read(FIXTURE)
"""The examples of the core by name: an access pattern, and after a comma the special case."""


def _with_features() -> dict[str, Example]:
    added = [_read(path) for path in files("access_patterns.toml")]
    # The core's examples are the last, because the last of these deletes a comment.
    found = {name: example for own, _ in added for name, example in own.items()} | CORE
    for _, more in added:
        found |= {name: _and(found[name], **given) for name, given in more.items()}
    return found


EXAMPLES = _with_features()
"""The examples of the core and of all features."""


def _comment(number: int) -> Comment:
    return comment(
        f"c{number}",
        rating=number % 5 + 1,
        language="en-GB" if number == 7 else ("de", "en")[number % 2],
        created_at=DAYS[number],
        verified_purchase=number % 2 == 0,
        photos=(Photo("https://shop.example/kettle.jpg", "On my stove"),) if number == 4 else (),
        votes_before={3: 2, 6: 1}.get(number, 0),
    )


async def fill(stores: Stores) -> None:
    """Store the items that the examples read."""
    await put_comments(stores.comments, [_comment(number) for number in range(10)])
    await put_profiles(stores.table, {"ana": Profile(full_name="Ana", email="ana@example.org")})
    variants = {"42": ProductDetails("Kettle", group="ks"), "42b": ProductDetails(group="ks")}
    await stores.products.put_many(variants)
    await put_orders(
        stores.table,
        [
            order(f"o{number}", status=status, created_at=DAYS[number])
            for number, status in enumerate(OrderStatus)
        ],
    )
    users = [OrganizationUser("acme", "ana", UserType.ADMIN), OrganizationUser("acme", "bob")]
    others = [OrganizationUser("bees", "bob")]
    await put_rosters(
        stores.table,
        [Roster(Organization("acme", "Pro"), users), Roster(Organization("bees", "Free"), others)],
    )
    await put_tickets(
        stores.table,
        [
            Ticket(
                ticket_id="t1",
                organization="acme",
                username="bob",
                subject="Cold",
                text="It does not boil.",
                created_at=DAYS[0],
            )
        ],
    )
    for fill_more in added("fill"):
        await fill_more(stores)
    await stores.boards.finish()
