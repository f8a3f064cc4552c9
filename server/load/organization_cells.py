"""How the users of an organisation are read: a JSON array, in CSV as text."""

from dal.errors import InvalidArgumentError
from dal.organization_model import UserType
from server.load import cells

_EXAMPLE = [{"username": "ana", "type": "ADMIN"}]

_type = cells.choice(UserType)


def users(field: str, cell: object) -> dict[str, UserType]:
    """Return the type of each user by username; a user without one is a MEMBER."""
    read: dict[str, UserType] = {}
    for number, one in enumerate(cells.array(field, cell, _EXAMPLE)):
        place = f"{field}.{number}"
        if not isinstance(one, dict):
            raise cells.refused(place, one, "an object with username and type")
        username = cells.identifier(f"{place}.username", one.get("username"))
        if username in read:
            raise InvalidArgumentError(place, f"{place} has the username of an earlier one.")
        read[username] = _type(f"{place}.type", one.get("type", UserType.MEMBER))
    return read
