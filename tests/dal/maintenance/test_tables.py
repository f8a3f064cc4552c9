"""Upgrades of older tables: complete, interrupted, refused, and during writes."""

import itertools
import random
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from dal.counts.mode import KEY, Maintenance, MaintenanceStore
from dal.dynamodb import admin
from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.entities.comment import (
    BY_LANGUAGE,
    BY_LANGUAGE_AND_RATING,
    BY_LOCALE,
    BY_VERIFIED,
    COMMENT,
    HELPFUL,
    KEYED,
    WITH_PHOTOS,
    comment_key,
    is_comment,
)
from dal.entities.order import ORDER
from dal.entities.organization import ORGANIZATION_USER
from dal.entities.product import PRODUCT_DETAILS
from dal.entities.submission import SUBMISSION, submission_in
from dal.entities.ticket import TICKET, TICKETS_OF_ORGANIZATION
from dal.maintenance import tables
from dal.maintenance.rebuild import rebuild
from dal.maintenance.tables import Upgraded, upgrade
from dal.model import OrderStatus, ProductDetails
from dal.model.submissions import ReviewCause, pending
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from dal.table.definition import refuse_outdated, table_definition
from dal.table.entity import packed, unpacked
from dal.table.errors import StoreRefusedError
from dal.table.items import Item, key_of
from tests import oracle
from tests.dal.maintenance import first_release
from tests.fakes import Answer, FaultyClient, Operation, client_error
from tests.organizations import ROSTERS, ticket
from tests.putting import put_comments
from tests.strategies import order
from tests.verifying import verify
from tests.writers import Engine, Killed, ignore

COMMENTS = oracle.make_comments("4/2", 90, seed=5)
ADDED = ["byLocale", "byVerified", "withPhotos", "byHelpful", "byAuthor", "GSI1", "openOrders"]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LOOK_EVERY", 0)


@pytest.fixture
def absent(each_table: Table) -> Table:
    return Table(each_table.service, f"test-{uuid.uuid4().hex}")


@pytest.fixture
def old(table: Table) -> Table:
    """The name of a table on dynoxide, which the test creates in the form of an older version."""
    return Table(table.service, f"test-{uuid.uuid4().hex}")


async def nobody() -> None:
    """Do not wait: no other process writes."""


async def upgraded(table: Table, *, progress: list[str] | None = None) -> Upgraded:
    def tell(name: str, words: str) -> None:
        if progress is not None:
            progress.append(f"{name}: {words}")

    return await upgrade(
        table,
        index_progress=tell,
        scan_progress=ignore,
        wait_for_writers=nobody,
    )


async def walk_all(table: Table, comments: list[Any]) -> None:
    """Compare some selections with the oracle, in both directions."""
    store = Stores(table).comments
    for ratings in (None, frozenset({5}), frozenset({1, 4})):
        for languages in (None, frozenset({"en"}), frozenset({"en", "ar"})):
            selection = Selection("4/2", ratings, languages)
            for backward in (False, True):
                found = await oracle.walk(store, selection, 13, backward=backward)
                assert found == oracle.selected(comments, selection)


async def test_the_first_releases_table_is_exact_after_an_upgrade(absent: Table) -> None:
    await first_release.create(absent, COMMENTS)
    with pytest.raises(StoreRefusedError, match="`marginalia table upgrade`"):
        refuse_outdated(await admin.describe(absent), INDEXES)
    assert await upgraded(absent) == Upgraded(
        ADDED, expiry=True, items=len(COMMENTS), uncounted=True
    )

    refuse_outdated(await admin.describe(absent), INDEXES)
    assert await admin.expires(absent)
    await walk_all(absent, COMMENTS)
    await rebuild(absent, nobody, ignore)
    assert await verify(absent, ignore) == []
    assert (await MaintenanceStore(absent).read()).exact
    await walk_all(absent, COMMENTS)
    assert await upgraded(absent) == Upgraded([], expiry=False, items=0, uncounted=False)


async def test_an_upgrade_asks_for_a_rebuild_if_comments_are_not_counted_by_flags(
    table: Table,
) -> None:
    item = await table.get(KEY) or {}
    assert item["flags"] == {"S": "verified hasPhotos"}
    await table.put_many([without(item, "flags")])
    assert (await upgraded(table)).uncounted
    await rebuild(table, nobody, ignore)
    assert not (await upgraded(table)).uncounted


def without(item: Item, *names: str) -> Item:
    return {name: value for name, value in item.items() if name not in names}


async def test_items_get_the_keys_that_they_lack(absent: Table) -> None:
    await first_release.create(absent, COMMENTS, "all", "byRating")
    whole = {
        "order": ORDER.encode(order("1")),
        "shipped": ORDER.encode(order("2", status=OrderStatus.SHIPPED)),
        "ticket": TICKET.encode(ticket(0)),
        "user": ORGANIZATION_USER.encode(ROSTERS[0].users[0]),
        "titled": PRODUCT_DETAILS.encode(("1", ProductDetails("Red kettle"))),
        "untitled": PRODUCT_DETAILS.encode(("2", ProductDetails(url="/2"))),
        "dotted": PRODUCT_DETAILS.encode(("3", ProductDetails("\u0130stanbul"))),
    }
    assert "PlacedId" not in whole["shipped"]
    subject = {name: unpacked(whole["ticket"])[name] for name in ("subject", "text")}
    older = [
        without(whole["order"], "GSI1PK", "GSI1SK", "PlacedId"),
        without(whole["shipped"], "OrderDate"),
        without(whole["ticket"], "GSIPK", "GSISK", "GSI3PK", "GSI4PK") | packed(subject),
        without(whole["user"], "GSI1PK", "GSI1SK", "GSI5PK", "GSISK"),
        without(whole["titled"], "GSI1PK", "GSI1SK", "words"),
        whole["untitled"],
        whole["dotted"] | {"GSI1SK": {"S": "i\u0307stanbul\t3"}},
    ]
    strange = {**comment_key("strange"), "GSISK": {"S": "?"}, "data": {"S": "{}"}}
    tombstone = {**comment_key("gone"), KEYED: {"S": "digest"}}
    await absent.put_many([*older, strange, tombstone])
    done = await upgraded(absent)
    assert done.indexes == [
        "all",
        "byRating",
        "byLocale",
        "byVerified",
        "withPhotos",
        "byHelpful",
        "byAuthor",
        "GSI1",
        "openOrders",
    ]
    assert done.items == len(COMMENTS) + 6
    comments = [COMMENT.encode(one) for one in COMMENTS]
    for item in (*whole.values(), strange, tombstone, *comments):
        assert await absent.get({"PK": item["PK"], "SK": item["SK"]}) == item
    await walk_all(absent, COMMENTS)
    assert (await upgraded(absent)).items == 0


async def test_products_get_the_words_of_their_titles(table: Table) -> None:
    """Earlier versions searched only the beginnings of titles."""
    titles = {str(number): f"Red kettle number {number}" for number in range(23)}
    products = Stores(table).products
    await products.put_many({one: ProductDetails(title) for one, title in titles.items()})
    for one, title in titles.items():
        await products.update(one, {"title": ""})
        older = PRODUCT_DETAILS.encode((one, ProductDetails(title)))
        await table.put_many([without(older, "words")])
    found = await products.search("kettle", Slice(100))
    assert found.nodes == []
    assert await upgraded(table) == Upgraded([], False, len(titles), False)
    found = await products.search("kettle", Slice(100))
    assert {one.product_id for one in found.nodes} == {*titles}
    assert (await upgraded(table)).items == 0
    for one in titles:
        await products.update(one, {"title": ""})
    left = (await table.scan(0, 1, None)).items
    assert not [one for one in left if one["SK"]["S"].startswith("WORD#")]


async def test_comments_move_from_the_partition_of_their_tag_to_that_of_their_language(
    table: Table,
) -> None:
    """Earlier versions had a partition for each tag. The moved comments stay counted."""
    rows = [
        row._replace(language=tag)
        for row, tag in zip(COMMENTS, itertools.cycle(oracle.TAGS), strict=False)
    ]
    await put_comments(Stores(table).comments, rows)
    older = [
        without(COMMENT.encode(row), BY_LOCALE.partition_key)
        | {
            BY_LANGUAGE.partition_key: {"S": f"PRODUCT#4%2F2/{row.language}"},
            BY_LANGUAGE_AND_RATING.partition_key: {
                "S": f"PRODUCT#4%2F2/{row.language}/{row.rating}"
            },
        }
        for row in rows
    ]
    moved = sum([item != COMMENT.encode(row) for item, row in zip(older, rows, strict=True)])
    await table.put_many(older)
    assert await upgraded(table) == Upgraded([], False, moved, False)
    assert (await MaintenanceStore(table).read()).exact
    assert await verify(table, ignore) == []
    for asked in ("en", "en-GB", "zh-Hant", "no", "nb"):
        selection = Selection("4/2", frozenset({1, 4, 5}), frozenset({asked}))
        found = await oracle.walk(Stores(table).comments, selection, 7, backward=False)
        assert found == oracle.selected(rows, selection)
    assert (await upgraded(table)).items == 0


async def test_languages_become_canonical_and_are_counted_again(table: Table) -> None:
    """Earlier versions stored some tags that no filter finds today, because filters change."""
    older = {"cmn-Hant-TW": "zh-Hant-TW", "ar-arb": "ar", "iw": "he", "no": "no", "??": "??"}
    rows = [
        row._replace(language=tag)
        for row, tag in zip(COMMENTS, itertools.cycle(older), strict=False)
    ]
    waiting = pending(rows[0]._replace(comment_id="waits"), ReviewCause.SETTING, oracle.START)
    await put_comments(Stores(table).comments, rows)
    await table.put_many([SUBMISSION.encode(waiting)])
    done = await upgraded(table)
    changed = [row for row in rows if older[row.language] != row.language]
    assert done == Upgraded([], False, len(changed) + 1, True)
    now = [row._replace(language=older[row.language]) for row in rows]
    for row in now:
        assert await table.get(comment_key(row.comment_id)) == COMMENT.encode(row)
    held = submission_in(await table.get(comment_key("waits")))
    assert held == replace(waiting, language="zh-Hant-TW")
    await rebuild(table, nobody, ignore)
    assert await verify(table, ignore) == []
    await walk_all(table, now)
    assert await upgraded(table) == Upgraded([], False, 0, False)


async def test_comments_get_sparse_indexes_and_stay_counted(table: Table) -> None:
    """Comments of buyers, and comments with photos."""
    rows = [
        row._replace(verified_purchase=n % 3 == 0)
        for n, row in enumerate(oracle.with_photos(COMMENTS))
    ]
    await put_comments(Stores(table).comments, rows)
    keys = (BY_VERIFIED.partition_key, WITH_PHOTOS.partition_key)
    await table.put_many([without(COMMENT.encode(row), *keys) for row in rows])
    deletion = {"Delete": {"IndexName": "byVerified"}}
    await table.once("update_table", TableName=table.name, GlobalSecondaryIndexUpdates=[deletion])
    lacking = [row for row in rows if row.verified_purchase or row.photos]
    assert await upgraded(table) == Upgraded(["byVerified"], False, len(lacking), False)
    assert (await MaintenanceStore(table).read()).exact
    assert await verify(table, ignore) == []
    for verified, photos in ((True, False), (False, True), (True, True)):
        selection = Selection("4/2", frozenset({1, 5}), verified_only=verified, has_photos=photos)
        found = await oracle.walk(Stores(table).comments, selection, 7, backward=False)
        assert found == oracle.selected(rows, selection)


async def test_comments_with_votes_get_their_index_and_stay_counted(table: Table) -> None:
    rows = [row._replace(votes=n % 3) for n, row in enumerate(COMMENTS)]
    await put_comments(Stores(table).comments, rows)
    keys = (HELPFUL.partition_key, HELPFUL.sort_key)
    await table.put_many([without(COMMENT.encode(row), *keys) for row in rows])
    voted = [row for row in rows if row.votes]
    assert await upgraded(table) == Upgraded([], False, len(voted), False)
    assert (await MaintenanceStore(table).read()).exact
    for row in rows:
        assert await table.get(comment_key(row.comment_id)) == COMMENT.encode(row)


@pytest.mark.parametrize("change", ["edited", "deleted", "retitled"])
async def test_an_upgrade_keeps_concurrent_changes(old: Table, change: str) -> None:
    await first_release.create(old, COMMENTS[:3], "all")
    titled, retitled = (
        PRODUCT_DETAILS.encode(("1", ProductDetails(title))) for title in ("Kettle", "Teapot")
    )
    await old.put_many([without(titled, "GSI1PK", "GSI1SK")])
    mine = COMMENTS[0]
    edited = mine._replace(rating=6 - mine.rating, language="fr")
    real = old.service

    async def between(operation: Operation, arguments: Answer) -> Answer:
        """Change an item after the upgrade has read it and before the upgrade writes it."""
        if change == "edited":
            await Table(real, old.name).put_many([COMMENT.encode(edited)])
        elif change == "retitled":
            await Table(real, old.name).put_many([without(retitled, "GSI1PK", "GSI1SK")])
        else:
            deletion = [{"Delete": {"Key": comment_key(mine.comment_id)}}]
            await Table(real, old.name).write(deletion)
        return await operation(**arguments)

    class Racing(FaultyClient):
        async def call(self, operation: str, arguments: Answer) -> Answer:
            entries = arguments.get("TransactItems", [])
            if self._faults and any("Update" in entry for entry in entries):
                return await self._faults.pop()(
                    lambda **given: real.call(operation, given), arguments
                )
            return await real.call(operation, arguments)

    await upgraded(Table(Racing(real, between), old.name))
    left = {"edited": [edited, *COMMENTS[1:3]], "deleted": COMMENTS[1:3]}.get(change, COMMENTS[:3])
    store = Stores(old).comments
    assert await oracle.walk(store, Selection("4/2"), 5, backward=False) == oracle.newest_first(
        left
    )
    found = filter(is_comment, (await old.scan(0, 1, None)).items)
    assert len(list(found)) == len(left)
    assert await old.get(key_of(titled)) == (retitled if change == "retitled" else titled)


async def test_an_upgrade_killed_at_any_request_continues(old: Table) -> None:
    await first_release.create(old, COMMENTS, "all")
    chance, engine, kills = random.Random(7), Engine(old.service), 0
    while True:
        engine.left, engine.done_before_death = chance.randrange(25), chance.random() < 0.5
        try:
            await upgraded(Table(engine, old.name))
            break
        except Killed:
            kills += 1
    assert kills > 3
    refuse_outdated(await admin.describe(old), INDEXES)
    await walk_all(old, COMMENTS)
    found = {one["PK"]["S"] for one in (await old.scan(0, 1, None)).items}
    assert found - {KEY["PK"]["S"]} == {COMMENT.encode(one)["PK"]["S"] for one in COMMENTS}, (
        "what kept the progress is gone"
    )


async def test_an_interrupted_upgrade_of_another_version_is_not_continued(
    old: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other version has the same table, but fewer kinds of rows in its indexes."""
    await first_release.create(old, COMMENTS[:5])

    class DyingAtTheEnd(Engine):
        async def call(self, operation: str, arguments: Answer) -> Answer:
            if "Delete" in str(arguments.get("TransactItems")):
                raise Killed
            return await super().call(operation, arguments)

    with monkeypatch.context() as other:
        other.setattr(tables, "_ENTITIES", ())
        rows = [index for index in INDEXES if index is not TICKETS_OF_ORGANIZATION]
        other.setattr(tables, "INDEXES", rows)
        with pytest.raises(Killed):
            await upgraded(Table(DyingAtTheEnd(old.service), old.name))
    assert (await upgraded(old)).items == 5


async def test_a_count_of_zero_is_not_trusted_once_a_comment_gets_its_keys(table: Table) -> None:
    """Without its keys the comment was in no index, so no rebuild counted it."""
    item = COMMENT.encode(COMMENTS[0])
    await table.put_many([without(item, "GSI4PK")])
    waited: list[Maintenance] = []

    async def wait() -> None:
        waited.append(await MaintenanceStore(table).read())
        assert await table.get(comment_key(COMMENTS[0].comment_id)) != item

    assert (await MaintenanceStore(table).read()).exact
    done = await upgrade(
        table,
        index_progress=lambda *_: None,
        scan_progress=ignore,
        wait_for_writers=wait,
    )
    assert [one.exact for one in waited] == [False]
    assert done == Upgraded([], expiry=False, items=1, uncounted=True)


class SlowIndexes:
    """Creates indexes slowly and one at a time, as DynamoDB does and the engines do not."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.endpoint_url = real.endpoint_url
        self._looks = 0
        self._made = ""
        self.begun: list[str] = []
        self.refusals = 1

    async def call(self, operation: str, arguments: Answer) -> Answer:
        if operation == "update_table":
            assert self._looks == 0, "one is being made"
            if self.refusals:
                self.refusals -= 1
                raise client_error("LimitExceededException")
            (change,) = arguments["GlobalSecondaryIndexUpdates"]
            self._made, self._looks = change["Create"]["IndexName"], 3
            self.begun.append(self._made)
        answer: Answer = await self._real.call(operation, arguments)
        if operation == "describe_table" and self._looks:
            self._looks -= 1
            return {"Table": self._busy(answer["Table"])}
        return answer

    def _busy(self, table: Mapping[str, Any]) -> Answer:
        indexes = [
            one | {"IndexStatus": "CREATING", "Backfilling": self._looks < 2}
            if one["IndexName"] == self._made
            else one
            for one in table["GlobalSecondaryIndexes"]
        ]
        return {**table, "TableStatus": "UPDATING", "GlobalSecondaryIndexes": indexes}


async def test_an_upgrade_creates_one_index_at_a_time_and_waits_for_it(old: Table) -> None:
    await first_release.create(old, COMMENTS[:5])
    service, progress = SlowIndexes(old.service), list[str]()
    await upgraded(Table(service, old.name), progress=progress)
    assert service.begun == ADDED
    assert [one.partition(" ")[0] for one in progress[:3]] == ["byLocale:"] * 3
    for one, step in zip(progress, ("waiting", "creating", "copied"), strict=False):
        assert step in one


async def test_an_index_that_is_being_created_counts_as_missing(old: Table) -> None:
    await first_release.create(old, [])
    await upgraded(old)
    description = await admin.describe(old)
    (made,) = [one for one in description["GlobalSecondaryIndexes"] if one["IndexName"] == "GSI1"]
    made["IndexStatus"] = "CREATING"
    with pytest.raises(StoreRefusedError, match="lacks the index GSI1,"):
        refuse_outdated(description, INDEXES)


class NoPermission(Engine):
    """A client whose account may not change tables."""

    async def call(self, operation: str, arguments: Answer) -> Answer:
        if operation == "update_table":
            raise client_error("AccessDeniedException")
        return await super().call(operation, arguments)


async def test_an_upgrade_that_dynamodb_refuses_does_not_keep_a_rebuild_from_starting(
    old: Table,
) -> None:
    await first_release.create(old, COMMENTS[:5])
    with pytest.raises(StoreRefusedError, match="AccessDenied"):
        await upgraded(Table(NoPermission(old.service), old.name))
    assert not (await MaintenanceStore(old).read()).upgrading
    await rebuild(old, nobody, ignore)


async def unchanged_by(table: Table, match: str) -> None:
    before = await admin.describe(table)
    with pytest.raises(StoreRefusedError, match=match):
        await upgraded(table)
    assert await admin.describe(table) == before


async def test_a_table_without_the_local_indexes_is_refused(old: Table) -> None:
    await first_release.create(old, [], local=False)
    await unchanged_by(old, "lacks the local indexes byDate, byStatusDate, .* `marginalia export`")


async def test_a_table_with_other_keys_is_refused(old: Table) -> None:
    definition = first_release.definition(old.name, local=False)
    definition["KeySchema"][0]["AttributeName"] = "GSIPK"
    del definition["GlobalSecondaryIndexes"]
    definition["AttributeDefinitions"] = [
        one for one in definition["AttributeDefinitions"] if one["AttributeName"] in {"GSIPK", "SK"}
    ]
    await old.once("create_table", **definition)
    await unchanged_by(old, "PK and SK")


async def test_an_index_that_projects_less_is_refused_and_created_again_after_its_deletion(
    old: Table,
) -> None:
    definition = table_definition(old.name, INDEXES)
    (index,) = [one for one in definition["GlobalSecondaryIndexes"] if one["IndexName"] == "all"]
    index["Projection"] = {"ProjectionType": "KEYS_ONLY"}
    await old.once("create_table", **definition)
    await put_comments(Stores(old).comments, COMMENTS)
    await unchanged_by(
        old, "cannot use the index all of .* attributes are missing, .* Delete a global index"
    )
    await old.call("update_table", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "all"}}])
    assert (await upgraded(old)).indexes == ["all"]
    await walk_all(old, COMMENTS)


async def test_an_upgrade_waits_for_a_running_rebuild(table: Table) -> None:
    maintenance = MaintenanceStore(table)
    await maintenance.announce(await maintenance.read(), rebuilding=True)
    await unchanged_by(table, "rebuild` again")


async def test_a_rebuild_does_not_begin_before_an_upgrade_ends(table: Table) -> None:
    """The rebuild would count comments that no index contains yet."""
    await table.put_many([without(COMMENT.encode(one), "GSI4PK") for one in COMMENTS[:8]])
    waits = 0

    async def wait() -> None:
        nonlocal waits
        waits += 1
        with pytest.raises(
            StoreRefusedError,
            match=r"an upgrade of the table has not ended: .* with `marginalia table upgrade`",
        ):
            await rebuild(table, nobody, ignore)
        if waits == 1:
            raise Killed

    async def upgrade_once() -> Upgraded:
        return await upgrade(
            table,
            index_progress=lambda *_: None,
            scan_progress=ignore,
            wait_for_writers=wait,
        )

    with pytest.raises(Killed):
        await upgrade_once()
    maintenance = MaintenanceStore(table)
    await maintenance.announce(await maintenance.read(), complete=True)
    assert (await upgrade_once()).items == 8
    assert waits == 2
    await rebuild(table, nobody, ignore)
    await walk_all(table, COMMENTS[:8])
