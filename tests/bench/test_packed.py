"""The forms of texts: each holds the same, and weighs what the engine counts."""

import uuid
from datetime import UTC, datetime

import orjson
import pytest

from bench.packed import SIZE, Form, forms, pages, size_of, time_decoding, weigh
from dal.query.cost_model import capacity_of_bytes
from dal.table.client import Table
from tests import oracle

ROWS = [
    row._replace(
        comment_id=f"{number:04}",
        text=f"{row.text}\N{HOT BEVERAGE}",
        verified_purchase=number % 3 == 0,
        updated_at=datetime(2024, 1, 1, 1, 2, 3, 456789, tzinfo=UTC) if number % 2 else None,
    )
    for number, row in enumerate(oracle.make_comments("4/2", 3 * SIZE, seed=8))
]
FORMS = forms()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
async def test_a_form_gives_back_what_it_was_given(form: Form, table: Table) -> None:
    decoded = [
        form.decode(row) for body in pages(form, ROWS) for row in orjson.loads(body)["Items"]
    ]
    assert decoded == oracle.newest_first(ROWS)
    weight = await weigh(form, ROWS, Table(table._client, f"form-{uuid.uuid4().hex}"))
    rows = [one for body in pages(form, ROWS) for one in orjson.loads(body)["Items"]]
    assert len(rows) == len(ROWS)
    sizes = [size_of(form.encode(one), tuple(row)) for one, row in zip(decoded, rows, strict=True)]
    spent = [capacity_of_bytes(sum(sizes[at : at + SIZE])) for at in range(0, len(sizes), SIZE)]
    assert weight.capacity == sum(spent) / len(spent)
    assert weight.row_bytes == sum(sizes) / len(sizes)


def test_every_form_is_timed_in_each_round() -> None:
    *_, last = time_decoding(FORMS, ROWS, 2)
    assert last.keys() == {form.name for form in FORMS}
    assert all(microseconds > 0 for microseconds in last.values())
