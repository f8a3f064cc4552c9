"""The interfaces through which a ``Table`` sends operations, and the SDK of the embedded engine.

A ``Table`` sends its operations through a ``Service``: the wire (a fast HTTP client, see
``dal.dynamodb.wire``) or the AWS SDK. The wire gets the region, credentials and certificates from
the SDK.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, NamedTuple, Protocol


class Credentials(NamedTuple):
    """The keys that sign requests. ``token`` is None for permanent keys."""

    access_key: str
    secret_key: str
    token: str | None = None


class Service(Protocol):
    """Sends DynamoDB operations, each once, without retries or a deadline. Raises DalError."""

    endpoint_url: str

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Send an operation, such as ``get_item``; raises DalError."""


class Sdk(Service, Protocol):
    """A ``Service`` that can send every operation, and that has this machine's AWS settings."""

    region: str
    has_capacity: bool
    """Whether every response reports its consumed capacity. Amazon and the embedded engine report
    it."""
    required: bool
    """Whether the SDK must send every operation instead of the wire. True in two cases:

    - The requests go through a proxy. The wire does not support proxies.
    - There are no credentials. The SDK then raises the error.
    """
    certificates: str | None
    """The file with the trusted certificate authorities; None means the system's authorities."""

    async def credentials(self) -> Credentials:
        """Return the current credentials, which sign requests."""


EMBEDDED_REGION = "local"

EMBEDDED_CREDENTIALS = Credentials("embedded", "embedded")
"""The embedded engine requires credentials, but accepts any values."""

SCAN_LIMIT = 2_000
"""Maximum items in a Scan's response from the embedded engine. Without this limit, the engine loads
the rest of the table for each response, although it returns only 1 MB."""

_NO_ITEMS = {"Items": [], "Count": 0, "ScannedCount": 0, "ConsumedCapacity": {"CapacityUnits": 0.0}}


class EmbeddedSdk:
    """The ``Sdk`` of the embedded engine. It ignores the machine's AWS settings.

    The AWS SDK is not imported before the first operation that the wire cannot send. Clients'
    requests rarely need such an operation. If the server imported the SDK when it starts, the
    import would take a third of the start time.
    """

    region = EMBEDDED_REGION
    has_capacity = True
    required = False
    certificates: str | None = None

    def __init__(
        self,
        endpoint_url: str,
        open_sdk: Callable[[], AbstractAsyncContextManager[Service]],
        stack: AsyncExitStack,
    ) -> None:
        self.endpoint_url = endpoint_url
        self._open_sdk = open_sdk
        self._stack = stack
        self._opening = asyncio.Lock()
        self._sdk: Service | None = None

    async def credentials(self) -> Credentials:
        """Return fixed credentials."""
        return EMBEDDED_CREDENTIALS

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Send an operation. Raises DalError.

        A Scan of segment 0 reads the whole table in the order of its keys, and the other segments
        are empty. The engine's own scan segments are not used, because such a segment ends early if
        the last item of a page is deleted before the next page is read. A scan in the order of keys
        can continue after any key, and is equally fast.
        """
        if operation == "scan":
            if arguments.get("Segment", 0) > 0:
                return dict(_NO_ITEMS)
            own = arguments.keys() - {"Segment", "TotalSegments"}
            arguments = {"Limit": SCAN_LIMIT} | {name: arguments[name] for name in own}
        async with self._opening:
            if self._sdk is None:
                self._sdk = await self._stack.enter_async_context(self._open_sdk())
        return await self._sdk.call(operation, arguments)
