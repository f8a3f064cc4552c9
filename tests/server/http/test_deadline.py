"""The deadline of a request, and timeouts that are not the deadline's."""

import httpx
from starlette.types import Receive, Scope, Send

from server.http.middleware import DeadlineMiddleware, FailureMiddleware


async def _timing_out(scope: Scope, receive: Receive, send: Send) -> None:
    raise TimeoutError


async def test_a_timeout_of_the_application_is_a_failure() -> None:
    app = FailureMiddleware(DeadlineMiddleware(_timing_out, seconds=10))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        answer = await client.get("/page")
    assert answer.status_code == 500
    assert answer.json()["errors"][0]["extensions"]["code"] == "INTERNAL"
