"""Numbers of comments by rating and language."""

import strawberry

from dal.counts.counts import CommentFacets, CommentStatistics
from dal.model import (
    Product,
    rules,
)
from resolvers.context import ProductReads
from resolvers.product_sets import ProductSet, product_ids
from resolvers.selection import Info, Languages, Ratings


async def statistics(
    root: strawberry.Parent[Product | ProductSet], info: Info, language: Languages = None
) -> CommentStatistics | None:
    """Return the statistics of a product or a set; None until the server has counted comments."""
    languages = None if language is None else rules.languages("language", language)
    products = await info.context.part(ProductReads).each(product_ids(root, info))
    counted = [one for one, _ in products if one is not None]
    if len(counted) < len(products):
        return None
    return CommentStatistics.together(counted).of(languages)


def facets(
    root: strawberry.Parent[CommentStatistics],
    rating: Ratings = None,
    language: Languages = None,
) -> CommentFacets:
    """Return the number of comments with each rating, and in each language.

    A rating's number includes only comments in the selected languages. A language's number
    includes only comments with the selected ratings.
    """
    return CommentFacets(
        root,
        None if rating is None else rules.ratings("rating", rating),
        None if language is None else rules.languages("language", language),
    )
