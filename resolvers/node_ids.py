"""Global object ids: the base64 of ``<Type>:<own id>``."""

import strawberry
from strawberry.relay.utils import from_base64, to_base64

from dal import rules
from dal.errors import InvalidArgumentError
from dal.keys import escape, unescape
from dal.model import Comment, Order, Product, User
from dal.organization_model import Organization, OrganizationUser, Ticket


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


def organization_node_id(root: strawberry.Parent[Organization]) -> strawberry.ID:
    """Return the global id of an organisation."""
    return _node_id("Organization", root.name)


def organization_user_node_id(root: strawberry.Parent[OrganizationUser]) -> strawberry.ID:
    """Return the global id of an organisation's user."""
    return _node_id("OrganizationUser", _user_id(root.organization, root.username))


def ticket_node_id(root: strawberry.Parent[Ticket]) -> strawberry.ID:
    """Return the global id of a ticket."""
    return _node_id("Ticket", root.ticket_id)


def parse_node_id(argument: str, node_id: str, *types: str) -> tuple[str, str]:
    """Return the type and the own id of a global id that names one of ``types``."""
    try:
        kind, own_id = from_base64(node_id)
        names = user_names(own_id) if kind == "OrganizationUser" else (own_id,)
    except ValueError:
        kind, own_id, names = "", "", ("",)
    if kind not in types or to_base64(kind, own_id) != node_id:
        raise InvalidArgumentError(
            argument, f"{argument} {node_id[:60]!r} is not the id of a {' or '.join(types)}."
        )
    for name in names:
        rules.identifier(argument, name)
    return kind, own_id


def user_names(own_id: str) -> tuple[str, str]:
    """Return organisation and username of the own id of an organisation's user, or ValueError."""
    organization, _, username = own_id.partition("/")
    names = unescape(organization), unescape(username)
    if _user_id(*names) != own_id:
        raise ValueError(f"{own_id!r} holds no organisation and username as they stand in keys.")
    return names


def _user_id(organization: str, username: str) -> str:
    return f"{escape(organization)}/{escape(username)}"


def _node_id(kind: str, own_id: str) -> strawberry.ID:
    return strawberry.ID(to_base64(kind, own_id))
