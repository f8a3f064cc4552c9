"""What every mutation's payload says of faults that a person can mend."""

from __future__ import annotations

import strawberry


@strawberry.type(description="A reason why nothing was changed.")
class UserError:
    """Shows resolvers.payloads.UserError."""

    field: str | None = strawberry.field(description="The input field to blame, if it is one.")
    message: str
    code: str
