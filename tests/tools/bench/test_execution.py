"""The benchmark compares the results of compiled execution and graphql-core for each request."""

from typer.testing import CliRunner

from tools.bench.__main__ import app
from tools.bench.execution import DOCUMENTS


def test_compiled_and_plain_execution_answer_every_request() -> None:
    done = CliRunner().invoke(app, ["execution", "--rounds", "1", "--times", "1"])
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in DOCUMENTS)
