"""Global object ids in arguments and fields, and messages about ids in the wrong place.

An own id is unique within its type, for example a comment id or a username.
"""

from binascii import b2a_base64
from collections.abc import Callable, Mapping
from typing import Any

import strawberry

from dal.model import own_ids
from dal.table.errors import InvalidArgumentError

LOOKUPS: Mapping[str, tuple[str, str]] = {
    "Product": ("product", "productId"),
    "Comment": ("comment", "commentId"),
    "Author": ("author", "username"),
    "User": ("user", "username"),
    "Order": ("order", "orderId"),
    "Organization": ("organization", "organizationName"),
    "Ticket": ("ticket", "ticketId"),
}
"""The query that looks up an object by its own id, and the query's argument. Only ``node`` looks up
other types."""

MAX_NAMED = 2
"""Maximum types in a message. ``node`` accepts ids of all types, which would be a long list."""


def node_id(root: strawberry.Parent[Any]) -> strawberry.ID:
    """Return the global id of an object."""
    # Without a call of ``global_id``, because each row of a page has an id.
    text = f"{type(root).__name__}:{root.own_id}"
    return strawberry.ID(b2a_base64(text.encode(), newline=False).decode())


def parse_node_id(argument: str, node_id: str, *types: str) -> tuple[str, str]:
    """Return the type and the own id in a global id.

    Raises InvalidArgumentError if the id is invalid, or if its type is not one of ``types``.
    """
    type_name, own_id = own_ids.split_global_id(node_id)
    if type_name in types:
        return type_name, own_id
    shown, wanted = f"{argument} {node_id[:60]!r}", " or ".join(types)
    if type_name:
        fault = f"{shown} is the global id of the {type_name} {own_id!r}, not of the type {wanted}."
    elif len(types) > MAX_NAMED:
        fault = f"{shown} is not a global id: pass the field id of an object."
    else:
        fault = f"{shown} is not a global id: pass the field id of the {wanted}"
        look_up = LOOKUPS.get(types[0])
        fault += f", for example from {look_up[0]}({look_up[1]}:)." if look_up else "."
    raise InvalidArgumentError(argument, fault)


def plain_id(argument: str, value: str) -> str:
    """Return ``value`` if it is valid as an own id, and is not a global id.

    Without this rule, `addComment` with the global id of a product would store the comment on a
    product that does not exist.
    """
    try:
        return own_ids.own_id(argument, value)
    except own_ids.GlobalIdError as error:
        type_name, own_id = error.type_name, error.own_id
        look_up, by = LOOKUPS.get(type_name, ("", ""))
        fault = f"{argument} {value[:60]!r} is the global id of the {type_name} {own_id!r}: "
        if by and by in argument:
            fault += f"pass its {by}, {own_id!r}, or look it up with node(id:)."
        elif look_up:
            fault += f"look it up with node(id:), or pass {own_id!r} to {look_up}({by}:)."
        else:
            fault += "look it up with node(id:)."
        raise InvalidArgumentError(argument, fault) from None


def plain_account(argument: str, value: str) -> str:
    """Return ``value`` if it is the id of a user who signs in, and not a global id."""
    return own_ids.account(argument, plain_id(argument, value))


def is_plain_id(text: str) -> bool:
    """Return whether ``plain_id`` accepts a text."""
    try:
        plain_id("id", text)
    except InvalidArgumentError:
        return False
    return True


def own_id_of(*type_names: str) -> Callable[[str, str], str]:
    """Return a rule that checks a global id of one of these types and returns the own id in it."""

    def own_id(argument: str, node_id: str) -> str:
        return parse_node_id(argument, node_id, *type_names)[1]

    return own_id
