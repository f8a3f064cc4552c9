"""A GraphQL endpoint over HTTP: requests, responses, and retries while the server is busy."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx

MEDIA_TYPES = "application/graphql-response+json, application/json;q=0.9"

BUSY = frozenset({httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE})
PATIENCE = 6
"""Maximum attempts of a request to a busy server."""
LONGEST_PAUSE = 30.0
"""Maximum seconds between two attempts, even if ``Retry-After`` is longer."""

SHOWN = 500
"""If a response is not GraphQL, the error message shows at most this number of its characters."""


class ConformanceError(Exception):
    """An error that ends the run. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Request:
    """A GraphQL operation and its variables."""

    document: str
    variables: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A GraphQL response. ``errors`` are messages; ``data`` is None if the response has none."""

    request: Request
    status: int
    data: dict[str, Any] | None
    errors: tuple[str, ...] = ()

    def at(self, path: tuple[str, ...]) -> Any:
        """Return the value at ``path`` in the data; None if the path ends early."""
        value: Any = self.data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value


class Endpoint:
    """Sends requests to one URL and counts them. It is a context manager.

    Raises ConformanceError if the server cannot be reached or stays busy.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        timeout: float = 30,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = url
        self.requests = 0
        given = {"Accept": MEDIA_TYPES} | dict(headers or {})
        # Load certificates only for HTTPS, because loading takes longer than a check.
        verify = url.startswith("https:")
        self._client = httpx.AsyncClient(
            headers=given, timeout=timeout, transport=transport, verify=verify
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._client.aclose()

    async def ask(self, document: str, variables: Mapping[str, Any] | None = None) -> Answer:
        """Send an operation, and return its response.

        If the server is busy, send the request again after the seconds in ``Retry-After``, or after
        one second.
        """
        request = Request(document, variables or {})
        for _ in range(PATIENCE):
            response = await self._post(request)
            if response.status_code not in BUSY:
                return _answer(request, response)
            # Retry-After may be missing, or a date.
            pause = response.headers.get("Retry-After", "")
            await asyncio.sleep(min(float(pause), LONGEST_PAUSE) if pause.isdecimal() else 1.0)
        raise ConformanceError(
            f"{self.url} still answers {response.status_code} after {PATIENCE} attempts: raise its "
            "limits for this client and run the command again."
        )

    async def _post(self, request: Request) -> httpx.Response:
        self.requests += 1
        try:
            body = {"query": request.document, "variables": dict(request.variables)}
            return await self._client.post(self.url, json=body)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise ConformanceError(
                f"{self.url} does not answer ({reason}): check that the server runs and that the "
                "URL is its GraphQL endpoint, such as http://127.0.0.1:8000/graphql."
            ) from error


def _answer(request: Request, response: httpx.Response) -> Answer:
    try:
        body = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        body = None
    if not isinstance(body, dict) or not {"data", "errors"} & body.keys():
        text = response.text[:SHOWN].strip() or "empty"
        return Answer(request, response.status_code, None, (f"Not a GraphQL response: {text}",))
    errors = tuple(
        str(error.get("message", error)) if isinstance(error, dict) else str(error)
        for error in body.get("errors") or ()
    )
    return Answer(request, response.status_code, body.get("data"), errors)
