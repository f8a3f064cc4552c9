"""What groups add to the lists of the core's tests."""

from resolvers.context import Viewer

PARENTS = {"ProductGroup": 'product(productId: "$PRODUCT") { group { $FIELD } }'}
"""Types with fields that return comments, and the start of an operation that selects each type."""

RARE = {
    "a page of a group": (
        Viewer("user1"),
        '{ product(productId: "c0") { group { comments { __typename } } } }',
    ),
}
"""Rare operations, and their users."""

OF_PRODUCT = ("group { products { statistics { total } title } }",)
"""Selections of random products."""

AROUND_LISTS = ("group { %s }",)
"""Selections of random products around a list of comments."""

PARTS_OF_PRODUCT = (("group", "group"),)
"""Fields of random products, and the parts that they return."""

PARTS = {
    "group": (
        ["groupId"],
        [("statistics", "statistics"), ("comments(first: SIZE)", "page"), ("products", "product")],
    )
}
"""Parts of random operations: fields without selections, and other fields with their parts."""

FILTERED_LISTS = ("ProductGroup.comments",)
"""Lists with all filters of comments."""
