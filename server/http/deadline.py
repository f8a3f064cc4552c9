"""A deadline for each request, and the end of its work when its client leaves."""

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dal.deadline import Deadline, deadline

LEFT = "marginalia.left"
"""The extension that takes what to call when the client leaves, or None. A second ``receive`` would
tell that too, but needs a task of its own for every request."""


class DeadlineMiddleware:
    """Runs each request inside a deadline of some seconds, as long as its client is there."""

    def __init__(self, app: ASGIApp, *, seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; one whose client hung up ends without an answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        end = Deadline()
        end.restart(self._seconds)

        async def restarting_receive() -> Message:
            """How long the body took is no work of ours."""
            message = await receive()
            end.restart(self._seconds)
            return message

        presence = asyncio.timeout(None)  # its "time" is up when the client leaves
        on_leaving = scope.get("extensions", {}).get(LEFT, _no_connection)
        try:
            with deadline(end):
                async with presence:
                    on_leaving(lambda: presence.reschedule(0))
                    try:
                        await self._app(scope, restarting_receive, send)
                    finally:
                        on_leaving(None)
        except TimeoutError:
            if not presence.expired():
                raise


def _no_connection(_: Callable[[], None] | None) -> None:
    """Stand in where no connection says when its client leaves."""
