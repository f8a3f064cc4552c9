"""DynamoDB's error codes in the words of this layer: the error class and the sentence of each."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from dal import errors

_BUSY = errors.ThrottledError, "DynamoDB is busy: try again in a moment."
_CONTENDED = errors.ConflictError, "Others keep changing the same item: try again in a moment."
_EXPIRED = errors.CredentialsExpiredError, "The AWS credentials have expired: renew them."

_DAMAGED = ("database disk image is malformed", "file is not a database")
"""What SQLite says of a damaged file, in the embedded engine's messages."""

_FAILED_ALONE = "ConditionalCheckFailedException"
"""Of a write of one item, which has no list of reasons."""

CANCELLED = "TransactionCanceledException"
"""Of a transaction, which has a reason for each of its actions."""

_INVALID = {"ValidationException", "ValidationError"}
"""Codes of what is wrong with a request itself, such as an item that is too large."""

CHANGES_LOST = (
    "The table's stream keeps changes for a day, and some are gone that were not counted yet: "
    "run `marginalia stats rebuild`."
)

_BY_CODE: dict[str, tuple[type[errors.DalError], str]] = {
    "ProvisionedThroughputExceeded": _BUSY,
    "ProvisionedThroughputExceededException": _BUSY,
    "RequestLimitExceeded": _BUSY,
    "ThrottlingError": _BUSY,
    "ThrottlingException": _BUSY,
    "LimitExceededException": _BUSY,
    "TransactionConflict": _CONTENDED,
    "TransactionConflictException": _CONTENDED,
    "TransactionInProgressException": _CONTENDED,
    "UnknownOperationException": (
        errors.UnknownOperationError,
        "This endpoint lacks an operation of DynamoDB that is needed here.",
    ),
    "ExpiredIteratorException": (
        errors.IteratorExpiredError,
        "The iterator expired: take another.",
    ),
    "TrimmedDataAccessException": (errors.ChangesLostError, CHANGES_LOST),
    "ReplicatedWriteConflictException": _CONTENDED,
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "ResourceInUseException": (errors.AlreadyExistsError, "The table is there already."),
    "ResourceNotFoundException": (
        errors.NoTableError,
        "The table is not there: run `marginalia table create`.",
    ),
}

KNOWN = frozenset(
    {
        *_BY_CODE,
        *_INVALID,
        _FAILED_ALONE,
        CANCELLED,
        "AccessDeniedException",
        "DuplicateItemException",
        "IdempotentParameterMismatchException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "IndexNotFoundException",
        "InternalFailure",
        "InternalServerError",
        "InvalidSignatureException",
        "ItemCollectionSizeLimitExceededException",
        "MalformedHttpRequestException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "NotAuthorized",
        "OptInRequired",
        "PolicyNotFoundException",
        "RequestAbortedException",
        "RequestEntityTooLargeException",
        "RequestExpired",
        "RequestTimeoutException",
        "SerializationException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "TableAlreadyExistsException",
        "TableInUseException",
        "TableNotFoundException",
        "UnrecognizedClientException",
    }
)
"""What DynamoDB, its streams and the gate before all of AWS call their errors.

Of the operations that are used here. https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/CommonErrors.html
"""


def dal_error(response: Mapping[str, Any]) -> errors.DalError:
    """Return the error that says what an error response of DynamoDB says.

    A cancelled transaction lists a reason for each action. A failed condition is the caller's to
    judge and outweighs the rest; conflicts and throttling are worth another try.
    """
    code = response["Error"]["Code"]
    reasons = [reason.get("Code", "None") for reason in response.get("CancellationReasons", [])]
    codes = [code.removesuffix("Exception")] if code == _FAILED_ALONE else reasons
    failed = [number for number, reason in enumerate(codes) if reason == "ConditionalCheckFailed"]
    if failed:
        return errors.ConditionFailedError(failed)
    for known in (code, *reasons):
        if known in _BY_CODE:
            error, sentence = _BY_CODE[known]
            return error(sentence)
    if any(words in response["Error"].get("Message", "") for words in _DAMAGED):
        return errors.StoreDamagedError(
            "The data file is damaged: stop the server and put a backup in its place with "
            "`marginalia restore`."
        )
    if "disk is full" in response["Error"].get("Message", ""):
        return errors.StoreFullError("The disk is full: make room, then try again.")
    if response["ResponseMetadata"]["HTTPStatusCode"] >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return errors.StoreUnavailableError(f"DynamoDB failed ({code}): try again in a moment.")
    message = response["Error"].get("Message") or code
    refused = (
        errors.InvalidRequestError if {code, *reasons} & _INVALID else errors.StoreRefusedError
    )
    return refused(f"DynamoDB refused the request: {message}")


def unusable(error: Exception) -> errors.StoreRefusedError:
    """Return the error of settings that no request can be sent with."""
    return errors.StoreRefusedError(f"The AWS settings do not work: {error}")


def unreachable(
    endpoint_url: str, failure: BaseException | None = None
) -> errors.StoreUnavailableError:
    """Return the error of a request that has no answer, because of ``failure``."""
    while failure is not None:
        if reason := getattr(failure, "verify_message", ""):
            return errors.StoreUnavailableError(
                f"The certificate of {endpoint_url} is not trusted ({reason.rstrip('.')}): check "
                "the endpoint and the proxy, or name your own authority's file in AWS_CA_BUNDLE."
            )
        failure = failure.__cause__ or failure.__context__
    return errors.StoreUnavailableError(
        f"DynamoDB does not answer at {endpoint_url}: check that it runs and can be reached."
    )
