"""The sentences of analytics."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from dal.table.errors import InvalidArgumentError
from features.analytics.clickhouse_store import REPLACED
from features.analytics.duckdb_store import _converting_errors
from features.analytics.errors import NOT_FILLED, AnalyticsFailedError
from features.analytics.questions import Interval, Span
from tests.server.serving import called

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (NOT_FILLED, "Analytics has no data yet: run `marginalia analytics refresh`."),
        (
            REPLACED,
            "Another refresh has replaced this one: run `marginalia analytics refresh` again.",
        ),
    ],
)
def test_an_error_has_a_sentence(said: str, sentence: str) -> None:
    assert said == sentence


def fail(error: Exception) -> Callable[[object], object]:
    def work(_: object) -> object:
        raise error

    return work


REFUSALS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: _converting_errors(fail(OSError("No space left on device")), cast("Any", None)),
        AnalyticsFailedError,
        (
            "The disk of the analytics files is full (No space left on device): free some space "
            "and try again. The previous data is still in use."
        ),
    ),
    (
        lambda: _converting_errors(fail(OSError("gone")), cast("Any", None)),
        AnalyticsFailedError,
        (
            "The analytics files cannot be read or written (gone): run `marginalia analytics "
            "refresh` to create them again."
        ),
    ),
    (
        lambda: Span.of(Interval.DAY, NOON, NOON),
        InvalidArgumentError,
        "`from` must be earlier than `to`.",
    ),
]


@pytest.mark.parametrize(("refusal", "kind", "sentence"), REFUSALS)
def test_a_refusal_has_a_sentence(
    refusal: Callable[[], object], kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind) as caught:
        refusal()
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (
            "analytics movers",
            (
                "marginalia: There is no analytics data in /tmp/data: run `marginalia analytics "
                "refresh`, or name the server's data directory with --data-dir."
            ),
        ),
        (
            "analytics trend 42 --analytics-url nowhere",
            (
                "marginalia: --analytics-url is not a URL such as http://user:password@127.0.0.1:8123."
            ),
        ),
        (
            "analytics trend 42 --from 2020-01-01 --to 2020-01-01 --endpoint-url http://127.0.0.1:9",
            "marginalia: `from` must be earlier than `to`.",
        ),
    ],
)
def test_a_command_is_refused(
    command: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    last = called(*command.split()).stderr.splitlines()[-1]
    assert last.replace(str(tmp_path), "/tmp") == sentence
