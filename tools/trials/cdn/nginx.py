"""Runs nginx with ``deploy/nginx.conf`` in front of a server. Each nginx has its own store."""

import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from server.local_engine.engine_process import free_port
from tests.deploy.nginx import PROGRAM, Ports, make_certificate, write_configuration

UNLIMITED = {"rate=100r/s": "rate=1000000r/s"}
"""A replacement in the file, because all clients of the trial have one address."""

CARELESS = UNLIMITED | {
    "proxy_cache_bypass $http_authorization $http_cookie $marginalia_connection;": (
        "proxy_ignore_headers Cache-Control Vary;"
    ),
    "proxy_no_cache     $http_authorization $http_cookie $marginalia_connection;": (
        "proxy_cache_valid 200 1m;"
    ),
}
"""Replacements that store every response. They show that the search finds private data."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that listens at ``url`` and ``plain_url``, and keeps responses in ``store``."""

    url: str
    plain_url: str
    """The address without TLS."""
    store: Path
    tls: ssl.SSLContext
    """Accepts only the proxy's certificate."""

    def kept(self) -> list[bytes]:
        """Return the contents of the files in the store: responses with their headers."""
        return [file.read_bytes() for file in self.store.rglob("*") if file.is_file()]

    def client(self, address: str = "127.0.0.1", **headers: str) -> httpx.Client:
        """Return a client with this address."""
        transport = httpx.HTTPTransport(verify=self.tls, local_address=address)
        return httpx.Client(base_url=self.url, transport=transport, headers=headers, timeout=30)


@contextmanager
def proxied(directory: Path, url: str, changes: Mapping[str, str]) -> Iterator[Proxy]:
    """Run nginx in front of ``url`` until the ``with`` block ends.

    ``changes`` are replacements in the file. The second server of the file is never reachable.
    """
    if PROGRAM is None:
        sys.exit("This trial needs nginx: on Debian, 'apt-get install nginx-light'.")
    directory.mkdir()
    make_certificate(directory)
    ports = Ports(free_port(), free_port())
    with socket.socket() as unreachable:
        unreachable.bind(("127.0.0.1", 0))
        servers = urlsplit(url).netloc, f"127.0.0.1:{unreachable.getsockname()[1]}"
        command = write_configuration(directory, servers, ports, changes)
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as one:
            try:
                _wait_for(ports.https)
                yield Proxy(
                    url=f"https://127.0.0.1:{ports.https}",
                    plain_url=f"http://127.0.0.1:{ports.http}",
                    store=directory / "store",
                    tls=ssl.create_default_context(cafile=directory / "tls/fullchain.pem"),
                )
            finally:
                one.terminate()


def _wait_for(port: int) -> None:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    sys.exit("nginx did not start.")
