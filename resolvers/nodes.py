"""Relay's ``node`` and ``nodes``: any object by its global id.

https://relay.dev/graphql/objectidentification.htm

The module of each type loads its objects, so its authorization holds for global ids as well.
"""

from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any, TypeAlias

import strawberry

from dal.client.concurrency import in_parallel
from dal.errors import InvalidArgumentError
from dal.limits import MAX_NODES
from dal.model import Comment, Order, Organization, OrganizationUser, Product, Ticket, User
from resolvers import comments, orders, organizations, products, tickets, users
from resolvers.authorization import UnauthenticatedError
from resolvers.node_ids import parse_node_id
from resolvers.selection import Info

AnyNode = Comment | Order | Organization | OrganizationUser | Product | Ticket | User
NodeId = Annotated[strawberry.ID, strawberry.argument(name="id")]
NodeIds = Annotated[list[strawberry.ID], strawberry.argument(name="ids")]

Found: TypeAlias = AnyNode | UnauthenticatedError | InvalidArgumentError | None
"""An error takes the place of its object; the other objects are returned."""

Loader = Callable[[Info, Sequence[str]], Coroutine[Any, Any, Sequence[Found]]]


def _one_by_one(load: Callable[[Info, str], Coroutine[Any, Any, AnyNode | None]]) -> Loader:
    """Return a loader that loads all ids at once, each by its own read."""

    async def outcome(info: Info, own_id: str) -> Found:
        try:
            return await load(info, own_id)
        except UnauthenticatedError as refusal:
            return refusal

    async def load_all(info: Info, own_ids: Sequence[str]) -> Sequence[Found]:
        return await in_parallel([outcome(info, own_id) for own_id in own_ids])

    return load_all


LOADERS: dict[str, Loader] = {
    "Product": _one_by_one(products.load),
    "Comment": comments.load,
    "User": _one_by_one(users.user),
    "Order": _one_by_one(orders.load),
    "Organization": _one_by_one(organizations.load),
    "OrganizationUser": _one_by_one(organizations.load_user),
    "Ticket": _one_by_one(tickets.load),
}


async def node(info: Info, node_id: NodeId) -> AnyNode | None:
    """Return the object of a global id; None if it is missing or the viewer may not see it."""
    (found,) = await _load(info, [parse_node_id("id", node_id, *LOADERS)])
    if isinstance(found, Exception):
        raise found
    return found


async def nodes(info: Info, node_ids: NodeIds) -> list[Found]:
    """Return the objects of global ids in the same order; an error affects its own object only."""
    if len(node_ids) > MAX_NODES:
        raise InvalidArgumentError("ids", f"ids lists {len(node_ids)}; the most is {MAX_NODES}.")
    parsed = [_parsed_or_error(one) for one in node_ids]
    found = iter(await _load(info, [one for one in parsed if isinstance(one, tuple)]))
    return [next(found) if isinstance(one, tuple) else one for one in parsed]


def _parsed_or_error(node_id: str) -> tuple[str, str] | InvalidArgumentError:
    try:
        return parse_node_id("ids", node_id, *LOADERS)
    except InvalidArgumentError as fault:
        return fault


async def _load(info: Info, parsed: Sequence[tuple[str, str]]) -> list[Found]:
    """Return the objects of ``(type, own id)`` pairs; the objects of a type are loaded together."""
    own_ids: defaultdict[str, list[str]] = defaultdict(list)
    for type_name, own_id in parsed:
        own_ids[type_name].append(own_id)
    loaded = await in_parallel([LOADERS[name](info, ids) for name, ids in own_ids.items()])
    found = dict(zip(own_ids, map(iter, loaded), strict=True))
    return [next(found[type_name]) for type_name, _ in parsed]
