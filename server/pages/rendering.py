"""Templates to responses: escaped HTML, a strict policy, and a validator for repeated requests."""

import hashlib
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import jinja2
import orjson
from markupsafe import Markup

from server.http.files import ROOT
from server.pages import addresses, formats, i18n
from server.pages.operations import TEMPLATES

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


def _told(message: str, **values: Any) -> Markup:
    """Return a message as Jinja's own ``_`` does, but remember those that nothing is filled into.

    A page says some hundred of these.
    """
    return _message(i18n.spoken(), message) if not values else _marked(message) % values


@lru_cache(maxsize=4096)
def _message(tag: str, message: str) -> Markup:
    del tag  # it is in force
    return _marked(message) % {}


def _marked(message: str) -> Markup:
    return Markup(i18n.gettext(message))  # noqa: S704 - ours, not a visitor's


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    environment.policies["ext.i18n.trimmed"] = True
    environment.install_gettext_callables(  # type: ignore[attr-defined] # the extension's
        i18n.gettext, i18n.ngettext, newstyle=True, pgettext=i18n.pgettext, npgettext=i18n.npgettext
    )
    environment.globals["_"] = _told
    environment.filters.update(formats.FILTERS)
    environment.globals.update(
        product_path=addresses.product_path,
        comment_path=addresses.comment_path,
        rooted=addresses.rooted,
        picture_address=addresses.picture_address,
        plural_forms=i18n.plural_forms,
        product_name=formats.product_name,
        spoken_languages=[(tag, formats.LANGUAGES[tag]) for tag in i18n.LOCALES],
    )
    environment.globals["lang_of_page"] = i18n.spoken
    # tojson writes <, > and & as \u003c and so on: no text ends a script element early.
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    return environment


_TEMPLATES = _environment()


def _digest_of_files() -> bytes:
    """Return a hash of what makes pages out of facts, which changes with a release."""
    files = ("web/templates/**/*.*", "web/locales/**/*.po", "server/pages/*.py")
    paths = sorted(path for pattern in files for path in ROOT.glob(pattern))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).digest()


_FILES = _digest_of_files()


def render(template: str, facts: dict[str, Any]) -> str:
    """Return the HTML of a template."""
    return _TEMPLATES.get_template(template).render(facts)


def etag(template: str, facts: dict[str, Any]) -> str:
    """Return the validator of a page made of ``facts``.

    It is weak, as the account of the reading is left out: each reading costs and takes something
    else, and says the same.
    """
    said = {name: fact for name, fact in facts.items() if name != "account"}
    digest = hashlib.sha256(_FILES + template.encode() + orjson.dumps(said))
    return f'W/"{digest.hexdigest()[:32]}"'
