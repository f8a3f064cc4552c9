"""Runs a temporary PostgreSQL server of this machine, whose only table has the comments."""

import csv
import io
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dal.model import Comment
from server.errors import CommandError
from server.local_engine.engine_process import free_port
from tools.bench.speed.processes import stop

_DEBIAN = Path("/usr/lib/postgresql")
_USER = "postgres"
_START_SECONDS = 30.0

_SCHEMA = """
CREATE TABLE comments (
  id text PRIMARY KEY, product_id text NOT NULL, username text NOT NULL, rating int NOT NULL,
  language text NOT NULL, title text NOT NULL, text text NOT NULL, created_at timestamptz NOT NULL
);
COPY comments FROM stdin CSV;
"""
_INDEXES = """
CREATE INDEX ON comments (product_id, created_at DESC, id DESC);
CREATE INDEX ON comments (product_id, rating, created_at DESC, id DESC);
CREATE INDEX ON comments (product_id, language, created_at DESC, id DESC);
"""


@dataclass(frozen=True, slots=True)
class Database:
    """A PostgreSQL that listens on ``url``."""

    url: str
    pid: int
    version: str


@contextmanager
def database(comments: Iterable[Comment]) -> Iterator[Database]:
    """In the ``with`` block, run a PostgreSQL that has the comments."""
    programs, user = _programs(), _user()
    port = free_port()
    with TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        if user is not None:
            shutil.chown(directory, user)
        cluster = f"{directory}/cluster"
        options = ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", f"--username={_USER}"]
        _run(programs / "initdb", "--pgdata", cluster, *options, user=user)
        settings = ("listen_addresses=127.0.0.1", "unix_socket_directories=", f"port={port}")
        process = subprocess.Popen(  # noqa: S603 - a program of this machine
            [programs / "postgres", "-D", cluster, *(f"-c{setting}" for setting in settings)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            process_group=0,
            **_as(user),
        )
        try:
            url = f"postgres://{_USER}@127.0.0.1:{port}/postgres"
            _wait(programs, port, process)
            rows = f"{_SCHEMA}{_csv(comments)}\\.\n{_INDEXES}"
            _run(programs / "psql", "--quiet", "--set=ON_ERROR_STOP=1", url, given=rows)
            _run(programs / "psql", "--quiet", url, "--command=VACUUM ANALYZE comments")
            version = _run(programs / "postgres", "--version")
            yield Database(url, process.pid, version.split()[2])
        finally:
            stop(process, signal.SIGINT)


def _programs() -> Path:
    """Return the directory of the newest PostgreSQL. Raise CommandError if there is none."""
    found = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        raise CommandError(
            "PostgreSQL is not installed: run `apt-get install postgresql`, or leave postgraphile "
            "and workers out of --servers."
        )
    return (found[-1] if found else Path(str(on_path))).parent


def _user() -> str | None:
    """Return the user who must run PostgreSQL; None for the current user.

    PostgreSQL refuses to run as root.
    """
    if os.geteuid():
        return None
    try:
        pwd.getpwnam(_USER)
    except KeyError:
        raise CommandError(
            f"PostgreSQL does not run as root, and the user {_USER} does not exist: run as a "
            "user other than root."
        ) from None
    return _USER


def _wait(programs: Path, port: int, process: subprocess.Popen[bytes]) -> None:
    place = ("--host=127.0.0.1", f"--port={port}")
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with suppress(CommandError):
            _run(programs / "pg_isready", *place)
            return
        time.sleep(0.1)
    raise CommandError(
        f"PostgreSQL does not answer on port {port}: check whether another program uses the port."
    )


def _run(program: Path, *arguments: str, user: str | None = None, given: str = "") -> str:
    done: subprocess.CompletedProcess[bytes] = subprocess.run(  # noqa: S603 - a program of this machine
        [program, *arguments],
        input=given.encode(),
        capture_output=True,
        cwd="/",
        check=False,
        **_as(user),
    )
    if done.returncode:
        reason = " ".join(done.stderr.decode().split())[-300:]
        raise CommandError(f"PostgreSQL's {program.name} has failed: {reason}")
    return done.stdout.decode()


def _as(user: str | None) -> dict[str, Any]:
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


def _csv(comments: Iterable[Comment]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for one in comments:
        values = (one.comment_id, one.product_id, one.username, one.rating, one.language)
        writer.writerow([*values, one.title, one.text, one.created_at.isoformat()])
    return text.getvalue()
