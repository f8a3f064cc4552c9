"""What a scrape shows: the states of one process or of several, summed up for Prometheus."""

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from operator import add

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from server.observability.declared import FAST, METRICS, Declared
from server.observability.metrics import Series

_DECLARED = {one.name: one for one in METRICS}

Found = dict[tuple[str, ...], list[float]]
"""The values of a metric by those of its labels."""


class StateCollector(Collector):
    """A collector of the Prometheus client over what ``states`` returns."""

    def __init__(self, states: Callable[[], Iterable[Series]]) -> None:
        self._states = states

    def describe(self) -> Iterable[Metric]:
        """Say nothing beforehand: nothing else is registered beside this."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield each metric that has a value, in the order of their declaration."""
        found: dict[str, Found] = {}
        for name, labels, values in self._states():
            of = found.setdefault(name, {})
            held = of.get(tuple(labels))
            if held is None:
                of[tuple(labels)] = list(values)
            else:
                merge = max if _DECLARED[name].across == "max" else add
                of[tuple(labels)] = list(map(merge, held, values))
        for metric in METRICS:
            if metric.name in found:
                yield _family(metric, found[metric.name])


def _family(metric: Declared, found: Found) -> Metric:
    if metric.kind == "histogram":
        histogram = HistogramMetricFamily(metric.name, metric.text, labels=metric.labels)
        for labels, values in found.items():
            bounds = [*map(str, FAST), "+Inf"]
            counts = accumulate(values[:-1])
            histogram.add_metric(labels, list(zip(bounds, counts, strict=True)), values[-1])
        return histogram
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(metric.name, metric.text, labels=metric.labels)
    for labels, values in found.items():
        family.add_metric(labels, values[0])
    return family
