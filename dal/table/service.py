"""What the client of a table speaks to: DynamoDB, by whichever way its operations are sent."""

from typing import Any, Protocol


class Service(Protocol):
    """Does DynamoDB's operations, each once: no retries, no deadline, errors of ``dal``."""

    endpoint_url: str

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do an operation, such as ``get_item``; raises DalError."""

    async def wait_until_active(self, table: str) -> None:
        """Wait for a minute at most; StoreUnavailableError then."""
