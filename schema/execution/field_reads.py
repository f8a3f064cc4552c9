"""What fields read and how many rows lists hold, as they usually are: one table for all costs.

``cost`` predicts operations by it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from dal.entities.order import OPEN_SHARDS
from dal.repositories.leaderboard import RANKS_BYTES

ROW_BYTES = 500
"""What a row takes in DynamoDB, as it usually is."""

UNIT_BYTES = 4096
"""What a unit of read capacity reads."""


@dataclass(frozen=True, slots=True)
class Reads:
    """The requests of one field, as they usually are, and what 4 KB cost each of them in RCU.

    A ``paged`` field reads the rows that it is asked for, any other one row. ``further`` is what a
    page that does not begin its list reads besides, in requests of 4 KB. ``questions`` are those to
    the analytics store.
    """

    requests: int = 1
    unit: float = 1.0
    paged: bool = False
    further: int = 0
    questions: int = 0


_PAGE, _FRESH_PAGE = Reads(unit=0.5, paged=True), Reads(paged=True)
_ROW = Reads(unit=0.5)
_KEY, _TWO_KEYS = Reads(), Reads(2)
_WRITE = Reads(5)
_QUESTION = Reads(0, questions=1)

READS: Mapping[str, Reads] = {
    "Query.node": _KEY,
    "Query.nodes": _KEY,  # for each id
    "Query.comment": _KEY,
    "Query.leaderboard": Reads(2, 0.5, paged=True, further=ceil(RANKS_BYTES / UNIT_BYTES)),
    "Query.user": Reads(0),
    "Query.order": _ROW,
    "Query.openOrders": Reads(OPEN_SHARDS, 0.5, paged=True),
    "Query.organization": _TWO_KEYS,
    "Query.ticket": _TWO_KEYS,
    "Query.movers": _QUESTION,
    "Product.title": _KEY,
    "Product.pictureUrl": _KEY,
    "Product.url": _KEY,
    "Product.comments": _PAGE,
    "Product.statistics": _KEY,
    "Product.mostRecentPositive": _ROW,
    "Product.mostRecentNegative": _ROW,
    "Product.lastCommentedAt": _ROW,
    "Product.trend": _QUESTION,
    "Author.comments": _PAGE,
    "CommentConnection.totalCount": _KEY,
    "User.profile": _KEY,
    "User.orders": _FRESH_PAGE,
    "Organization.users": _FRESH_PAGE,
    "Organization.user": _TWO_KEYS,
    "OrganizationUser.organization": _KEY,
    "OrganizationUser.tickets": _PAGE,
    "Ticket.organization": _KEY,
    "Mutation.addComment": _WRITE,
    "Mutation.updateComment": _WRITE,
    "Mutation.deleteComment": _WRITE,
    "Mutation.updateProduct": _WRITE,
    "Mutation.placeOrder": _WRITE,
    "Mutation.setOrderStatus": _WRITE,
    "Mutation.updateProfile": _WRITE,
    "Mutation.createOrganization": _WRITE,
    "Mutation.addOrganizationUser": _WRITE,
    "Mutation.createTicket": _WRITE,
    "Mutation.closeTicket": _WRITE,
}
"""What each field that reads or writes asks of DynamoDB, by type and field."""

DETAILS = frozenset({"Product.title", "Product.pictureUrl", "Product.url"})
"""Fields that one read of their product brings."""

ROWS: Mapping[str, float] = {
    "CommentFacets.languages": 5,
    "CommentFacets.ratings": 5,
    "CommentStatistics.histogram": 5,
    "CommentStatistics.languages": 5,
    "Order.lines": 5,
    "PlanAlternative.segments": 5,
    "QueryPlan.alternatives": 4,
    "QueryPlan.segments": 5,
    "QueryPlan.steps": 2,
    "Trend.points": 60,
    "TrendPoint.ratings": 5,
}
"""Rows of lists that no argument bounds, as they usually are."""

ROWS_READ = 40
"""Usual number of rows that a page is read from, and that its plan lists."""
