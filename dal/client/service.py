"""What the client of a table speaks to: DynamoDB, by whichever way its operations are sent."""

from typing import Any, Protocol

from dal.client.signature import Credentials


class Service(Protocol):
    """Does DynamoDB's operations, each once: no retries, no deadline, errors of ``dal``."""

    endpoint_url: str

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do an operation, such as ``get_item``; raises DalError."""


class Sdk(Service, Protocol):
    """A ``Service`` for all operations, and the settings that it has of its surroundings."""

    region: str
    has_capacity: bool
    """Whether every answer has its capacity: Amazon's do, and the embedded engine's."""

    async def credentials(self) -> Credentials:
        """Return what requests are signed with now."""

    @property
    def has_credentials(self) -> bool:
        """Whether there are any; without them each call says so."""

    @property
    def has_proxy(self) -> bool:
        """Whether a proxy stands before the endpoint."""

    @property
    def certificates(self) -> str | None:
        """The file of the authorities that may vouch for the endpoint; None for the system's."""
