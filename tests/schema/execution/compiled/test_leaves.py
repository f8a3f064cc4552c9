"""Unusual values of leaves have the same results compiled and with graphql-core."""

from types import SimpleNamespace
from typing import Any, NewType

import pytest
import strawberry
from graphql import Undefined
from strawberry.schema.config import StrawberryConfig

from tests.schema.execution.compiled.test_same_answers import Both


@strawberry.type
class Row:
    word: str
    count: int
    share: float
    maybe: str | None


@strawberry.type
class Query:
    rows: list[Row | None]


SCHEMA = strawberry.Schema(Query)
USUAL: dict[str, Any] = {"word": "w", "count": 1, "share": 0.5, "maybe": None}


@pytest.mark.parametrize("name", USUAL)
@pytest.mark.parametrize(
    "value", [None, 2**31, -(2**31), True, "7", float("inf"), [], ValueError()]
)
async def test_an_unusual_leaf_is_completed_as_by_graphql_core(name: str, value: Any) -> None:
    odd, less = SimpleNamespace(**USUAL | {name: value}), SimpleNamespace(**USUAL)
    delattr(less, name)
    root = SimpleNamespace(rows=[SimpleNamespace(**USUAL), odd, less, SimpleNamespace(**USUAL)])
    found, expected = await Both(SCHEMA, "{ rows { word count share maybe } }").answers({}, root)
    assert found == expected


Anything = NewType("Anything", object)


@strawberry.type
class Scalars:
    anything: Anything


@pytest.mark.parametrize("value", [None, Undefined, ValueError("v")])
async def test_a_scalar_never_shows_null_as_a_value(value: Any) -> None:
    scalars: dict[object, Any] = {Anything: strawberry.scalar(name="Anything", serialize=str)}
    schema = strawberry.Schema(Scalars, config=StrawberryConfig(scalar_map=scalars))
    root = SimpleNamespace(anything=value)
    found, expected = await Both(schema, "{ anything }").answers({}, root)
    assert found == expected
