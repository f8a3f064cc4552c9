"""Errors of the data-access layer; each message is one sentence a person can act on."""

from collections.abc import Mapping
from typing import Any


class DalError(Exception):
    """The base of every error that ``dal`` raises on purpose."""


class InvalidArgumentError(DalError):
    """A value breaks a rule; ``argument`` is the caller's name for the value."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(message)
        self.argument = argument


class InvalidCursorError(DalError):
    """A cursor is not one of this server's, or was changed or cut off."""


class NoIndexError(DalError):
    """No declared index answers a filter without reading an unbounded range."""


class TooManySegmentsError(DalError):
    """A filter selects more partitions than one page may read."""


class AlreadyCommentedError(DalError):
    """The author has another comment on the product, and the table allows one for each person."""

    def __init__(self, there: Any) -> None:
        super().__init__("You have another comment on this product: edit or delete it.")
        self.there = there
        """The comment, or the submission, that is there."""


class NotBoughtError(DalError):
    """The user has not received the product, and the server takes comments of buyers only."""

    def __init__(self) -> None:
        super().__init__("Only users who have received this product may comment on it.")


class AlreadyExistsError(DalError):
    """An item or a table to create exists already."""


class IdempotencyKeyReusedError(DalError):
    """An idempotency key was sent again with another input."""


class NotFoundError(DalError):
    """The item to change or delete does not exist."""


class ConflictError(DalError):
    """Concurrent writers kept changing the item until the deadline; nothing was written."""


class ConditionFailedError(DalError):
    """Nothing was written, because the conditions of the actions in ``failed`` were false."""

    def __init__(
        self, failed: list[int], items: Mapping[int, dict[str, Any]] | None = None
    ) -> None:
        super().__init__("The item was changed meanwhile.")
        self.failed = failed
        self.items = items or {}
        """The items of failed actions, by their numbers, if the action returns its item."""


class ThrottledError(DalError):
    """DynamoDB throttled the requests until the deadline; a later retry helps."""


class StoreUnavailableError(DalError):
    """DynamoDB could not be reached, or did not answer, before the deadline."""


class CircuitOpenError(StoreUnavailableError):
    """The request was not sent, because DynamoDB has not answered any request for a while."""


class StoreFullError(DalError):
    """The embedded engine's disk is full; reads still work."""


class StoreDamagedError(DalError):
    """The embedded engine's data file is damaged; only a backup helps."""


class StoreRefusedError(DalError):
    """DynamoDB refused the request for good: credentials, permissions, a missing table."""


class InvalidRequestError(StoreRefusedError):
    """DynamoDB refused the request as invalid, for example an item that is too large."""


class UnknownOperationError(StoreRefusedError):
    """The endpoint lacks an operation of DynamoDB."""


class NoTransactionsError(StoreRefusedError):
    """The endpoint has no transactions, which the write or the command needs."""

    def __init__(self) -> None:
        super().__init__(
            "This endpoint lacks transactions (TransactWriteItems), which are needed here: run "
            "`marginalia table create`, after which reads and writes of single items work."
        )


class NoTableError(StoreRefusedError):
    """The table, or its stream, does not exist."""


class CredentialsExpiredError(StoreRefusedError):
    """The AWS credentials have expired. If they refresh themselves, a retry succeeds."""


class IteratorExpiredError(DalError):
    """A stream's iterator was unused for too long; a new one continues from the same place."""


class ChangesLostError(DalError):
    """Records of the table's stream expired before they were applied; only a rebuild helps."""
