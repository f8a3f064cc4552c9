"""An engine on this machine: nothing of its surroundings is a setting of it.

Its SDK is imported and opened when an operation needs it. Pages need none, and it takes a third of
the server's start.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from dal.client.service import Service
from dal.client.signature import Credentials

LOCAL = "local"

EMBEDDED = Credentials("embedded", "embedded")
"""The engine asks for some and takes any."""


SCANNED_AT_ONCE = 2_000
"""Items of an answer of Scan: without a limit the engine loads all that follow, for 1 MB of it."""

_NOTHING = {"Items": [], "Count": 0, "ScannedCount": 0, "ConsumedCapacity": {"CapacityUnits": 0.0}}


class EmbeddedSdk:
    """The ``Sdk`` of such an engine."""

    region = LOCAL
    has_capacity = True
    has_credentials = True
    has_proxy = False
    certificates = None

    def __init__(self, endpoint_url: str, stack: AsyncExitStack) -> None:
        self.endpoint_url = endpoint_url
        self._stack = stack
        self._opening = asyncio.Lock()
        self._sdk: Service | None = None

    async def credentials(self) -> Credentials:
        """Return what such an engine takes."""
        return EMBEDDED

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do an operation; raises DalError."""
        if operation == "scan":
            whole = _unsegmented(arguments)
            if whole is None:
                return dict(_NOTHING)
            arguments = whole
        return await (await self._opened()).call(operation, arguments)

    async def _opened(self) -> Service:
        async with self._opening:
            if self._sdk is None:
                from dal.client.sdk import open_sdk  # noqa: PLC0415 - see the module's docstring

                opened = open_sdk("dynamodb", self.endpoint_url, embedded=True)
                self._sdk = await self._stack.enter_async_context(opened)
            return self._sdk


def _unsegmented(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Return a scan's arguments for the first of its segments to read all of the table by key.

    Segments are read by a hash, and where the item to go on from is gone, the engine takes one for
    ended. By key it goes on from any place, and is as fast. None for the other segments.
    """
    if arguments.get("Segment", 0) > 0:
        return None
    own = {name: arguments[name] for name in arguments.keys() - {"Segment", "TotalSegments"}}
    return {"Limit": SCANNED_AT_ONCE} | own


@asynccontextmanager
async def open_embedded(endpoint_url: str) -> AsyncIterator[EmbeddedSdk]:
    """Open the service of an engine on this machine."""
    async with AsyncExitStack() as stack:
        yield EmbeddedSdk(endpoint_url, stack)
