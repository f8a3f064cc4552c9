"""Runs nginx as a caching proxy in front of a server. Each nginx has its own store."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from server.local_engine.engine_process import free_port

_CONFIGURATION = """
{user}
daemon off;
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  {temporary}
  proxy_cache_path {directory}/store levels=1:2 keys_zone=pages:4m max_size=64m use_temp_path=off;
  upstream marginalia {{ server {upstream}; keepalive 16; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://marginalia;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_cache pages;
      proxy_cache_lock on;
      proxy_cache_revalidate on;
      proxy_cache_use_stale updating;
      proxy_cache_background_update on;
      {careless}
      add_header X-Cache $upstream_cache_status always;
    }}
  }}
}}
"""

_CARELESS = "proxy_ignore_headers Cache-Control Vary; proxy_cache_valid 200 1m;"
"""A wrong configuration, which shows that the search finds private data."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that listens at ``url`` and keeps responses in ``store``."""

    url: str
    store: Path

    def kept(self) -> list[bytes]:
        """Return the contents of the files in the store: responses with their headers."""
        return [file.read_bytes() for file in self.store.rglob("*") if file.is_file()]


@contextmanager
def proxied(directory: Path, url: str, *, careless: bool = False) -> Iterator[Proxy]:
    """Run nginx in front of ``url`` until the ``with`` block ends.

    If ``careless``, nginx stores every response.
    """
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        sys.exit("This trial needs nginx: on Debian, 'apt-get install nginx-light'.")
    directory.mkdir()
    port = free_port()
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    configuration = _CONFIGURATION.format(
        user="user root;" if os.geteuid() == 0 else "",
        directory=directory,
        temporary=" ".join(f"{kind}_temp_path {directory}/{kind};" for kind in kinds),
        upstream=urlsplit(url).netloc,
        port=port,
        careless=_CARELESS if careless else "",
    )
    file = directory / "nginx.conf"
    file.write_text(configuration)
    with subprocess.Popen([program, "-p", directory, "-c", file], stderr=subprocess.DEVNULL) as one:
        try:
            _wait_for(port)
            yield Proxy(f"http://127.0.0.1:{port}", directory / "store")
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
