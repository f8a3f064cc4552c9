"""What a table asks of DynamoDB, as the requests leave the client."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from dal.table.client import Table


@dataclass(frozen=True)
class Call:
    """One request: the operation's name in DynamoDB's API, and its arguments."""

    operation: str
    arguments: dict[str, Any]


class Calls(list[Call]):
    """The requests of a table, in the order they were made."""

    @property
    def operations(self) -> dict[str, int]:
        """How often each operation was asked for."""
        return dict(Counter(call.operation for call in self))

    @property
    def queries(self) -> list[dict[str, Any]]:
        """The arguments of each Query."""
        return [call.arguments for call in self if call.operation == "Query"]


class _Noting:
    """A client that notes what is asked of it."""

    def __init__(self, client: Any, calls: Calls) -> None:
        self._client = client
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        wanted = getattr(self._client, name)
        operation = self._client.meta.method_to_api_mapping.get(name)
        if operation is None:
            return wanted

        async def noted(**arguments: Any) -> Any:
            self._calls.append(Call(operation, arguments))
            return await wanted(**arguments)

        return noted


def calls_of(table: Table) -> Calls:
    """Record the requests that ``table`` makes from now on; others of its client go unseen."""
    calls = Calls()
    table._client = _Noting(table._client, calls)
    return calls
