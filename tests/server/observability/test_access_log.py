"""The access log: one line for each request in both formats, without data about the user."""

from io import StringIO

import orjson

from dal.dynamodb.table import Table
from server.logs import LogFormat
from server.observability.access_log import AccessLog
from server.observability.signals import Signals
from tests.server.observability.observed import client_of

PAGE = 'query Page { product(productId: "42") { comments(first: 3) { nodes { commentId } } } }'


async def logged(table: Table, log_format: LogFormat) -> list[str]:
    """Return the log lines of four requests."""
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
    return stream.getvalue().splitlines()


async def test_a_line_of_the_access_log_is_json(table: Table) -> None:
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


async def test_a_line_of_the_access_log_is_text(table: Table) -> None:
    lines = await logged(table, "text")
    assert len(lines) == 4
    assert " INFO [abc] POST /graphql 200 milliseconds=" in lines[1]
    assert lines[3].split(" ", 4)[4].startswith("GET /no%0Awhere 404 ")
    assert not any("secret" in line or "somebody" in line for line in lines)


class Pipe(StringIO):
    """A stream that records each write separately."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def write(self, piece: str) -> int:
        self.pieces.append(piece)
        return len(piece)


def test_each_line_of_the_access_log_is_one_write() -> None:
    """Workers share a pipe, so another worker's line could come between two writes."""
    pipe = Pipe()
    log = AccessLog("json", pipe)
    for number in range(3):
        log.add({"path": "/\u00e9", "number": number})
    assert all(piece.endswith("\n") for piece in pipe.pieces)
    assert [orjson.loads(piece)["number"] for piece in pipe.pieces] == [0, 1, 2]
