"""Ways to send operations to DynamoDB: their protocols, and the SDK of an embedded engine.

A ``Table`` sends its operations through a ``Service``: the wire or the AWS SDK. The wire takes
region, credentials and certificates from an ``Sdk``.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, NamedTuple, Protocol


class Credentials(NamedTuple):
    """The keys that sign requests; only temporary ones have a ``token``."""

    access_key: str
    secret_key: str
    token: str | None = None


class Service(Protocol):
    """Sends each operation of DynamoDB once: no retries, no deadline, errors of ``dal``."""

    endpoint_url: str

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Send an operation, such as ``get_item``; raises DalError."""


class Sdk(Service, Protocol):
    """A ``Service`` for all operations, and the AWS settings of this machine."""

    region: str
    has_capacity: bool
    """Whether every response has its consumed capacity, as Amazon's and the embedded engine's."""

    async def credentials(self) -> Credentials:
        """Return the credentials that sign requests now."""

    @property
    def has_credentials(self) -> bool:
        """Whether the settings name any; without credentials each call raises."""

    @property
    def has_proxy(self) -> bool:
        """Whether the settings put a proxy before the endpoint."""

    @property
    def certificates(self) -> str | None:
        """The file of the trusted certificate authorities; None for the system's."""


EMBEDDED_REGION = "local"

EMBEDDED_CREDENTIALS = Credentials("embedded", "embedded")
"""The embedded engine requires credentials and accepts any."""

SCAN_LIMIT = 2_000
"""Items of a Scan's response. Without a limit the engine loads the whole rest of the table for the
1 MB that it returns."""

_NO_ITEMS = {"Items": [], "Count": 0, "ScannedCount": 0, "ConsumedCapacity": {"CapacityUnits": 0.0}}


class EmbeddedSdk:
    """The ``Sdk`` of an engine on this machine, which no AWS setting of the machine changes.

    The first operation that needs the AWS SDK imports and opens it, by ``open_sdk``: pages need
    none, and the import takes a third of the server's start.
    """

    region = EMBEDDED_REGION
    has_capacity = True
    has_credentials = True
    has_proxy = False
    certificates = None

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
        """Send an operation; raises DalError.

        A Scan of segment 0 reads the whole table in the order of its keys, and the other segments
        are empty. The engine would scan a segment by hash, and would end it early if the item to
        continue from was deleted. By key it continues from any place, and is as fast.
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
