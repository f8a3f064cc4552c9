"""What docs/monitoring.md shows: a scrape and a trace of a real run.

`python -m tests.server.observability.monitoring_page` starts a server with two workers, sends it
some requests, and writes its metrics and a trace into the page.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from server.engine.storage import open_table
from server.settings import Settings
from tests.bulk import fill
from tests.deploy.test_monitoring import every_metric
from tests.engines import ROOT
from tests.server.observability.collector import collecting
from tests.server.observability.comments import scarce
from tests.server.observability.observed import Node
from tests.server.serving import add_comment, served
from tests.server.workers.processes import clients_of

PAGE = ROOT / "docs/monitoring.md"

QUERY = """query ProductPage($rating: [Int!]) { product(productId: "42") {
  statistics { total } comments(rating: $rating, first: 5) { nodes { title } } } }"""

_HIDDEN = re.compile(r"^#|_bucket\{|_created")
_SHOWN = {
    "POST": ("http.response.status_code", "marginalia.read_units"),
    "plan": ("marginalia.plan.index", "marginalia.plan.estimated_read_units"),
    "segment": ("marginalia.segment.key", "marginalia.segment.rows"),
    "DynamoDB": ("aws.dynamodb.index_name", "aws.dynamodb.count", "marginalia.read_units"),
}


def _between(text: str, name: str, lines: Iterable[str]) -> str:
    made = "\n".join(["", *lines, ""])
    marks = re.compile(rf"(<!-- {name} -->).*?(<!-- end of {name} -->)", re.DOTALL)
    assert marks.search(text)
    return marks.sub(lambda found: found[1] + made + found[2], text)


def _metrics() -> Iterator[str]:
    yield "| metric | what it counts |"
    yield "|---|---|"
    for metric in every_metric():
        (family,) = metric.describe()
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield f"| `{name}` | {family.documentation} |"


def _tree(node: Node, depth: int = 0) -> Iterator[str]:
    chosen = _SHOWN.get(node.name.split()[0], ())
    told = [
        f"{name.rpartition('.')[2]}={_short(node.attributes[name])}"
        for name in chosen
        if node.attributes.get(name, "") != ""
    ]
    name = "  " * depth + node.name
    yield f"{name:<34} {node.attributes['milliseconds']:>7.2f} ms  {'  '.join(told)}".rstrip()
    for one in node.below:
        yield from _tree(one, depth + 1)


def _short(value: object) -> object:
    return f"{value:.3g}" if isinstance(value, float) else value


async def run(data_dir: Path) -> tuple[list[str], list[str]]:
    """Return the lines of a scrape and of a trace."""
    async with open_table(Settings(data_dir=data_dir), share=False) as table:
        await fill(table, scarce(160))
    options = (
        "--workers",
        "2",
        "--metrics-port",
        "0",
        "--rate-limit",
        "off",
        "--trace-sample",
        "1",
    )
    with (
        collecting() as collector,
        served(data_dir, *options, "--trace-url", collector.url) as server,
    ):
        found = re.search(r"Metrics +(\S+)", server.said)
        assert found is not None
        async with clients_of(server, 2) as (one, other):
            for client, rating in ((one, None), (other, [1, 5]), (other, [1, 5]), (one, [5])):
                body = {"query": QUERY, "variables": {"rating": rating}}
                await client.post("/graphql", json=body)
            for number in range(3):
                await add_comment(one, f"{number}")
            await other.post("/graphql", json={"query": "{ nope }"})
            scrape = (await one.get(found[1])).text
        server.end()
    shown = [line for line in scrape.splitlines() if not _HIDDEN.match(line) and line]
    shown = [line for line in shown if not _HIDDEN.search(line)]
    traces = [one for one in collector.traces() if "query ProductPage" in one.lines()[1]]
    return shown, list(_tree(traces[2]))


def main() -> None:
    """Write the page."""
    with TemporaryDirectory() as directory:
        scrape, trace = asyncio.run(run(Path(directory)))
    text = _between(PAGE.read_text("utf-8"), "scrape", ["```", *scrape, "```"])
    text = _between(text, "metrics", ["", *_metrics(), ""])
    text = _between(text, "trace", ["```", *trace, "```"])
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
