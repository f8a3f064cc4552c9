"""What an endpoint can do: not all that speak DynamoDB's API have transactions, or tell capacity.

Both are learnt from its own answers. Only where these leave it open is it asked, once, by a request
that consumes half a read unit at most. Amazon DynamoDB and the embedded engine tell their capacity
with the first answer, and are known to have transactions.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from dal.errors import ConditionFailedError, StoreRefusedError, UnknownOperationError
from dal.table.answers import CapacityUntoldError

Send: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Does an operation once: its name and its arguments."""

NO_TRANSACTIONS = (
    "This endpoint has no transactions (TransactWriteItems), which this needs: only reads, "
    "comments in stream mode and their counts from the stream do without, and `marginalia table "
    "create` there sets that mode."
)


class Abilities:
    """What the endpoint of one table can do; ``transactions`` is None until it is asked."""

    def __init__(self, table: str, send: Send, *, transactions: bool | None) -> None:
        self._table = table
        self._send = send
        self._transactions = transactions
        self._tells_capacity: bool | None = None

    def note(self, answer: dict[str, Any]) -> None:
        """Take note of an answer that is whole."""
        if "ConsumedCapacity" in answer:
            self._tells_capacity = True

    async def believe(self, untold: CapacityUntoldError) -> dict[str, Any]:
        """Return an answer without its capacity, if the endpoint never tells it.

        Elsewhere it is not whole: StoreUnavailableError. ``{}`` is the whole answer to a GetItem of
        nothing there, and what a broken proxy may answer here: a Query's answer tells them apart.
        """
        if self._tells_capacity is None:
            self._tells_capacity = not untold.counts and await self._asked()
        if self._tells_capacity:
            raise untold.malformed
        return untold.answer

    async def _asked(self) -> bool:
        nothing = {
            "TableName": self._table,
            "KeyConditionExpression": "PK = :p",
            "ExpressionAttributeValues": {":p": {"S": "NOTHING"}},
            "Limit": 1,
            "ReturnConsumedCapacity": "TOTAL",
        }
        try:
            await self._send("query", nothing)
        except CapacityUntoldError:
            return False
        return True

    async def transactions(self) -> bool:
        """Return whether the endpoint has transactions; it is asked for one that cannot be done."""
        if self._transactions is None:
            check = {
                "TableName": self._table,
                "Key": {},
                "ConditionExpression": "attribute_exists(PK)",
            }
            try:
                await self._send(
                    "transact_write_items", {"TransactItems": [{"ConditionCheck": check}]}
                )
            except UnknownOperationError:
                self._transactions = False
            except (StoreRefusedError, ConditionFailedError):
                self._transactions = True
        return bool(self._transactions)
