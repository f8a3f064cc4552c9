"""Loads of comments in random states."""

import random
from collections.abc import Mapping

from dal.stores import Stores
from features.loading.loaded import CommentState, LoadedComment
from tests.features.loading.bulk import load_rows
from tests.writers import ROWS, Write, changed_row


async def _load(stores: Stores, chance: random.Random) -> None:
    rows = []
    for one in chance.sample(ROWS, 5):
        state = chance.choice([*CommentState, None])
        given = {} if state is None else {"state": state}
        rows.append(LoadedComment(changed_row(chance, one), given))
    await load_rows(stores.comments, [*rows, *chance.sample(ROWS, 3)])


LOADS: Mapping[str, Write] = {"load": _load}
