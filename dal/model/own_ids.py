"""The shop's own ids, and the global ids of the API: a global id is never an own id.

A global id is the base64 of ``<Type>:<own id>``, as is usual in Relay. The API refuses a global id
where an own id belongs. So a row with such an id in the table could never be read.
"""

from base64 import b64decode
from binascii import b2a_base64
from functools import lru_cache

from dal.model import OrganizationUser, rules
from dal.model.owners import has_account
from dal.table.errors import InvalidArgumentError
from dal.table.key_parts import MAX_IDENTIFIER_BYTES, unescape

TYPES = (
    "Product",
    "ProductGroup",
    "Comment",
    "Submission",
    "Author",
    "User",
    "Order",
    "Organization",
    "OrganizationUser",
    "Ticket",
)
"""The types with global ids."""


def global_id(type_name: str, own_id: str) -> str:
    """Return the global id of an object."""
    # Strawberry's to_base64 takes three times as long.
    return b2a_base64(f"{type_name}:{own_id}".encode(), newline=False).decode()


_BEGINNINGS = tuple(global_id(name, "")[: len(name) // 3 * 4] for name in TYPES)
"""The first characters of each type's global ids. Almost no own id begins with them, so the check
of an own id need not decode it. Three bytes are four characters in base64."""

_LONGEST = len(global_id("OrganizationUser", "x" * (2 * MAX_IDENTIFIER_BYTES + 1)))
"""Maximum characters of a global id. Its own id has at most two escaped identifiers and a slash."""


class GlobalIdError(InvalidArgumentError):
    """A global id is where an own id belongs."""

    def __init__(self, argument: str, value: str, type_name: str, own_id: str) -> None:
        super().__init__(
            argument,
            f"{argument} {value[:60]!r} is the base64 of '{type_name}:{own_id}', which is a global "
            f"id of the API: use the shop's own id, such as {own_id!r}.",
        )
        self.type_name = type_name
        self.own_id = own_id


@lru_cache(maxsize=1_000)  # the check takes six calls, and many requests have the same ids
def own_id(argument: str, value: str) -> str:
    """Return ``value`` if it is valid as an own id.

    Raise GlobalIdError for a global id, and InvalidArgumentError for another invalid value.
    """
    type_name, part = split_global_id(value)
    if type_name:
        raise GlobalIdError(argument, value, type_name, part)
    return rules.identifier(argument, value)


def account(argument: str, value: str) -> str:
    """Return ``value`` if it is valid as the id of a user who signs in."""
    if not has_account(own_id(argument, value)):
        raise InvalidArgumentError(
            argument,
            f"{argument} {value!r} is the id of an imported or erased author, who has no account.",
        )
    return value


def split_global_id(text: str) -> tuple[str, str]:
    """Return the type and the own id in a global id; empty texts if ``text`` is not a global id."""
    if not text.startswith(_BEGINNINGS) or len(text) > _LONGEST:
        return "", ""
    try:
        type_name, _, own = b64decode(text).decode().partition(":")
        for name in user_names(own) if type_name == "OrganizationUser" else (own,):
            rules.identifier("id", name)
    except (ValueError, InvalidArgumentError):
        return "", ""
    # Several texts decode to the same bytes. Only the canonical one is a global id.
    known = type_name in TYPES and global_id(type_name, own) == text
    return (type_name, own) if known else ("", "")


def user_names(own_id: str) -> tuple[str, str]:
    """Return organisation and username from the own id of an OrganizationUser.

    Raise ValueError for an invalid id.
    """
    organization, _, username = own_id.partition("/")
    names = unescape(organization), unescape(username)
    if OrganizationUser(*names).own_id != own_id:
        raise ValueError(f"{own_id!r} is not an organisation and a username, each percent-encoded.")
    return names
