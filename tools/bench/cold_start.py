"""Measures the cold start of the Lambda function for GraphQL, from its unpacked package.

``python3.13 tools/bench/cold_start.py build/function/package`` runs the package as Lambda does. The
environment names the table, as for ``marginalia serve``. The script prints the seconds of the
imports, of the first event and of the next events, and the most memory that the process used.
"""

import json
import resource
import sys
from importlib import import_module
from statistics import median
from time import perf_counter
from typing import Any

_QUERY = '{ product(productId: "1") { comments { nodes { id title } } statistics { total } } }'
_REQUEST = {"method": "POST", "path": "/graphql", "sourceIp": "127.0.0.1"}
_EVENT: dict[str, Any] = {
    "version": "2.0",
    "rawPath": "/graphql",
    "headers": {"content-type": "application/json"},
    "requestContext": {"http": _REQUEST},
    "body": json.dumps({"query": _QUERY}),
}
_NEXT = 50


def main() -> None:
    """Answer events, and print the figures."""
    sys.path[0] = sys.argv[1]
    start = perf_counter()
    handler = import_module("features.lambda_serving.handler").handler
    seconds = [perf_counter() - start]
    for _ in range(1 + _NEXT):
        start = perf_counter()
        answer = handler(_EVENT, None)
        seconds.append(perf_counter() - start)
        if "errors" in json.loads(answer["body"]):
            sys.exit(answer["body"])
    imports, first, *others = seconds
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(
        f"Python {sys.version.split()[0]}: imports {imports:.2f} s, first event {first:.2f} s, "
        f"next events {1000 * median(others):.1f} ms, at most {memory:.0f} MiB\n"
    )


if __name__ == "__main__":
    main()
