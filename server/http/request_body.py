"""Bodies of requests, read no further than the most that is taken."""

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from dal.limits import MAX_BODY


async def read_body(receive: Receive) -> bytes:
    """Return the whole body; HTTPException 413 when it is too large."""
    body = b""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BODY:
            raise HTTPException(
                413,
                f"The body is larger than {MAX_BODY:,} bytes.",
                {"Connection": "close"},  # or the rest of the body would be read
            )
    return body
