"""A write that was executed but whose response was lost, and the response to its retry."""

from collections.abc import Iterable

import pytest
from strawberry import Schema

from dal.dynamodb.table import Table
from dal.stores import Stores
from tests.dal.repositories.test_observer import Recorder
from tests.proxy import Choose, Fault, answer, error_body, refuse, reset_after, through_proxy
from tests.schema.conftest import MODERATOR, STAFF, Run, runner
from tests.schema.ordering import LINES, PLACE, SET
from tests.verifying import verify

_FAILED = [{"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}]
_CANCELLED = error_body("TransactionCanceledException", CancellationReasons=_FAILED)
RETRIES: dict[str, Fault] = {
    "400 of an unknown type": refuse(400, "SomethingElseException"),
    "403 in HTML": answer(403, b"<html>Sign in to the network</html>", "text/html"),
    "half a failed condition": answer(400, _CANCELLED[: len(_CANCELLED) // 2]),
}
NO_PERMISSION = refuse(400, "AccessDeniedException")
"""An error that does not show whether an earlier attempt was executed."""

ADD = "mutation ($input: AddCommentInput!) { addComment(input: $input) { comment { id } } }"
UPDATE = (
    "mutation ($input: UpdateCommentInput!) { updateComment(input: $input) { comment { id } } }"
)
DELETE = "mutation ($input: DeleteCommentInput!) { deleteComment(input: $input) { deletedId } }"
READ = """{
  product(productId: "42") { comments { nodes { rating } } }
  user(username: "ann") { orders { nodes { status } } }
}"""
COMMENT = {"productId": "42", "rating": 5, "language": "en", "text": "So it is"}

Done = tuple[list[int], str]
"""The ratings of the product's comments, and the status of the order."""

DONE: dict[str, tuple[Done, list[object]]] = {
    "add": (([5, 5], "PLACED"), [(None, 5)]),
    "update": (([1], "PLACED"), [(5, 1)]),
    "delete": (([], "PLACED"), [(5, None)]),
    "order status": (([5], "SHIPPED"), []),
}
"""The state after each write, and the comment's rating before and after it, as the rules of the
process receive them."""


@pytest.fixture
async def inputs(run: Run) -> dict[str, tuple[str, dict[str, object]]]:
    """Store a comment and an order. Return the document and the input of each write."""
    added = await run(ADD, MODERATOR, input=COMMENT)
    placed = await run(PLACE, STAFF, input={"username": "ann", "lines": LINES})
    comment = added["data"]["addComment"]["comment"]["id"]
    order = placed["data"]["placeOrder"]["order"]["id"]
    return {
        "add": (ADD, COMMENT),
        "update": (UPDATE, {"id": comment, "rating": 1}),
        "delete": (DELETE, {"id": comment}),
        "order status": (SET, {"id": order, "status": "SHIPPED"}),
    }


@pytest.mark.parametrize("write", DONE)
@pytest.mark.parametrize("retry", RETRIES.values(), ids=RETRIES)
@pytest.mark.parametrize("proved", [False, True], ids=["never proved", "proved later"])
async def test_after_a_lost_response_the_result_of_a_write_is_unknown_until_a_response_proves_it(
    schema: Schema,
    table: Table,
    run: Run,
    inputs: dict[str, tuple[str, dict[str, object]]],
    write: str,
    retry: Fault,
    proved: bool,
) -> None:
    recorder = Recorder()
    document, given = inputs[write]
    async with through_proxy(table) as (beyond, proxy):
        proxy.choose = _of_writes([reset_after, retry, *([] if proved else [NO_PERMISSION])])
        asking = runner(schema, Stores(beyond, [recorder]))
        viewer = STAFF if write == "order status" else MODERATOR
        told = await asking(document, viewer, input=given)
        codes = [error["extensions"]["code"] for error in told["errors"]]
    left, changes = DONE[write]
    assert await _stored(run) == left
    assert await verify(table, lambda _: None) == []
    assert codes == ([] if proved else ["UNAVAILABLE"])
    received = [
        one if isinstance(one, str) else tuple(state and state.rating for state in one)
        for one in recorder.told
    ]
    assert received == (changes if proved or not changes else ["42"])


def _of_writes(faults: Iterable[Fault]) -> Choose:
    """Return a function that returns ``faults`` in turn for writes of any operation."""
    left = iter(faults)
    operations = {"TransactWriteItems", "PutItem", "DeleteItem"}
    return lambda operation, _: next(left, None) if operation in operations else None


async def _stored(run: Run) -> Done:
    data = (await run(READ, STAFF))["data"]
    ratings = [one["rating"] for one in data["product"]["comments"]["nodes"]]
    return ratings, data["user"]["orders"]["nodes"][0]["status"]
