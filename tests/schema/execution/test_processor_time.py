"""The work on a document before its execution: limited, charged, without garbage collection, and
in turns.
"""

import asyncio
import gc
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest
from graphql import GraphQLError, validate
from graphql.execution.collect_fields import collect_fields

from resolvers.context import Context
from schema.build import build_schema
from schema.execution import documents
from schema.execution.compiled import operation
from schema.execution.documents import DocumentCache, charging
from schema.execution.executable_schema import RefusedSubscriptionError
from tests.resolvers.recording import STORES
from tests.schema.documents import chain

SCHEMA = build_schema()


@pytest.fixture
def charges(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """An empty list for charges. Each read of the processor time returns one second more."""
    monkeypatch.setattr(documents, "thread_time", count().__next__)
    return []


@pytest.mark.parametrize("text", ["{ __typename }", "{ no }", "{", "#" * 30_001, chain(98)])
def test_a_new_document_is_charged_and_a_cached_one_is_not(text: str, charges: list[float]) -> None:
    cache = DocumentCache(SCHEMA._schema, SCHEMA.facts)
    with charging(charges.append):
        for _ in range(2):
            try:
                cache.checked(text)
                kept = True
            except GraphQLError:
                kept = False
    assert charges == ([1.0] if kept else [1.0, 1.0])
    cache.trusted("{ __typename }")  # outside ``charging``, nothing is charged
    assert len(charges) <= 2


async def test_costs_and_compilation_are_charged(charges: list[float]) -> None:
    """The first request is charged for the document, the costs and the compilation."""
    with charging(charges.append):
        for _ in range(3):
            assert (await SCHEMA.execute("{ __typename } # once")).errors is None
    assert charges == [1.0] * (3 + 1 + 1)


@pytest.fixture
async def turns(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[int]]:
    """The numbers of the event loop's turns in which a document is validated or compiled."""
    turn, found = 0, list[int]()

    def noting(function: Any) -> Any:
        def noted(*arguments: Any, **named: Any) -> Any:
            found.append(turn)
            return function(*arguments, **named)

        return noted

    async def count_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(documents, "validate", noting(validate))
    monkeypatch.setattr(operation, "collect_fields", noting(collect_fields))
    counting = asyncio.create_task(count_turns())
    yield found
    counting.cancel()


NEW = [f"{{ a{number}: __typename }} # in turns" for number in range(9)]


async def test_many_new_documents_are_checked_and_compiled_in_turns(turns: list[int]) -> None:
    context = Context(None, STORES)
    answers = [SCHEMA.execute(text, context_value=context) for text in NEW]
    assert all(answer.errors is None for answer in await asyncio.gather(*answers))
    assert len({*turns}) == len(turns) == 2 * len(NEW)


async def test_many_new_subscriptions_are_checked_in_turns(turns: list[int]) -> None:
    context = Context(None, STORES)
    answers = [
        SCHEMA.listen(f"{text}: subscribed", {}, None, context=lambda: context, seconds=60.0)
        for text in NEW
    ]
    for found in await asyncio.gather(*answers, return_exceptions=True):
        assert isinstance(found, RefusedSubscriptionError)
    assert len({*turns}) == len(turns) == len(NEW)


def test_garbage_collection_is_off_while_a_document_is_checked() -> None:
    cache = DocumentCache(SCHEMA._schema, SCHEMA.facts)
    collections: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            collections.append(info["generation"])

    with charging(lambda _: collections.append(-1)):
        gc.collect()  # so that no collection is due when the work begins
        gc.callbacks.append(note)
        try:
            cache.checked(chain(60))
            done = collections.index(-1)
        finally:
            gc.callbacks.remove(note)
    assert done == 0
    assert gc.isenabled()
    with pytest.raises(GraphQLError):
        cache.checked("{")
    assert gc.isenabled()


def test_a_document_with_many_comparisons_is_refused_with_an_own_message() -> None:
    found = DocumentCache(SCHEMA._schema, SCHEMA.facts).checked(chain(98)).errors
    messages = [error.message for error in found]
    assert documents._TOO_MANY in messages
    assert documents._ABORTED not in messages


def test_a_page_of_many_fragments_is_allowed() -> None:
    """Many components of a page, each with fragments on the product and on objects below it."""
    below = "comments(first: 3) { nodes { ...c0 ...c1 ...c2 ...c3 } }"
    parts = [f"fragment p{n} on Product {{ id productId title {below} }}" for n in range(15)]
    parts += [f"fragment c{n} on Comment {{ id rating title text createdAt }}" for n in range(4)]
    spreads = " ".join(f"...p{n}" for n in range(15))
    text = f'{{ product(productId: "1") {{ {spreads} }} }} ' + " ".join(parts)
    assert DocumentCache(SCHEMA._schema, SCHEMA.facts).checked(text).errors == []
