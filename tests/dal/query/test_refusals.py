"""The reasons why an index cannot answer a query."""

import pytest

from dal.entities.order import OPEN_ORDERS, ORDER_BY_ID, ORDERS_BY_DATE, ORDERS_BY_STATUS
from dal.model import OrderStatus
from dal.query.plan import Query, Refusal, refusal
from dal.table.index import Index

HOLDS_PLACED = Refusal("HOLDS_OTHERS", ("status", [OrderStatus.PLACED]))


@pytest.mark.parametrize(
    ("index", "filters", "reason"),
    [
        (ORDERS_BY_DATE, {"user": "ann"}, None),
        (ORDERS_BY_DATE, {"user": "ann", "order": "7"}, Refusal("LACKS", (["order"],))),
        (ORDERS_BY_STATUS, {"user": "ann"}, Refusal("DIVIDED", (["status"],))),
        (ORDER_BY_ID, {"order": "7"}, Refusal("LAGS")),
        (OPEN_ORDERS, {"status": "SHIPPED"}, HOLDS_PLACED),
        (OPEN_ORDERS, {}, HOLDS_PLACED),
    ],
)
def test_an_index_without_consistent_reads_is_rejected_for_a_consistent_query(
    index: Index, filters: dict[str, str], reason: Refusal | None
) -> None:
    wanted = {name: frozenset({value}) for name, value in filters.items()}
    assert refusal(index, Query("any", wanted, consistent=True)) == reason
