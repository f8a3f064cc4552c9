"""Events of API Gateway and of function URLs, in the form that AWS documents.

The files in ``events`` were written from AWS's documentation, not recorded in an account.
"""

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Event = dict[str, Any]

SOURCES = ("rest", "http", "url")
"""API Gateway's REST API (version 1 of events), its HTTP API (version 2), and a function URL."""


def event(
    source: str, method: str, url: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> Event:
    """Return the event that a source sends for a request."""
    made: Event = json.loads((Path(__file__).parent / f"events/{source}.json").read_text("utf-8"))
    parts = urlsplit(url)
    made["headers"] |= headers or {}
    if source == "rest":
        query = parse_qs(parts.query)
        made |= {"path": parts.path, "httpMethod": method}
        made["multiValueHeaders"] = {name: [value] for name, value in made["headers"].items()}
        made["multiValueQueryStringParameters"] = query or None
        made["queryStringParameters"] = {name: one[-1] for name, one in query.items()} or None
    else:
        made |= {"rawPath": parts.path, "rawQueryString": parts.query}
        made["requestContext"]["http"] |= {"method": method, "path": parts.path}
    if body:
        made |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    return made


def operation(source: str, query: str, **headers: str) -> Event:
    """Return the event of a POST with an operation. Names of headers have underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    made = event(source, "POST", "/graphql", headers=named)
    return made | {"body": json.dumps({"query": query})}


def content(answer: Event) -> bytes:
    """Return the body that the client receives."""
    body = str(answer["body"])
    return base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()
