"""Errors of writes to the shop's items. A message states what is wrong, and often what to do."""

from typing import Any, ClassVar

from dal.table.errors import DalError


class AlreadyCommentedError(DalError):
    """The author already has a comment on the product, and the table allows only one.

    Operators can turn this limit on with ``marginalia table one-per-person on``.
    """

    def __init__(self, there: Any) -> None:
        super().__init__("You have another comment on this product: edit or delete it.")
        self.there = there
        """The comment or submission that the author already has on the product."""


class NotBoughtError(DalError):
    """Only buyers may comment on this server, and the user has not received the product."""

    def __init__(self) -> None:
        super().__init__(
            "Only users who have received this product or one of its variants may comment on it."
        )


class GrantError(DalError):
    """A visitor without an account used a grant that does not permit the write any more."""

    code: ClassVar[str]
    """The name of the error's ``UserErrorCode``."""


class IdempotencyKeyReusedError(DalError):
    """A client sent an idempotency key again with different input."""


class NotFoundError(DalError):
    """The item to change or delete does not exist."""
