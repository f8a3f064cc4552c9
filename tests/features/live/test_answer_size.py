"""The results of events are limited, and are completed in turns."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from dal.stores import Stores
from features.live.changes import change_of
from features.live.log import Log
from features.live.write_rule import Broker
from resolvers.context import Context, Pace
from schema.execution.executable_schema import EventResult
from tests.schema.execution.test_answer_size import SCHEMAS, TEXTS, codes, hurtful
from tests.strategies import comment

__all__ = ["hurtful"]


async def test_an_event_ends_when_its_result_is_too_large(hurtful: Stores) -> None:
    broker = Broker()
    context = partial(Context, None, hurtful, services={Log: broker.log})
    of_product = f"commentEdge {{ node {{ product {{ {TEXTS} }} }} }}"
    text = f'subscription {{ commentEvents(productId: "g1") {{ kind {of_product} }} }}'
    events = await SCHEMAS["compiled"].listen(text, {}, None, context=context, seconds=60.0)
    async with aclosing(events):
        await anext(events)  # READY
        broker.publish(change_of(None, comment("new", product_id="g1")))
        result = (await anext(events)).result
    assert (codes(result), result.data) == (["QUERY_TOO_COSTLY"], None)


async def test_the_results_of_one_change_are_completed_one_after_another(hurtful: Stores) -> None:
    """Between the results of any two subscriptions, other tasks run."""
    broker, arrived, turn = Broker(), list[int](), 0

    async def count() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    async def event(listener: AsyncGenerator[EventResult, None]) -> None:
        assert (await anext(listener)).result.errors is None
        arrived.append(turn)

    context = partial(Context, None, hurtful, services={Log: broker.log}, pace=Pace())
    text = 'subscription { commentEvents(productId: "g0") { commentEdge { node { text } } } }'
    listeners = [
        await SCHEMAS["compiled"].listen(text, {}, None, context=context, seconds=60.0)
        for _ in range(40)
    ]
    await asyncio.gather(*map(event, listeners))  # READY
    arrived.clear()
    counting = asyncio.create_task(count())
    broker.publish(change_of(None, comment("new", product_id="g0")))
    await asyncio.gather(*map(event, listeners))
    counting.cancel()
    assert len(set(arrived)) == 40
