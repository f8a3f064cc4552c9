"""Groups in groups end when their results have too many values."""

import pytest

from dal.stores import Stores
from schema.execution.executable_schema import ExecutableSchema
from tests.schema.execution.test_answer_size import (
    each_schema,
    has_too_many_values,
    hurtful,
    product,
    written,
)

__all__ = ["each_schema", "hurtful"]

GROUPS = "group { products { " * 3 + "productId" + " } }" * 3
TOO_MANY = {
    "groups in groups": product("g2", GROUPS),
    "groups in groups of a payload": written("g2", GROUPS),
}


@pytest.mark.parametrize("text", TOO_MANY.values(), ids=TOO_MANY)
async def test_an_operation_ends_when_its_result_has_too_many_values(
    hurtful: Stores, each_schema: ExecutableSchema, text: str
) -> None:
    await has_too_many_values(each_schema, hurtful, text)
