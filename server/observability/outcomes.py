"""Names the outcomes of failed requests to DynamoDB, for metrics."""

from collections.abc import Mapping

from dal.dynamodb.errors import (
    ConditionFailedError,
    ConflictError,
    CredentialsExpiredError,
    NoTableError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.table.errors import DalError, StoreRefusedError

OUTCOMES: Mapping[type[DalError], str] = {
    ThrottledError: "throttled",
    StoreUnavailableError: "unavailable",
    ConflictError: "conflict",
    ConditionFailedError: "condition_failed",
    StoreFullError: "full",
    StoreDamagedError: "damaged",
    CredentialsExpiredError: "credentials_expired",
    StoreRefusedError: "refused",
    NoTableError: "refused",
}
