"""A user with items of every kind, and other objects whose ids equal the user's name."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import orjson

from dal.dynamodb.table import Table
from dal.entities.comment import comment_key
from dal.entities.organization import user_key
from dal.model import (
    Organization,
    OrganizationUser,
    Photo,
    Profile,
    Roster,
    Ticket,
    UserType,
)
from dal.model.submissions import ReviewCause
from dal.stores import Stores
from dal.table.items import Item, key_of, primary_key
from dal.table.key_parts import escape
from dal.writes.comments import version
from features.groups.entity import encode_group
from features.groups.model import ProductGroup
from features.moderation.model import ReportReason
from tests.fakes import anybody
from tests.moderating import held_for
from tests.organizations import ticket
from tests.putting import put_comments, put_orders, put_profiles, put_rosters, put_tickets
from tests.strategies import comment, order

NAME = "zoë/5%#1"
SHOWN = "Zoë Example"
PHOTO = Photo("https://photos.example/zoe/1.jpg", "Me")
ORGANIZATION, LEFT = "ac/me#1%", "former"

COUNTS = {
    "comments": 5,
    "reports": 1,
    "votes": 1,
    "recentVotes": 1,
    "decisions": 1,
    "blocks": 1,
    "tickets": 2,
    "memberships": 1,
    "profile": 1,
    "orders": 1,
    "purchases": 1,
    "commented": 1,
    "standing": 1,
}
"""The number of the user's items of each kind.

The ticket of the organisation that the user left also counts.
"""


async def fill(stores: Stores, table: Table, name: str = NAME, of: str = "") -> None:
    """Store the user's items, and other users' items that name the user.

    ``of`` is a prefix of the ids, so that a table can contain several such users.
    """
    own: dict[str, Any] = {"username": name, "name": SHOWN, "photos": (PHOTO,)}
    await put_comments(
        stores.comments,
        [
            comment(f"{of}c1", **own),
            comment(f"{of}c2", product_id="43", rating=2, **own),
            comment(f"{of}other", username="other"),
        ],
    )
    await stores.comments.add(comment(**own, text="keyed"), f"{of}key")
    await stores.comments.add(comment(f"{of}c3", **own), hold=held_for(ReviewCause.SETTING))
    for number, by in (("c4", "mo"), ("theirs", name)):
        author = own if by == "mo" else {"username": "other"}
        one = comment(f"{of}{number}", **author)
        await stores.comments.add(one)
        await stores.moderation.reject(one.comment_id, version(one), by, "Spam")
    await stores.blocks.block(name, "Spam", by="mo")
    await stores.blocks.block(f"{of}eve", "Insults", by=name)
    await put_profiles(stores.table, {name: Profile(full_name=SHOWN, email="z@example.org")})
    for organization in (ORGANIZATION, LEFT):
        users = [OrganizationUser(organization, name, UserType.ADMIN)]
        await put_rosters(stores.table, [Roster(Organization(organization, "Pro"), users)])
        row = ticket(len(organization), name, organization)
        await stores.tickets.create(_named(row, f"{of}{organization}"))
    await table.write([{"Delete": {"Key": user_key(LEFT, name)}}])
    for comment_id, by in (("other", name), ("c1", "other")):
        spam, review_at = ReportReason.SPAM, 9
        await stores.reports.report(f"{of}{comment_id}", by, spam, "It is.", review_at, anybody)
        await stores.votes.mark(f"{of}{comment_id}", by)
    await stores.folds.finish()
    mark = primary_key(f"USER#{escape(name)}", "COMMENTED#42") | {"comment": {"S": f"{of}c1"}}
    purchase = primary_key(f"USER#{escape(name)}", "PURCHASE#42")
    await table.put_many([mark, purchase])
    await put_orders(stores.table, [order(f"{of}1", username=name, name=SHOWN)])


def _named(row: Ticket, ticket_id: str) -> Ticket:
    return replace(row, ticket_id=ticket_id, name=SHOWN)


async def fill_namesakes(stores: Stores, table: Table) -> list[Item]:
    """Store objects whose ids equal the user's name. Return their items."""
    one = comment(NAME, product_id=NAME, username="namesake", name=SHOWN, text=f"As {NAME} says")
    await stores.comments.add(one)
    users = [OrganizationUser(NAME, "namesake")]
    await put_rosters(stores.table, [Roster(Organization(NAME, "Pro"), users)])
    await put_tickets(stores.table, [_named(ticket(1, "namesake", NAME), NAME)])
    await put_orders(stores.table, [order(NAME, username="namesake")])
    await stores.blocks.block("namesake", NAME, by="mo")
    await stores.votes.mark(NAME, "voter")
    group = encode_group(ProductGroup(NAME, (NAME,)))
    await table.put_many([group])
    keys = [comment_key(NAME), primary_key("USER#namesake", f"ORDER#{escape(NAME)}")]
    keys += [primary_key(f"TICKET#{escape(NAME)}"), user_key(NAME, "namesake"), key_of(group)]
    return await table.get_many(keys)


def mentions(item: Item, name: str = NAME) -> bool:
    """Return whether a key, field or text of an item contains the name."""
    text = orjson.dumps(item).decode()
    return escape(name) in text or orjson.dumps(orjson.dumps(name).decode()).decode()[1:-1] in text


def in_order(items: Iterable[Item]) -> list[Item]:
    """Return items sorted by their keys."""
    return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))
