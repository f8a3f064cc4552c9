"""Global object ids: Relay's ``Node`` interface over the domain objects.

A global id is the base64 of ``<Type>:<own id>``.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import strawberry
from strawberry.relay.utils import from_base64, to_base64

from dal import rules
from dal.concurrency import in_parallel
from dal.errors import InvalidArgumentError
from dal.model import Comment, Product
from dal.organization_model import Organization, OrganizationUser, Ticket
from resolvers.access import ForbiddenError, UnauthenticatedError
from resolvers.organization_nodes import LOADERS, user_names
from resolvers.selection import Info

MAX_NODES = 100

AnyNode = Product | Comment | Organization | OrganizationUser | Ticket
Fault = InvalidArgumentError | ForbiddenError | UnauthenticatedError
"""What fails one id of several alone."""

_TYPES = ("Product", "Comment", *LOADERS)
NodeId = Annotated[strawberry.ID, strawberry.argument(name="id")]
NodeIds = Annotated[list[strawberry.ID], strawberry.argument(name="ids")]


def product_node_id(root: strawberry.Parent[Product]) -> strawberry.ID:
    """Return the global id of a product."""
    return strawberry.ID(to_base64("Product", root.product_id))


def comment_node_id(root: strawberry.Parent[Comment]) -> strawberry.ID:
    """Return the global id of a comment."""
    return strawberry.ID(to_base64("Comment", root.comment_id))


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
    check = user_names if kind == "OrganizationUser" else rules.identifier
    return kind, check(argument, own_id)


async def node(info: Info, node_id: NodeId) -> AnyNode | None:
    """Return the object under a global id; None when it is missing."""
    found = (await _load(info, [parse_node_id("id", node_id, *_TYPES)]))[0]
    if isinstance(found, Exception):
        raise found
    return found


async def nodes(info: Info, node_ids: NodeIds) -> list[AnyNode | Fault | None]:
    """Return the objects under global ids in the same order; a bad or forbidden one fails alone."""
    if len(node_ids) > MAX_NODES:
        raise InvalidArgumentError("ids", f"ids lists {len(node_ids)}; the most is {MAX_NODES}.")
    parsed = [_parsed_or_fault(one) for one in node_ids]
    found = iter(await _load(info, [one for one in parsed if isinstance(one, tuple)]))
    return [next(found) if isinstance(one, tuple) else one for one in parsed]


def _parsed_or_fault(node_id: str) -> tuple[str, str] | InvalidArgumentError:
    try:
        return parse_node_id("ids", node_id, *_TYPES)
    except InvalidArgumentError as fault:
        return fault


async def _load(info: Info, parsed: Sequence[tuple[str, str]]) -> list[AnyNode | Fault | None]:
    wanted = [own_id for kind, own_id in parsed if kind == "Comment"]
    comments = await info.context.stores.comments.get_many(wanted)
    return await in_parallel([_load_one(info, one, comments) for one in parsed])


async def _load_one(
    info: Info, parsed: tuple[str, str], comments: Mapping[str, Comment]
) -> AnyNode | Fault | None:
    kind, own_id = parsed
    if kind == "Product":
        return Product(own_id)
    if kind == "Comment":
        return comments.get(own_id)
    try:
        return await LOADERS[kind](info, own_id)
    except (ForbiddenError, UnauthenticatedError) as fault:
        return fault
