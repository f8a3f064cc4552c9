"""How a loaded row changes a stored comment."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.model import Comment, CommentSource, Reply
from dal.model.submissions import ReviewCause, Submission, pending, rejected
from dal.table.errors import InvalidArgumentError
from features.loading.column_mapping import make_column_mapping
from features.loading.kind import COMMENTS
from features.loading.loaded import CommentState, LoadedComment, loaded, state_of
from tests.strategies import MORE, TIES, comment

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PUBLISHED, PENDING, REJECTED = CommentState
HERE = comment()
WAITS = pending(HERE, ReviewCause.WORDS, TIES[1])
REFUSED = rejected(WAITS, "Off topic.", TIES[2])
REPLIED = HERE._replace(reply=Reply("Sorry.", TIES[2]))
STORED = [None, HERE, HERE._replace(touched_at=TIES[2]), REPLIED, WAITS, REFUSED]


def held(values: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"state": st.just(values.pop("state"))},
        optional={name: st.none() | st.just(value) for name, value in values.items()},
    )


REPLIES = st.sampled_from([{}, {"reply": None}, {"reply": Reply("New.", TIES[1])}])


def row_of(one: Comment, decision: dict[str, Any], reply: dict[str, Any]) -> LoadedComment:
    return LoadedComment(one._replace(**reply), decision | reply)


rows = st.builds(
    row_of,
    st.sampled_from([HERE, comment(text="loaded", updated_at=TIES[2])]),
    st.just({})
    | st.just({"state": PUBLISHED})
    | held({"state": PENDING, "cause": ReviewCause.EDIT, "queued_at": TIES[0]})
    | held(
        {
            "state": REJECTED,
            "cause": ReviewCause.BLOCKED,
            "queued_at": TIES[0],
            "reason": "Spam.",
            "decided_at": TIES[1],
        }
    ),
    REPLIES,
)


EARLIER, LATER = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("there", STORED[1:])
@pytest.mark.parametrize("given", [None, EARLIER, LATER])
def test_no_loaded_text_has_the_version_of_an_earlier_text(
    there: Comment | Submission, given: datetime | None
) -> None:
    """A moderator may have approved the earlier text by its version."""
    edited = (
        replace(there, updated_at=EARLIER)
        if isinstance(there, Submission)
        else (there._replace(updated_at=EARLIER))
    )
    new = LoadedComment(comment(text="loaded", updated_at=given)).over(edited, NOW)
    assert new.updated_at == (LATER if given is LATER else NOW)
    again = LoadedComment(comment(text="loaded", updated_at=given)).over(new, LATER)
    assert again == new
    same = LoadedComment(HERE._replace(updated_at=given)).over(edited, NOW)
    assert same.updated_at == (LATER if given is LATER else EARLIER)


def untouched(one: Comment | Submission) -> Comment | Submission:
    """Return the comment without its time of change.

    Another text, reply or state may have been stored between two rows.
    """
    updated_at = None if one.updated_at == NOW else one.updated_at
    if isinstance(one, Comment):
        return one._replace(touched_at=None, updated_at=updated_at)
    return replace(one, touched_at=None, updated_at=updated_at)


@MORE
@given(rows, rows, st.sampled_from(STORED))
def test_two_rows_with_the_same_id_are_loaded_like_one_after_the_other(
    first: LoadedComment, second: LoadedComment, there: Comment | Submission | None
) -> None:
    one_by_one = second.over(first.over(there, NOW), NOW)
    together = second.after(first).over(there, NOW)
    assert state_of(together) is state_of(one_by_one)
    assert together.text == second.comment.text
    before = PUBLISHED if there is None else state_of(there)
    assert untouched(together) == untouched(one_by_one) or state_of(together) is before
    assert together.reply == one_by_one.reply


@given(rows, st.sampled_from(STORED))
def test_a_row_sets_its_state_or_keeps_the_old_one_and_a_second_load_changes_nothing(
    row: LoadedComment, there: Comment | Submission | None
) -> None:
    new = row.over(there, NOW)
    before = PUBLISHED if there is None else state_of(there)
    assert state_of(new) == row.given.get("state", before)
    assert row.over(new, datetime.max.replace(tzinfo=UTC)) == new


def test_a_row_without_a_state_keeps_the_decision() -> None:
    new = LoadedComment(comment(text="loaded")).over(REFUSED, NOW)
    assert isinstance(new, Submission)
    assert (new.text, new.reason, new.decided_at) == ("loaded", "Off topic.", TIES[2])
    assert LoadedComment(HERE).over(HERE._replace(touched_at=TIES[2]), NOW) == HERE._replace(
        touched_at=TIES[2]
    )


def test_a_row_without_the_columns_of_the_decision_keeps_it_while_the_state_stays() -> None:
    row = LoadedComment(HERE, {"state": REJECTED})
    assert row.over(REFUSED, NOW) == REFUSED
    new = row.over(WAITS, NOW)
    assert isinstance(new, Submission)
    assert (new.cause, new.queued_at, new.reason) == (None, HERE.created_at, None)
    emptied = LoadedComment(HERE, {"state": REJECTED, "reason": None}).over(REFUSED, NOW)
    assert isinstance(emptied, Submission)
    assert (emptied.reason, emptied.decided_at) == (None, TIES[2])


@pytest.mark.parametrize("there", [None, HERE, REFUSED])
def test_a_comment_that_a_file_sends_to_review_waits_since_its_creation(
    there: Comment | Submission | None,
) -> None:
    new = LoadedComment(HERE, {"state": PENDING}).over(there, NOW)
    assert new == pending(HERE, ReviewCause.FILE, HERE.created_at)


def test_a_comment_that_a_file_publishes_has_a_new_version_for_listeners() -> None:
    row = LoadedComment(HERE, {"state": PUBLISHED})
    assert row.over(WAITS, NOW) == HERE._replace(touched_at=NOW)
    assert row.over(None, NOW) == HERE


def test_a_row_without_a_reply_keeps_the_reply_and_an_empty_one_removes_it() -> None:
    assert LoadedComment(HERE).over(REPLIED, NOW) == REPLIED
    assert LoadedComment(HERE, {"state": REJECTED}).over(REPLIED, NOW).reply == REPLIED.reply
    removed = LoadedComment(HERE, {"reply": None}).over(REPLIED, NOW)
    assert (removed.reply, removed.touched_at) == (None, NOW)
    assert LoadedComment(HERE, {"reply": None}).over(removed, TIES[0]) == removed


INVITED = HERE._replace(source=CommentSource.INVITATION, incentive="A voucher")
ROW = {
    "id": HERE.comment_id,
    "product_id": HERE.product_id,
    "username": HERE.username,
    "rating": HERE.rating,
    "language": HERE.language,
    "text": HERE.text,
    "created_at": HERE.created_at.isoformat(),
}
GONE: dict[str, object] = {"source": "", "incentive": ""}


@pytest.mark.parametrize(
    ("cells", "new", "stored"),
    [
        ({}, ("IMPORT", None), ("INVITATION", "A voucher")),
        (GONE, ("IMPORT", None), ("IMPORT", None)),
        ({"source": "site"}, ("SITE", None), ("SITE", "A voucher")),
        ({"incentive": " A mug "}, ("IMPORT", "A mug"), ("INVITATION", "A mug")),
        ({"incentive": "A mug", "incentivized": "yes"}, ("IMPORT", "A mug"), None),
        ({"incentive": "A mug", "incentivized": ""}, ("IMPORT", "A mug"), None),
        ({"incentivized": True}, ("IMPORT", ""), ("INVITATION", "")),
        ({"incentive": None, "incentivized": "1"}, ("IMPORT", ""), None),
        ({"incentivized": False}, ("IMPORT", None), ("INVITATION", None)),
        ({"incentivized": None}, ("IMPORT", None), ("INVITATION", None)),
    ],
)
def test_a_row_states_the_source_and_the_incentive_or_the_load_keeps_them(
    cells: dict[str, object],
    new: tuple[str, str | None],
    stored: tuple[str, str | None] | None,
) -> None:
    made = loaded(make_column_mapping(COMMENTS, [], []).make({**ROW, **cells}))
    for there, expected in ((None, new), (INVITED, stored or ("INVITATION", new[1]))):
        one = made.over(there, NOW)
        assert (one.source, one.incentive) == expected


@pytest.mark.parametrize(
    ("cells", "field"),
    [
        ({"source": "web"}, "source"),
        ({"incentive": "A mug", "incentivized": "no"}, "incentivized"),
        ({"incentivized": "maybe"}, "incentivized"),
        ({"incentive": "x" * 201}, "incentive"),
        ({"incentive": "a\nb"}, "incentive"),
    ],
)
def test_an_invalid_source_or_incentive_is_refused(cells: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        make_column_mapping(COMMENTS, [], []).make({**ROW, **cells})
    assert refused.value.argument == field
