"""The events of replies to a comment."""

from dal.dynamodb.table import Table
from dal.repositories.comments import Selection
from dal.stores import Stores
from features.live.changes import change_of
from features.live.write_rule import Broker
from tests.dal.repositories.test_observer import Recorder
from tests.fakes import anybody
from tests.features.live.listening import waiting
from tests.integration.test_replies import ONE


async def test_each_reply_is_one_event(stores: Stores, table: Table) -> None:
    """A listener receives each version once.

    After the removal, it receives the comment without a reply.
    """
    broker = Broker()
    told = Stores(table, [broker])
    await stores.comments.add(ONE)
    listener = broker.log.listen(Selection("42"), None)
    assert (await anext(listener)).kind.value == "READY"
    seen = []
    for text in ("a", "b", None, "c"):
        for _ in range(2):
            await told.comments.reply("one", text)
        (event,) = await waiting(listener)
        edge = event.comment_edge
        seen.append((event.kind.value, edge and edge.node.reply and edge.node.reply.text))
    await told.comments.delete("one", anybody)
    (event,) = await waiting(listener)
    assert event.comment_edge is None
    seen.append((event.kind.value, None))
    assert broker.log.last.number == len(seen)
    assert seen == [
        ("CHANGED", "a"),
        ("CHANGED", "b"),
        ("CHANGED", None),
        ("CHANGED", "c"),
        ("DELETED", None),
    ]


async def test_events_that_arrive_in_the_wrong_order_lead_to_the_latest_reply(table: Table) -> None:
    recorder = Recorder()
    stores = Stores(table, [recorder])
    await stores.comments.add(ONE)
    for text in ("a", None, "b", None):
        await stores.comments.reply("one", text)
    changes = [one for one in recorder.told if isinstance(one, tuple)][1:]
    broker = Broker()
    listener = broker.log.listen(Selection("42"), None)
    await anext(listener)
    states = []
    for old, new in reversed(changes):
        broker.publish(change_of(old, new))
        (event,) = await waiting(listener)
        assert event.change is not None
        states.append(event.change.now)
    assert states == [await stores.comments.get("one")] * 4
