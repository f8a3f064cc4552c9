"""Lists what the features of the shop add to commands that work on the whole table."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from dal.counts.boards import BoardCorrection
from dal.counts.helpful import VoteCorrection
from dal.dynamodb.table import Table
from dal.entities.case import case_in, commented_id, decode_report, is_case, is_report
from dal.entities.comment import STATE, is_comment, is_tombstone
from dal.entities.commented import NAMED
from dal.entities.order import ORDER, is_order
from dal.entities.organization import (
    ORGANIZATION_USER,
    decode_organization,
    is_organization,
    is_organization_user,
)
from dal.entities.product import PRODUCT_DETAILS, is_details
from dal.entities.standing import is_standing
from dal.entities.submission import stored
from dal.entities.ticket import TICKET, is_ticket
from dal.entities.vote import decode_vote, is_counted, is_vote, voted_id
from dal.kinds.correction import Correction
from dal.kinds.item_kind import COMMENTS, ORDERS, STANDING, TICKETS, FileItems, ItemKind
from dal.maintenance.commented_marking import Names
from dal.maintenance.export import with_users
from dal.model import Comment
from dal.repositories.cases import Cases, correct_case
from dal.repositories.users import decode_profile, is_profile
from dal.stores import Stores
from dal.table.entity import unpacked
from dal.table.items import Item
from dal.table.key_parts import unescape


def _cases(table: Table) -> Cases:
    return Cases(table, Stores(table).comments.writer.remove_rest)


CORRECTIONS: Sequence[Callable[[Table], Correction]] = (
    BoardCorrection,
    _cases,
    VoteCorrection,
    Names,
)
"""The corrections of ``stats verify``, in the order in which they run."""


def _keyed(partition: str, sort: str) -> Callable[[Item], bool]:
    """Return a function that tests whether an item's PK and SK begin with these texts."""
    return lambda key: key["PK"]["S"].startswith(partition) and key["SK"]["S"].startswith(sort)


def _first(item: Item) -> str:
    """Return the identifier in an item's partition key."""
    return unescape(item["PK"]["S"].partition("#")[2])


def _second(item: Item) -> str:
    """Return the identifier in an item's sort key."""
    return unescape(item["SK"]["S"].partition("#")[2])


def _is_published(item: Item) -> bool:
    return is_comment(item) and STATE not in item and not is_tombstone(item)


def _is_held(item: Item) -> bool:
    return is_comment(item) and STATE in item


def _comment(item: Item) -> Any:
    one = stored(item)
    if one is None:
        raise ValueError("This item is not a comment.")
    return one._asdict() | {"state": "PUBLISHED"} if isinstance(one, Comment) else one


async def _correct_case(_: Stores, table: Table, item: Item) -> None:
    if (comment_id := commented_id(item)) is not None:
        await correct_case(table, comment_id)


async def _fold(stores: Stores, _: Table, item: Item) -> None:
    stores.folds.note(voted_id(item))


_BLOCK = ItemKind(
    name="blocks",
    noun="moderation block",
    holds=lambda _: False,
    decode=lambda item: {"username": _first(item), **unpacked(item)["block"]},
    renamed=True,
)
"""The standing of a user whom another user has blocked as a moderator."""

_NAMELESS = re.compile(
    "(PRODUCT|GROUP|ORG|RECOUNT|UPGRADE|STREAM|EVENT|CANARY|MARKER|ERASURE)#|(COUNTING|DOCUMENTS)$|COMMENTED(#|$)"
)
"""Matches the partition keys of all further items that never name a user."""

KINDS: Sequence[ItemKind] = (
    ItemKind(
        name=COMMENTS,
        noun="comment",
        holds=is_comment,
        decode=_comment,
        file=FileItems(name="comments", holds=_is_published, decode=stored, unpublished=_is_held),
    ),
    ItemKind(
        name="reports",
        noun="report",
        holds=is_report,
        decode=decode_report,
        erased=_correct_case,
        file=FileItems(name="reports", holds=is_report, decode=decode_report),
    ),
    ItemKind(
        name="votes",
        noun="helpful vote",
        holds=is_vote,
        decode=decode_vote,
        erased=_fold,
        file=FileItems(
            name="votes",
            holds=lambda item: is_vote(item) and is_counted(item),
            decode=decode_vote,
        ),
    ),
    ItemKind(
        name="decisions",
        noun="moderation decision",
        holds=is_case,
        decode=lambda item: {"comment_id": _first(item), **unpacked(item)},
        renamed=True,
        file=FileItems(name="cases", holds=is_case, decode=case_in),
    ),
    _BLOCK,
    ItemKind(
        name=TICKETS,
        noun="ticket",
        holds=is_ticket,
        decode=TICKET.decode,
        file=FileItems(name="tickets", holds=is_ticket, decode=TICKET.decode),
    ),
    ItemKind(
        name="memberships",
        noun="membership",
        holds=is_organization_user,
        decode=ORGANIZATION_USER.decode,
    ),
    ItemKind(
        name="profile",
        noun="profile",
        holds=is_profile,
        decode=lambda item: decode_profile(item)[1],
        single=True,
        file=FileItems(name="profiles", holds=is_profile, decode=decode_profile),
    ),
    ItemKind(
        name=ORDERS,
        noun="order",
        holds=is_order,
        decode=ORDER.decode,
        file=FileItems(name="orders", holds=is_order, decode=ORDER.decode),
    ),
    ItemKind(
        name="purchases",
        noun="purchase",
        holds=_keyed("USER#", "PURCHASE#"),
        decode=lambda item: {"product_id": _second(item)},
    ),
    ItemKind(
        name="commented",
        noun="commented-product record",
        holds=_keyed("USER#", "COMMENTED#"),
        decode=lambda item: {"product_id": _second(item), "comment_id": item[NAMED]["S"]},
    ),
    ItemKind(
        name=STANDING, noun="write restriction", holds=is_standing, single=True, of_another=_BLOCK
    ),
    ItemKind(
        holds=is_organization,
        file=FileItems(
            name="organizations",
            holds=is_organization,
            decode=decode_organization,
            complete=with_users,
        ),
    ),
    ItemKind(
        holds=is_details,
        file=FileItems(name="products", holds=is_details, decode=PRODUCT_DETAILS.decode),
    ),
    ItemKind(holds=lambda item: _NAMELESS.match(item["PK"]["S"]) is not None),
)
"""All kinds of items, in the order of personal data."""
