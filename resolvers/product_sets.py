"""Sets of products: several products whose comments are one list, with one sum of their counts.

The comments of a set are read product by product, and so are its statistics. The server predicts
the cost of an operation before it knows how many products a set has. So these reads are counted
while the operation runs.
"""

from typing import ClassVar, Protocol

from dal.dynamodb.account import MAX_REQUESTS
from dal.model import Product
from dal.query.errors import TooManySegmentsError
from resolvers.context import Context
from resolvers.selection import Info


class ProductSet(Protocol):
    """Several products, such as the variants of one product."""

    plural: ClassVar[str]
    """The noun for several such sets, for messages."""

    @property
    def product_ids(self) -> tuple[str, ...]:
        """The ids of the products."""


class _Reads:
    """Counts the reads of products of sets in one request."""

    def __init__(self, _: Context) -> None:
        self.left = MAX_REQUESTS


def product_ids(root: Product | ProductSet, info: Info) -> tuple[str, ...]:
    """Return the ids of a product, or of the products of a set, which a field is about to read.

    Raise TooManySegmentsError if the request has more than MAX_REQUESTS reads of products of sets.
    """
    if isinstance(root, Product):
        return (root.product_id,)
    reads = info.context.part(_Reads)
    reads.left -= len(root.product_ids)
    if reads.left < 0:
        raise TooManySegmentsError(
            f"The lists and statistics of {root.plural} would read more than {MAX_REQUESTS} "
            f"partitions: select fewer {root.plural} at a time."
        )
    return root.product_ids
