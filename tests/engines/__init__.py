"""The database engines that tests run, each as a process on a free loopback port."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from server.local_engine.engine_process import free_port
from server.local_engine.program import engine_binary

ROOT = Path(__file__).parents[2]
DYNOXIDE = engine_binary()
MINISTACK = ROOT / ".venv/engines/bin/ministack"

SECOND_IN_SOAK = pytest.mark.parametrize(
    "each_table",
    ["dynoxide_url", pytest.param("ministack_url", marks=pytest.mark.soak)],
    indirect=True,
)
"""Marks a test with equal results on two engines: only `make soak` runs it on ministack too."""


@contextlib.contextmanager
def dynoxide(*arguments: str) -> Iterator[str]:
    port = free_port()
    command = [str(DYNOXIDE), "serve", "--host", "127.0.0.1", "--port", str(port), *arguments]
    with _running(command, port, {}) as url:
        yield url


@contextlib.contextmanager
def ministack(services: str = "dynamodb,dynamodbstreams") -> Iterator[str]:
    port = free_port()
    settings = {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "SERVICES": services,
    }
    with _running([str(MINISTACK)], port, settings) as url:
        yield url


CLICKHOUSE = shutil.which("clickhouse-server", path="/usr/bin:/usr/sbin:/usr/local/bin")
"""Debian's ClickHouse server. Without it, the tests of ClickHouse are skipped."""

_CLICKHOUSE_CONFIG = """<yandex>
  <logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
  <http_port>{port}</http_port><tcp_port>{tcp_port}</tcp_port><listen_host>127.0.0.1</listen_host>
  <path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path>
  <mark_cache_size>5368709</mark_cache_size><timezone>America/New_York</timezone>
  <users_config>{folder}/users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
</yandex>
"""
_CLICKHOUSE_USERS = """<yandex>
  <profiles><default/></profiles><quotas><default/></quotas>
  <users><default>
    <password></password><networks><ip>127.0.0.1</ip></networks>
    <profile>default</profile><quota>default</quota>
  </default></users>
</yandex>
"""


@contextlib.contextmanager
def clickhouse(folder: Path) -> Iterator[str]:
    """Run ClickHouse with its files in ``folder``. Its time zone is not UTC."""
    assert CLICKHOUSE is not None
    port = free_port()
    config = _CLICKHOUSE_CONFIG.format(folder=folder, port=port, tcp_port=free_port())
    (folder / "config.xml").write_text(config)
    (folder / "users.xml").write_text(_CLICKHOUSE_USERS)
    with _running([CLICKHOUSE, "--config-file", str(folder / "config.xml")], port, {}) as url:
        yield url


PROMETHEUS = shutil.which("prometheus")


@contextlib.contextmanager
def prometheus(config: Path) -> Iterator[str]:
    """Run Prometheus with its series in the folder of its configuration."""
    assert PROMETHEUS is not None
    port = free_port()
    command = [
        PROMETHEUS,
        f"--config.file={config}",
        f"--storage.tsdb.path={config.parent / 'series'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with _running(command, port, {}) as url:
        yield url


@contextlib.contextmanager
def _running(command: Sequence[str], port: int, settings: Mapping[str, str]) -> Iterator[str]:
    with subprocess.Popen(
        command,
        env={**os.environ, **settings},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            await_listening(process, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def await_listening(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 10):
            return
        time.sleep(0.02)
    raise RuntimeError(f"{process.args!r} did not listen within 60 seconds")
