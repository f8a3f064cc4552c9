"""One comment per person and product: in every write, during concurrent writes, and after kills."""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from unittest.mock import patch

import pytest
from strawberry.relay.utils import to_base64

from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb.errors import ConflictError
from dal.dynamodb.scan import scan_all
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.entities.submission import encode, stored
from dal.errors import AlreadyCommentedError
from dal.model.submissions import ReviewCause, Submission, pending
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from dal.table.items import Item, key_of
from dal.writes.overwrite import Outcome
from features.one_per_person.entity import NAMED, commented, commented_key
from features.one_per_person.kind import ReservationCorrection
from features.one_per_person.marking import name_comments, switch_off, switch_on
from features.one_per_person.model import OnePerPerson, extras, is_limited, limit_of
from features.one_per_person.write_rule import named, others_of
from schema.build import build_schema
from tests.dal.writes.test_stream_mode_writes import in_stream_mode
from tests.engines import SECOND_IN_SOAK
from tests.fakes import Answer, FaultyClient, Operation, anybody, client_error, let_pass
from tests.features.loading.bulk import load_rows
from tests.features.one_per_person.switching import switched
from tests.moderating import held_for, publish, reject
from tests.putting import put_comments
from tests.recount import comments_of
from tests.schema.conftest import ANN, runner
from tests.strategies import comment
from tests.verifying import verify
from tests.writers import ROWS, Engine, Killed, Writers, at_once, ignore


def at(second: int) -> datetime:
    return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=second)


FIRST, SECOND = comment("1", username="ann"), comment("2", username="ann")


async def names(table: Table) -> dict[tuple[str, str], str]:
    """Return the comment id in each record of a person and product.

    Check that the comment exists, and is by this person on this product.
    """
    items: list[Item] = []
    await scan_all(table, ignore, items.extend)
    there = [one for item in items if (one := stored(item)) is not None]
    found = {}
    for item in items:
        if item["SK"]["S"].startswith("COMMENTED#"):
            (named,) = [one for one in there if one.comment_id == item[NAMED]["S"]]
            assert commented(named) == item
            found[named.username, named.product_id] = named.comment_id
    return found


async def owners(table: Table) -> Counter[tuple[str, str]]:
    """Return the number of comments of each person on each product, in all states."""
    items: list[Item] = []
    await scan_all(table, ignore, items.extend)
    there = [one for item in items if (one := stored(item)) is not None]
    return Counter((one.username, one.product_id) for one in there)


@pytest.mark.parametrize(
    ("state", "mode", "cause"),
    [
        (OnePerPerson.MARKING, MaintenanceMode.TRANSACTIONAL, None),
        (OnePerPerson.MARKING, MaintenanceMode.STREAM, ReviewCause.SETTING),
        (OnePerPerson.ON, MaintenanceMode.TRANSACTIONAL, ReviewCause.SETTING),
        (OnePerPerson.ON, MaintenanceMode.STREAM, None),
    ],
)
@pytest.mark.parametrize("adds", [60, pytest.param(200, marks=pytest.mark.soak)])
async def test_of_many_concurrent_adds_of_one_person_one_is_stored(
    each_table: Table,
    state: OnePerPerson,
    mode: MaintenanceMode,
    cause: ReviewCause | None,
    adds: int,
) -> None:
    if mode is MaintenanceMode.STREAM:
        await in_stream_mode(each_table)
    await switched(each_table, state)
    servers = [Stores(each_table).comments for _ in range(4)]
    rows = [comment(f"c{number}", username="ann") for number in range(adds)]
    ends = await asyncio.gather(
        *(servers[n % 4].add(row, hold=held_for(cause)) for n, row in enumerate(rows)),
        return_exceptions=True,
    )
    (added,) = [end for end in ends if not isinstance(end, BaseException)]
    refused = [end for end in ends if isinstance(end, AlreadyCommentedError)]
    assert len(refused) == adds - 1, {type(end) for end in ends}
    one = added if isinstance(added, Submission) else added.node
    assert {end.there.comment_id for end in refused} == {one.comment_id}
    assert await names(each_table) == {("ann", "42"): one.comment_id}
    assert await owners(each_table) == {("ann", "42"): 1}


@pytest.mark.parametrize("to", OnePerPerson)
async def test_verify_corrects_records_that_another_program_has_changed(
    each_table: Table, to: OnePerPerson
) -> None:
    store = (await switched(each_table)).comments
    other = comment("3", username="bob")
    await put_comments(store, [FIRST, other])
    moved = comment("4", username="cy")
    await each_table.put_many(
        [
            commented(FIRST) | {NAMED: {"S": "gone"}},
            commented(moved) | {NAMED: {"S": "3"}},
        ]
    )
    await each_table.write([{"Delete": {"Key": commented_key(other)}}])
    await switched(each_table, to)
    corrected = ReservationCorrection(each_table)
    assert await verify(each_table, ignore, corrected) == []
    if to is not OnePerPerson.ON:
        assert (corrected.added, corrected.removed) == (0, 0)
        return
    assert (corrected.added, corrected.removed) == (2, 2)
    assert await names(each_table) == {("ann", "42"): "1", ("bob", "42"): "3"}
    with pytest.raises(AlreadyCommentedError):
        await Stores(each_table).comments.add(SECOND)


async def test_verify_records_no_older_comment_of_a_person_with_several(table: Table) -> None:
    stores = Stores(table)
    await put_comments(stores.comments, [FIRST, SECOND])
    await switch_on(table, at_once, ignore)
    ((_, newest),) = (await names(table)).items()
    await Stores(table).comments.delete(newest, anybody)
    assert await verify(table, ignore) == []
    assert await names(table) == {}


@pytest.mark.parametrize("held", [None, "submission"])
async def test_a_record_that_becomes_right_is_not_removed(table: Table, held: str | None) -> None:
    """The comment is written between the read of its record and the removal."""
    stores = await switched(table)
    waiting = pending(FIRST, ReviewCause.SETTING, FIRST.created_at)
    if held is None:
        right = COMMENT.encode(FIRST)
    else:
        right = encode(waiting)
        await table.put_many([encode(replace(waiting, product_id="43"))])
    record = commented(FIRST)
    await table.put_many([record])

    async def overtaken(real: Operation, arguments: Answer) -> Answer:
        await table.put_many([right])
        return await real(**arguments)

    slow = Table(FaultyClient(table.service, let_pass, overtaken), table.name)
    with pytest.raises(ConflictError):
        await named(slow, [record])
    assert await table.get(key_of(record)) == record
    assert len(await others_of(table, [SECOND])) == 1
    assert is_limited(await stores.maintenance.read())


async def test_a_record_of_another_persons_comment_is_corrected(table: Table) -> None:
    """The two comments are in different pages of the scan."""
    other = comment("9", username="bob", created_at=FIRST.created_at + timedelta(days=1))
    await put_comments(Stores(table).comments, [FIRST, other])
    await table.put_many([commented(FIRST) | {NAMED: {"S": "9"}}])
    await name_comments(table, [COMMENT.encode(FIRST)])
    assert await names(table) == {("ann", "42"): "1"}


async def test_a_record_that_a_server_writes_during_the_switch_is_not_replaced(
    table: Table,
) -> None:
    await Stores(table).comments.add(FIRST)
    stores = await switched(table, OnePerPerson.MARKING)

    async def added_first(real: Operation, arguments: Answer) -> Answer:
        await stores.comments.add(SECOND)
        return await real(**arguments)

    slow = Table(FaultyClient(table.service, let_pass, added_first), table.name)
    await name_comments(slow, [COMMENT.encode(FIRST)])
    assert await names(table) == {("ann", "42"): "2"}


async def test_verify_lists_a_second_comment_that_arrived_late(table: Table) -> None:
    store = (await switched(table)).comments
    await store.add(FIRST)
    await table.put_many([COMMENT.encode(SECOND)])
    for added in (1, 0):
        corrected = ReservationCorrection(table)
        await corrected.correct(())
        assert corrected.added == added
    newest, older = SECOND, FIRST  # of equal dates, the higher id counts as newer
    assert await names(table) == {("ann", "42"): newest.comment_id}
    assert await switch_on(table, at_once, ignore) == [older]


async def test_if_comments_keep_changing_the_switch_ends_with_one_error(table: Table) -> None:
    await Stores(table).comments.add(FIRST)
    failed = client_error(
        "TransactionCanceledException", reasons=("ConditionalCheckFailed", "None")
    )
    client = FaultyClient(table.service)

    async def changing(real: Operation, arguments: Answer) -> Answer:
        client._faults.append(changing)
        if "COMMENTED#42" in str(arguments) and "TransactItems" in arguments:
            raise failed
        return await real(**arguments)

    client._faults.append(changing)
    with (
        patch("features.one_per_person.marking.MAINTENANCE_DEADLINE", 0.2),
        pytest.raises(ConflictError, match="same command"),
    ):
        await switch_on(Table(client, table.name), at_once, ignore)
    await switch_on(table, at_once, ignore)
    assert await names(table) == {("ann", "42"): "1"}


@pytest.mark.parametrize("mode", MaintenanceMode)
async def test_a_person_can_add_a_comment_again_after_deleting_it(
    each_table: Table, mode: MaintenanceMode
) -> None:
    if mode is MaintenanceMode.STREAM:
        await in_stream_mode(each_table)
    store = (await switched(each_table)).comments
    for key in ("key", "another"):
        await store.add(FIRST, key)
        await store.add(FIRST, key)  # a retry
        with pytest.raises(AlreadyCommentedError):
            await store.add(SECOND)
        await store.add(SECOND._replace(product_id="43", comment_id=f"{key} 2"))
        await store.add(SECOND._replace(username="bob", comment_id=f"{key} 3"))
        assert len(await names(each_table)) == 3
        for one in (await names(each_table)).values():
            await store.delete(one, anybody)
        assert await names(each_table) == {}


async def test_a_rejected_comment_counts_as_the_persons_comment(table: Table) -> None:
    stores = await switched(table)
    await stores.comments.add(FIRST)
    await reject(stores, "1")
    with pytest.raises(AlreadyCommentedError) as refused:
        await stores.comments.add(SECOND)
    assert isinstance(refused.value.there, Submission)
    await publish(stores, "1")
    assert await names(table) == {("ann", "42"): "1"}
    await stores.comments.delete("1", anybody)
    await stores.comments.add(SECOND)
    assert await verify(table, ignore) == []


async def test_the_error_names_the_existing_comment(table: Table) -> None:
    stores = await switched(table)
    run = runner(build_schema(), stores)
    add = """mutation($input: AddCommentInput!) { addComment(input: $input) {
      comment { id } userErrors { code field message existingId } } }"""
    new = {"productId": "42", "rating": 4, "language": "en", "text": "It boils."}
    node_id = (await run(add, ANN, input=new))["data"]["addComment"]["comment"]["id"]
    (error,) = (await run(add, ANN, input=new))["data"]["addComment"]["userErrors"]
    assert error == {
        "code": "ALREADY_COMMENTED",
        "field": None,
        "message": str(AlreadyCommentedError(None)),
        "existingId": node_id,
    }
    (there,) = await comments_of(stores.comments, "42")
    await reject(stores, there.comment_id)
    (error,) = (await run(add, ANN, input=new))["data"]["addComment"]["userErrors"]
    assert error["existingId"] == to_base64("Submission", there.comment_id)


async def test_the_record_of_a_deleted_comment_does_not_prevent_a_new_comment(
    each_table: Table,
) -> None:
    """A server that had not read the new rule yet deleted the comment without its record."""
    store = (await switched(each_table)).comments
    await each_table.put_many([commented(FIRST)])
    await store.add(SECOND)
    assert await names(each_table) == {("ann", "42"): "2"}
    await each_table.put_many([commented(FIRST._replace(username="bob"))])
    assert await load_rows(store, [comment("4", username="bob")]) == Outcome(new=1)
    assert await names(each_table) == {("ann", "42"): "2", ("bob", "42"): "4"}


@pytest.mark.parametrize("mode", MaintenanceMode)
async def test_a_load_moves_the_record_and_adds_no_second_comment(
    each_table: Table, mode: MaintenanceMode
) -> None:
    if mode is MaintenanceMode.STREAM:
        await in_stream_mode(each_table)
    store = (await switched(each_table)).comments
    loaded = await load_rows(store, [FIRST, SECOND])
    assert (loaded.new, len(loaded.refused)) == (1, 1)
    (kept,) = (await names(each_table)).values()
    moved = FIRST._replace(comment_id=kept, product_id="43", username="bob")
    assert await load_rows(store, [moved]) == Outcome(changed=1)
    assert await names(each_table) == {("bob", "43"): kept}
    await store.add(comment("5", username="ann"))
    back = moved._replace(username="ann", product_id="42")
    assert await load_rows(store, [back, comment("6")]) == Outcome(new=1, refused=(kept,))
    assert await load_rows(store, [moved, comment("6")]) == Outcome(unchanged=2)
    if mode is MaintenanceMode.TRANSACTIONAL:
        assert await verify(each_table, ignore) == []


async def test_the_newest_of_several_comments_is_recorded_and_the_others_are_listed(
    each_table: Table,
) -> None:
    store = Stores(each_table).comments
    rows = [comment(f"c{n}", username="ann", created_at=at(n)) for n in (3, 9, 5)]
    for row in rows:
        await store.add(row)
    await store.add(
        comment("held", username="bob", created_at=at(1)), hold=held_for(ReviewCause.SETTING)
    )
    further = await switch_on(each_table, at_once, ignore)
    assert sorted(one.comment_id for one in further) == ["c3", "c5"]
    assert await names(each_table) == {("ann", "42"): "c9", ("bob", "42"): "held"}
    store = Stores(each_table).comments  # new stores, because the old ones have cached the mode
    with pytest.raises(AlreadyCommentedError):
        await store.add(comment("new", username="ann"))
    await store.update("c3", {"rating": 1}, anybody)
    await store.delete("c3", anybody)
    assert [one.comment_id for one in await switch_on(each_table, at_once, ignore)] == ["c5"]
    await store.delete("c9", anybody)
    assert await switch_on(each_table, at_once, ignore) == [], "nothing is newer than c5"
    await store.add(comment("new", username="ann"))
    assert await names(each_table) == {("ann", "42"): "new", ("bob", "42"): "held"}
    assert [one.comment_id for one in await switch_on(each_table, at_once, ignore)] == ["c5"]


async def test_switching_the_rule_off_and_on_corrects_the_records(table: Table) -> None:
    store = (await switched(table)).comments
    await store.add(FIRST)
    await store.add(comment("b", username="bob"))
    await switch_off(table)
    again = Stores(table).comments
    await again.delete("1", anybody)
    await again.add(SECOND)
    await again.add(SECOND._replace(comment_id="3"))
    (older,) = await switch_on(table, at_once, ignore)
    assert await names(table) == {
        ("ann", "42"): "3" if older.comment_id == "2" else "2",
        ("bob", "42"): "b",
    }


async def test_a_rebuild_and_a_switch_of_the_rule_exclude_each_other(table: Table) -> None:
    store = Stores(table).maintenance
    rebuilding = await store.announce(await store.read(), generation=1, rebuilding=True)
    with pytest.raises(StoreRefusedError, match="`marginalia stats rebuild`"):
        await switch_on(table, at_once, ignore)
    await store.announce(rebuilding, rebuilding=False)
    await switched(table, OnePerPerson.MARKING)
    marking = await store.read()
    for run in ("rebuilding", "upgrading"):
        with pytest.raises(StoreRefusedError, match="table one-per-person on`"):
            await store.announce(marking, **{run: True})


@SECOND_IN_SOAK
@pytest.mark.parametrize("mode", MaintenanceMode)
async def test_during_the_switch_no_person_gets_a_second_comment(
    each_table: Table, mode: MaintenanceMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row._replace(username=f"u{number % 60}") for number, row in enumerate(ROWS)]
    monkeypatch.setattr("tests.writers.ROWS", rows)
    await put_comments(Stores(each_table).comments, rows[::2])
    if mode is MaintenanceMode.STREAM:
        await in_stream_mode(each_table)
    async with Writers(each_table, 1) as writers:
        await writers.until(20)
        before = writers.writes
        table = Table(Engine(each_table.service), each_table.name)
        await switch_on(table, writers.settle, ignore)
        assert writers.writes > before
    older = await switch_on(each_table, at_once, ignore)
    named, held = await names(each_table), await owners(each_table)
    assert len(older) == sum(held[owner] - 1 for owner in named)
    with_older = {owner for owner, count in held.items() if count > 1 or owner not in named}
    async with Writers(each_table, 2) as writers:
        await writers.until(100)
    named, held = await names(each_table), await owners(each_table)
    assert {owner for owner, count in held.items() if count > 1} <= with_older
    assert held.keys() - with_older <= named.keys() <= held.keys()
    if mode is MaintenanceMode.TRANSACTIONAL:
        assert await verify(each_table, ignore) == []


@pytest.mark.parametrize("kill", range(0, 42, 6))
async def test_a_switch_killed_at_any_request_continues(table: Table, kill: int) -> None:
    """Each kill happens after a request was executed. Its response is lost."""
    rows = [
        comment(f"c{number}", username=f"u{number % 23}", created_at=at(number % 50))
        for number in range(90)
    ]
    await put_comments(Stores(table).comments, rows)
    engine = Engine(table.service)
    engine.left, engine.done_before_death = kill, True
    with suppress(BaseExceptionGroup, Killed):
        await switch_on(Table(engine, table.name), at_once, ignore)
    engine.left = None
    further = await switch_on(Table(engine, table.name), at_once, ignore)
    newest = {
        row.username: max(
            (one for one in rows if commented_key(one) == commented_key(row)),
            key=lambda one: (one.created_at, one.comment_id),
        )
        for row in rows
    }
    assert await names(table) == {(who, "42"): one.comment_id for who, one in newest.items()}
    assert len(further) == len(rows) - len(newest)


@pytest.mark.parametrize("again", [False, True], ids=["off", "off and on"])
async def test_a_switch_that_another_command_undoes_fails(table: Table, *, again: bool) -> None:
    store = MaintenanceStore(table)

    async def undone() -> None:
        await switch_off(table)
        if again:
            off = await store.read()
            await store.announce(off, extras=extras(off, OnePerPerson.MARKING))

    with patch("dal.counts.mode.time", count(1).__next__), pytest.raises(ConflictError):
        await switch_on(table, undone, ignore)
    expected = OnePerPerson.MARKING if again else OnePerPerson.OFF
    assert limit_of(await store.read()) is expected
