"""The users who receive the events of a comment in each state."""

import json
from contextlib import aclosing
from functools import partial

import pytest

from dal.dynamodb.table import Table
from features.live.log import Log
from features.live.write_rule import Broker
from tests.integration.comment_access import STATES, WHO, World
from tests.integration.test_comment_access import FIELDS, PATHS, SCHEMA, operation
from tests.strategies import comment


@pytest.mark.parametrize("name", [name for name in PATHS if name.startswith("Subscription")])
@pytest.mark.parametrize("who", WHO)
async def test_events_show_a_comment_only_to_permitted_users(
    table: Table, name: str, who: str
) -> None:
    broker = Broker()
    world = World(table, [broker], {Log: broker.log})
    given = {"PRODUCT": "events", "MARK": ""}
    context = partial(world.context, WHO[who])
    document = operation(PATHS[name], given, who)
    answers = await SCHEMA.listen(document, {}, None, context=context, seconds=60.0)
    async with aclosing(answers) as events:
        there = await world.all_states("events")
        await world.stores.comments.add(comment("last", product_id="events", text="the end"))
        told = ""
        while "the end" not in told:
            told += json.dumps((await anext(events)).result.data)
    cells = FIELDS[name].cells()
    assert {state: there[state]["MARK"] in told for state in STATES} == {
        state: cells[who, state] for state in STATES
    }
