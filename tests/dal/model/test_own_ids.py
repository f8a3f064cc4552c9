"""Own ids, global ids, and ids of users with an account."""

import pytest
from hypothesis import example, given

from dal.model import OrganizationUser
from dal.model.own_ids import (
    TYPES,
    GlobalIdError,
    account,
    global_id,
    own_id,
    split_global_id,
)
from dal.table.errors import InvalidArgumentError
from tests.strategies import identifiers

PLAIN = [name for name in TYPES if name != "OrganizationUser"]


@pytest.mark.parametrize("type_name", PLAIN)
@given(own=identifiers)
def test_a_global_id_is_split_and_is_no_own_id(type_name: str, own: str) -> None:
    whole = global_id(type_name, own)
    assert split_global_id(whole) == (type_name, own)
    with pytest.raises(GlobalIdError):
        own_id("productId", whole)


@given(organization=identifiers, username=identifiers)
@example(organization="a" * 512, username="b" * 512)
def test_the_longest_global_ids_are_split(organization: str, username: str) -> None:
    own = OrganizationUser(organization, username).own_id
    assert split_global_id(global_id("OrganizationUser", own)) == ("OrganizationUser", own)


def test_an_imported_author_has_no_account() -> None:
    assert account("username", "John") == "John"
    owner = f"imported-{'0' * 32}"
    with pytest.raises(InvalidArgumentError, match=owner):
        account("username", owner)
    assert own_id("username", owner) == owner
