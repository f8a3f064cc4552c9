"""In updates, an omitted field keeps its value. Null clears a field that may be empty.

Each document is executed twice: first by graphql-core, then compiled.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.stores import Stores
from tests.putting import put_comments
from tests.server.serving import bearer
from tests.strategies import comment

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Update:
    mutation: str
    """The mutation's name. With a capital letter, it begins the name of the input type."""
    shown: str
    which: Mapping[str, str]
    full: Mapping[str, Any]
    cleared: Mapping[str, Any]
    """The fields that null clears, with their values afterwards."""


COMMENT = Update(
    "updateComment",
    "comment { rating language title text }",
    {"id": to_base64("Comment", "c1")},
    {"rating": 4, "language": "en", "title": "Good", "text": "It boils."},
    {"title": ""},
)
PRODUCT = Update(
    "updateProduct",
    "product { title pictureUrl url gtin brand mpn }",
    {"productId": "p1"},
    {
        "title": "Kettle",
        "pictureUrl": "/kettle.png",
        "url": "/kettle",
        "gtin": "4006381333931",
        "brand": "Acme",
        "mpn": "K-1",
    },
    dict.fromkeys(("title", "pictureUrl", "url", "gtin", "brand", "mpn")),
)
PROFILE = Update(
    "updateProfile",
    "user { profile { fullName email } }",
    {},
    {"fullName": "Ann", "email": "ann@example.org"},
    {"fullName": "", "email": ""},
)
EACH = [(of, name) for of in (COMMENT, PRODUCT, PROFILE) for name in of.full]


@pytest.fixture(autouse=True)
async def stored(table: Table) -> None:
    await put_comments(Stores(table).comments, [comment("c1", username="ann")])


async def updated(
    client: httpx.AsyncClient, of: Update, document: str, variables: Json
) -> tuple[Json | None, list[Json]]:
    """Return the fields after the update, and the user errors.

    The document is executed twice, and both results must be equal.
    """
    found = []
    for _ in range(2):
        response = await client.post(
            "/graphql",
            json={"query": document, "variables": variables},
            headers=bearer("ann", "staff"),
        )
        body = response.json()
        assert "errors" not in body, body
        payload = dict(body["data"][of.mutation])
        errors = payload.pop("userErrors")
        (shown,) = payload.values()
        found.append((shown["profile"] if shown and "profile" in shown else shown, errors))
    assert found[0] == found[1]
    return found[0]


def whole(of: Update) -> str:
    """Return a document whose whole input is a variable."""
    kind = f"{of.mutation[0].upper()}{of.mutation[1:]}Input"
    return document(of, f"$input: {kind}!", "$input")


def document(of: Update, declared: str, given: str) -> str:
    declared = declared and f"({declared})"
    return (
        f"mutation {declared} {{ {of.mutation}(input: {given})"
        f" {{ {of.shown} userErrors {{ field message code }} }} }}"
    )


def inline(of: Update, field: str = "") -> str:
    which = "".join(f'{name}: "{value}" ' for name, value in of.which.items())
    return f"{{ {which} {field} }}"


@pytest.mark.parametrize("of", [COMMENT, PRODUCT, PROFILE], ids=lambda of: of.mutation)
async def test_an_absent_field_is_unchanged(client: httpx.AsyncClient, of: Update) -> None:
    (name, *_) = of.full
    await updated(client, of, whole(of), {"input": {**of.which, **of.full}})
    declared = "$value: Int" if name == "rating" else "$value: String"
    for text, variables in (
        (whole(of), {"input": {**of.which}}),
        (document(of, "", inline(of)), {}),
        (document(of, declared, inline(of, f"{name}: $value")), {}),  # the variable is omitted
    ):
        assert await updated(client, of, text, variables) == ({**of.full}, [])


@pytest.mark.parametrize(("of", "name"), EACH, ids=lambda one: getattr(one, "mutation", one))
async def test_null_clears_a_field_or_is_refused(
    client: httpx.AsyncClient, of: Update, name: str
) -> None:
    declared = "$value: Int" if name == "rating" else "$value: String"
    for text, variables in (
        (whole(of), {"input": {**of.which, name: None}}),
        (document(of, "", inline(of, f"{name}: null")), {}),
        (document(of, declared, inline(of, f"{name}: $value")), {"value": None}),
        (document(of, f"{declared} = null", inline(of, f"{name}: $value")), {}),
    ):
        await updated(client, of, whole(of), {"input": {**of.which, **of.full}})
        found = await updated(client, of, text, variables)
        if name in of.cleared:
            assert found == ({**of.full, name: of.cleared[name]}, [])
        else:
            refused, (fault,) = found
            assert refused is None
            assert (fault["field"], fault["code"]) == (["input", name], "BAD_ARGUMENT")
            unchanged = await updated(client, of, whole(of), {"input": {**of.which}})
            assert unchanged == ({**of.full}, [])
