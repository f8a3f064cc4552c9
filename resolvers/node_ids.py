"""Global object ids: the base64 of ``<Type>:<own id>``, as is usual in Relay.

An own id is unique within its type, for example a comment id or a username.
"""

from binascii import b2a_base64
from collections.abc import Callable, Mapping
from typing import Any

import strawberry
from strawberry.relay.utils import from_base64, to_base64

from dal.model import OrganizationUser, rules
from dal.query.cursors import MAX_OPAQUE
from dal.table.errors import InvalidArgumentError
from dal.table.key_parts import unescape

LOOKUPS: Mapping[str, tuple[str, str] | None] = {
    "Product": ("product", "productId"),
    "ProductGroup": None,
    "Comment": ("comment", "commentId"),
    "Submission": None,
    "Author": ("author", "username"),
    "User": ("user", "username"),
    "Order": ("order", "orderId"),
    "Organization": ("organization", "organizationName"),
    "OrganizationUser": None,
    "Ticket": ("ticket", "ticketId"),
}
"""The types with global ids. Each has the query that looks up an object by its own id, and the
query's argument; None if only ``node`` looks up the type."""

MAX_NAMED = 2
"""Maximum types in a message. ``node`` accepts ids of all types, which would be a long list."""

_BEGINNINGS = tuple(to_base64(type_name, "")[: len(type_name) // 3 * 4] for type_name in LOOKUPS)
"""The first characters of each type's global ids. Almost no own id begins with them, so the check
of an own id need not decode it. Three bytes are four characters in base64."""


def node_id(root: strawberry.Parent[Any]) -> strawberry.ID:
    """Return the global id of an object."""
    # Strawberry's to_base64 takes three times as long.
    text = f"{type(root).__name__}:{root.own_id}"
    return strawberry.ID(b2a_base64(text.encode(), newline=False).decode())


def parse_node_id(argument: str, node_id: str, *types: str) -> tuple[str, str]:
    """Return the type and the own id in a global id.

    Raises InvalidArgumentError if the id is invalid, or if its type is not one of ``types``.
    """
    type_name, own_id = _parts(node_id)
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
    if value.startswith(_BEGINNINGS):
        type_name, own_id = _parts(value)
        if type_name:
            look_up, by = LOOKUPS[type_name] or ("", "")
            fault = f"{argument} {value[:60]!r} is the global id of the {type_name} {own_id!r}: "
            if by and by in argument:
                fault += f"pass its {by}, {own_id!r}, or look it up with node(id:)."
            elif look_up:
                fault += f"look it up with node(id:), or pass {own_id!r} to {look_up}({by}:)."
            else:
                fault += "look it up with node(id:)."
            raise InvalidArgumentError(argument, fault)
    return rules.identifier(argument, value)


def plain_account(argument: str, value: str) -> str:
    """Return ``value`` if it is the id of a user who signs in, and not a global id."""
    return rules.account(argument, plain_id(argument, value))


def is_plain_id(text: str) -> bool:
    """Return whether ``plain_id`` accepts a text."""
    try:
        plain_id("id", text)
    except InvalidArgumentError:
        return False
    return True


def _parts(text: str) -> tuple[str, str]:
    """Return the type and the own id in a global id; empty texts if ``text`` is not a global id."""
    try:
        # An id that is longer than MAX_OPAQUE is invalid. Cut it, so that decoding stays fast. The
        # comparison below then fails.
        type_name, own_id = from_base64(text[: MAX_OPAQUE + 1])
        names = user_names(own_id) if type_name == "OrganizationUser" else (own_id,)
        for name in names:
            rules.identifier("id", name)
    except (ValueError, InvalidArgumentError):
        return "", ""
    known = type_name in LOOKUPS and to_base64(type_name, own_id) == text
    return (type_name, own_id) if known else ("", "")


def own_id_of(*type_names: str) -> Callable[[str, str], str]:
    """Return a rule that checks a global id of one of these types and returns the own id in it."""

    def own_id(argument: str, node_id: str) -> str:
        return parse_node_id(argument, node_id, *type_names)[1]

    return own_id


def user_names(own_id: str) -> tuple[str, str]:
    """Return organisation and username from the own id of an OrganizationUser.

    Raises ValueError for an invalid id.
    """
    organization, _, username = own_id.partition("/")
    names = unescape(organization), unescape(username)
    if OrganizationUser(*names).own_id != own_id:
        raise ValueError(f"{own_id!r} is not an organisation and a username, each percent-encoded.")
    return names
