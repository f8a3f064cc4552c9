import orjson
from hypothesis import given

from dal.entities.comment import COMMENT, comment_in, comment_key, comment_position
from dal.model import Comment
from dal.table.key_parts import format_instant
from tests.strategies import MORE, comment, comments


def test_an_item_has_the_attributes_that_the_design_describes() -> None:
    item = COMMENT.encode(comment("7/a", product_id="42/en", language="pt-BR", rating=4))
    packed = orjson.loads(item.pop("data")["S"])
    position = "2020-02-27T00:00:00.000000Z#7%2Fa"
    assert item == {
        "PK": {"S": "COMMENT#7%2Fa"},
        "SK": {"S": "COMMENT#7%2Fa"},
        "GSIPK": {"S": "PRODUCT#42%2Fen/pt/4"},
        "GSI2PK": {"S": "PRODUCT#42%2Fen/pt"},
        "GSI3PK": {"S": "PRODUCT#42%2Fen/4"},
        "GSI4PK": {"S": "PRODUCT#42%2Fen"},
        "GSISK": {"S": position},
        "GSI5PK": {"S": "AUTHOR#ana"},
        "GSI9PK": {"S": "PRODUCT#42%2Fen/pt-BR"},
        "product": {"S": "42/en"},
        "createdAt": {"S": "2020-02-27T00:00:00.000000Z"},
        "rating": {"N": "4"},
        "language": {"S": "pt-BR"},
    }
    assert packed == {"title": "Good", "text": "It does what it says.", "username": "ana"}
    assert comment_position(comment("7/a")) == position
    assert comment_key("7/a") == {"PK": item["PK"], "SK": item["SK"]}


@MORE
@given(comments, comments)
def test_positions_sort_by_time_and_then_by_id(one: Comment, other: Comment) -> None:
    positions = comment_position(one), comment_position(other)
    if one.created_at != other.created_at:
        assert (positions[0] < positions[1]) == (one.created_at < other.created_at)
    else:
        assert (positions[0] == positions[1]) == (one.comment_id == other.comment_id)


def test_absent_optional_fields_are_not_stored() -> None:
    plain = orjson.loads(COMMENT.encode(comment())["data"]["S"])
    assert {"updatedAt", "verifiedPurchase"}.isdisjoint(plain)
    assert "name" not in plain
    full = comment(updated_at=comment().created_at, verified_purchase=True, name="Ana Pérez")
    packed = orjson.loads(COMMENT.encode(full)["data"]["S"])
    assert packed["updatedAt"] == format_instant(full.created_at)
    assert packed["verifiedPurchase"] is True
    assert packed["name"] == "Ana Pérez"


def test_an_item_whose_time_is_too_short_is_not_a_comment() -> None:
    """Another program may have written any item under the key of a comment."""
    item = COMMENT.encode(comment("1")) | {"GSISK": {"S": "x#1"}}
    assert comment_in(item) is None
