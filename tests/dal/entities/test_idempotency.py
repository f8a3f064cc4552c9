import time

import pytest
from hypothesis import given

from dal.entities import idempotency
from dal.errors import IdempotencyKeyReusedError
from dal.model import Comment
from dal.model.rules import MAX_IDENTIFIER_BYTES
from tests.strategies import MORE, ORDINARY, TIES, comment, identifiers


@MORE
@given(identifiers, identifiers, identifiers, identifiers)
def test_each_author_has_keys_of_their_own(
    author: str, key: str, other_author: str, other_key: str
) -> None:
    same = (author, key) == (other_author, other_key)
    one, other = idempotency.key(author, key), idempotency.key(other_author, other_key)
    assert (one == other) == same


def test_separators_in_names_and_keys_do_not_shift_the_border() -> None:
    assert idempotency.key("a#b", "c") != idempotency.key("a", "b#c")


def test_the_longest_author_and_key_fit_a_primary_key() -> None:
    longest = "x" * MAX_IDENTIFIER_BYTES
    key = idempotency.key(longest, longest)
    assert len(key["PK"]["S"].encode()) <= 2048
    assert len(key["SK"]["S"].encode()) <= 1024


def test_a_record_recalls_the_first_add_when_the_same_is_said_again() -> None:
    record = idempotency.record(ORDINARY, "k")
    again = comment("2", created_at=TIES[2])
    assert idempotency.recall(record, again) == "1"


@pytest.mark.parametrize(
    "other",
    [
        comment(product_id="43"),
        comment(rating=4),
        comment(language="de"),
        comment(title="Bad"),
        comment(text="It does not."),
        comment(title=ORDINARY.text, text=ORDINARY.title),
    ],
)
def test_a_key_is_refused_for_another_comment(other: Comment) -> None:
    record = idempotency.record(ORDINARY, "k")
    with pytest.raises(IdempotencyKeyReusedError, match="choose a new key"):
        idempotency.recall(record, other)


def test_a_record_expires_after_thirty_days() -> None:
    earliest = int(time.time()) + 30 * 24 * 3600
    expires = int(idempotency.record(ORDINARY, "k")["expires"]["N"])
    assert earliest <= expires <= earliest + 60
