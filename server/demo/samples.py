"""A few items of each kind, as the demo's data would be stored."""

from collections.abc import Iterator, Sequence

from dal.entities.comment import COMMENT
from dal.entities.order import ORDER, purchases
from dal.entities.organization import ORGANIZATION_USER, encode_organization
from dal.entities.product import encode_details
from dal.entities.ticket import TICKET
from dal.model import Comment, OrderStatus
from dal.repositories.users import encode_profile
from dal.statistics import counter_items
from dal.statistics.counts import deltas, summed
from dal.table.item import Item
from server.demo.comments import demo_comments, demo_products
from server.demo.orders import demo_orders, demo_profiles
from server.demo.organizations import demo_rosters, demo_tickets

_EACH = 3


def sample_items() -> list[Item]:
    """Return the items: comments with their statistics, orders of each status, an organisation."""
    comments = demo_comments()
    return [
        *_of_comments(comments[-_EACH:]),
        *_of_customers(comments),
        *_of_organizations(),
    ]


def _of_comments(comments: Sequence[Comment]) -> Iterator[Item]:
    yield from map(COMMENT.encode, comments)
    for key, counts in summed(deltas(None, comment) for comment in comments).items():
        yield counter_items.encode(key, counts)
    products = demo_products()
    for product_id in dict.fromkeys(comment.product_id for comment in comments):
        yield encode_details(product_id, products[product_id])


def _of_customers(comments: Sequence[Comment]) -> Iterator[Item]:
    orders = demo_orders(comments)
    shown = [next(one for one in orders if one.status is status) for status in OrderStatus]
    profiles = demo_profiles()
    for username in sorted({order.username for order in shown}):
        yield encode_profile(username, profiles[username])
    for order in shown:
        yield ORDER.encode(order)
        yield from purchases(order)


def _of_organizations() -> Iterator[Item]:
    roster = min(demo_rosters(), key=lambda one: len(one.users))
    yield encode_organization(roster.organization)
    yield from map(ORGANIZATION_USER.encode, roster.users)
    tickets = [one for one in demo_tickets() if one.organization == roster.organization.name]
    yield from map(TICKET.encode, tickets[:_EACH])
