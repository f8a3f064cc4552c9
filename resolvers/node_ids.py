"""Global object ids: the base64 of ``<Type>:<own id>``, as is usual in Relay.

An own id is unique within its type, for example a comment id or a username.
"""

from binascii import b2a_base64
from collections.abc import Callable
from typing import Any

import strawberry
from strawberry.relay.utils import from_base64, to_base64

from dal.model import OrganizationUser, rules
from dal.query.cursors import MAX_OPAQUE
from dal.table.errors import InvalidArgumentError
from dal.table.key_parts import unescape


def node_id(root: strawberry.Parent[Any]) -> strawberry.ID:
    """Return the global id of an object."""
    # Strawberry's to_base64 takes three times as long.
    text = f"{type(root).__name__}:{root.own_id}"
    return strawberry.ID(b2a_base64(text.encode(), newline=False).decode())


def parse_node_id(argument: str, node_id: str, *types: str) -> tuple[str, str]:
    """Return the type and the own id in a global id.

    Raises InvalidArgumentError if the id is invalid, or if its type is not one of ``types``.
    """
    try:
        # An id that is longer than MAX_OPAQUE is invalid. Cut it, so that decoding stays fast. The
        # comparison below then fails.
        type_name, own_id = from_base64(node_id[: MAX_OPAQUE + 1])
        names = user_names(own_id) if type_name == "OrganizationUser" else (own_id,)
    except ValueError:
        type_name, own_id, names = "", "", ("",)
    if type_name not in types or to_base64(type_name, own_id) != node_id:
        raise InvalidArgumentError(
            argument, f"{argument} {node_id[:60]!r} is not the id of a {' or '.join(types)}."
        )
    for name in names:
        rules.identifier(argument, name)
    return type_name, own_id


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
