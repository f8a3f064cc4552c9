"""A deadline for each request, and the end of its work when its client leaves."""

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dal.table.deadline import Deadline, deadline


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
        presence = asyncio.timeout(None)  # its "time" is up when the client leaves
        client = _Client(
            receive,
            asked=lambda: end.restart(self._seconds),
            left=lambda: presence.reschedule(asyncio.get_running_loop().time()),
        )
        try:
            with deadline(end):
                async with presence:
                    try:
                        await self._app(scope, client.receive, send)
                    finally:
                        client.forget()
        except TimeoutError:
            if not presence.expired():
                raise


class _Client:
    """Passes a request's messages on, and goes on listening once the request is whole.

    ``asked`` is called when the request is whole, for how long its body took is no work of ours;
    ``left`` when the client hangs up after that.
    """

    def __init__(
        self, receive: Receive, *, asked: Callable[[], None], left: Callable[[], None]
    ) -> None:
        self._receive = receive
        self._asked = asked
        self._left = left
        self._listening: asyncio.Task[Message] | None = None

    async def receive(self) -> Message:
        """Return the next message, as a server's ``receive`` does."""
        if self._listening is not None:
            return await asyncio.shield(self._listening)
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._asked()
            self._listening = asyncio.create_task(self._listen())
        return message

    def forget(self) -> None:
        """Listen no longer: the request has been answered."""
        if self._listening is not None:
            self._listening.cancel()

    async def _listen(self) -> Message:
        message = await self._receive()
        self._left()
        return message
