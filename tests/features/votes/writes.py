"""Random writes of votes."""

import random
from collections.abc import Mapping

from dal.stores import Stores
from tests.writers import PEOPLE, ROWS, Write


async def _vote(stores: Stores, chance: random.Random) -> None:
    comment_id, voter = chance.choice(ROWS[:9]).comment_id, chance.choice(PEOPLE)
    await stores.votes.mark(comment_id, voter, helpful=chance.random() < 0.5)


VOTES: Mapping[str, Write] = {"vote": _vote}
