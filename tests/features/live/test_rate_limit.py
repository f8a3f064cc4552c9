"""Each message of a WebSocket counts as a request."""

from contextlib import suppress

from websockets.exceptions import ConnectionClosed

from dal.dynamodb.table import Table
from server.http.admission import TOO_MANY_MESSAGES
from server.settings import Settings
from tests.features.live.subscribing import heard, say, socket
from tests.schema.documents import chain
from tests.server.http.listening import listening
from tests.server.http.test_rate_limit import whole


async def test_a_websocket_client_that_sends_many_new_documents_is_disconnected(
    table: Table,
) -> None:
    forwarded = {"X-Forwarded-For": "203.0.113.9"}
    async with listening(whole(table), Settings()) as port:
        url = f"http://127.0.0.1:{port}"
        async with socket(url, additional_headers=forwarded) as connection:
            asked = 0
            with suppress(ConnectionClosed):
                for asked in range(60):
                    payload = {"query": chain(60, f"WebSocket {asked}")}
                    await say(connection, type="subscribe", id="1", payload=payload)
                    assert (await heard(connection))["type"] == "error"
            assert connection.close_code == TOO_MANY_MESSAGES
            assert asked < 50
