"""Errors of the data-access layer; each message is one sentence a person can act on."""


class DalError(Exception):
    """The base of every error that ``dal`` raises on purpose."""


class InvalidArgumentError(DalError):
    """A value breaks a rule; ``argument`` names it as the caller does."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(message)
        self.argument = argument


class InvalidCursorError(DalError):
    """A cursor was not made by this server, or was cut or changed on its way."""


class NoIndexError(DalError):
    """No declared index answers a filter without reading an unbounded range."""


class TooManySegmentsError(DalError):
    """A filter selects more partitions than one page may read."""


class AlreadyExistsError(DalError):
    """A write meant to create an item found one under its key."""


class IdempotencyKeyReusedError(DalError):
    """An idempotency key came back with another input than the first time."""


class NotFoundError(DalError):
    """The item to change or delete is not there."""


class ConflictError(DalError):
    """Concurrent writers kept changing the item until the deadline; nothing was written."""


class ConditionFailedError(DalError):
    """A write was not done: the condition of each of its actions in ``failed`` did not hold."""

    def __init__(self, failed: list[int]) -> None:
        super().__init__("The item was changed meanwhile.")
        self.failed = failed


class ThrottledError(DalError):
    """DynamoDB refused the request rate until the deadline; trying later helps."""


class StoreUnavailableError(DalError):
    """DynamoDB could not be reached, or did not answer, before the deadline."""


class CircuitOpenError(StoreUnavailableError):
    """DynamoDB was not asked: it has not answered anybody for a while."""


class StoreFullError(DalError):
    """The embedded engine has no room on its disk; reads go on."""


class StoreDamagedError(DalError):
    """The embedded engine has found its data file damaged; only a backup helps."""


class StoreRefusedError(DalError):
    """DynamoDB refused the request for good: credentials, permissions, a missing table."""


class InvalidRequestError(StoreRefusedError):
    """DynamoDB refused what was asked or written, such as an item that is too large."""


class UnknownOperationError(StoreRefusedError):
    """The endpoint does not have an operation of DynamoDB's."""


class NoTransactionsError(StoreRefusedError):
    """The endpoint has no transactions, which the write or the command needs."""

    def __init__(self) -> None:
        super().__init__(
            "This endpoint has no transactions (TransactWriteItems), which this needs: `marginalia "
            "table create` sets the mode there in which reads and writes of single items work."
        )


class NoTableError(StoreRefusedError):
    """The table, or the stream, is not there."""


class CredentialsExpiredError(StoreRefusedError):
    """The credentials are of yesterday; those that renew themselves are good a moment later."""


class IteratorExpiredError(DalError):
    """An iterator of a stream was not used for too long; a new one reads on from the same place."""


class ChangesLostError(DalError):
    """Records of a table's stream are gone that were never applied; only a rebuild helps."""
