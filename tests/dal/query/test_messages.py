"""The sentences of ``dal/query``: refused queries and cursors."""

from dal.query.cursors import NOT_OF_THIS_LIST
from dal.query.plan import too_many_segments, too_rare


def test_a_refused_query_and_a_refused_cursor_have_a_sentence() -> None:
    assert [str(too_many_segments(61)), str(too_rare()), NOT_OF_THIS_LIST] == [
        "The filter selects 61 partitions; the maximum is 60: filter by fewer values at a time.",
        "Too few rows match the search: add filters or dates, or search for other words.",
        (
            "The cursor does not belong to this list: pass an edge's cursor back unchanged, or "
            "pass no cursor to start at the beginning."
        ),
    ]
