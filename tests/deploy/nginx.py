"""nginx's configuration from ``deploy/nginx.conf``, with other addresses and paths."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.docs.markdown import fences
from tests.engines import ROOT

FILE = ROOT / "deploy/nginx.conf"
PROGRAM = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
"""nginx, or None if it is not installed. Debian's package ``nginx-light`` has it."""

_AROUND = """
{user}
daemon off;
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log;
events {{ worker_connections 1024; }}
http {{
access_log off;
{temporary}
{file}
}}
"""
"""The rest of nginx's configuration. nginx includes the file in the block ``http``."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports at which nginx listens."""

    http: int
    https: int


def make_certificate(directory: Path) -> None:
    """Write a certificate into ``directory/tls`` with the command in docs/containers.md."""
    page = (ROOT / "docs/containers.md").read_text("utf-8")
    (command,) = [one.text for one in fences(page) if "openssl req" in one.text]
    subprocess.run(["sh", "-ec", command], cwd=directory, capture_output=True, check=True)


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """Return ``text`` with all changes. Raise ValueError for a change that does not fit once."""
    for old, new in changes.items():
        if text.count(old) != 1:
            raise ValueError(f"{old!r} is in the file {text.count(old)} times")
        text = text.replace(old, new)
    return text


def write_configuration(
    directory: Path, servers: tuple[str, str], ports: Ports, changes: Mapping[str, str]
) -> list[str]:
    """Write the configuration into ``directory``. Return the command that runs nginx with it.

    ``servers`` are the addresses of the two servers. ``changes`` are further replacements.
    """
    assert PROGRAM is not None
    text = replaced(
        FILE.read_text("utf-8"),
        {
            "server-1:8000": servers[0],
            "server-2:8000": servers[1],
            "listen 80;": f"listen 127.0.0.1:{ports.http};",
            "listen [::]:80;": "",
            "listen 443 ssl http2;": f"listen 127.0.0.1:{ports.https} ssl http2;",
            "listen [::]:443 ssl http2;": "",
            "/var/cache/marginalia": f"{directory}/store",
            "/etc/nginx/tls/fullchain.pem": f"{directory}/tls/fullchain.pem",
            "/etc/nginx/tls/key.pem": f"{directory}/tls/key.pem",
        }
        | dict(changes),
    )
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    path = directory / "nginx.conf"
    path.write_text(
        _AROUND.format(
            # nginx's workers must reach the directory.
            user="user root;" if os.geteuid() == 0 else "",
            directory=directory,
            temporary=" ".join(f"{kind}_temp_path {directory}/{kind};" for kind in kinds),
            file=text,
        ),
        "utf-8",
    )
    return [PROGRAM, "-e", "stderr", "-p", str(directory), "-c", str(path)]
