"""A compiled operation answers with the same bytes as graphql-core, and with the same errors."""

import asyncio
from random import Random
from typing import Any

import orjson
from graphql import execute, parse, validate
from hypothesis import given, settings
from hypothesis import strategies as st
from strawberry.execution.is_awaitable import optimized_is_awaitable
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from compiled.operation import CompiledOperation
from schema.fragments import operations_of
from tests.compiled.documents import Writer
from tests.compiled.schemas import Row, awaited, schema_of

RATES = (0.0, 0.01, 0.05, 0.3)
MANY = settings(max_examples=10_000 if settings().max_examples >= 1_000 else 40)
DOCUMENTS = 5


def told(result: Any) -> tuple[bytes, list[Any]]:
    """Return what a client sees of a result, to the byte."""
    errors = [(dict(one.formatted), repr(one.original_error)) for one in result.errors or []]
    return orjson.dumps(result.data), errors


async def both(schema: Any, text: str, variables: dict[str, Any], root: Any) -> tuple[Any, Any]:
    """Execute an operation by graphql-core and compiled, twice as if for two requests."""
    document = parse(text)
    expected = await awaited(
        execute(
            schema._schema,
            document,
            root,
            "context",
            variables,
            is_awaitable=optimized_is_awaitable,  # type: ignore[arg-type]
            executor_class=StrawberryGraphQLCoreExecutionContext,
            operation_extensions={},
        )
    )
    (operation,) = operations_of(document)
    compiled = CompiledOperation(schema._schema, document, operation)
    for _ in range(2):
        found = await compiled.execute(variables, root_value=root, context_value="context")
    await asyncio.sleep(0)
    return told(found), told(expected)


async def compared(seed: int) -> int:
    """Compare the answers to some documents of one schema; return how many were valid."""
    random = Random(seed)
    schema, valid = schema_of(random), 0
    for number in range(DOCUMENTS):
        writer = Writer(schema._schema, random)
        text, variables = writer.document(), writer.variables()
        if validate(schema._schema, parse(text)):
            continue
        valid += 1
        root = Row("Query", f"{seed}.{number}", random.choice(RATES))
        found, expected = await both(schema, text, variables, root)
        assert found == expected, f"{text}\n{variables}\n{root} {root.rate}"
    return valid


@MANY
@given(st.integers(0, 2**63))
async def test_any_schema_document_and_data_answer_the_same(seed: int) -> None:
    await compared(seed)
