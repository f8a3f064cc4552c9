"""Requests pages of a server in this process, and measures what a request sends and logs."""

from dataclasses import dataclass
from io import StringIO

import httpx

from dal.dynamodb.table import Table
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.observability.access_log import AccessLog
from server.observability.signals import Signals
from server.services import services_of
from server.settings import Settings

_BROWSER = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate, br, zstd"}


@dataclass(frozen=True, slots=True)
class Visit:
    """The bytes of a response with its headers, and of its line in the access log."""

    sent: int
    logged: int


class Visitor:
    """A browser without cookies, and a server of a table with the access log."""

    def __init__(self, table: Table) -> None:
        settings, self._log = Settings(), StringIO()
        signals = Signals(access_log=AccessLog("json", self._log))
        services = services_of(settings, table, Authenticator(secret=lambda: None), signals=signals)
        self._app = create_app(settings, services)

    async def get(self, address: str) -> Visit:
        """Request an address. Raise an error if the response is one."""
        before = self._log.tell()
        async with (
            httpx.AsyncClient(
                transport=httpx.ASGITransport(self._app), base_url="http://localhost"
            ) as client,
            client.stream("GET", address, headers=_BROWSER) as response,
        ):
            response.raise_for_status()
            headers = sum(len(name) + len(value) + 4 for name, value in response.headers.raw)
            sent = headers + sum([len(part) async for part in response.aiter_raw()])
        return Visit(sent, self._log.tell() - before)
