import json

import pytest

from dal.errors import InvalidArgumentError
from dal.organization_model import UserType
from server.load.organization_cells import users

ANA = {"username": "ana", "type": "admin"}


@pytest.mark.parametrize("cell", [[ANA, {"username": 7}], json.dumps([ANA, {"username": 7}])])
def test_users_are_a_list_or_its_text(cell: object) -> None:
    assert users("users", cell) == {"ana": UserType.ADMIN, "7": UserType.MEMBER}
    assert users("users", []) == {}


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (ANA, "users is {'username': 'ana', 'type': 'admin'}; it must be a list such as [{"),
        ("ana", "users is 'ana'; it must be a list such as"),
        ("[" * 100_000, "it must be a list such as"),
        (["ana"], "users.0 is 'ana'; it must be an object with username and type"),
        ([ANA, {"type": "ADMIN"}], "users.1.username is None; it must be text"),
        ([{"username": ""}], "users.0.username is empty"),
        ([{**ANA, "type": "OWNER"}], "users.0.type is 'OWNER'; it must be one of MEMBER, ADMIN"),
        ([{**ANA, "type": None}], "users.0.type is None; it must be text"),
        ([ANA, ANA], "users.1 has the username of an earlier one"),
    ],
)
def test_what_is_no_list_of_users_is_refused(cell: object, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as fault:
        users("users", cell)
    assert sentence in str(fault.value)
