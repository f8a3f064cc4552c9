"""Instants are shown as Python's ``isoformat`` has them, whatever their zone."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schema.build import shown_instant

ZONES = st.one_of(
    st.just(UTC),
    st.none(),
    st.integers(-86_399, 86_399).map(lambda seconds: timezone(timedelta(seconds=seconds))),
)


@example(datetime(1, 1, 1, tzinfo=UTC))
@example(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
@given(st.datetimes(timezones=ZONES))
def test_any_instant(instant: datetime) -> None:
    assert shown_instant(instant) == instant.isoformat()
    whole = instant.replace(microsecond=0)
    assert shown_instant(whole) == whole.isoformat()


def test_what_is_no_instant_is_refused() -> None:
    with pytest.raises(AttributeError):
        shown_instant("2026-01-01")  # type: ignore[arg-type]
