"""Records the requests that a table sends to DynamoDB."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from dal.dynamodb.table import Table
from dal.dynamodb.wire import Service


@dataclass(frozen=True)
class Call:
    """A request: the operation's name in DynamoDB's API, and its arguments."""

    operation: str
    arguments: dict[str, Any]


class Calls(list[Call]):
    """The requests of a table, in the order in which they were sent."""

    @property
    def operations(self) -> dict[str, int]:
        """The number of requests of each operation."""
        return dict(Counter(call.operation for call in self))

    @property
    def queries(self) -> list[dict[str, Any]]:
        """The arguments of each Query."""
        return [call.arguments for call in self if call.operation == "Query"]


class _Noting:
    """A service that records its requests."""

    def __init__(self, client: Service, calls: Calls) -> None:
        self._client = client
        self._calls = calls
        self.endpoint_url = client.endpoint_url

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        name = "".join(word.capitalize() for word in operation.split("_"))
        self._calls.append(Call(name, arguments))
        return await self._client.call(operation, arguments)


def calls_of(table: Table) -> Calls:
    """Record the requests of ``table`` from now on, but not those of other tables of its client."""
    calls = Calls()
    table.service = _Noting(table.service, calls)
    return calls
