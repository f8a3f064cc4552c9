"""The line-up: the chosen servers, started, each with the words it is asked in."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import orjson

from dal.model import Comment
from tools.bench.speed import servers
from tools.bench.speed.comparison import Contestant, Outcome
from tools.bench.speed.dialects import CommentsApi, Dialect, PostGraphileApi
from tools.bench.speed.generator import fetch
from tools.bench.speed.loads import LARGEST, PageAsked
from tools.bench.speed.measurement import Subject
from tools.bench.speed.place import Place
from tools.bench.speed.postgres import Database, database
from tools.bench.speed.servers import Node, Server, versions

MARGINALIA = "marginalia"
OTHER = "other"
YOGA = "yoga"
POSTGRAPHILE = "postgraphile"
PLAIN = "plain"
WORKERS = "workers"
OBSERVED = "observed"
NAMES = (MARGINALIA, OTHER, YOGA, POSTGRAPHILE, PLAIN, WORKERS, OBSERVED)

_METRICS = ("--metrics-port", "0")
_TRACES = ("--trace-url", "http://127.0.0.1:9")
"""Nothing listens there; the server makes its traces all the same."""

_OBSERVED = {
    "Marginalia, with metrics": _METRICS,
    "Marginalia, with traces": _TRACES,
    "Marginalia, with both": (*_METRICS, *_TRACES),
    "Marginalia, with all": (*_METRICS, *_TRACES, "--access-log", "--log-format", "json"),
    "Marginalia, every trace": (*_METRICS, *_TRACES, "--trace-sample", "1"),
}
"""What a server reports, by the options of docs/monitoring.md."""

_PROCESSES = 2
_PAIRED = ("mixed",)
"""The loads of two processes."""


@asynccontextmanager
async def line_up(
    names: Sequence[str], place: Place, comments: Iterable[Comment], outcome: Outcome
) -> AsyncIterator[list[Contestant]]:
    """Run the named servers until the block ends; the outcome gets their versions."""
    async with AsyncExitStack() as stack:
        held: Database | None = None
        if {POSTGRAPHILE, WORKERS} & set(names):
            held = stack.enter_context(database(comments))
        node = servers.find_node() if {YOGA, POSTGRAPHILE, WORKERS} & set(names) else None
        outcome.versions = versions(held.version if held else None, node)
        contestants = []
        for server, dialect in _servers(names, place, held, node):
            running = await stack.enter_async_context(servers.running(server))
            if dialect is None:
                dialect = PostGraphileApi(await _cursor(running.url))  # noqa: PLW2901
            over = (
                place.engine_pid if isinstance(dialect, CommentsApi) or held is None else held.pid
            )
            subject = Subject(server.name, server.title, running.pid, over)
            only = _PAIRED if server.name.endswith(f"-{_PROCESSES}") else None
            contestants.append(Contestant(subject, running.url, dialect, running.start, only))
        yield contestants


def _servers(
    names: Sequence[str], place: Place, held: Database | None, node: Node | None
) -> list[tuple[Server, Dialect | None]]:
    """Return the servers with their dialects, None where it is learnt from the server."""
    found: list[tuple[Server, Dialect | None]] = []
    if MARGINALIA in names:
        found.append((_marginalia(place, MARGINALIA, "Marginalia", place.program), _own()))
    if OBSERVED in names:
        for title, options in _OBSERVED.items():
            name = f"{OBSERVED}-{title.rpartition(' ')[2]}"
            found.append((_marginalia(place, name, title, place.program, *options), _own()))
    if OTHER in names and place.other is not None:
        found.append((_marginalia(place, OTHER, "Other", place.other), _own()))
    if node is not None and YOGA in names:
        dialect = CommentsApi(YOGA, own_cursors=False, writes=True, counts_cost=True)
        found.append((servers.yoga(node.program, place.endpoint_url, place.table), dialect))
    if PLAIN in names:
        dialect = CommentsApi(PLAIN, own_cursors=False, writes=False)
        found.append((servers.plain(place.endpoint_url, place.table), dialect))
    if held is not None and node is not None:
        if POSTGRAPHILE in names:
            found.append((servers.postgraphile(node.program, held.url), None))
        if WORKERS in names:
            found += _pairs(place, held, node)
    return found


def _pairs(place: Place, held: Database, node: Node) -> list[tuple[Server, Dialect | None]]:
    """Return the servers of two processes."""
    found: list[tuple[Server, Dialect | None]] = []
    if servers.has_option(place.program, "--workers"):
        name, title = f"{MARGINALIA}-{_PROCESSES}", f"Marginalia, {_PROCESSES} processes"
        options = ("--workers", str(_PROCESSES))
        found.append((_marginalia(place, name, title, place.program, *options), _own()))
    found.append((servers.postgraphile(node.program, held.url, _PROCESSES), None))
    return found


def _marginalia(place: Place, name: str, title: str, program: Path, *options: str) -> Server:
    where = ["--endpoint-url", place.endpoint_url, "--table", place.table]
    where += ["--data-dir", str(place.data_dir), "--jwt-secret", place.secret]
    return servers.marginalia(name, title, program, where, *options)


def _own() -> CommentsApi:
    return CommentsApi(MARGINALIA, own_cursors=True, writes=True, pages=True, tells_cost=True)


async def _cursor(url: str) -> str:
    """Return any cursor of PostGraphile's list."""
    body = PostGraphileApi("").body(PageAsked(LARGEST))
    answer = await fetch(url, "/graphql", orjson.dumps(body))
    return str(orjson.loads(answer.body)["data"]["allComments"]["pageInfo"]["endCursor"])
