"""A compiled operation has the same bytes and the same errors as with graphql-core.

An example is a schema with ten valid documents. Each document is executed on four rows with
different variables. `make soak` compares 40,000 results of 10,000 documents of 1,000 schemas.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from typing import Any, TypeAlias

import orjson
import pytest
from graphql import DocumentNode, ExecutionResult, execute, parse, validate
from hypothesis import given, settings
from hypothesis import strategies as st
from strawberry.execution.is_awaitable import optimized_is_awaitable
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from schema.execution.compiled.operation import CompiledOperation
from schema.execution.selections import operations_of
from tests.schema.execution.compiled.documents import Writer
from tests.schema.execution.compiled.schemas import Row, awaited, schema_of

RATES = (0.0, 0.01, 0.05, 0.3)
"""The frequencies of unusual values in rows."""
DOCUMENTS = 10
SCHEMAS = settings(max_examples=1_000 if settings().max_examples >= 1_000 else 12)

Told: TypeAlias = tuple[bytes, list[Any]]


def told(result: Any) -> Told:
    """Return the data as a client receives it, and the errors."""
    errors = [(dict(one.formatted), repr(one.original_error)) for one in result.errors or []]
    return orjson.dumps(result.data), errors


class Both:
    """A document that graphql-core and the compiled operation execute."""

    def __init__(self, schema: Any, text: str, **options: bool) -> None:
        self._schema = schema._schema
        self._document: DocumentNode = parse(text, **options)
        (operation,) = operations_of(self._document)
        self._compiled = CompiledOperation(self._schema, self._document, operation)

    async def answers(
        self, variables: dict[str, Any], root: Any, context: Callable[[], Any] = lambda: None
    ) -> tuple[Told, Told]:
        """Return the compiled result of the second of two requests, and graphql-core's result."""
        expected = await awaited(
            execute(
                self._schema,
                self._document,
                root,
                context(),
                variables,
                is_awaitable=optimized_is_awaitable,  # type: ignore[arg-type]
                executor_class=StrawberryGraphQLCoreExecutionContext,
                operation_extensions={},
            )
        )
        for _ in range(2):
            values = self._compiled.coerced(variables)
            found = (
                ExecutionResult(None, values)
                if isinstance(values, list)
                else await self._compiled.execute(values, root_value=root, context_value=context())
            )
        await asyncio.sleep(0)
        return told(found), told(expected)


def valid(schema: Any, random: Random) -> Iterator[tuple[str, Writer]]:
    """Yield valid documents, each with the writer that also draws its variables."""
    while True:
        writer = Writer(schema._schema, random)
        text = writer.document()
        if not validate(schema._schema, parse(text), max_errors=1):
            yield text, writer


async def compared(seed: int) -> Counter[str]:
    """Compare the results of the documents of one schema. Return the number of each kind."""
    random = Random(seed)
    schema, counts = schema_of(random), Counter(schemas=1)
    for number, (text, writer) in enumerate(islice(valid(schema, random), DOCUMENTS)):
        both, faulty = Both(schema, text), 0
        for rate in random.sample(RATES, len(RATES)):
            variables, root = writer.variables(), Row(writer.root, f"{seed}.{number}.{rate}", rate)
            found, expected = await both.answers(variables, root)
            assert found == expected, f"{text}\n{variables}\n{root} {rate}"
            faulty += bool(expected[1])
        counts["mutations"] += writer.root == "Mutation"
        counts += Counter({"documents": 1, "documents with errors": faulty > 0})
        counts += Counter({"answers": len(RATES), "answers with errors": faulty})
    return counts


@pytest.fixture
def counts(record_property: Callable[[str, object], None]) -> Iterator[Counter[str]]:
    """The number of compared results. Some must have errors, and some none."""
    found: Counter[str] = Counter()
    yield found
    record_property("compared", ", ".join(f"{n:,} {what}" for what, n in found.items()))
    assert 0 < found["answers with errors"] < found["answers"]


# If an item of a list fails, graphql-core does not await the other items. If they are collected
# while a named tuple is created, Python cannot import the module that warns about them.
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <coroutine:pytest.PytestUnraisableExceptionWarning"
)
@SCHEMAS
@given(seed=st.integers(0, 2**63))
async def test_random_schemas_documents_and_data_have_equal_results(
    seed: int, counts: Counter[str]
) -> None:
    counts.update(await compared(seed))
