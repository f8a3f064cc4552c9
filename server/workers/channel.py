"""What a worker and its parent tell each other, by a stream socket that carries connections too."""

import socket
from contextlib import suppress

READY = b"r"
"""A worker serves. It says so once."""

DRAINING = b"d"
"""A worker wants no more connections: it was told to end."""

STOPPING = b"s"
"""The parent takes no connection back: all of them end."""

CONNECTION = b"c"
"""A connection comes along: a new one for the worker, or an idle one that a worker gives back."""


def send_connection(channel: socket.socket, descriptor: int) -> None:
    """Send a connection; BlockingIOError while some hundred wait, OSError when nobody takes it."""
    socket.send_fds(channel, [CONNECTION], [descriptor])


def receive(channel: socket.socket) -> tuple[bytes, socket.socket | None]:
    """Return what the other end says next, b"" at its end, and the connection that came along."""
    said, descriptors, *_ = socket.recv_fds(channel, 1, 1)
    return said, socket.socket(fileno=descriptors[0]) if descriptors else None


def send(channel: socket.socket, said: bytes) -> None:
    """Say something to an end that may be gone."""
    with suppress(OSError):
        channel.send(said)
