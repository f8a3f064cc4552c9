from typing import Any

import orjson
import pytest

from dal import errors
from dal.client.responses import dal_error, parse_error
from tests.fakes import error_told


def told(code: str, status: int = 400, reasons: tuple[str, ...] = ()) -> errors.DalError:
    return dal_error(error_told(code, status, reasons))


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("ProvisionedThroughputExceededException", errors.ThrottledError),
        ("RequestLimitExceeded", errors.ThrottledError),
        ("ThrottlingException", errors.ThrottledError),
        ("TransactionConflictException", errors.ConflictError),
        ("TransactionInProgressException", errors.ConflictError),
        ("ResourceInUseException", errors.AlreadyExistsError),
        ("ResourceNotFoundException", errors.NoTableError),
        ("AccessDeniedException", errors.StoreRefusedError),
        ("UnrecognizedClientException", errors.StoreRefusedError),
        ("ConditionalCheckFailedException", errors.ConditionFailedError),
        ("ValidationException", errors.InvalidRequestError),
        ("IdempotentParameterMismatchException", errors.StoreRefusedError),
    ],
)
def test_each_code_has_its_error(code: str, error: type[errors.DalError]) -> None:
    assert type(told(code)) is error


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_failure_on_the_other_side_is_worth_another_try(status: int) -> None:
    fault = told("InternalServerError", status)
    assert type(fault) is errors.StoreUnavailableError
    assert "InternalServerError" in str(fault)


def test_throttling_told_with_status_500_stays_throttling() -> None:
    assert type(told("ThrottlingException", 500)) is errors.ThrottledError


@pytest.mark.parametrize(
    ("reasons", "error"),
    [
        (("None", "TransactionConflict"), errors.ConflictError),
        (("ThrottlingError", "None"), errors.ThrottledError),
        (("None", "ProvisionedThroughputExceeded"), errors.ThrottledError),
        (("None", "ValidationError"), errors.InvalidRequestError),
        ((), errors.StoreRefusedError),
    ],
)
def test_a_cancelled_transaction_is_told_by_its_reasons(
    reasons: tuple[str, ...], error: type[errors.DalError]
) -> None:
    assert type(told("TransactionCanceledException", reasons=reasons)) is error


@pytest.mark.parametrize(
    ("reasons", "failed"),
    [
        (("ConditionalCheckFailed",), [0]),
        (("None", "ConditionalCheckFailed"), [1]),
        (("ConditionalCheckFailed", "None", "ConditionalCheckFailed"), [0, 2]),
        (("TransactionConflict", "ConditionalCheckFailed"), [1]),
    ],
)
def test_a_failed_condition_outweighs_the_rest(reasons: tuple[str, ...], failed: list[int]) -> None:
    fault = told("TransactionCanceledException", reasons=reasons)
    assert isinstance(fault, errors.ConditionFailedError)
    assert fault.failed == failed


def test_reasons_without_a_code_are_no_reasons() -> None:
    response = error_told("TransactionCanceledException")
    response["CancellationReasons"] = [{}, {"Code": "ConditionalCheckFailed"}]
    fault = dal_error(response)
    assert isinstance(fault, errors.ConditionFailedError)
    assert fault.failed == [1]


def test_a_missing_table_names_the_command_that_makes_one() -> None:
    assert "`marginalia table create`" in str(told("ResourceNotFoundException"))


def test_a_refusal_repeats_what_dynamodb_says() -> None:
    assert str(told("AccessDeniedException")).endswith("AccessDeniedException happened")
    response = error_told("AccessDeniedException")
    del response["Error"]["Message"]
    assert str(dal_error(response)).endswith("AccessDeniedException")


@pytest.mark.parametrize(
    "members",
    [
        {"CancellationReasons": [None]},
        {"CancellationReasons": ["ConditionalCheckFailed"]},
        {"CancellationReasons": [{"Code": "ConditionalCheckFailed"}], "message": 1},
    ],
)
def test_an_error_of_another_shape_is_not_believed(members: dict[str, Any]) -> None:
    body = orjson.dumps({"__type": "TransactionCanceledException"} | members)
    with pytest.raises(errors.StoreUnavailableError, match="Malformed response"):
        raise dal_error(parse_error(400, body, b"", "application/x-amz-json-1.0"))
