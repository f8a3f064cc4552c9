"""The log of events: order, resuming, filters, and slow listeners."""

import random
from collections.abc import Sequence
from itertools import pairwise, permutations

import pytest
from hypothesis import given, strategies

from dal.entities.comment import comment_position
from dal.model import Comment
from dal.repositories.comments import Selection
from features.live import log
from features.live.changes import (
    Change,
    CommentEvent,
    CommentEventKind,
    EventPosition,
    UncertainWrite,
    change_of,
    decode,
    encode,
    event_position_of,
)
from features.live.log import Log, SlowListenerError
from features.live.write_rule import Broker
from tests.features.live.listening import applied, comment, waiting

ALL = Selection("42")
KIND = CommentEventKind


def write(broker: Broker, table: dict[int, Comment], dice: random.Random) -> None:
    """Publish that a comment was added, edited or deleted. New comments have new ids."""
    number = dice.choice([*table, len(broker.log._entries)])
    old = table.get(number)
    if old is None:
        new: Comment | None = comment(number, dice.randint(1, 5), dice.choice(["en", "de"]))
    elif dice.random() < 0.3:
        new = None
    else:
        edits = int(old.text.split()[1]) + 1
        new = comment(number, dice.randint(1, 5), dice.choice(["en", "de"]), edits)
    broker.publish(change_of(old, new))
    table.pop(number, None)
    if new is not None:
        table[number] = new


@given(
    seed=strategies.integers(0, 2**32),
    ratings=strategies.none() | strategies.frozensets(strategies.integers(1, 5)),
    languages=strategies.none() | strategies.frozensets(strategies.sampled_from(["en", "de"])),
)
async def test_reconnects_neither_lose_nor_repeat_events(
    seed: int, ratings: frozenset[int] | None, languages: frozenset[str] | None
) -> None:
    dice = random.Random(seed)
    broker = Broker()
    selection = Selection("42", ratings, languages)
    table: dict[int, Comment] = {}
    shown: dict[str, Comment] = {}

    listener = broker.log.listen(selection, None)
    (ready,) = await waiting(listener)
    assert ready.kind is KIND.READY
    at = ready.cursor

    def listed() -> dict[str, Comment]:
        return {
            comment_position(one): one
            for one in table.values()
            if (ratings is None or one.rating in ratings)
            and (languages is None or one.language in languages)
        }

    def receive(events: list[CommentEvent]) -> None:
        nonlocal at, listener
        for event in events:
            if event.kind is KIND.RELOAD:  # load the list and its ``eventCursor``
                shown.clear()
                shown.update(listed())
                at = broker.log.last.cursor
                listener.close()
                listener = broker.log.listen(selection, broker.log.last)
                return
            applied(shown, [event])
            at = event.cursor

    for _ in range(60):
        write(broker, table, dice)
        if dice.random() < 0.2:
            # The client disconnects after some of its events, and reconnects later.
            receive((await waiting(listener))[: dice.randrange(4)])
            listener.close()
            for _ in range(dice.randrange(3)):
                write(broker, table, dice)
            listener = broker.log.listen(selection, event_position_of(at))
        elif dice.random() < 0.5:
            receive(await waiting(listener))
    receive(await waiting(listener))
    assert shown == listed()


@given(seed=strategies.integers(0, 2**32), filtered=strategies.booleans())
async def test_a_replay_from_any_number_has_only_newest_texts_and_leads_to_the_list(
    seed: int, *, filtered: bool
) -> None:
    """Anybody can make a cursor with any number of the epoch. Clients may end in a replay."""
    dice = random.Random(seed)
    log = Log()
    selection = Selection("42", frozenset({4, 5}), frozenset({"en"})) if filtered else ALL
    states: dict[int, Comment | None] = {}
    lists = [dict[str, Comment]()]
    for number in range(1, 20):
        one = dice.randrange(4)
        old = states.get(one)
        new = None
        if old is None or dice.random() < 0.7:  # a deleted comment may be published again
            new = comment(one, dice.randint(3, 5), dice.choice(["en", "en", "de"]), number)
        states[one] = new
        log.append(number, change_of(old, new))
        lists.append(
            {
                comment_position(one): one
                for one in states.values()
                if one is not None
                and (not filtered or (one.rating in {4, 5} and one.language == "en"))
            }
        )
    newest = [one for one in states.values() if one is not None]
    texts = [entry.now for _, entry in log._entries if isinstance(entry, Change) and entry.now]
    assert sorted(texts) == sorted(newest)
    for number, before in enumerate(lists):
        events = await waiting(log.listen(selection, log.last._replace(number=number)))
        for count in range(len(events) + 1):
            shown = dict(before)
            applied(shown, events[:count])
            at = events[count - 1].position if count else log.last._replace(number=number)
            rest = await waiting(log.listen(selection, at))
            if [event.kind for event in rest] == [KIND.RELOAD]:
                assert 0 < count < len(events)
            else:
                applied(shown, rest)
                assert shown == lists[-1]


@pytest.mark.parametrize(
    ("states", "kinds"),
    [
        ([None, 0, None], [None, KIND.ADDED, KIND.DELETED]),
        ([None, 0, 1], [None, KIND.ADDED, KIND.ADDED]),
        ([0, None, 1], [None, KIND.DELETED, KIND.ADDED]),
        ([0, None, 1, 2, None], [None, KIND.DELETED, KIND.ADDED, KIND.ADDED, KIND.DELETED]),
        ([0, 1, 2], [None, KIND.CHANGED, KIND.CHANGED]),
    ],
)
async def test_a_list_read_between_merged_changes_becomes_the_newest_list(
    states: list[int | None], kinds: list[CommentEventKind | None]
) -> None:
    """A client reads a page after the cursor with which it subscribes. The page may be newer."""
    versions = [None if edits is None else comment(1, edits=edits) for edits in states]
    for count in range(1, len(versions)):
        broker = Broker()
        after = broker.log.last
        for pair in pairwise(versions[: count + 1]):
            broker.publish(change_of(*pair))
        (event,) = await waiting(broker.log.listen(ALL, after))
        assert event.kind is kinds[count]
        for read in versions[: count + 1]:
            shown = {} if read is None else {comment_position(read): read}
            applied(shown, [event])
            newest = versions[count]
            assert [*shown.values()] == ([] if newest is None else [newest])


@pytest.mark.parametrize("order", [*permutations(range(5))], ids=str)
async def test_changes_in_any_order_lead_to_the_state_of_the_last_write(
    order: Sequence[int],
) -> None:
    states = [None, *(comment(1, rating, edits=rating) for rating in (1, 2, 3, 4)), None]
    changes = [change_of(*pair) for pair in pairwise(states)]
    log = Log()
    listener = log.listen(ALL, None)
    for number, place in enumerate(order):
        log.append(number + 1, changes[place])
        texts = [one.now for _, one in log._entries if isinstance(one, Change) and one.now]
        if 4 in order[: number + 1]:
            assert len(texts) <= 1
        else:
            assert texts == [states[1 + max(order[: number + 1])]]
        for event in await waiting(listener):
            assert event.kind in {KIND.READY, KIND.RELOAD, KIND.DELETED} or event.comment_edge
    kept = [news.now if isinstance(news, Change) else None for _, news in log._entries]
    last_alive = max(order.index(4), 0)
    assert kept[last_alive] is None
    for at, place in enumerate(order):
        later = [one for one in order[:at] if one > place]
        if place + 1 in later:
            assert kept[at] != states[place + 1]


@pytest.mark.parametrize("order", [*permutations(range(5))], ids=str)
@pytest.mark.parametrize("deleted", [False, True])
async def test_the_last_event_shows_the_newest_state_for_changes_in_any_order(
    order: Sequence[int], deleted: bool
) -> None:
    edits = [None, *(comment(1, edits=number) for number in range(5))]
    states = [*edits[:-1], None] if deleted else edits
    changes = [change_of(*pair) for pair in pairwise(states)]
    log = Log()
    for number, place in enumerate(order):
        log.append(number + 1, changes[place])
    last = log._entries[-1][1]
    assert isinstance(last, Change)
    assert last.now == states[-1]


async def test_edits_with_equal_versions_do_not_loop_forever() -> None:
    """If the clocks of two servers differ, a comment may get the same version twice."""
    broker = Broker()
    listener = broker.log.listen(ALL, None)
    one, other = comment(1, edits=1), comment(1, edits=2)
    for old, new in ((one, other), (other, one), (one, one)):
        broker.publish(change_of(old, new))
    assert [event.kind for event in await waiting(listener)] == [KIND.RELOAD]


async def test_an_edit_that_arrives_late_is_shown_with_the_current_comment() -> None:
    first, second, third = comment(1, 1), comment(1, 2, edits=1), comment(1, 3, edits=2)
    log = Log()
    log.append(1, change_of(None, first))
    listener = log.listen(Selection("42", frozenset({1, 3})), None)
    slow = log.listen(ALL, None)
    log.append(2, change_of(second, third))
    _, added = await waiting(listener)
    log.append(3, change_of(first, second))
    (changed,) = await waiting(listener)
    assert (added.kind, changed.kind) == (KIND.ADDED, KIND.CHANGED)
    assert [event.kind for event in await waiting(slow)] == [KIND.RELOAD]
    assert changed.comment_edge is not None
    assert changed.comment_edge.node == third


async def test_a_cursor_of_dropped_events_receives_reload() -> None:
    broker = Broker(Log(kept=3))
    start = broker.log.last
    for number in range(3):
        broker.publish(change_of(None, comment(number)))
    assert len(await waiting(broker.log.listen(ALL, start))) == 3
    broker.publish(change_of(None, comment(3)))
    (event,) = await waiting(broker.log.listen(ALL, start))
    assert (event.kind, event.position) == (KIND.RELOAD, broker.log.last)
    assert await waiting(broker.log.listen(ALL, event.position)) == []


async def test_after_a_restart_listeners_receive_reload() -> None:
    before, after = Broker(), Broker()
    (event,) = await waiting(after.log.listen(ALL, before.log.last))
    assert event.kind is KIND.RELOAD


async def test_an_event_received_from_another_process_is_not_repeated() -> None:
    log = Log()
    ahead = log.last._replace(number=2)
    listener = log.listen(ALL, ahead)
    for number in range(1, 4):
        log.append(number, change_of(None, comment(number)))
    (event,) = await waiting(listener)
    assert event.position.number == 3


async def test_a_new_epoch_reloads_all_listeners() -> None:
    broker = Broker()
    listener = broker.log.listen(ALL, None)
    broker.publish(change_of(None, comment(1)))
    broker.log.begin(7, 100)
    (event,) = await waiting(listener)
    assert (event.kind, event.position) == (KIND.RELOAD, EventPosition(7, 100))


async def test_a_write_with_an_unknown_outcome_sends_reload_to_the_listeners_of_its_product() -> (
    None
):
    broker = Broker()
    listener, other = broker.log.listen(ALL, None), broker.log.listen(Selection("43"), None)
    broker.publish(UncertainWrite("42"))
    assert [event.kind for event in await waiting(listener)] == [KIND.RELOAD]
    assert [event.kind for event in await waiting(other)] == [KIND.READY]


async def test_a_write_with_an_unknown_outcome_removes_the_texts_of_its_product() -> None:
    """The write may have deleted each of the comments."""
    log = Log()
    other = comment(3)._replace(product_id="43")
    for number, one in enumerate([comment(1), other, comment(2)]):
        log.append(number + 1, change_of(None, one))
    log.append(4, UncertainWrite("42"))
    assert [one.now for _, one in log._entries if isinstance(one, Change)] == [None, other, None]


@pytest.mark.parametrize("bound", ["MAX_WAITING_EVENTS", "MAX_WAITING_BYTES"])
async def test_a_slow_listener_is_dropped(monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    monkeypatch.setattr(log, bound, 2)
    broker = Broker()
    slow, quick = broker.log.listen(ALL, None), broker.log.listen(ALL, None)
    for number in range(4):
        broker.publish(change_of(None, comment(number)))
        await waiting(quick)
    with pytest.raises(SlowListenerError, match="subscribe again"):
        await anext(slow)
    broker.publish(change_of(None, comment(9)))
    assert len(await waiting(quick)) == 1


async def test_a_closed_listener_is_forgotten() -> None:
    log = Log()
    listener = log.listen(ALL, None)
    await listener.aclose()
    assert not log._listeners
    assert [event.kind async for event in listener] == [KIND.READY]


async def test_the_log_has_a_maximum_size_in_bytes() -> None:
    log = Log(kept_bytes=10_000)
    for number in range(100):
        edited = change_of(comment(1, edits=number), comment(1, edits=number + 1))
        log.append(number + 1, edited)
    assert log._bytes <= 10_000
    assert len(log._next) == len(log._entries) < 10


@pytest.mark.parametrize(
    "news",
    [
        change_of(None, comment(1)),
        change_of(comment(1), comment(1, 2, edits=1)),
        change_of(comment(1, 2), None),
        UncertainWrite("a/b#c"),
    ],
)
def test_a_change_is_decoded_as_it_was_encoded(news: Change | UncertainWrite) -> None:
    assert decode(*encode(news)) == news
