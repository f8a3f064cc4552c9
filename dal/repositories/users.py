"""Reads and writes users' profiles."""

from collections.abc import Mapping
from dataclasses import replace

from dal.dynamodb.retries import retry_on_change
from dal.dynamodb.table import Table
from dal.model import Profile
from dal.table.entity import packed, unpacked
from dal.table.index import EXPIRES, TABLE, QueryRequest
from dal.table.items import Item, primary_key, replacement
from dal.table.key_parts import escape, unescape

_USER = "USER#"
_PROFILE = "PROFILE"


class UserRepository:
    """Reads and writes users' profiles."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def profile(self, username: str) -> Profile | None:
        """Return a user's profile; None if the user has no profile (access pattern A1).

        The read is consistent.
        """
        item = await self._table.get(_key(username))
        return None if item is None else _decode(item)

    async def update_profile(self, username: str, changes: Mapping[str, str]) -> Profile:
        """Create or change a profile, and return the new profile.

        Raises ConflictError if other requests keep changing the profile.
        """

        async def attempt() -> Profile:
            item = await self._table.get(_key(username))
            profile = replace(Profile() if item is None else _decode(item), **changes)
            await self._table.write([replacement(item, encode_profile(username, profile))])
            return profile

        return await retry_on_change(attempt, "this profile")

    async def stored(self, username: str) -> bool:
        """Return whether the user's partition has any item, by one Query of one row.

        The items of a user's partition are the profile, the orders, the proofs of purchase, the
        standing, and the reservations of products. The standing is the last item. It is not counted
        if it is the tombstone of an ended block.
        """
        request = QueryRequest(TABLE, _partition(username), limit=1, consistent=True)
        return any(EXPIRES not in item for item in (await self._table.query(request)).items)


def encode_profile(username: str, profile: Profile) -> Item:
    """Return the table item of a profile."""
    data = {"fullName": profile.full_name, "email": profile.email}
    return _key(username) | packed(data)


def is_profile(key: Item) -> bool:
    """Return whether a key or an item belongs to a profile."""
    return str(key["PK"]["S"]).startswith(_USER) and key["SK"]["S"] == _PROFILE


def decode_profile(item: Item) -> tuple[str, Profile]:
    """Return the username and the profile that a table item stores."""
    return unescape(item["PK"]["S"][len(_USER) :]), _decode(item)


def _partition(username: str) -> str:
    return _USER + escape(username)


def _key(username: str) -> Item:
    return primary_key(_partition(username), _PROFILE)


def _decode(item: Item) -> Profile:
    data = unpacked(item)
    return Profile(full_name=data["fullName"], email=data["email"])
