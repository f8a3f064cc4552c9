"""The sentences about cells of a file that a load refuses."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from dal.kinds import field_parsers as parsers
from dal.kinds.field_parsers import DateReader
from dal.kinds.file_kinds import _comment_row
from dal.model import UserType
from dal.model.loaded import CommentState
from dal.table.errors import InvalidArgumentError

LINE = {"product_id": "42", "quantity": 2, "unit_price": "12.50 EUR"}
ANA = {"username": "ana"}
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
ROW = {
    "id": "1",
    "product_id": "42",
    "username": "ana",
    "rating": 5,
    "language": "en",
    "text": "It boils.",
    "created_at": NOON,
}

MESSAGES: list[tuple[Callable[[], object], str]] = [
    (lambda: parsers.rating("field", 4.5), "field is 4.5; it must be a whole number from 1 to 5."),
    (lambda: parsers.boolean("field", "maybe"), "field is 'maybe'; it must be true or false."),
    (
        lambda: parsers.choice(UserType)("field", "OWNER"),
        "field is 'OWNER'; it must be one of MEMBER, ADMIN.",
    ),
    (lambda: parsers.body("field", 7), "field is 7; it must be text."),
    (lambda: parsers.name("field", "a\nb"), "field is 'a\\nb'; it must be one value in one line."),
    (
        lambda: parsers.instant("field", 45601),
        (
            "field is 45601; it must be a date such as 2020-11-20T12:00:00Z. If it is Unix "
            "time, add --date-unit s, ms or us; if it is a day number of a spreadsheet, "
            "save it there as a date."
        ),
    ),
    (
        lambda: DateReader("ms")("field", "yesterday"),
        (
            "field is 'yesterday'; it must be a date such as 2020-11-20T12:00:00Z, or Unix "
            "time in ms."
        ),
    ),
    (
        lambda: DateReader("s")("field", 10**14),
        ("field is 100000000000000, outside the years 1 to 9999. Check that it is Unix time in s."),
    ),
    (
        lambda: DateReader(None, "%d.%m.%Y")("field", "2020-11-20"),
        "field is '2020-11-20'; it must be a date of the form %d.%m.%Y.",
    ),
    (
        lambda: parsers.order_lines("field", LINE),
        (
            "field is {'product_id': '42', 'quantity': 2, 'uni…; it must be a list such as "
            '[{"product_id": "42", "quantity": 1, "unit_price": "12.50 EUR"}].'
        ),
    ),
    (
        lambda: parsers.order_lines("field", ["42"]),
        ("field.0 is '42'; it must be an object with product_id, quantity and unit_price."),
    ),
    (
        lambda: parsers.order_lines("field", [{**LINE, "quantity": "2"}]),
        "field.0.quantity is '2'; it must be a whole number.",
    ),
    (
        lambda: parsers.users("field", ["ana"]),
        "field.0 is 'ana'; it must be an object with username and type.",
    ),
    (
        lambda: parsers.users("field", [ANA, ANA]),
        "field.1 repeats the username 'ana': keep one entry for each user.",
    ),
    (
        lambda: _comment_row(ROW | {"replied_at": NOON}),
        "reply is missing, but replied_at is not: add a reply.",
    ),
    (
        lambda: _comment_row(ROW | {"reason": "Spam."}),
        (
            "reason is only for rows whose state is REJECTED, and the row has no state: leave "
            "reason empty, or correct the state."
        ),
    ),
    (
        lambda: _comment_row(ROW | {"state": CommentState.PUBLISHED, "queued_at": NOON}),
        (
            "queued_at is only for rows whose state is PENDING or REJECTED, and the state is "
            "PUBLISHED: leave queued_at empty, or correct the state."
        ),
    ),
]


@pytest.mark.parametrize(("call", "sentence"), MESSAGES, ids=[text for _, text in MESSAGES])
def test_a_message(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        call()
    assert str(caught.value) == sentence
