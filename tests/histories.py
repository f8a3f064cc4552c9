"""Histories: random writes without counter updates, and checks of the counters."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT, comment_key
from dal.model import RATINGS, Comment
from tests import oracle, recount

PRODUCTS = ("41", "42", "43")


@dataclass(frozen=True)
class Step:
    """A change of a comment from ``old`` to ``new``. None means that the comment does not exist."""

    old: Comment | None
    new: Comment | None


def history(seed: int, length: int) -> Iterator[Step]:
    """Yield random adds, deletions, and edits of the fields that are counted, and of the text."""
    chance = random.Random(seed)
    fresh = iter(oracle.flagged(oracle.make_comments("h", length, seed=seed)))
    living: list[Comment] = []
    for _ in range(length):
        kind = chance.choices(("add", "delete", "edit"), (5, 2, 4))[0]
        if kind == "add" or not living:
            new = next(fresh)._replace(product_id=chance.choice(PRODUCTS))
            living.append(new)
            yield Step(None, new)
        elif kind == "delete":
            yield Step(living.pop(chance.randrange(len(living))), None)
        else:
            place = chance.randrange(len(living))
            old, living[place] = living[place], edited(living[place], chance)
            yield Step(old, living[place])


def edited(comment: Comment, chance: random.Random) -> Comment:
    changes: dict[str, Any] = {
        "rating": chance.choice(RATINGS),
        "language": chance.choice(("en", "de", "pt-BR")),
        "product_id": chance.choice(PRODUCTS),
        "text": f"Edited {chance.random()}",
        "photos": chance.choice(((), oracle.PHOTOS)),
        "aspects": chance.choice(oracle.RATED_ASPECTS),
        "verified_purchase": chance.choice((True, False)),
    }
    kept = chance.sample(sorted(changes), chance.randrange(1, 4))
    return comment._replace(**{name: changes[name] for name in kept})


async def write_raw(table: Table, steps: Sequence[Step] | Iterator[Step]) -> None:
    """Write comments without updating counters."""
    for step in steps:
        if step.new is not None:
            await table.put_many([COMMENT.encode(step.new)])
        elif step.old is not None:
            await table.write([{"Delete": {"Key": comment_key(step.old.comment_id)}}])


async def check_all(table: Table) -> int:
    """Assert that the counters of all products are correct. Return the number of comments."""
    return sum([len(await recount.check(table, product)) for product in PRODUCTS])
