"""The errors that clients receive: a code, one sentence, and nothing internal."""

import logging

import pytest

from dal.dynamodb.errors import (
    CircuitOpenError,
    CredentialsExpiredError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.query.cursors import encode_cursor
from dal.repositories.comments import CommentRepository
from dal.table.errors import StoreRefusedError
from schema.errors import UNAVAILABLE
from tests.schema.conftest import Run

COMMENTS = """
query ($product: ID!, $rating: [Int!], $language: [String!],
       $first: Int, $after: String, $last: Int, $before: String) {
  product(productId: $product) {
    comments(rating: $rating, language: $language,
             first: $first, after: $after, last: $last, before: $before) { nodes { id } }
  }
}
"""
CURSOR = encode_cursor("2020-11-20T12:00:00.000000Z#100001")


@pytest.mark.parametrize(
    ("variables", "code", "argument"),
    [
        ({"rating": [0]}, "BAD_ARGUMENT", "rating"),
        ({"rating": [1, 6]}, "BAD_ARGUMENT", "rating"),
        ({"language": ["english"]}, "BAD_ARGUMENT", "language"),
        ({"language": ["en", "x y"]}, "BAD_ARGUMENT", "language"),
        ({"first": -1}, "BAD_ARGUMENT", "first"),
        ({"first": 101}, "BAD_ARGUMENT", "first"),
        ({"last": 101}, "BAD_ARGUMENT", "last"),
        ({"first": 5, "last": 5}, "BAD_ARGUMENT", "last"),
        ({"product": ""}, "BAD_ARGUMENT", "productId"),
        ({"product": "p" * 2_000}, "BAD_ARGUMENT", "productId"),
        ({"after": "garbage"}, "BAD_CURSOR", None),
        ({"after": ""}, "BAD_CURSOR", None),
        ({"after": "日本"}, "BAD_CURSOR", None),
        ({"after": CURSOR[:-1]}, "BAD_CURSOR", None),
        ({"after": CURSOR[:-4]}, "BAD_CURSOR", None),
        ({"before": "Eg" + CURSOR[2:]}, "BAD_CURSOR", None),
        ({"after": CURSOR + "="}, "BAD_CURSOR", None),
        ({"first": "five"}, "BAD_REQUEST", None),
    ],
)
async def test_a_bad_argument_has_a_code_and_a_sentence(
    run: Run, variables: dict[str, object], code: str, argument: str | None
) -> None:
    answer = await run(COMMENTS, **{"product": "42", **variables})
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == code
    assert error["extensions"].get("argument") == argument
    assert argument is None or argument in error["message"]
    assert "Traceback" not in error["message"]


async def test_the_cursor_of_these_tests_is_valid(run: Run) -> None:
    answer = await run(COMMENTS, product="42", after=CURSOR, before=CURSOR, first=0)
    assert answer["errors"] == []


@pytest.mark.parametrize(
    "operation",
    [
        "{ nothing }",
        "{ product",
        "{ " + 'product(productId: "1") { comments { nodes { ' * 8 + "id" + " } } }" * 8 + " }",
        "{ " + " ".join(f'a{n}: product(productId: "1") {{ id }}' for n in range(40)) + " }",
    ],
    ids=["unknown field", "syntax", "too deep", "too many aliases"],
)
async def test_an_invalid_operation_is_refused_before_it_is_executed(
    run: Run, operation: str
) -> None:
    answer = await run(operation)
    assert answer["data"] is None
    assert {error["extensions"]["code"] for error in answer["errors"]} == {"BAD_REQUEST"}


@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        (ThrottledError("Busy."), "THROTTLED", "Busy."),
        (StoreUnavailableError("Check 10.0.0.1."), "UNAVAILABLE", UNAVAILABLE),
        (CircuitOpenError("Check 10.0.0.1."), "UNAVAILABLE", UNAVAILABLE),
        (StoreDamagedError("Run `marginalia restore`."), "UNAVAILABLE", UNAVAILABLE),
        (StoreFullError("Make room."), "UNAVAILABLE", UNAVAILABLE),
        (CredentialsExpiredError("The AWS keys are old."), "UNAVAILABLE", UNAVAILABLE),
    ],
)
async def test_no_client_receives_an_instruction_for_operators(
    run: Run, monkeypatch: pytest.MonkeyPatch, fault: Exception, code: str, message: str
) -> None:
    inject(monkeypatch, fault)
    (error,) = (await run(COMMENTS, product="42"))["errors"]
    assert (error["message"], error["extensions"]["code"]) == (message, code)


@pytest.mark.parametrize(
    "fault", [KeyError("secret"), StoreRefusedError("arn:aws:iam::1:user/secret")]
)
async def test_an_internal_error_is_hidden_from_the_client_and_logged_once(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: Exception,
) -> None:
    inject(monkeypatch, fault)
    with caplog.at_level(logging.ERROR):
        (error,) = (await run(COMMENTS, product="42"))["errors"]
    assert error["extensions"]["code"] == "INTERNAL"
    assert "requestId" in error["extensions"]
    assert "secret" not in str(error)
    assert len(caplog.records) == 1
    assert "secret" in caplog.text


async def test_an_internal_error_outside_of_resolvers_is_a_graphql_error(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: object) -> None:
        raise KeyError("secret")

    monkeypatch.setattr("schema.execution.cost.PredictedCosts.cost", failing)
    answer = await run(COMMENTS, product="42")
    (error,) = answer["errors"]
    assert (answer["data"], error["extensions"]["code"]) == (None, "INTERNAL")
    assert "secret" not in str(error)
    assert "secret" in caplog.text


def inject(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    async def failing(*_: object) -> None:
        raise fault

    monkeypatch.setattr(CommentRepository, "page", failing)
