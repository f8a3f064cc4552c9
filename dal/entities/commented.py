"""The item that names a person's comment on a product, if the table allows one for each person.

``USER#<name>`` / ``COMMENTED#<product>`` has ``comment`` (S), the id of the comment. It exists for
comments in every state. The write of a comment changes it in the same transaction.
"""

from dal.entities.submission import stored
from dal.model import Comment
from dal.model.key_parts import escape
from dal.model.submissions import Submission
from dal.table.items import Action, Item, primary_key

NAMED = "comment"
"""The attribute (S) with the id of the comment."""


def commented_key(one: Comment | Submission) -> Item:
    """Return the primary key of the item that names a comment of this author on this product."""
    return primary_key(f"USER#{escape(one.username)}", f"COMMENTED#{escape(one.product_id)}")


def commented(one: Comment | Submission) -> Item:
    """Return the item that names a comment."""
    return commented_key(one) | {NAMED: {"S": one.comment_id}}


def of_same_person(one: Comment | Submission, other: Comment | Submission) -> bool:
    """Return whether two comments have the same author and product."""
    return (one.username, one.product_id) == (other.username, other.product_id)


def named_actions(old: Item | None, new: Item | None, *, elsewhere: bool) -> list[Action]:
    """Return the actions that go with the change of a comment's item from one image to another.

    They name the comment for a new author or product, on condition that no other comment is named,
    and remove the name for the old. ``elsewhere`` says that the old author's item names another
    comment, or does not exist: then they only check this.
    """
    before, after = stored(old), stored(new)
    if before is not None and after is not None and of_same_person(before, after):
        return []
    actions: list[Action] = []
    if after is not None:
        condition = _condition(f"attribute_not_exists(PK) OR #{NAMED} = :{NAMED}", after)
        # The failed condition returns the item, which saves a read:
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
