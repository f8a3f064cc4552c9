"""Lists the access patterns, and what the core and features add to commands on the whole table."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dal.catalogue import ACCESS_PATTERNS as CORE_PATTERNS
from dal.counts.boards import BoardCorrection
from dal.counts.mode import Maintenance, MaintenanceMode
from dal.entities.comment import is_comment
from dal.entities.order import ORDER, is_order, is_purchase
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
from dal.kinds.correction import Correction
from dal.kinds.counting_mode import CountingMode
from dal.kinds.item_kind import ItemKind
from dal.maintenance.leftovers import Leftovers
from dal.maintenance.rebuild import rebuild
from dal.maintenance.search_keys import SearchKeyCorrection
from dal.model import Comment
from dal.repositories import erasures
from dal.repositories.users import decode_profile, is_profile
from dal.stores import Stores
from dal.table.items import Item
from dal.table.key_parts import unescape
from features.groups import kind as groups
from features.invitations import kind as invitations
from features.loading import kind as loading
from features.moderation import kind as moderation
from features.one_per_person import kind as one_per_person
from features.privacy import kind as privacy
from features.stream_counting import kind as stream_counting
from features.trusted_documents import kind as documents
from features.votes import kind as votes

ACCESS_PATTERNS = (
    *CORE_PATTERNS,
    *groups.PATTERNS,
    *invitations.PATTERNS,
    *moderation.PATTERNS,
    *votes.PATTERNS,
)
"""The access patterns of the core, then those of features."""

CORRECTIONS: Sequence[type[Correction]] = (
    BoardCorrection,
    SearchKeyCorrection,
    votes.VoteCorrection,
    moderation.CaseCorrection,
    one_per_person.ReservationCorrection,
    Leftovers,
)
"""The corrections of ``stats verify``, in the order in which they run."""


def _comment(item: Item) -> Any:
    one = stored(item)
    if one is None:
        raise ValueError("This item is not a comment.")
    return one._asdict() | {"state": "PUBLISHED"} if isinstance(one, Comment) else one


_NAMELESS = re.compile("(PRODUCT|ORG|RECOUNT|UPGRADE|MARKER)#|COUNTING$")
"""Matches the partition keys of all further items that never name a user."""

KINDS: Sequence[ItemKind] = (
    ItemKind(
        name="comments",
        noun="comment",
        holds=is_comment,
        decode=_comment,
        erase=lambda table: privacy.comment_eraser(table, Stores(table).writer),
        forget=erasures.announce,
        file=loading.COMMENTS,
    ),
    ItemKind(
        name="orders",
        noun="order",
        holds=is_order,
        decode=ORDER.decode,
        without_name=privacy.nameless_order,
        file=loading.ORDERS,
    ),
    ItemKind(
        name="purchases",
        noun="purchase",
        holds=is_purchase,
        decode=lambda item: {"product_id": unescape(item["SK"]["S"].partition("#")[2])},
    ),
    invitations.KIND,
    ItemKind(holds=is_organization, decode=decode_organization, file=loading.ORGANIZATIONS),
    ItemKind(
        name="memberships",
        noun="membership",
        holds=is_organization_user,
        decode=ORGANIZATION_USER.decode,
    ),
    ItemKind(
        name="tickets",
        noun="ticket",
        holds=is_ticket,
        decode=TICKET.decode,
        without_name=privacy.nameless_ticket,
        file=loading.TICKETS,
    ),
    ItemKind(
        name="profile",
        noun="profile",
        holds=is_profile,
        decode=lambda item: decode_profile(item)[1],
        single=True,
        file=loading.PROFILES,
    ),
    ItemKind(holds=is_details, decode=PRODUCT_DETAILS.decode, file=loading.PRODUCTS),
    moderation.REPORTS,
    moderation.DECISIONS,
    moderation.BLOCKS,
    ItemKind(
        name="standing",
        noun="write restriction",
        holds=is_standing,
        single=True,
        of_another=moderation.BLOCKS,
    ),
    votes.KIND,
    votes.RECENT,
    one_per_person.KIND,
    groups.KIND,
    privacy.KIND,
    stream_counting.KIND,
    documents.KIND,
    one_per_person.NAMELESS,
    ItemKind(holds=lambda item: _NAMELESS.match(item["PK"]["S"]) is not None),
)
"""All kinds of items, in the order of files and of personal data."""

DESCRIPTIONS: Sequence[Callable[[Mapping[str, Any], Maintenance], str]] = (
    stream_counting.described,
    one_per_person.described,
)
"""Functions that return a sentence for ``table describe``, from DescribeTable's ``Table`` and the
maintenance mode."""


COUNTING_MODES: Mapping[str, CountingMode] = {
    one.mode: one
    for one in (
        CountingMode(
            mode=MaintenanceMode.TRANSACTIONAL,
            explained="the servers' own writes.",
            updated="the servers' own writes update them",
            if_wrong="run `marginalia stats rebuild`, which is safe while servers run.",
            rebuild=lambda store, _, wait, progress: rebuild(store.table, wait, progress),
        ),
        stream_counting.MODE,
    )
}
"""What changes the counters, by the name of the maintenance mode."""
