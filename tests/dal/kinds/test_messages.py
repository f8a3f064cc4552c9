"""The sentences about cells of a file that a load refuses."""

from collections.abc import Callable

import pytest

from dal.kinds import field_parsers as parsers
from dal.kinds.field_parsers import DateReader
from dal.model import UserType
from dal.table.errors import InvalidArgumentError

MESSAGES: list[tuple[Callable[[], object], str]] = [
    (
        lambda: parsers.choice(UserType)("field", "OWNER"),
        "field is 'OWNER'; it must be one of MEMBER, ADMIN.",
    ),
    (lambda: parsers.subject("field", 7), "field is 7; it must be text."),
    (
        lambda: parsers.identifier("field", "a\nb"),
        "field is 'a\\nb'; it must be one value in one line.",
    ),
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
]


@pytest.mark.parametrize(("call", "sentence"), MESSAGES, ids=[text for _, text in MESSAGES])
def test_a_message(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        call()
    assert str(caught.value) == sentence
