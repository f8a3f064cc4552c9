"""What the fields of this schema usually read, and how long their lists usually are.

``schema.execution.cost`` predicts the cost of operations with this table.
"""

from collections.abc import Mapping
from math import ceil

from dal.repositories.leaderboard import RANKS_BYTES
from dal.repositories.orders import OPEN_PAGE_REQUESTS
from schema.execution.cost import UNIT_BYTES, Reads

_PAGE, _FRESH_PAGE = Reads(unit=0.5, paged=True), Reads(paged=True)
_ROW = Reads(unit=0.5)
_KEY, _TWO_KEYS = Reads(), Reads(2)
_DETAIL = Reads(together=True)
_WRITE = Reads(5)
_QUESTION = Reads(0, questions=1)


def _rows(count: float) -> Reads:
    return Reads(0, rows=count)


READS: Mapping[str, Reads] = {
    "Query.node": _KEY,
    "Query.nodes": _KEY,  # for each id
    "Query.comment": _KEY,
    "Query.leaderboard": Reads(2, 0.5, paged=True, further=ceil(RANKS_BYTES / UNIT_BYTES)),
    "Query.user": Reads(0),
    "Query.order": _ROW,
    "Query.openOrders": Reads(OPEN_PAGE_REQUESTS, 0.5, paged=True),
    "Query.organization": _TWO_KEYS,
    "Query.ticket": _TWO_KEYS,
    "Query.movers": _QUESTION,
    "Product.title": _DETAIL,
    "Product.pictureUrl": _DETAIL,
    "Product.url": _DETAIL,
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
    "CommentFacets.languages": _rows(5),
    "CommentFacets.ratings": _rows(5),
    "CommentStatistics.histogram": _rows(5),
    "CommentStatistics.languages": _rows(5),
    "Order.lines": _rows(5),
    "PlanAlternative.segments": _rows(5),
    "QueryPlan.alternatives": _rows(4),
    "QueryPlan.segments": _rows(5),
    "QueryPlan.steps": _rows(2),
    "Trend.points": _rows(60),
    "TrendPoint.ratings": _rows(5),
}
"""By type and field; any other field reads nothing."""
