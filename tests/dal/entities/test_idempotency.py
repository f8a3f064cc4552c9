import time

import pytest
from hypothesis import given

from dal.entities import idempotency
from dal.entities.comment import COMMENT, KEYED, comment_in, comment_key, is_tombstone
from dal.errors import IdempotencyKeyReusedError
from dal.model import Comment
from dal.table.index import EXPIRES, TOMBSTONE_SECONDS
from dal.table.items import VERSION, Item
from dal.table.key_parts import MAX_IDENTIFIER_BYTES
from resolvers.mutations import new_id
from tests.strategies import MORE, ORDINARY, TIES, comment, identifiers


def keyed(one: Comment) -> Item:
    """Return the item of a comment that was added with an idempotency key."""
    return COMMENT.encode(one) | idempotency.mark(one)


@MORE
@given(identifiers, identifiers, identifiers, identifiers)
def test_the_same_key_of_two_authors_names_two_comments(
    author: str, key: str, other_author: str, other_key: str
) -> None:
    same = (author, key) == (other_author, other_key)
    ids = idempotency.comment_id(author, key), idempotency.comment_id(other_author, other_key)
    assert (ids[0] == ids[1]) == same


def test_separators_in_names_and_keys_cause_no_equal_ids() -> None:
    assert idempotency.comment_id("a#b", "c") != idempotency.comment_id("a", "b#c")
    assert idempotency.comment_id('a","b', "c") != idempotency.comment_id("a", 'b","c')


def test_an_order_and_a_comment_with_the_same_key_have_different_ids() -> None:
    assert idempotency.comment_id("ann", "k") != new_id("k", "ann")


def test_the_longest_author_and_key_give_an_id_of_normal_length() -> None:
    longest = "x" * MAX_IDENTIFIER_BYTES
    assert len(idempotency.comment_id(longest, longest)) == 32


@pytest.mark.parametrize("deleted", [False, True])
def test_an_add_with_equal_input_is_a_retry(*, deleted: bool) -> None:
    first = keyed(ORDINARY)
    held = idempotency.tombstone(first) if deleted else first
    idempotency.check_same(held, comment("2", created_at=TIES[2]))


@pytest.mark.parametrize("deleted", [False, True])
@pytest.mark.parametrize(
    "other",
    [
        comment(product_id="43"),
        comment(username="bob"),
        comment(rating=4),
        comment(language="de"),
        comment(title="Bad"),
        comment(text="It does not."),
        comment(title=ORDINARY.text, text=ORDINARY.title),
    ],
)
def test_a_key_is_refused_for_another_comment(other: Comment, *, deleted: bool) -> None:
    first = keyed(ORDINARY)
    held = idempotency.tombstone(first) if deleted else first
    with pytest.raises(IdempotencyKeyReusedError):
        idempotency.check_same(held, other)


def test_a_loaded_comment_is_compared_by_its_current_values() -> None:
    idempotency.check_same(COMMENT.encode(ORDINARY), comment("2", created_at=TIES[2]))
    with pytest.raises(IdempotencyKeyReusedError):
        idempotency.check_same(COMMENT.encode(ORDINARY), comment(text="Other."))


def test_a_tombstone_expires_thirty_days_after_the_add() -> None:
    earliest = int(time.time()) + 30 * 24 * 3600
    left = idempotency.tombstone(keyed(ORDINARY))
    assert earliest <= int(left[EXPIRES]["N"]) <= earliest + 60


def test_a_tombstone_is_not_a_comment_and_has_no_index_row() -> None:
    left = idempotency.tombstone(keyed(ORDINARY))
    assert left.keys() == {"PK", "SK", KEYED, EXPIRES, VERSION}
    assert left.items() >= comment_key(ORDINARY.comment_id).items()
    assert is_tombstone(left)
    assert comment_in(left) is None
    assert not is_tombstone(keyed(ORDINARY))
    assert not is_tombstone(COMMENT.encode(ORDINARY))


def test_every_deletion_leaves_a_tombstone_and_a_kept_key_stays_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = keyed(ORDINARY)
    later = time.time() + idempotency.KEPT_SECONDS - TOMBSTONE_SECONDS
    monkeypatch.setattr("time.time", lambda: later)
    for item in (COMMENT.encode(ORDINARY), first):
        left = idempotency.tombstone(item)
        assert is_tombstone(left)
        assert left.keys() == {"PK", "SK", EXPIRES, VERSION}
        assert later <= int(left[EXPIRES]["N"]) <= later + 2 * TOMBSTONE_SECONDS
