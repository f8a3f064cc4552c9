"""Templates to responses: escaped HTML, a strict policy, and a validator for repeated requests."""

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

import orjson

from server.http.graphiql import ROOT
from server.pages import i18n, static_files, templates

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
)

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(_POLICY),
    # Forms within the site tell their origin by it; other sites learn nothing.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Cookie, Authorization, Accept-Language",
}
"""On every page. No inline script or style is allowed: widths are SVG attributes."""


@cache
def headers(picture_origins: tuple[str, ...]) -> dict[str, str]:
    """Return the headers of a page that may show pictures of some origins beside our own."""
    policy = HEADERS["Content-Security-Policy"]
    allowed = policy.replace("img-src 'self'", " ".join(["img-src 'self'", *picture_origins]))
    return {**HEADERS, "Content-Security-Policy": allowed}


def _digest_of_files() -> bytes:
    """Return a hash of what makes pages out of facts, which changes with a release."""
    files = ("server/pages/templates/**/*.*", "server/pages/locales/**/*.po", "server/pages/*.py")
    paths = sorted(path for pattern in files for path in ROOT.glob(pattern))
    found = [path.read_bytes() for path in paths]
    return hashlib.sha256(b"\0".join([*found, static_files.DIGEST.encode()])).digest()


_FILES = _digest_of_files()


def render(template: str, facts: dict[str, Any]) -> str:
    """Return the HTML of a template, in the language in force."""
    return templates.template(template).render(facts)


def etag(template: str, facts: dict[str, Any]) -> str:
    """Return the validator of a page made of ``facts`` in the language in force.

    It is weak, as the account of the reading is left out: each reading costs and takes something
    else, and says the same.
    """
    said = {name: fact for name, fact in facts.items() if name != "account"}
    page = f"{template} {i18n.spoken()} ".encode()
    digest = hashlib.sha256(_FILES + page + orjson.dumps(said))
    return f'W/"{digest.hexdigest()[:32]}"'
