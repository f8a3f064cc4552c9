"""What a table asks of DynamoDB, as the requests leave the client."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from dal.dynamodb import Table


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


def calls_of(table: Table) -> Calls:
    """Record the requests that ``table`` makes from now on."""
    calls = Calls()

    def note(params: dict[str, Any], model: Any, **_: Any) -> None:
        calls.append(Call(model.name, params))

    table._client.meta.events.register("before-parameter-build.dynamodb", note)
    return calls
