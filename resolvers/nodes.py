"""Relay's ``node`` and ``nodes``: return any object by its global id.

https://relay.dev/graphql/objectidentification.htm

Each function in ``LOADERS`` loads the objects of one type. Other fields use the same functions, so
reads by global id have the same authorization.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Annotated, Any, TypeAlias

import strawberry

from dal.model import (
    Author,
    Comment,
    Order,
    Organization,
    OrganizationUser,
    Product,
    ProductGroup,
    Ticket,
    User,
    rules,
)
from dal.model.submissions import Submission
from features.groups import resolvers as groups
from resolvers import comments, moderation, orders, organizations, products, tickets, users
from resolvers.node_ids import parse_node_id
from resolvers.selection import Info

MAX_NODES = 100
"""Maximum ids of one ``nodes`` field, and maximum representations of one ``_entities`` field."""

AnyNode = (
    Author
    | Comment
    | Order
    | Organization
    | OrganizationUser
    | Product
    | ProductGroup
    | Submission
    | Ticket
    | User
)
NodeId = Annotated[
    strawberry.ID, strawberry.argument(name="id", description="Global `id` of the object.")
]
NodeIds = Annotated[
    list[strawberry.ID],
    strawberry.argument(name="ids", description="Global `id`s of the objects. Maximum 100."),
]

Found: TypeAlias = AnyNode | Exception | None
"""The result for one id: the object, or the error of the failed read. None means not found."""

LOADERS: Mapping[str, Callable[[Info, str], Coroutine[Any, Any, AnyNode | None]]] = {
    "Product": products.load,
    "ProductGroup": groups.load_group,
    "Comment": comments.comment,
    "Submission": moderation.submission,
    "Author": users.load_author,
    "User": users.user,
    "Order": orders.order,
    "Organization": organizations.organization,
    "OrganizationUser": organizations.load_user,
    "Ticket": tickets.ticket,
}


async def node(info: Info, node_id: NodeId) -> AnyNode | None:
    """Return the object with a global id; None if it is missing or the viewer may not see it."""
    type_name, own_id = parse_node_id("id", node_id, *LOADERS)
    return await LOADERS[type_name](info, own_id)


async def nodes(info: Info, node_ids: NodeIds) -> list[Found]:
    """Return the objects in the order of ``node_ids``.

    If an object cannot be loaded, the list has the error in place of this object.
    """
    rules.few("ids", node_ids, MAX_NODES)
    # Load all objects in parallel, so that the context's loader reads all comments in one request.
    parsed = (partial(parse_node_id, "ids", node_id, *LOADERS) for node_id in node_ids)
    return await asyncio.gather(*(found(info, parse) for parse in parsed))


async def found(info: Info, parse: Callable[[], tuple[str, str]]) -> Found:
    """Return an object, or the error if it cannot be loaded.

    ``parse`` returns the object's type and its id within this type. It raises an error for an
    invalid id.
    """
    try:
        type_name, own_id = parse()
        return await LOADERS[type_name](info, own_id)
    except Exception as error:  # noqa: BLE001 - graphql-core catches every exception, too
        return error
