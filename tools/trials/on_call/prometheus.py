"""Runs Prometheus with the documented configuration, and notes which alerts fire when."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import yaml

from tests.engines import ROOT, prometheus

_DOCUMENTED = re.compile(r"```yaml\n(global:.+?)```", re.DOTALL)


@dataclass
class Firing:
    """An alert of one server that fires, or fired."""

    server: str
    alert: str
    severity: str
    since: float
    until: float | None = None


@dataclass
class Prometheus:
    """A running Prometheus. Times are those of ``time.monotonic``."""

    client: httpx.AsyncClient
    firings: list[Firing] = field(default_factory=list)

    async def watch(self) -> None:
        """Note every second which alerts fire, until cancelled."""
        while True:
            answer = await self.client.get("/api/v1/alerts")
            labels = [
                one["labels"] for one in answer.json()["data"]["alerts"] if one["state"] == "firing"
            ]
            now = {(one.get("instance", ""), one["alertname"]): one["severity"] for one in labels}
            for one in self.firings:
                if one.until is None and now.pop((one.server, one.alert), None) is None:
                    one.until = time.monotonic()
            for (server, alert), severity in now.items():
                self.firings.append(Firing(server, alert, severity, time.monotonic()))
            await asyncio.sleep(1)

    def firing(self, server: str) -> set[str]:
        """Return the alerts of a server that fire now."""
        return {one.alert for one in self.firings if one.server == server and one.until is None}

    async def quiet(self, server: str, before: set[str], seconds: float) -> None:
        """Wait until no alerts of a server fire except those of ``before``, or some seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.firing(server) - before:  # noqa: ASYNC110 - Prometheus has no events
                    await asyncio.sleep(1)

    async def empty_panels(self) -> list[str]:
        """Return the titles of the dashboard's panels with a query that returns no series."""
        dashboard = json.loads((ROOT / "deploy/grafana/marginalia.json").read_text("utf-8"))
        empty = []
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                query = target["expr"].replace("$instance", ".*").replace("$__range", "15m")
                query = query.replace("$__rate_interval", "1m")
                answer = await self.client.get("/api/v1/query", params={"query": query})
                answer.raise_for_status()
                if not answer.json()["data"]["result"]:
                    empty.append(panel["title"])
        return empty


@asynccontextmanager
async def watching(folder: Path, servers: Mapping[str, str]) -> AsyncIterator[Prometheus]:
    """Run Prometheus until the block ends. ``servers`` are the addresses of metrics by name."""
    documented = _DOCUMENTED.search((ROOT / "docs/monitoring.md").read_text("utf-8"))
    assert documented is not None
    config = yaml.safe_load(documented[1])
    config["rule_files"] = [str(ROOT / one) for one in config["rule_files"]]
    (scraped,) = config["scrape_configs"]
    scraped["static_configs"] = list(_targets(servers))
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(config))
    with prometheus(file) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            running = Prometheus(client)
            task = asyncio.create_task(running.watch())
            try:
                yield running
            finally:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


def _targets(servers: Mapping[str, str]) -> Iterator[dict[str, object]]:
    for name, url in servers.items():
        yield {"targets": [urlsplit(url).netloc], "labels": {"instance": name}}
