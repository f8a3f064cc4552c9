"""What groups add to the lists of the core's tests."""

PARENTS = {"ProductGroup": 'product(productId: "$PRODUCT") { group { $FIELD } }'}
"""Types with fields that return comments, and the start of an operation that selects each type."""
