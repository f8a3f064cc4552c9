"""The sentences of counting by the stream."""

from typing import Any, cast

import pytest

from dal.dynamodb import admin
from dal.dynamodb.errors import AlreadyExistsError, ConflictError
from dal.dynamodb.table import Table
from dal.table.errors import StoreRefusedError
from features.stream_counting.lambda_handler import apply, handler
from features.stream_counting.streams import end_stream


class Busy(Table):
    """A table that another request is changing."""

    def __init__(self) -> None:
        super().__init__(cast("Any", None), "t")

    async def call(self, *_: object, **__: object) -> Any:
        raise AlreadyExistsError


async def test_a_busy_table_has_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "ACTIVE_SECONDS", 0)
    with pytest.raises(ConflictError) as caught:
        await end_stream(Busy())
    assert str(caught.value) == (
        "The table t is being changed: wait until it is active, then run the same command again."
    )


def test_an_event_without_records_has_a_sentence() -> None:
    with pytest.raises(StoreRefusedError) as caught:
        handler({}, None)
    assert str(caught.value) == (
        "The event has no records of a table's stream: invoke the function through an event "
        "source mapping."
    )


async def test_records_without_images_have_a_sentence() -> None:
    with pytest.raises(StoreRefusedError) as caught:
        await apply(Busy(), [{"dynamodb": {"StreamViewType": "KEYS_ONLY"}}])
    assert str(caught.value) == (
        "The stream's records do not contain the items before and after each change: switch the "
        "stream off, then on with NEW_AND_OLD_IMAGES, then run `marginalia stats rebuild --mode "
        "stream`."
    )
