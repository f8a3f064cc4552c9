"""Checks DynamoDB's responses, and turns each error code into a ``dal`` error.

A proxy, a load balancer or a failing machine can respond instead of DynamoDB, with status 200 or an
error status. After such a response, it is unknown whether a write happened. So the client retries
the request, as after a lost response.
"""

import zlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson

from dal.dynamodb.errors import (
    AlreadyExistsError,
    ChangesLostError,
    ConditionFailedError,
    ConflictError,
    CredentialsExpiredError,
    InvalidRequestError,
    IteratorExpiredError,
    NoTableError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    ThrottledError,
    UnknownOperationError,
)
from dal.table.errors import DalError, StoreRefusedError

_BUSY = ThrottledError, "DynamoDB is busy: try again in a moment."
_CONTENDED = (
    ConflictError,
    "Other requests keep changing the same item: try again in a moment.",
)
_EXPIRED = CredentialsExpiredError, "The AWS credentials have expired: renew them."

_DAMAGED = ("database disk image is malformed", "file is not a database")
"""SQLite's messages for a damaged file. The embedded engine's error message contains one of
them."""

_CONDITION_FAILED = "ConditionalCheckFailedException"
"""Error code of a failed condition, if a single item was written without a transaction.

Unlike TransactionCanceledException, the error has no ``CancellationReasons``.
"""

_CANCELLED = "TransactionCanceledException"
"""Error code of a failed transaction. Its ``CancellationReasons`` has one entry per action."""

_INVALID = {"ValidationException", "ValidationError"}
"""Error codes of an invalid request. For example, an item is too large."""

CHANGES_LOST = (
    "The table's stream keeps changes for a day, and some expired before they were counted: run "
    "`marginalia stats rebuild`."
)

_BY_CODE: dict[str, tuple[type[DalError], str]] = {
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
        UnknownOperationError,
        "This endpoint does not support a DynamoDB operation that Marginalia needs.",
    ),
    "ExpiredIteratorException": (
        IteratorExpiredError,
        "The iterator expired: request another.",
    ),
    "TrimmedDataAccessException": (ChangesLostError, CHANGES_LOST),
    "ReplicatedWriteConflictException": _CONTENDED,
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "ResourceInUseException": (AlreadyExistsError, "The table exists already."),
    "ResourceNotFoundException": (
        NoTableError,
        "The table does not exist: run `marginalia table create`.",
    ),
}

_KNOWN = frozenset(
    {
        *_BY_CODE,
        *_INVALID,
        _CONDITION_FAILED,
        _CANCELLED,
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
"""The error codes of DynamoDB, DynamoDB Streams and AWS that the client's operations can return.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/CommonErrors.html"""

_JSON = "application/x-amz-json-"
_CAPACITY = "ConsumedCapacity"
_ROWS: Mapping[str, type] = {"Count": int, _CAPACITY: dict}
_REQUIRED: Mapping[str, Mapping[str, type]] = {
    "Query": _ROWS,
    "Scan": _ROWS,
    "GetItem": {_CAPACITY: dict},
    "BatchGetItem": {"Responses": dict, "UnprocessedKeys": dict},
    "PutItem": {_CAPACITY: dict},
    "DeleteItem": {_CAPACITY: dict},
    "TransactWriteItems": {_CAPACITY: list},
    "UpdateItem": {_CAPACITY: dict},
    "BatchWriteItem": {"UnprocessedItems": dict},
    "CreateTable": {"TableDescription": dict},
    "DescribeTable": {"Table": dict},
    "UpdateTimeToLive": {"TimeToLiveSpecification": dict},
}
"""The members that the response to each operation must have, and their types. If an item does not
exist, GetItem's response has no ``Item``, and would look like an empty object from a proxy. So the
client asks DynamoDB to report the consumed capacity, and rejects a response without it."""

_ONLY_CAPACITY = frozenset(name for name, members in _REQUIRED.items() if [*members] == [_CAPACITY])
"""The operations whose responses would be indistinguishable from ``{}`` without the capacity."""


class Responses:
    """Checks the responses of one endpoint, and learns for which operations it reports capacity.

    After any response with its capacity, the operations in ``_ONLY_CAPACITY`` must report it.
    ScyllaDB reports it for them, but not for Query and Scan, so each of these two must report it
    only after it has reported it once: https://github.com/scylladb/scylladb/issues/5027
    """

    def __init__(self, *, has_capacity: bool) -> None:
        self._reported = set(_REQUIRED) if has_capacity else set[str]()
        """The operations that must report their capacity."""

    def parse(self, operation: str, status: int, body: bytes, checksum: bytes) -> dict[str, Any]:
        """Return the parsed body of a successful response.

        Raises StoreUnavailableError if the status is not 200, or if the body is malformed or
        incomplete.
        """
        if status != HTTPStatus.OK:
            raise _malformed(f"its status is {status}")
        response = _object(body, checksum)
        members = _REQUIRED.get(operation, {})
        for member, kind in members.items():
            optional = member == _CAPACITY and operation not in self._reported
            if not isinstance(response.get(member), kind) and (member in response or not optional):
                raise _malformed(f"it lacks members of a response to {operation}")
        rows = response.get("Items", [])
        if members is _ROWS and not (
            isinstance(rows, list) and len(rows) in {0, response["Count"]}
        ):
            raise _malformed("its count differs from its number of rows")
        if operation not in self._reported and response.get(_CAPACITY):
            self._reported |= {operation, *_ONLY_CAPACITY}
        return response

    def check_sdk_response(
        self,
        operation_model: Any,
        response_dict: dict[str, Any],
        customized_response_dict: dict[str, Any],
        **_: Any,
    ) -> None:
        """Raise DalError for an error or an incomplete response.

        botocore calls this function before it parses a response. The response to a Query or a Scan
        is parsed here, in half the time of botocore's parser. The response's body is then replaced
        by ``{}``, so that botocore does not parse the rows again.
        """
        status, body = response_dict["status_code"], response_dict["body"]
        headers = response_dict["headers"]
        checksum = headers.get("x-amz-crc32", "").encode()
        name = operation_model.name
        if status >= HTTPStatus.BAD_REQUEST:
            raise dal_error(parse_error(status, body, checksum, headers.get("content-type", "")))
        response = self.parse(name, status, body, checksum)
        if _REQUIRED.get(name) is _ROWS:
            customized_response_dict.update(response)
            response_dict["body"] = b"{}"


def parse_error(status: int, body: bytes, checksum: bytes, content_type: str) -> dict[str, Any]:
    """Return an error response in botocore's form, which ``dal_error`` reads.

    Raise StoreUnavailableError if the response is malformed.
    """
    if not content_type.startswith(_JSON):
        raise _malformed(f"its status is {status} and its type is {content_type or 'missing'}")
    parsed = _object(body, checksum)
    code = str(parsed.get("__type")).partition(":")[0].rpartition("#")[2]
    reasons = parsed.get("CancellationReasons") or []
    if code not in _KNOWN:
        raise _malformed(f"DynamoDB has no error code {code}")
    message = parsed.get("message") or parsed.get("Message") or ""
    if not isinstance(reasons, list) or (code == _CANCELLED and not reasons):
        raise _malformed("it lacks the reasons of a cancelled transaction")
    if not isinstance(message, str) or not all(isinstance(one, dict) for one in reasons):
        raise _malformed("its message or its reasons have the wrong type")
    return {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
        "CancellationReasons": reasons,
    }


def _object(body: bytes, checksum: bytes) -> dict[str, Any]:
    if checksum.isdigit() and int(checksum) != zlib.crc32(body):
        raise _malformed("its checksum differs")
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _malformed("it is not JSON") from None
    if not isinstance(parsed, dict):
        raise _malformed("it is not an object")
    return parsed


def _malformed(reason: str) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"Malformed response from DynamoDB ({reason}): check the proxies and load balancers in "
        "front of DynamoDB, then try again."
    )


def dal_error(response: Mapping[str, Any]) -> DalError:
    """Return the ``dal`` error of an error response.

    A cancelled transaction has a reason for each action. If one reason is a failed condition, the
    error is ConditionFailedError, and the caller handles it. Otherwise the error is the entry of
    ``_BY_CODE`` for the error code, or for the first reason that has an entry. If none has an
    entry, the message and the status determine the error.
    """
    code = response["Error"]["Code"]
    reasons = [reason.get("Code", "None") for reason in response.get("CancellationReasons", [])]
    codes = [code.removesuffix("Exception")] if code == _CONDITION_FAILED else reasons
    failed = [number for number, reason in enumerate(codes) if reason == "ConditionalCheckFailed"]
    if failed:
        cancelled = enumerate(response.get("CancellationReasons", []))
        items = {number: reason["Item"] for number, reason in cancelled if "Item" in reason}
        return ConditionFailedError(failed, items)
    for known in (code, *reasons):
        if known in _BY_CODE:
            error, sentence = _BY_CODE[known]
            return error(sentence)
    message = response["Error"].get("Message") or code
    if any(words in message for words in _DAMAGED):
        return StoreDamagedError(
            "The data file is damaged: stop the server and restore a backup with `marginalia "
            "restore`."
        )
    if "disk is full" in message:
        return StoreFullError("The disk is full: free some space, then try again.")
    if response["ResponseMetadata"]["HTTPStatusCode"] >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return StoreUnavailableError(f"DynamoDB failed ({code}): try again in a moment.")
    refused = InvalidRequestError if {code, *reasons} & _INVALID else StoreRefusedError
    return refused(f"DynamoDB refused the request: {message}")


def unusable(error: Exception) -> StoreRefusedError:
    """Return the error for AWS settings with which the client cannot send any request."""
    return StoreRefusedError(f"The AWS settings do not work: {error}")


def unreachable(endpoint_url: str, failure: BaseException | None = None) -> StoreUnavailableError:
    """Return the error for a request that has no response.

    ``failure`` is the cause, if it is known. If the cause is a certificate that is not trusted, the
    error has a message about the certificate.
    """
    while failure is not None:
        if reason := getattr(failure, "verify_message", ""):
            return StoreUnavailableError(
                f"The certificate of {endpoint_url} is not trusted ({reason.rstrip('.')}): check "
                "the endpoint and the proxy, or set AWS_CA_BUNDLE to the file of "
                "your own certificate authority."
            )
        failure = failure.__cause__ or failure.__context__
    return StoreUnavailableError(
        f"DynamoDB does not answer at {endpoint_url}: check that it runs and can be reached."
    )
