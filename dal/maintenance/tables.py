"""Creates the table, and upgrades a table of an earlier version while servers run.

The upgrade adds missing global indexes to the table. It also adds missing attributes to items,
because an index contains only items that have the index's keys, and replaces outdated attributes.
The upgrade writes an item only if the item has not changed since the upgrade read it. An
interrupted upgrade continues when it is called again.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias
from zlib import crc32

from dal.counts.mode import (
    KEY,
    Maintenance,
    MaintenanceMode,
    MaintenanceStore,
    WaitForWriters,
)
from dal.dynamodb import admin
from dal.dynamodb.concurrency import batched
from dal.dynamodb.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    NoTransactionsError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.dynamodb.retries import MAINTENANCE_DEADLINE, retry_on_conflict
from dal.dynamodb.scan import Progress, ResumableScan
from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.entities.comment import (
    BY_AUTHOR,
    BY_LANGUAGE,
    BY_LANGUAGE_AND_RATING,
    BY_LOCALE,
    BY_VERIFIED,
    COMMENT,
    HELPFUL,
    STATE,
    WITH_PHOTOS,
    is_comment,
)
from dal.entities.order import ORDER, is_order
from dal.entities.organization import ORGANIZATION_USER, is_organization_user
from dal.entities.product import PRODUCT_ACTIONS, PRODUCT_DETAILS, TITLES, is_details, word_items
from dal.entities.submission import SUBMISSION, in_canonical_language
from dal.entities.ticket import TICKET, is_ticket
from dal.stores import Stores
from dal.table.definition import (
    differences,
    has_declared_keys,
    listed,
    string_attribute,
)
from dal.table.entity import Entity, packed, unpacked
from dal.table.errors import StoreRefusedError
from dal.table.items import Action, Item, key_of

IndexProgress: TypeAlias = Callable[[str, str], None]
"""A function that shows the progress of creating an index. It receives the index's name and a short
text."""

LOOK_EVERY = 5.0
"""Seconds between two DescribeTable requests while an index is created, which takes minutes."""

_PROGRESS_SECONDS = 7 * 24 * 3600
"""Seconds after an interruption within which the upgrade can continue its scan. Later, the scan
starts from the beginning."""

_ITEMS_AT_ONCE = 25
"""Maximum items of one transaction. A page of a scan has at most 1 MB, so its items fit in a
transaction of 4 MB."""

_PRODUCTS_AT_ONCE = 100 // PRODUCT_ACTIONS
"""Maximum products that one transaction completes, with the words of their titles. DynamoDB allows
100 actions in a transaction."""

_ENTITIES: Sequence[tuple[Callable[[Item], bool], Entity[Any]]] = (
    (lambda item: is_comment(item) and STATE in item, SUBMISSION),
    (is_comment, COMMENT),
    (is_order, ORDER),
    (is_ticket, TICKET),
    (is_organization_user, ORGANIZATION_USER),
    (is_details, PRODUCT_DETAILS),
)

_NOT_IN_PRODUCT_LISTS = frozenset(
    {
        BY_AUTHOR.partition_key,
        BY_LOCALE.partition_key,
        BY_VERIFIED.partition_key,
        WITH_PHOTOS.partition_key,
        HELPFUL.partition_key,
        HELPFUL.sort_key,
        "product",
        "createdAt",
    }
)
"""Attributes of a comment that are needed neither for the counters nor for four lists of its
product: the list of all comments, and the lists by language, by rating, and by both. A comment that
lacks only these attributes is in the four lists, and is counted."""

_OUTDATED = frozenset(
    {
        TITLES.partition_key,
        TITLES.sort_key,
        "language",
        BY_LANGUAGE.partition_key,
        BY_LANGUAGE_AND_RATING.partition_key,
        BY_LOCALE.partition_key,
    }
)
"""Attributes that items of earlier versions have with other values. Earlier versions folded titles
in another way. They put the comments of each language tag, such as ``en-US``, into their own
partition, and stored tags that are not canonical today, such as ``cmn`` for ``zh``."""


async def create_table(table: Table) -> bool:
    """Create the table if it does not exist. Return False if the call changed nothing.

    If the table is new, every comment that is added later is counted. But if the endpoint does not
    support transactions, the maintenance mode becomes stream, and comments are not counted, because
    a follower of the stream needs transactions too.
    """
    created = await admin.create(table, INDEXES)
    expiry = await admin.let_expire(table)
    store = MaintenanceStore(table)
    state = await store.read()
    if state.exact:  # an earlier call has done the remaining steps
        return created or expiry
    # An earlier call may have been interrupted after it created the table. So a table without items
    # counts as new. This check reads at most 1 MB.
    new = created or (
        state == Maintenance()
        and all(key_of(item) == KEY for item in (await table.scan(0, 1, None)).items)
    )
    try:
        await admin.check_transactions(table)
    except NoTransactionsError:
        if state.counted or state.rebuilding:
            await store.announce(
                state, mode=MaintenanceMode.STREAM, rebuilding=False, complete=False
            )
            return True
        return created or expiry
    if new:
        await store.announce(state, complete=True)
        return True
    return expiry


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The result of an upgrade.

    ``indexes`` are the names of the created indexes. ``expiry`` is True if the upgrade switched the
    table's time to live on. ``items`` is the number of changed items. ``uncounted`` is True if some
    comments are not counted, so that the statistics need a rebuild.
    """

    indexes: list[str]
    expiry: bool
    items: int
    uncounted: bool


async def upgrade(
    table: Table,
    *,
    index_progress: IndexProgress,
    scan_progress: Progress,
    wait_for_writers: WaitForWriters,
) -> Upgraded:
    """Upgrade a table to the layout of this version while servers run.

    Raises StoreRefusedError before any change in three cases: DynamoDB cannot do the whole upgrade,
    a rebuild runs, or the endpoint does not support transactions. If the limit of one comment per
    user and product is being turned on, the function creates the indexes, and then raises
    StoreRefusedError. No rebuild can start while the upgrade adds attributes to items.
    """
    description = await admin.describe(table)
    if not has_declared_keys(description):
        raise StoreRefusedError(
            f"The primary key of the table {table.name} is not PK and SK, and DynamoDB cannot "
            "change this: write its rows to a file and load them into a new table with `marginalia "
            "load`."
        )
    store = Stores(table).maintenance
    state = await store.read()
    found = differences(description, INDEXES)
    if found.differing:
        raise StoreRefusedError(
            f"This version cannot use {listed(found.differing)} of the table {table.name}, because "
            "needed keys or attributes are missing, and DynamoDB cannot change an index. Delete a "
            "global index with `aws dynamodb update-table`, then run this command again to create "
            "the index. Until then, reads of the index fail. For a local index, create a new table."
        )
    if found.missing_local:
        names = listed([one["IndexName"] for one in found.missing_local])
        raise StoreRefusedError(
            f"The table {table.name} lacks the local {names.removeprefix('the ')}, which "
            "DynamoDB creates only with a new table: run `marginalia export`, `marginalia table "
            "create` with another --table, and `marginalia load`."
        )
    if state.rebuilding:
        raise StoreRefusedError(
            "A rebuild of the statistics has not ended: wait for its end, or run `marginalia stats "
            "rebuild` again. Then run this command again."
        )
    await admin.check_transactions(table)
    for definition in found.missing:
        await _add_index(table, definition, index_progress)
    expiry = await admin.let_expire(table)
    # Announce the upgrade only now, after DynamoDB has accepted UpdateTable and UpdateTimeToLive.
    # If DynamoDB refused a request after the announcement, the announcement would prevent rebuilds.
    state = await store.read()
    if not state.upgrading:
        await store.announce(state, upgrading=True)
    completed = await _complete_items(table, wait_for_writers, scan_progress)
    state = await store.announce(await store.read(), upgrading=False)
    counted = state.complete or not state.counts_in_writes
    return Upgraded(found.lacking, expiry, completed, uncounted=not counted)


async def _add_index(
    table: Table, definition: Mapping[str, Any], index_progress: IndexProgress
) -> None:
    """Create one global index if the table lacks it, and wait until it can be read.

    DynamoDB creates one index at a time:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.html

    If this call is interrupted, DynamoDB still completes the index. ``definition`` is the index in
    CreateTable's form.
    """
    name = definition["IndexName"]
    keys = [one["AttributeName"] for one in definition["KeySchema"]]
    while name not in await _active_indexes(table, index_progress):
        try:
            await table.once(
                "update_table",
                TableName=table.name,
                AttributeDefinitions=[string_attribute(key) for key in keys],
                GlobalSecondaryIndexUpdates=[{"Create": definition}],
            )
        except (AlreadyExistsError, ThrottledError):
            index_progress(name, "waiting for another change of the table")
            await asyncio.sleep(LOOK_EVERY)
        except StoreUnavailableError:  # DynamoDB may still create the index
            index_progress(name, "waiting for DynamoDB, which does not answer")


async def _active_indexes(table: Table, index_progress: IndexProgress) -> set[str]:
    """Wait until no global index is being created or deleted.

    Return the names of all global indexes.
    """
    while True:
        description = await admin.describe(table)
        if description["TableStatus"] not in {"ACTIVE", "CREATING", "UPDATING"}:
            raise StoreRefusedError(
                f"The table {table.name} is {description['TableStatus']}: "
                "check it in the DynamoDB console."
            )
        indexes = description.get("GlobalSecondaryIndexes", [])
        busy = [one for one in indexes if one.get("IndexStatus", "ACTIVE") != "ACTIVE"]
        for one in busy:
            copying = ", its items are being copied" if one.get("Backfilling") else ""
            index_progress(one["IndexName"], f"{one['IndexStatus'].lower()}{copying}")
        if not busy and description["TableStatus"] == "ACTIVE":
            return {one["IndexName"] for one in indexes}
        await asyncio.sleep(LOOK_EVERY)


async def _complete_items(
    table: Table, wait_for_writers: WaitForWriters, progress: Progress
) -> int:
    """Add missing attributes to every item; return the number of changed items."""
    completed, announcing, announced = 0, asyncio.Lock(), False

    async def announce() -> None:
        """Announce that some comments are not counted, so that no process trusts a count of zero.

        In mode stream, no announcement is needed: no process trusts a count of zero, and the
        follower counts the comments that the upgrade writes.
        """
        nonlocal announced
        async with announcing:
            if not announced:
                store = MaintenanceStore(table)
                state = await store.read()
                if state.exact:
                    await store.announce(state, complete=False)
                    await wait_for_writers()
                announced = True

    async def complete(items: Iterable[Item]) -> None:
        nonlocal completed
        lacking = [one for item in items if (one := _completion(item)) is not None]
        if any(uncounted for _, uncounted in lacking):
            await announce()
        single = [actions for actions, _ in lacking if len(actions) == 1]
        several = [actions for actions, _ in lacking if len(actions) > 1]
        for batch in (*batched(single, _ITEMS_AT_ONCE), *batched(several, _PRODUCTS_AT_ONCE)):
            write = partial(table.write, [action for actions in batch for action in actions])
            try:
                async with table.pace.turn():
                    await retry_on_conflict(write, MAINTENANCE_DEADLINE)
            except ConditionFailedError:  # some items have changed since they were read
                keys = [actions[0]["Update"]["Key"] for actions in batch]
                await complete(await table.get_many(keys))
            else:
                completed += len(batch)

    # If another version declares other indexes, it must scan all items again. So the key of the
    # stored progress contains a checksum of the declared indexes.
    declared = [(one.name, one.entity, one.fields, sorted(one.packs)) for one in INDEXES]
    version = crc32(repr(declared).encode())
    scan = ResumableScan(table, f"UPGRADE#{version}", _PROGRESS_SECONDS)
    await scan.run(complete, progress)
    await table.write([{"Delete": {"Key": key}} for key in scan.keys])
    return completed


def _completion(item: Item) -> tuple[Sequence[Action], bool] | None:
    """Return a pair of actions and a flag; None if the item is complete or cannot be decoded.

    The first action sets the item's missing or outdated attributes, and the missing fields of
    ``data``. It fails if the item has changed. For a product, the other actions write the words of
    its title. The flag is True for a comment that is missing in its product's lists and is not
    counted, or is counted in a language that is not canonical.
    """
    entity = next((entity for holds, entity in _ENTITIES if holds(item)), None)
    found = None if entity is None else entity.recover(item)
    if entity is None or found is None:
        return None
    renamed = False
    if entity is COMMENT or entity is SUBMISSION:
        before, found = found.language, in_canonical_language(found)
        renamed = found.language != before
    whole, data = entity.encode(found), unpacked(item)
    lacking = {
        name: value
        for name, value in whole.items()
        if name not in item or (name in _OUTDATED and item[name] != value)
    }
    if renamed and entity is SUBMISSION:
        del data["comment"]
    if unpacked(whole).keys() - data.keys():
        lacking |= packed({**unpacked(whole), **data})
    stale = {BY_LOCALE.partition_key} & item.keys() - whole.keys()  # ar-arb has become ar
    if not lacking and not stale:
        return None
    # The condition must compare ``data`` if a missing attribute is derived from it, such as the key
    # of a comment with photos. Otherwise the condition leaves out a comment's ``data``, which may
    # be long.
    of_data = {"data", BY_VERIFIED.partition_key, WITH_PHOTOS.partition_key, HELPFUL.sort_key}
    update = entity.unchanged(
        item, unpacked=entity is COMMENT and lacking.keys().isdisjoint(of_data)
    )
    update["ExpressionAttributeNames"] |= {f"#{name}": name for name in (*lacking, *stale)}
    update.setdefault("ExpressionAttributeValues", {}).update(
        {f":new_{name}": value for name, value in lacking.items()}
    )
    added = ", ".join(f"#{name} = :new_{name}" for name in lacking)
    removed = ", ".join(f"#{name}" for name in stale)
    clauses = (f"SET {added}" if added else "", f"REMOVE {removed}" if removed else "")
    update["UpdateExpression"] = " ".join(clauses).strip()
    words = word_items(PRODUCT_DETAILS.decode(item)) if entity is PRODUCT_DETAILS else []
    actions = [
        {"Update": {"Key": key_of(item), **update}},
        *({"Put": {"Item": one}} for one in words),
    ]
    missing = lacking.keys() - item.keys()
    return actions, entity is COMMENT and (renamed or not missing <= _NOT_IN_PRODUCT_LISTS)
