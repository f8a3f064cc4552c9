"""An id without an account in every input that names a user who signs in."""

from itertools import chain

import pytest

from resolvers.context import Viewer
from tests.feature_lists import added
from tests.schema.conftest import Run

ADMIN = Viewer("sam", frozenset({"moderator", "staff"}))
OWNER = f"imported-{'0' * 32}"
LINE = '{ productId: "p", quantity: 1, unitPrice: {amount: "1.00", currencyCode: "EUR"} }'


@pytest.mark.parametrize(
    ("mutation", "given"),
    [
        ("placeOrder", f"username: $owner, lines: [{LINE}]"),
        ("addOrganizationUser", 'organizationName: "x", username: $owner'),
        *chain.from_iterable(added("OF_USERS")),
    ],
)
async def test_an_imported_author_is_no_user(run: Run, mutation: str, given: str) -> None:
    document = (
        f"mutation ($owner: String!) {{ {mutation}(input: {{{given}}}) "
        "{ userErrors { field code } } }"
    )
    answer = await run(document, ADMIN, owner=OWNER)
    (error,) = answer["data"][mutation]["userErrors"]
    assert (error["field"], error["code"]) == (["input", "username"], "BAD_ARGUMENT")
