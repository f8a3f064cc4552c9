"""Reads and writes the field that CONTRIBUTING's recipe adds, with a copy of the code after it."""

import asyncio
import sys
import uuid
from dataclasses import replace
from pathlib import Path

import dal
from dal.catalogue import Order
from dal.dynamodb.table import TableAddress, connect
from dal.entities import idempotency
from dal.entities.comment import COMMENT
from dal.errors import IdempotencyKeyReusedError
from dal.maintenance.tables import create_table
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from tests.feature_lists import added
from tests.oracle import make_comments, newest_first
from tests.putting import put_comments


async def main(url: str) -> None:
    rows = [
        one if n % 3 else one._replace(recommended=True)  # type: ignore[call-arg]
        for n, one in enumerate(newest_first(make_comments("42", 60, seed=1)))
    ]
    plain, recommended = rows[1], rows[0]
    wanted = replace(Selection("42"), recommended=True)  # type: ignore[call-arg]
    async with connect(TableAddress(f"r-{uuid.uuid4().hex}", url, embedded=True)) as table:
        await create_table(table)
        comments = Stores(table).comments
        await put_comments(comments, rows)
        page = await comments.page(wanted, Slice(limit=100))
        assert list(page.nodes) == rows[::3]
        assert await comments.total(wanted) is None
        both = replace(wanted, ratings=frozenset({5}), order=Order.HIGHEST_RATING)
        page = await comments.page(both, Slice(limit=100))
        assert list(page.nodes) == [one for one in rows[::3] if one.rating == 5]
    for check in added("check_recommended"):
        check(plain, recommended, wanted)
    # Idempotency keys.
    item = COMMENT.encode(recommended) | idempotency.mark(recommended)
    try:
        idempotency.check_same(item, recommended._replace(recommended=False))  # type: ignore[call-arg]
    except IdempotencyKeyReusedError:
        pass
    else:
        raise AssertionError("The digest lacks the field.")
    print(f"The lists of {Path(str(dal.__file__)).parent} are exact")  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
