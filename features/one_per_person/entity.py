"""Reservations: items that limit each user to one comment on a product.

A reservation has the PK ``USER#<name>`` and the SK ``COMMENTED#<product>``. Its attribute
``comment`` (S) is the id of the user's comment on the product, which may be published or not. If
the table allows only one comment per user and product, the transaction that writes a comment also
writes its reservation.
"""

from dal.entities.submission import stored
from dal.model import Comment
from dal.model.submissions import Submission
from dal.table.items import Action, Item, primary_key
from dal.table.key_parts import escape

NAMED = "comment"
"""The attribute (S) with the comment's id."""


def commented_key(one: Comment | Submission) -> Item:
    """Return the primary key of the reservation for a comment's author and product."""
    return primary_key(f"USER#{escape(one.username)}", f"COMMENTED#{escape(one.product_id)}")


def is_commented(key: Item) -> bool:
    """Return whether a key or an item belongs to a reservation."""
    return str(key["PK"]["S"]).startswith("USER#") and str(key["SK"]["S"]).startswith("COMMENTED#")


def commented(one: Comment | Submission) -> Item:
    """Return the item that reserves the product for this comment."""
    return commented_key(one) | {NAMED: {"S": one.comment_id}}


def named_actions(old: Item | None, new: Item | Comment | None, *, elsewhere: bool) -> list[Action]:
    """Return the actions that update reservations when a comment changes from ``old`` to ``new``.

    ``old`` is None for a new comment, and ``new`` is None if the comment is deleted. ``new`` may be
    a comment that is not encoded yet. If author and product stay the same, the result is empty.

    A new comment reserves its product, on condition that no other comment of the author has
    reserved the product. A deleted comment removes its reservation. If the author or the product
    changes, the actions do both. ``elsewhere`` means that the reservation for the author and
    product of ``old`` belongs to another comment or does not exist. The actions then check that
    this is still true, and do not remove the reservation.
    """
    before = stored(old)
    after = new if isinstance(new, Comment) else stored(new)
    if before is not None and after is not None and commented_key(before) == commented_key(after):
        return []
    actions: list[Action] = []
    if after is not None:
        condition = _condition(f"attribute_not_exists(PK) OR #{NAMED} = :{NAMED}", after)
        # If the condition fails, the error contains the item, which saves a read:
        # https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Put.html
        returned = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        actions.append({"Put": {"Item": commented(after), **condition, **returned}})
    if before is not None:
        key = {"Key": commented_key(before)}
        if elsewhere:
            condition = _condition(f"attribute_not_exists(PK) OR #{NAMED} <> :{NAMED}", before)
            actions.append({"ConditionCheck": key | condition})
        else:
            actions.append({"Delete": key | _condition(f"#{NAMED} = :{NAMED}", before)})
    return actions


def _condition(expression: str, one: Comment | Submission) -> Item:
    return {
        "ConditionExpression": expression,
        "ExpressionAttributeNames": {f"#{NAMED}": NAMED},
        "ExpressionAttributeValues": {f":{NAMED}": {"S": one.comment_id}},
    }
