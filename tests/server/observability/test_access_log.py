"""The access log: a line a request, in either format, with nothing of whoever asks in it."""

from io import StringIO
from select import PIPE_BUF

import orjson
import pytest

from dal.client.table import Table
from server.logs import LogFormat
from server.observability import access_log
from server.observability.access_log import AccessLog
from server.observability.signals import Signals
from tests.server.observability.observed import client_of


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, the test itself has the lines written."""
    monkeypatch.setattr(access_log, "EVERY", 3_600)


PAGE = 'query Page { product(productId: "42") { comments(first: 3) { nodes { commentId } } } }'


async def logged(table: Table, log_format: LogFormat) -> list[str]:
    """Return the lines of four requests."""
    stream = StringIO()
    log = AccessLog(log_format, stream)
    headers = {"X-Request-ID": "abc", "Authorization": "Bearer secret"}
    async with client_of(table, Signals(access_log=log), headers=headers) as client:
        await client.get("/graphql", params={"query": '{ comments(of: "somebody") }'})
        headers.clear()
        client.headers.pop("Authorization")
        await client.post("/graphql", json={"query": PAGE})
        await client.post("/graphql", json={"query": "{ nope }"})
        await client.get("/no%0Awhere")
    assert stream.getvalue() == ""  # they are written together
    log.flush()
    return stream.getvalue().splitlines()


async def test_json(table: Table) -> None:
    refused, page, wrong, nowhere = map(orjson.loads, await logged(table, "json"))
    assert page.keys() == {
        *("level", "logger", "time", "method", "path", "status", "request_id", "milliseconds"),
        *("bytes", "route", "operation", "dynamodb_requests", "rcu", "wcu"),
    }
    assert page["operation"] == ["Page"]
    assert (page["request_id"], page["status"], page["route"]) == ("abc", "200", "graphql")
    assert page["rcu"] > 0
    assert wrong["errors"] == ["BAD_REQUEST"]
    assert (nowhere["path"], nowhere["status"], nowhere["route"]) == ("/no\nwhere", "404", "other")
    assert refused["status"] == "401"
    assert "somebody" not in str(refused)


async def test_text(table: Table) -> None:
    lines = await logged(table, "text")
    assert len(lines) == 4
    assert " INFO [abc] POST /graphql 200 milliseconds=" in lines[1]
    assert lines[3].split(" ", 4)[4].startswith("GET /no%0Awhere 404 ")
    assert not any("secret" in line or "somebody" in line for line in lines)


class Pipe(StringIO):
    """Keeps apart what is written at once."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def flush(self) -> None:
        self.pieces.append(self.getvalue())
        self.seek(0)
        self.truncate()


async def test_a_pipe_takes_each_write_undivided() -> None:
    """Workers share it: a longer write may be torn by another's."""
    pipe = Pipe()
    log = AccessLog("json", pipe)
    for number in range(40):
        log.add({"path": "/\u00e9" * 20, "number": number})
    log.flush()
    assert 1 < len(pipe.pieces) < 40
    for piece in pipe.pieces:
        assert piece.endswith("\n")
        assert len(piece.encode()) <= PIPE_BUF
    lines = [orjson.loads(line) for line in "".join(pipe.pieces).splitlines()]
    assert [line["number"] for line in lines] == list(range(40))
