"""Renders templates as escaped HTML, with security headers and an ETag.

A template is compiled once for each language. A page has about 100 messages, and few of them
contain values. So messages are translated when a template is compiled, and not at each request.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from typing import Any

import jinja2
import orjson
from jinja2 import nodes
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

from pages import addresses, formats, i18n, photos, plan_panel, static_files
from pages.jinja_door import Environment
from server.http.graphiql import ROOT, content_security_policy

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": content_security_policy(),
    # With this value, browsers send the header Origin with forms of this site. When a visitor
    # follows a link to another site, browsers do not send the address of the page.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Cookie, Authorization, Accept-Language",
}
"""The headers of every page. The Content-Security-Policy forbids inline scripts and styles. So
templates set the widths of stars and bars by SVG attributes."""

_INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


def headers(picture_origins: tuple[str, ...], upload_origin: str | None = None) -> dict[str, str]:
    """Return the headers of a page that may also show pictures from ``picture_origins``.

    The page's scripts may send files to ``upload_origin``.
    """
    uploads = {"connect_src": f"'self' {upload_origin}"} if upload_origin else {}
    policy = content_security_policy(img_src=" ".join(["'self'", *picture_origins]), **uploads)
    return {**HEADERS, "Content-Security-Policy": policy}


def render(template: str, facts: dict[str, Any]) -> str:
    """Return the HTML of a template in the current language."""
    return environment(i18n.spoken()).get_template(template).render(facts)


def _digest_of_files() -> bytes:
    """Return a hash of the templates, catalogues, Python modules and static files of the pages.

    The hash is part of each ETag, so a release that changes one of these files has new ETags.
    """
    files = ("pages/templates/**/*.*", "pages/locales/**/*.po", "pages/*.py")
    paths = sorted(path for pattern in files for path in ROOT.glob(pattern))
    found = [path.read_bytes() for path in paths]
    return hashlib.sha256(b"\0".join([*found, static_files.DIGEST.encode()])).digest()


_FILES = _digest_of_files()


def etag(template: str, facts: dict[str, Any]) -> str:
    """Return the ETag of a page with ``facts``, in the current language.

    The ETag is weak, because it leaves out two facts: ``account``, the panel of the query plan, and
    ``live``, the address at which scripts subscribe to changes. The first contains costs and times,
    and the second an event cursor, which differ each time the same list is read.
    """
    shown = {name: fact for name, fact in facts.items() if name not in {"account", "live"}}
    page = f"{template} {i18n.spoken()} ".encode()
    digest = hashlib.sha256(_FILES + page + orjson.dumps(shown))
    return f'W/"{digest.hexdigest()[:32]}"'


class _Environment(Environment):
    """Jinja's environment for the pages.

    It removes the indentation of templates, translates their messages, and escapes their outputs.
    """

    def preprocess(self, source: str, name: str | None = None, filename: str | None = None) -> str:
        """Return a template without its indentation, which would be an eighth of a page's bytes."""
        return _INDENTATION.sub("", super().preprocess(source, name, filename))

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """Return the variables of a template: the environment's and ``d``, in one dict.

        Jinja would return a ChainMap. Jinja copies the variables at each import of a template, and
        copies of a ChainMap take longer.
        """
        return {**self.globals, **(d or {})}

    def prepared(self, source: nodes.Template) -> nodes.Template:
        """Return a template's syntax tree with included templates and translated messages."""
        prepared: nodes.Template = _Preparation(self).visit(source)
        return prepared


class _Preparation(NodeTransformer):
    """Does work on a template's syntax tree that Jinja would do for each page.

    It replaces includes by the syntax trees of the included templates, and messages by their
    translations. A condition without ``else`` gets an empty text, because Jinja would create an
    object that raises an error if it is used.
    """

    def __init__(self, environment: jinja2.Environment) -> None:
        self._environment = environment

    def visit_Include(self, node: nodes.Include) -> nodes.Node:  # noqa: N802 - Jinja's name
        name = node.template.as_const()
        source = (i18n.TEMPLATES / name).read_text("utf-8")
        return nodes.Scope(self.visit(self._environment.parse(source, name)).body)

    def visit_CondExpr(self, node: nodes.CondExpr) -> nodes.CondExpr:  # noqa: N802 - Jinja's name
        self.generic_visit(node)
        node.expr2 = node.expr2 or nodes.Const("")
        return node

    def visit_Call(self, node: nodes.Call) -> nodes.Expr:  # noqa: N802 - Jinja's name
        self.generic_visit(node)
        name = getattr(node.node, "name", None)
        if name in {"_", "gettext"} and not node.kwargs:
            return nodes.Const(_translated(node) % {}, lineno=node.lineno)
        # ``ngettext`` becomes a filter, because Jinja calls a filter faster than a function.
        if name == "ngettext":
            one, many, count = node.args
            return nodes.Filter(
                count, "counted", [one, many], node.kwargs, None, None, lineno=node.lineno
            )
        return node

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: N802 - Jinja's name
        self.generic_visit(node)
        node.nodes = [part for one in node.nodes for part in _parts(one)]
        return node


def _parts(node: nodes.Expr) -> Iterator[nodes.Expr]:
    """Yield the nodes that replace one node of an output.

    A message becomes a node for each of its values, and one for each piece of text between the
    values. Other nodes do not change.
    """
    if not isinstance(node, nodes.Call) or getattr(node.node, "name", "") not in {"_", "gettext"}:
        yield node
        return
    values = {one.key: one.value for one in node.kwargs}
    for place, part in enumerate(_PLACEHOLDER.split(_translated(node))):
        if place % 2:
            yield values[part]
        elif part:
            yield nodes.Const(Markup(part) % {}, lineno=node.lineno)  # noqa: S704 - ours


def _translated(node: nodes.Call) -> Markup:
    (message,) = node.args
    return Markup(i18n.gettext(message.as_const()))  # noqa: S704 - ours, not a visitor's


@i18n.cached_by_language
def _counted(n: int, one: str, many: str, /, **values: Any) -> Markup:
    shown = {name: Environment.escaped(value) for name, value in values.items()}
    return Markup(i18n.ngettext(one, many, n) % shown)  # noqa: S704 - ours, not a visitor's


@cache
def environment(tag: str) -> jinja2.Environment:
    """Return the environment for the templates in the language ``tag``, a key of ``LOCALES``."""
    environment = _Environment(
        loader=jinja2.FileSystemLoader(i18n.TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    environment.policies["ext.i18n.trimmed"] = True
    # tojson writes <, > and & as escapes such as \u003c, so no text can end a script element.
    as_json = {"json.dumps_function": lambda value: orjson.dumps(value).decode()}
    environment.policies.update(as_json | {"json.dumps_kwargs": {}})
    environment.install_gettext_callables(  # type: ignore[attr-defined] # the extension's
        i18n.gettext, i18n.ngettext, newstyle=True
    )
    environment.filters.update(
        author_path=addresses.author_path,
        comment_path=addresses.comment_path,
        counted=_counted,
        day=formats.day,
        days=formats.days,
        decimal=formats.decimal,
        folded=formats.folded,
        language=formats.language,
        listed=formats.listed,
        minute=formats.minute,
        money=formats.money,
        month=formats.month,
        number=formats.number,
        photo_parts=photos.photo_parts,
        product_path=addresses.product_path,
        quoted=addresses.quoted,
        share=formats.share,
        ticket_path=addresses.ticket_path,
    )
    environment.globals.update(
        lang=tag,
        dir=i18n.LOCALES[tag].text_direction,
        files=f"/static/pages/{static_files.DIGEST}",
        picture_address=addresses.picture_address,
        plan_caption=plan_panel.caption,
        plan_reason=plan_panel.reason,
        plural_forms=i18n.plural_forms,
        product_name=formats.product_name,
        rooted=addresses.rooted,
    )
    # Jinja's own cache takes several times as long, because files may change.
    environment.get_template = cache(environment.get_template)  # type: ignore[method-assign]
    return environment
