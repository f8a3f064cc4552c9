"""Scalars: instants are formatted as by ``isoformat``, and every scalar has a specification."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from graphql import GraphQLScalarType, is_specified_scalar_type
from hypothesis import example, given
from hypothesis import strategies as st

from schema.build import build_schema
from schema.types import shown_instant

ZONES = st.one_of(
    st.just(UTC),
    st.none(),
    st.integers(-86_399, 86_399).map(lambda seconds: timezone(timedelta(seconds=seconds))),
)


@example(datetime(1, 1, 1, tzinfo=UTC))
@example(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
@given(st.datetimes(timezones=ZONES))
def test_any_instant_is_shown_as_isoformat_does(instant: datetime) -> None:
    assert shown_instant(instant) == instant.isoformat()
    whole = instant.replace(microsecond=0)
    assert shown_instant(whole) == whole.isoformat()


def test_an_invalid_instant_is_refused() -> None:
    with pytest.raises(AttributeError):
        shown_instant("2026-01-01")  # type: ignore[arg-type]


def test_every_scalar_has_a_link_to_its_specification() -> None:
    scalars = {
        name: kind.specified_by_url
        for name, kind in build_schema()._schema.type_map.items()
        if isinstance(kind, GraphQLScalarType) and not is_specified_scalar_type(kind)
    }
    assert scalars.keys() >= {"CurrencyCode", "DateTime", "Decimal"}
    assert all(url and url.startswith("https://") for url in scalars.values())
