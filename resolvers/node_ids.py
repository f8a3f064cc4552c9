"""Global object ids: the base64 of ``<Type>:<own id>``."""

import strawberry
from strawberry.relay.utils import from_base64, to_base64

from dal import rules
from dal.errors import InvalidArgumentError
from dal.model import Comment, Order, Product, User


def product_node_id(root: strawberry.Parent[Product]) -> strawberry.ID:
    """Return the global id of a product."""
    return _node_id("Product", root.product_id)


def comment_node_id(root: strawberry.Parent[Comment]) -> strawberry.ID:
    """Return the global id of a comment."""
    return _node_id("Comment", root.comment_id)


def user_node_id(root: strawberry.Parent[User]) -> strawberry.ID:
    """Return the global id of a user."""
    return _node_id("User", root.username)


def order_node_id(root: strawberry.Parent[Order]) -> strawberry.ID:
    """Return the global id of an order."""
    return _node_id("Order", root.order_id)


def parse_node_id(argument: str, node_id: str, *types: str) -> tuple[str, str]:
    """Return the type and the own id of a global id that names one of ``types``."""
    try:
        kind, own_id = from_base64(node_id)
    except ValueError:
        kind, own_id = "", ""
    if kind not in types or to_base64(kind, own_id) != node_id:
        raise InvalidArgumentError(
            argument, f"{argument} {node_id[:60]!r} is not the id of a {' or '.join(types)}."
        )
    return kind, rules.identifier(argument, own_id)


def _node_id(kind: str, own_id: str) -> strawberry.ID:
    return strawberry.ID(to_base64(kind, own_id))
