"""AWS Signature Version 4: what proves who sends a request, and that nobody changed it.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
"""

import hmac
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

_ALGORITHM = "AWS4-HMAC-SHA256"


class Credentials(NamedTuple):
    """Who asks; ``token`` is of temporary credentials."""

    access_key: str
    secret_key: str
    token: str | None = None


class Scope(NamedTuple):
    """Where a signature holds."""

    region: str
    service: str


def authorization(
    credentials: Credentials,
    scope: Scope,
    method: str,
    path: str,
    headers: Sequence[tuple[str, str]],
    body: bytes,
) -> str:
    """Return the Authorization header of a request without a query string.

    ``headers`` are in the order of their names, which are in lower case; ``x-amz-date`` is one. The
    path is already in its canonical form.
    """
    names = ";".join([name for name, _ in headers])
    lines = "".join([f"{name}:{value}\n" for name, value in headers])
    request = f"{method}\n{path}\n\n{lines}\n{names}\n{sha256(body).hexdigest()}"
    instant = dict(headers)["x-amz-date"]
    day = instant[:8]
    within = f"{day}/{scope.region}/{scope.service}/aws4_request"
    text = f"{_ALGORITHM}\n{instant}\n{within}\n{sha256(request.encode()).hexdigest()}"
    key = _key(credentials.secret_key, scope, day)
    return (
        f"{_ALGORITHM} Credential={credentials.access_key}/{within}, SignedHeaders={names}, "
        f"Signature={hmac.digest(key, text.encode(), 'sha256').hex()}"
    )


@lru_cache(4)
def _key(secret_key: str, scope: Scope, day: str) -> bytes:
    key = b"AWS4" + secret_key.encode()
    for part in (day, scope.region, scope.service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
