"""Every metric that a server or follower shows."""

from docs_site.markdown import table
from server.observability.declared import METRICS

_HEADING = ("metric", "kind", "labels", "what it is")


def metrics_page() -> str:
    """Return the page of all metrics, in the order of their declaration."""
    rows = [
        (f"`{one.shown}`", one.kind, ", ".join(f"`{label}`" for label in one.labels), one.text)
        for one in METRICS
    ]
    lines = [
        "# Metrics",
        "",
        "What `--metrics-port` shows to Prometheus. [Monitoring](../monitoring.md) says how to",
        "turn it on and what to look at; the dashboard and the alert rules go by these names.",
        "",
        *table(_HEADING, rows),
        "",
    ]
    return "\n".join(lines)
