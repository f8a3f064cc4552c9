"""The rows of votes in files."""

import pytest

from dal.table.errors import InvalidArgumentError
from features.votes.kind import FILE


def test_only_users_with_accounts_vote() -> None:
    (field,) = (one for one in FILE.fields if one.name == "username")
    assert field.parse("username", " ana") == "ana"
    with pytest.raises(InvalidArgumentError, match="account") as caught:
        field.parse("username", "erased-1a2b3c4d")
    assert caught.value.argument == "username"
