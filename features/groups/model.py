"""Groups of products: the products of a group are variants of one product, such as its colours."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProductGroup:
    """A group of 1 to 60 products that are variants of one product, such as its colours.

    ``product_ids`` is sorted.
    """

    group_id: str
    product_ids: tuple[str, ...]

    @property
    def own_id(self) -> str:
        """The object's id."""
        return self.group_id
