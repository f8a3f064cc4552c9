"""Scalars: instants have one form, in UTC, and every scalar has a specification and types."""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from graphql import GraphQLScalarType, is_specified_scalar_type
from hypothesis import example, given
from hypothesis import strategies as st

from dal.dynamodb.table import Table
from dal.stores import Stores
from schema.build import build_schema
from schema.types import shown_instant
from tests.engines import ROOT
from tests.schema.conftest import Run
from tests.strategies import comment

ZONES = st.one_of(
    st.just(UTC),
    st.integers(-86_399, 86_399).map(lambda seconds: timezone(timedelta(seconds=seconds))),
)


FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@example(datetime(1, 1, 1, tzinfo=UTC))
@example(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
@given(
    st.datetimes(
        datetime(1, 1, 2),  # noqa: DTZ001 - Hypothesis adds the time zone
        datetime(9999, 12, 30),  # noqa: DTZ001
        timezones=ZONES,
    )
)
def test_any_instant_is_shown_in_utc_with_microseconds(instant: datetime) -> None:
    for one in (instant, instant.replace(microsecond=0)):
        shown = shown_instant(one)
        assert FORM.fullmatch(shown)
        assert datetime.fromisoformat(shown) == one


@pytest.mark.parametrize("value", ["2026-01-01", datetime(2026, 1, 1)])  # noqa: DTZ001 - invalid
def test_an_invalid_instant_is_refused(value: Any) -> None:
    with pytest.raises((AttributeError, ValueError)):
        shown_instant(value)


async def test_arguments_may_have_any_offset(table: Table, run: Run) -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    await Stores(table).comments.add(comment("1", product_id="p", created_at=noon))
    for start in ("2026-01-01T14:00:00+02:00", "2026-01-01T12:00:00Z", "2026-01-01T06:30:00-05:30"):
        answer = await run(
            """query ($start: DateTime!) { product(productId: "p") {
              comments(createdFrom: $start) { nodes { createdAt } } } }""",
            start=start,
        )
        nodes = answer["data"]["product"]["comments"]["nodes"]
        assert nodes == [{"createdAt": "2026-01-01T12:00:00.000000Z"}]


def test_the_guide_has_the_types_of_every_scalar_in_four_languages() -> None:
    guide = (ROOT / "docs/front-ends.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", guide, re.MULTILINE)
    described = {name: types.split("|") for name, types in rows if len(types.split("|")) == 4}
    assert described.keys() == custom_scalars().keys()
    assert "| scalar | TypeScript | Swift | Kotlin | Python |" in guide


def custom_scalars() -> dict[str, str | None]:
    """Return the addresses of the specifications of all scalars that GraphQL does not define."""
    return {
        name: kind.specified_by_url
        for name, kind in build_schema()._schema.type_map.items()
        if isinstance(kind, GraphQLScalarType) and not is_specified_scalar_type(kind)
    }


def test_every_scalar_has_a_link_to_its_specification() -> None:
    scalars = custom_scalars()
    assert scalars.keys() >= {"CurrencyCode", "DateTime", "Decimal"}
    assert all(url and url.startswith("https://") for url in scalars.values())
