"""Erasure: deletes a user's data, or removes the user's name from it, while servers run.

1. *Announce*: the erasure stores ``erasing``, with the operator's choices, in the user's standing
   (see ``dal.entities.standing``). From then on, servers refuse all of the user's mutations. The
   erasure waits for writes in progress.
2. *Erase*: the erasure repeatedly queries the user's items and erases them. This step ends when the
   queries find only items that the operator keeps.
3. *Prove*: a scan of the whole table must find no more items to erase. If the scan finds such
   items, the erasure erases them and repeats steps 2 and 3. If the operator chose no scan, the
   erasure pauses and repeats the queries instead of the scan.
4. *Forget*: running servers forget the erased items (see ``ItemKind.forget``). For example, their
   logs of events forget the texts of all comments.
5. *Record*: the item ``ERASURE#<random>`` stores the time, the choices, and the numbers of erased
   and kept items of each kind, without the name. The user's mark is stored (see
   ``dal.entities.erasure_mark``), and the standing is deleted.

An interrupted erasure continues when it is called again, because the standing stores its choices
and counts.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from dal.counts.mode import WaitForWriters
from dal.dynamodb.concurrency import batched, in_parallel
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.scan import Progress
from dal.dynamodb.table import Table
from dal.entities.erasure_mark import mark_of
from dal.entities.standing import Standing, standing_key
from dal.kinds.item_kind import ItemKind
from dal.repositories.standings import StandingRepository
from dal.table.entity import UNREADABLE, packed
from dal.table.errors import StoreRefusedError
from dal.table.items import ABSENT, Action, Item, as_read, delete, key_of, primary_key
from dal.table.key_parts import format_instant
from features.privacy.personal_data import find, kind_in, scan

CommentFate: TypeAlias = Literal["delete", "anonymize"]
Fate: TypeAlias = Literal["keep", "rename", "delete"]

PAUSE_SECONDS = 60.0
"""Seconds between the two rounds of queries that prove an erasure without a scan. The proof is
right only if an index lags behind the table for less than this time."""

MOST_PASSES = 20
MOST_PROOFS = 3
"""Maximum rounds of queries in one step 2, and maximum number of times that steps 2 and 3 run. If
the last round still finds items, the erasure fails: other programs seem to write items as fast as
the erasure erases them."""

_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Choices:
    """What the erasure does with the user's comments, orders and tickets.

    * ``delete``: delete the items.
    * ``anonymize`` or ``rename``: keep the items under a random name. Comments lose their photos.
    * ``keep``: keep the items unchanged. This is not possible for comments.

    For the user's other items, there is no choice. The user's name is removed from items of kinds
    with ``ItemKind.without_name``, and all remaining items are deleted.
    """

    comments: CommentFate = "delete"
    orders: Fate = "keep"
    tickets: Fate = "rename"

    def fate(self, kind: ItemKind) -> CommentFate | Fate:
        """Return what the erasure does with the items of a kind."""
        chosen: CommentFate | Fate | None = asdict(self).get(kind.name)
        return chosen or ("delete" if kind.without_name is None else "rename")


@dataclass(slots=True)
class Erased:
    """For each kind, the number of erased items, and of items that keep the name by choice."""

    erased: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)


class Erasure:
    """Erases one user's data. ``run`` does all steps that the module describes.

    ``run`` also continues an interrupted erasure.
    """

    def __init__(
        self, table: Table, name: str, choices: Choices, kinds: Sequence[ItemKind]
    ) -> None:
        self._table = table
        self._name = name
        self._choices = choices
        self._kinds = kinds
        self._standings = StandingRepository(table)
        self._erasers = {one.name: one.erase(table) for one in kinds if one.erase is not None}
        self._after = {one.name: one.erased(table) for one in kinds if one.erased is not None}
        self._done = Erased()
        self._progress: Progress = lambda _: None

    async def run(
        self, wait_for_writers: WaitForWriters, progress: Progress, seen: Progress | None
    ) -> Erased:
        """Erase the user's data, and prove that no item is left. Return the numbers of items.

        The numbers include earlier, interrupted runs of this erasure. ``progress`` receives the
        number of erased items, and ``seen`` the number of scanned items. If ``seen`` is None, the
        erasure is proved without a scan.

        Raises StoreRefusedError if an unfinished erasure of the user was started with other
        choices. This run then changes nothing.

        Also raises StoreRefusedError if an item of an unknown kind may name the user. If the first
        queries find this item, this run changes nothing. If only the scan finds it, other items are
        already erased.

        Raises ConflictError if other programs keep writing items that name the user.
        """
        self._progress = progress
        record = await self._announce()
        await wait_for_writers()
        for _ in range(MOST_PROOFS):
            # Query the user's items and erase them, until the queries find no more items to erase.
            for _ in range(MOST_PASSES):
                if not await self._pass():
                    break
            else:
                raise self._conflict()
            if seen is not None:
                self._done.kept.clear()
                named = self._to_erase(await scan(self._table, self._name, seen, self._kinds))
                await self._erase(named)
                left = len(named)
            else:
                await asyncio.sleep(PAUSE_SECONDS)
                left = await self._pass()
            if not left:
                break
        else:
            raise self._conflict()
        for kind in self._kinds:
            if kind.forget is not None and self._done.erased[kind.name]:
                await kind.forget(self._table, record)
                await wait_for_writers()
        at, scanned = format_instant(datetime.now(UTC)), seen is not None
        about = {"at": at, **asdict(self._choices), "scan": scanned}
        counts = {"erased": dict(self._done.erased), "kept": dict(self._done.kept)}
        stored = primary_key(f"ERASURE#{record}") | packed(about | counts)
        # A transaction, because the network could delay a single deletion until after a new block.
        await self._table.write(
            [
                {"Put": {"Item": stored}},
                {"Put": {"Item": mark_of(self._name)}},
                {"Delete": {"Key": standing_key(self._name)}},
            ]
        )
        return self._done

    async def _announce(self) -> str:
        """Announce a new erasure, or continue an interrupted one. Return the id of its record."""
        # Before the first write, ``find`` must read all items, because it raises StoreRefusedError
        # if an item of an unknown kind may name the user.
        async for _ in find(self._table, self._name, self._kinds):
            pass
        wanted = asdict(self._choices)
        fresh = {**wanted, "record": secrets.token_hex(8), "erased": {}}

        def announced(standing: Standing) -> Standing:
            return standing if standing.erasing else replace(standing, erasing=fresh)

        standing = await self._standings.rewrite(self._name, announced)
        state = (standing and standing.erasing) or fresh
        begun = {choice: state[choice] for choice in wanted}
        if begun != wanted:
            options = " ".join(f"--{choice} {fate}" for choice, fate in begun.items())
            raise StoreRefusedError(
                f"An unfinished erasure of {self._name} has other choices: run this command again "
                f"with {options}."
            )
        self._done.erased = Counter(state["erased"])
        return str(state["record"])

    async def _pass(self) -> int:
        """Query the user's items once and erase them. Return how many items had to be erased."""
        found, kind, batch = 0, None, list[Item]()
        self._done.kept.clear()
        async for item in find(self._table, self._name, self._kinds):
            for one in self._to_erase([item]):
                previous, kind = kind, kind_in(one, self._name, self._kinds)
                # The items of a batch are erased in parallel. A membership must be erased after the
                # tickets of its organisation. Otherwise an erasure that is interrupted between them
                # could not find the tickets when it continues. So a batch has items of one kind
                # only.
                if len(batch) == _AT_ONCE or kind is not previous:
                    await self._erase(batch)
                    batch.clear()
                batch.append(one)
                found += 1
        await self._erase(batch)
        return found

    def _to_erase(self, items: Sequence[Item]) -> list[Item]:
        """Return the items to erase. Count the items that keep the name."""
        left = []
        own = standing_key(self._name)  # the erasure itself deletes the standing at its end
        for item in items:
            kind = kind_in(item, self._name, self._kinds)
            if kind is not None and self._choices.fate(kind) == "keep":
                self._done.kept[kind.name] += 1
            elif key_of(item) != own:
                left.append(item)
        return left

    async def _save(self) -> None:
        """Store the counts in the standing. After an interruption, the next run adds to them."""

        def saved(standing: Standing) -> Standing | None:
            if standing.erasing is None:  # another run has completed the erasure
                return None
            erasing = {**standing.erasing, "erased": dict(self._done.erased)}
            return replace(standing, erasing=erasing)

        await self._standings.rewrite(self._name, saved)

    async def _erase(self, items: Sequence[Item]) -> None:
        for batch in batched(items, _AT_ONCE):
            async with self._table.pace.turn():
                await in_parallel([self._erase_item(item) for item in batch])
                await self._save()
            self._progress(self._done.erased.total())

    async def _erase_item(self, item: Item) -> None:
        """Erase one item. If the item has changed meanwhile, the next round erases it."""
        kind = kind_in(item, self._name, self._kinds)
        assert kind is not None  # noqa: S101 - the item names the user
        try:
            if kind.name in self._erasers:
                remove = self._choices.fate(kind) == "delete"
                await self._erasers[kind.name](item, self._name, remove=remove)
            else:
                await self._table.write(self._actions(kind, item))
            if kind.name in self._after:
                await self._after[kind.name](item)
        except ConditionFailedError:
            return
        self._done.erased[kind.name] += 1

    def _actions(self, kind: ItemKind, item: Item) -> list[Action]:
        if kind.without_name is not None and self._choices.fate(kind) == "rename":
            with suppress(*UNREADABLE):  # delete such an item: it cannot be kept without the name
                nameless = kind.without_name(item, self._name)
                if key_of(nameless) == key_of(item):
                    return [{"Put": {"Item": nameless, **as_read(item)}}]
                return [{"Put": {"Item": nameless, **ABSENT}}, delete(item)]
        return [delete(item)]

    def _conflict(self) -> ConflictError:
        return ConflictError(
            f"Other programs keep writing data of {self._name}: stop the loads of this data, "
            "end the user's sessions, then run the same command again."
        )
