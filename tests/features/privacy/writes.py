"""Erasures of random authors, readers and moderators."""

import random
from collections.abc import Mapping

from dal.composition import KINDS
from dal.dynamodb.table import Table
from dal.stores import Stores
from features.privacy.erasure import Choices, CommentFate, Erasure
from tests.writers import PEOPLE, ROWS, Write, at_once, ignore

ERASED = [*sorted({row.username for row in ROWS}), *PEOPLE, "mo"]


async def erase(table: Table, name: str) -> None:
    """Erase a user. Delete the comments of every second author, and rename those of others."""
    fate: CommentFate = "delete" if ERASED.index(name) % 2 else "anonymize"
    await Erasure(table, name, Choices(fate), KINDS).run(at_once, ignore, ignore)


async def _erase(stores: Stores, chance: random.Random) -> None:
    """Erase a user in one of five calls, because an erasure has many requests."""
    if chance.random() < 0.2:
        await erase(stores.comments._table, chance.choice(ERASED))


ERASURES: Mapping[str, Write] = {"erase": _erase}
