"""What commands on the whole table know of groups."""

from dal.catalogue import AccessPattern
from dal.kinds.item_kind import ItemKind
from features.groups.entity import is_group

PATTERNS = (
    AccessPattern("group members", "the products of a group"),
    AccessPattern(
        "AP19 (a variant)",
        "AP19, if the product has a group, and the user has not received the product itself",
    ),
)

KIND = ItemKind(holds=is_group, labels={"GROUP": "groups"})
