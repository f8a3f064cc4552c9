"""Validation errors of a mutation's input, as every payload has them."""

import strawberry

from resolvers.mutations import UserErrorCode

USER_ERRORS = "Validation errors. Empty on success."
"""Description of ``userErrors`` in every payload."""


@strawberry.type(description="An error in a mutation's input.")
class UserError:
    """Shows resolvers.mutations.UserError."""

    field: list[str] | None = strawberry.field(
        description='Path of the invalid input field, such as `["input", "lines", "0", '
        '"quantity"]`; null if the error is not about a field.'
    )
    message: str = strawberry.field(description="Sentence for the end user.")
    code: UserErrorCode = strawberry.field(
        description="Code for programs. Messages may change; codes do not."
    )
