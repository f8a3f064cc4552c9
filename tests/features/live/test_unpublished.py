"""No process reads an unpublished comment in a change of another process."""

import orjson
import pytest

from dal.dynamodb.table import Table
from dal.stores import Stores
from features.live import changes
from tests.integration.test_unpublished import hold, leaky


async def sent_on(table: Table) -> None:
    item = await hold(Stores(table))
    values = {"rating": "5", "language": "en", "verified": "false", "hasPhotos": "false"}
    was = ["2024", values]
    line = {"product": "42", "position": "p", "was": None, "became": was}
    with pytest.raises(changes.UNREADABLE):
        changes.decode(orjson.dumps(line), orjson.dumps(item))


async def test_a_change_never_contains_an_unpublished_comment(table: Table) -> None:
    await sent_on(table)


async def test_the_check_fails_if_changes_decode_submissions_as_comments(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "comment_in", leaky)
    with pytest.raises(pytest.fail.Exception):
        await sent_on(table)
