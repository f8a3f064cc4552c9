"""Answers of DynamoDB, checked before they are believed.

A proxy, a load balancer or a failing machine can answer in place of DynamoDB, with 200 or an error.
Such an answer does not prove the outcome: it counts as a lost answer, and the same request is
repeated.
"""

import zlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson

from dal.client.error_codes import CANCELLED, KNOWN, dal_error
from dal.errors import StoreUnavailableError

_JSON = "application/x-amz-json-"
_CAPACITY = "ConsumedCapacity"
_ROWS: Mapping[str, type] = {"Count": int, _CAPACITY: dict}
REQUIRED: Mapping[str, Mapping[str, type]] = {
    "Query": _ROWS,
    "Scan": _ROWS,
    "GetItem": {"ConsumedCapacity": dict},
    "BatchGetItem": {"Responses": dict, "UnprocessedKeys": dict},
    "PutItem": {"ConsumedCapacity": dict},
    "DeleteItem": {"ConsumedCapacity": dict},
    "TransactWriteItems": {"ConsumedCapacity": list},
    "UpdateItem": {"ConsumedCapacity": dict},
    "BatchWriteItem": {"UnprocessedItems": dict},
    "CreateTable": {"TableDescription": dict},
    "DescribeTable": {"Table": dict},
    "UpdateTimeToLive": {"TimeToLiveSpecification": dict},
}
"""Members that a whole answer has, with those that are there because a request asks for them."""


def whole_answer(
    operation: str, status: int, body: bytes, checksum: bytes, *, has_capacity: bool
) -> dict[str, Any]:
    """Return what an answer says; StoreUnavailableError for one that is not whole.

    Without ``has_capacity``, an answer that lacks its capacity is whole.
    """
    if status != HTTPStatus.OK:
        raise _malformed(f"its status is {status}")
    answer = _object(body, checksum)
    members = REQUIRED.get(operation, {})
    for member, kind in members.items():
        optional = member == _CAPACITY and not has_capacity and member not in answer
        if not optional and not isinstance(answer.get(member), kind):
            raise _malformed(f"it lacks members of {operation}'s answers")
    if members is _ROWS and len(answer.get("Items", ())) not in {0, answer["Count"]}:
        raise _malformed("it has other rows than it counts")
    return answer


def whole_error(status: int, body: bytes, checksum: bytes, content_type: str) -> dict[str, Any]:
    """Return a checked error for ``dal_error``; StoreUnavailableError if it is not DynamoDB's."""
    if not content_type.startswith(_JSON):
        raise _malformed(f"its status is {status} and its type is {content_type or 'missing'}")
    parsed = _object(body, checksum)
    code = str(parsed.get("__type")).partition(":")[0].rpartition("#")[2]
    reasons = parsed.get("CancellationReasons") or []
    if code not in KNOWN:
        raise _malformed(f"its error is {code}, which DynamoDB does not have")
    message = parsed.get("message") or parsed.get("Message") or ""
    if not isinstance(reasons, list) or (code == CANCELLED and not reasons):
        raise _malformed("it has no reasons for a transaction that was cancelled")
    if not isinstance(message, str) or not all(isinstance(one, dict) for one in reasons):
        raise _malformed("its message or its reasons have another shape than DynamoDB's")
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


def check_answer(
    operation_model: Any,
    response_dict: dict[str, Any],
    customized_response_dict: dict[str, Any],
    *,
    has_capacity: bool,
    **_: Any,
) -> None:
    """Raise DalError for an answer that is not whole, or an error; a ``before-parse`` handler.

    Bodies of rows are decoded here, once: botocore's shape-driven parser takes twice as long.
    """
    status, body = response_dict["status_code"], response_dict["body"]
    headers = response_dict["headers"]
    checksum = headers.get("x-amz-crc32", "").encode()
    name = operation_model.name
    if status >= HTTPStatus.BAD_REQUEST:
        raise dal_error(whole_error(status, body, checksum, headers.get("content-type", "")))
    answer = whole_answer(name, status, body, checksum, has_capacity=has_capacity)
    if REQUIRED.get(name) is _ROWS:
        customized_response_dict.update(answer)
        response_dict["body"] = b"{}"


def _malformed(reason: str) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"An answer of DynamoDB cannot be believed ({reason}): check what stands between it and "
        "here, then try again."
    )
