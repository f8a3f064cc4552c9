"""No record of an unpublished comment is counted."""

from datetime import UTC, datetime

import pytest

from dal.dynamodb.table import Table
from dal.entities.comment import comment_key
from dal.stores import Stores
from features.stream_counting.applier import changes_of
from features.stream_counting.rebuild import Replay
from tests.integration.test_unpublished import hold, leaky


async def replayed(table: Table) -> None:
    item = await hold(Stores(table))
    replay = Replay(datetime.now(UTC), [])
    replay.remember(comment_key("held"), item)
    assert replay.counts() == {}


async def applied(table: Table) -> None:
    item = await hold(Stores(table))
    images = {"Keys": comment_key("held"), "NewImage": item, "SequenceNumber": "1"}
    assert changes_of([{"eventID": "1", "dynamodb": images}]) == []


CHECKS = {"rebuild": replayed, "applier": applied}


@pytest.mark.parametrize("module", CHECKS)
async def test_an_unpublished_comment_is_not_counted(table: Table, module: str) -> None:
    await CHECKS[module](table)


@pytest.mark.parametrize("module", CHECKS)
async def test_each_check_fails_if_its_module_decodes_submissions_as_comments(
    table: Table, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setattr(f"features.stream_counting.{module}.comment_in", leaky)
    with pytest.raises(AssertionError):
        await CHECKS[module](table)
