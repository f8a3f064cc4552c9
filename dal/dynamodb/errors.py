"""Errors of requests to DynamoDB. Messages are for operators."""

from collections.abc import Mapping
from typing import Any

from dal.table.errors import DalError, StoreRefusedError


class QueryTooCostlyError(DalError):
    """The operation is predicted to cost more than the limits allow, or costs more than predicted.

    The cost is the number of requests, the read capacity, and the values of the result.
    """


class AlreadyExistsError(DalError):
    """The item or table that a request creates exists already.

    For UpdateTable, this error means that another change of the table is in progress.
    """


class ConflictError(DalError):
    """Nothing was written, because other requests changed the item or the table meanwhile."""


class ConditionFailedError(DalError):
    """Nothing was written, because conditions of the write failed.

    ``failed`` lists the positions of the failed actions in the transaction, from 0.
    """

    def __init__(
        self, failed: list[int], items: Mapping[int, dict[str, Any]] | None = None
    ) -> None:
        super().__init__("The item was changed meanwhile.")
        self.failed = failed
        self.items = items or {}
        """Maps the position of a failed action to the stored item. An action without
        ``ReturnValuesOnConditionCheckFailure`` has no entry."""


class ThrottledError(DalError):
    """DynamoDB throttled the request until the deadline. A later retry can succeed."""


class StoreUnavailableError(DalError):
    """DynamoDB was unreachable, failed, or sent no valid response before the deadline."""


class CircuitOpenError(StoreUnavailableError):
    """The request was not sent, because several earlier requests had no response from DynamoDB."""


class StoreFullError(DalError):
    """The embedded engine's disk is full; reads still work."""


class StoreDamagedError(DalError):
    """The embedded engine's data file is damaged. Restore a backup."""


class InvalidRequestError(StoreRefusedError):
    """DynamoDB refused the request as invalid. For example, an item is too large."""


class UnknownOperationError(StoreRefusedError):
    """The endpoint does not support an operation of DynamoDB."""


class NoTransactionsError(StoreRefusedError):
    """The write or the command needs transactions, which the endpoint does not support."""

    def __init__(self) -> None:
        super().__init__(
            "This endpoint lacks transactions (TransactWriteItems), and this write or command "
            "needs them. All reads, and writes of single items, work after `marginalia table "
            "create`."
        )


class NoTableError(StoreRefusedError):
    """The table or its stream does not exist."""


class CredentialsExpiredError(StoreRefusedError):
    """The AWS credentials have expired. After they are refreshed, a retry succeeds."""


class IteratorExpiredError(DalError):
    """An iterator of a stream's shard expired, because it was not used for some minutes.

    Request a new iterator for the same position.
    """


class ChangesLostError(DalError):
    """Records of the table's stream expired before they were counted. Rebuild the statistics."""
