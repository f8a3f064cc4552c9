"""Protocols of the clients that send operations to DynamoDB, and the embedded engine's ``Sdk``.

A ``Table`` sends its operations through a ``Service``: the wire or the AWS SDK. The wire takes
region, credentials and certificates from an ``Sdk``.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, NamedTuple, Protocol


class Credentials(NamedTuple):
    """The keys that sign requests. Only temporary keys have a ``token``."""

    access_key: str
    secret_key: str
    token: str | None = None


class Service(Protocol):
    """Sends each operation of DynamoDB once, without retries or deadline; raises DalError."""

    endpoint_url: str

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Send an operation, such as ``get_item``; raises DalError."""


class Sdk(Service, Protocol):
    """A ``Service`` for all operations, and the AWS settings of this machine."""

    region: str
    has_capacity: bool
    """Whether every response contains its consumed capacity. Amazon's and the embedded engine's
    do."""
    required: bool
    """Whether only the SDK may send: it can use a proxy, and it raises an error if there are no
    credentials."""
    certificates: str | None
    """The file of the trusted certificate authorities; None for the system's."""

    async def credentials(self) -> Credentials:
        """Return the credentials that sign requests now."""


EMBEDDED_REGION = "local"

EMBEDDED_CREDENTIALS = Credentials("embedded", "embedded")
"""The embedded engine requires credentials and accepts any."""

SCAN_LIMIT = 2_000
"""Items of a Scan's response. Without a limit, the engine loads the whole rest of the table
although it returns 1 MB."""

_NO_ITEMS = {"Items": [], "Count": 0, "ScannedCount": 0, "ConsumedCapacity": {"CapacityUnits": 0.0}}


class EmbeddedSdk:
    """The ``Sdk`` of the embedded engine. It ignores the machine's AWS settings.

    ``open_sdk`` imports and opens the AWS SDK for the first operation that needs it. Pages do not
    need it, and the import takes a third of the server's start.
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
        """Send an operation; raises DalError.

        A Scan of segment 0 reads the whole table in the order of its keys, and the other segments
        are empty. The engine's own scan of a segment goes by hashes, and ends early if the last
        item read is deleted meanwhile. A scan in the order of keys can continue from any place, and
        is as fast.
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
