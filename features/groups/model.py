"""The model of groups: a group's id and the ids of its products."""

from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ProductGroup:
    """A group of 1 to 60 products that are variants of one product, such as its colours.

    ``product_ids`` is sorted.
    """

    plural: ClassVar[str] = "groups"
    group_id: str
    product_ids: tuple[str, ...]

    own_id = property(attrgetter("group_id"))
    """The object's id."""
