"""A worker's server in this process: what its last answers say, as it is replaced or ends."""

import asyncio
import socket
from contextlib import suppress

import pytest

from server.http.connections import Connection
from server.settings import Settings
from server.workers.channel import CONNECTION, READY, STOPPING, receive, send, send_connection
from server.workers.worker import _WorkerServer
from tests.server.http.listening import GET, Client, Echo


async def told(channel: socket.socket) -> tuple[bytes, socket.socket | None]:
    """Return what a worker says next."""
    async with asyncio.timeout(60):
        while True:
            with suppress(BlockingIOError):
                return receive(channel)
            await asyncio.sleep(0.005)


def connected() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a connection; one without addresses counts as a client that left."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        far = socket.create_connection(listener.getsockname())
        return far, listener.accept()[0]


@pytest.mark.parametrize("stopping", [False, True])
async def test_a_connection_is_given_back_or_said_to_close(*, stopping: bool) -> None:
    """It goes on elsewhere while workers are replaced, and nowhere once all of them end."""
    app = Echo()
    app.held.clear()
    (channel, theirs), (far, near) = socket.socketpair(), connected()
    with channel, near:
        channel.setblocking(False)
        theirs.setblocking(False)
        server = _WorkerServer(app, Settings(), theirs)
        serving = asyncio.create_task(server.serve(sockets=[theirs]))
        assert await told(channel) == (READY, None)
        send_connection(channel, near.fileno())
        client = Client(*await asyncio.open_connection(sock=far))
        client.writer.write(GET)
        async with asyncio.timeout(60):
            await app.serving.wait()
        if stopping:
            send(channel, STOPPING)
        channel.shutdown(socket.SHUT_WR)
        (connection,) = server.server_state.connections
        assert isinstance(connection, Connection)
        async with asyncio.timeout(60):
            while server._connections.give_back is None and connection.cycle.keep_alive:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        app.held.set()
        assert await client.answer() == (200, "/page:")
        assert ("connection: close" in client.head) is stopping
        if not stopping:
            said, given_back = await told(channel)
            assert said == CONNECTION
            assert given_back is not None
            given_back.close()
        async with asyncio.timeout(60):
            await serving
        near.close()
        assert await client.rest() == b""
        client.writer.close()
        theirs.close()
