"""What groups add to the lists of the core's tests."""

from resolvers.context import Viewer

PARENTS = {"ProductGroup": 'product(productId: "$PRODUCT") { group { $FIELD } }'}
"""Types with fields that return comments, and the start of an operation that selects each type."""

RARE = {
    "full pages of a group": (
        Viewer("user1"),
        '{ product(productId: "c0") { group { comments(planBy: FULL_PAGES) { __typename } } } }',
    ),
}
"""Rare operations, and their users."""
