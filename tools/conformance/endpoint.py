"""A GraphQL endpoint over HTTP: requests, answers, and patience with servers that ask for it."""

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
"""How often a busy server is asked."""
LONGEST_PAUSE = 30.0
"""Seconds."""

SHOWN = 500
"""Characters of an answer that is no JSON, in a sentence."""


class ConformanceError(Exception):
    """A fault that keeps the checks from running; the message explains the fix."""


@dataclass(frozen=True, slots=True)
class Request:
    """One operation as a client sends it."""

    document: str
    variables: Mapping[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        """The JSON that is posted."""
        return {"query": self.document, "variables": dict(self.variables)}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered; ``errors`` are messages, ``data`` is None where nothing came."""

    request: Request
    status: int
    data: dict[str, Any] | None
    errors: tuple[str, ...] = ()

    def at(self, path: tuple[str, ...]) -> Any:
        """Return the value at ``path`` in the data; None where it ends before."""
        value: Any = self.data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value


class Endpoint:
    """Sends requests to one URL, and counts them; a context manager.

    ConformanceError when the server cannot be reached or stays busy.
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
        # The certificates that nobody shows over plain HTTP would take longer to load than a check.
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
        """Return the answer; a server that is busy is asked again when it says so."""
        request = Request(document, variables or {})
        for _ in range(PATIENCE):
            response = await self._post(request)
            if response.status_code not in BUSY:
                return _answer(request, response)
            await asyncio.sleep(_pause(response))
        raise ConformanceError(
            f"{self.url} answers {response.status_code}, also after {PATIENCE} attempts: lift its "
            "limits for this client and run again."
        )

    async def _post(self, request: Request) -> httpx.Response:
        self.requests += 1
        try:
            return await self._client.post(self.url, json=request.body)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise ConformanceError(
                f"{self.url} does not answer ({reason}): check that the server runs and that the "
                "URL is its GraphQL endpoint, such as http://127.0.0.1:8000/graphql."
            ) from error


def _pause(response: httpx.Response) -> float:
    """Return the seconds that a busy server asks for; 1 unless it says so in seconds."""
    asked = response.headers.get("Retry-After", "")
    return min(float(asked), LONGEST_PAUSE) if asked.isdecimal() else 1.0


def _answer(request: Request, response: httpx.Response) -> Answer:
    try:
        body = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        body = None
    if not isinstance(body, dict) or not {"data", "errors"} & body.keys():
        said = response.text[:SHOWN].strip() or "nothing"
        return Answer(request, response.status_code, None, (f"No GraphQL answer, but: {said}",))
    errors = tuple(_message(error) for error in body.get("errors") or ())
    return Answer(request, response.status_code, body.get("data"), errors)


def _message(error: Any) -> str:
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)
