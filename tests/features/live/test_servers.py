"""Subscriptions at a server that a command has started."""

import socket
import struct
from pathlib import Path
from urllib.parse import urlsplit

from features.live.subscriptions import MAX_PER_CLIENT
from tests.server.serving import served

LISTEN = (
    b"GET /graphql?query=subscription%7BcommentEvents(productId:%2242%22)%7Bkind%7D%7D HTTP/1.1\r\n"
    b"Host: localhost\r\nAccept: text/event-stream\r\n\r\n"
)


def test_a_request_of_a_client_that_has_left_is_cancelled(tmp_path: Path) -> None:
    """Otherwise streams of clients that have left would prevent new streams.

    One limit of the server is set by an option, and one by an environment variable.
    """
    with served(tmp_path, "--rate-limit", "off", MARGINALIA_REQUEST_TIMEOUT="1") as server:
        address = urlsplit(server.url)
        where = (str(address.hostname), address.port or 0)
        for number in range(6 * MAX_PER_CLIENT):
            with socket.create_connection(where, timeout=60) as client:
                without_a_word = struct.pack(
                    "ii", number % 2, 0
                )  # every second client closes with a reset
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, without_a_word)
                client.sendall(LISTEN)
        answer = b""
        # The server may still be closing the streams of the last clients.
        while b" 200 " not in answer:
            with socket.create_connection(where, timeout=60) as client:
                client.sendall(LISTEN)
                answer = client.recv(100)
        with socket.create_connection(where, timeout=60) as client:
            client.sendall(b"GET / HT")
            assert client.recv(100).startswith(b"HTTP/1.1 408 ")
        assert server.end() == (0, "")


def test_of_several_workers_without_redis_one_line_reports_it(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2") as server:
        code, errors = server.end()
    assert (code, errors.count("Live comments")) == (0, 1)
